"""What every format's reader shares: a session as read, the lines of a file, and what was wrong with them.

A reader of a file that only grows decides each event from the lines up to it and never from later ones, so that a file that grew
gives the same events again and its new part. A reader of a source that is rewritten in place gives it as it is now, with the active
branch. Either holds one line, row or conversation at a time, and of the others ids and fingerprints only.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from shared import jsontext
from shared.transcript import MAX_ID_BYTES
from worker.importers.packed import ENDING, open_lines

MAX_LINE_BYTES = 16 << 20  # a longer line is passed over unread; the longest of real transcripts (images in base64) stay below it
MAX_PROBLEMS = 200  # kept a file; the rest is counted
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 20


Event = dict[str, Any]  # in the pi/OpenClaw v3 shape


@dataclass
class Branch:
    """What a source that its program rewrites in place shows as active; the reader keeps it up to date while events are read.

    leaf: id of the event that is the active leaf, None for an empty branch. whole: nothing was passed over unread, so that what is
    stored and not on this branch has left it.
    """

    leaf: str | None = None
    whole: bool = True


@dataclass(frozen=True)
class Source:
    """One session of a file; its events are read while they are iterated, every one with an id.

    branch: for sources that are rewritten in place; None where a file only grows and its events move the leaf by themselves.
    mark: in a file of many sessions, what is another one after every change of this session's events; None where nothing tells.
    """

    session_id: str
    events: Iterator[Event]
    title: str | None = None
    kind: str = "main"
    parent_id: str | None = None  # source id of the session that spawned it
    copied_from: str | None = None  # source id of the session whose events may stand copied at its beginning
    agent_id: str | None = None  # where the source names the agent
    created_at_ms: int | None = None
    branch: Branch | None = None
    incognito: bool = False
    parent_agent_id: str | None = None  # whose session the parent is, where it is another agent's
    mark: str | None = None


@dataclass(frozen=True)
class Problem:
    """Something to tell about a file; line 0 is the file as a whole."""

    line: int
    reason: str

    def text(self, path: Path | str) -> str:
        """`a.jsonl:3: reason`, on one line."""
        place = f"{path}:{self.line}" if self.line else f"{path}"
        return f"{place}: {self.reason}"


@dataclass
class Problems:
    """What was found wrong in one file, in the order of its lines. unit: what the file consists of, as a report calls it."""

    unit: str = "line"
    found: list[Problem] = field(default_factory=list)
    skipped: int = 0  # lines that could not be used
    waiting: int = 0  # lines that are not written to their end yet
    more: int = 0  # problems beyond MAX_PROBLEMS

    def skip(self, line: int, reason: str) -> None:
        """A line, row or record that is left out."""
        self.skipped += 1
        self.note(line, f"{self.unit} skipped: {reason}")

    def wait(self, line: int, reason: str) -> None:
        """A line that may be whole the next time."""
        self.waiting += 1
        self.note(line, reason)

    def note(self, line: int, reason: str) -> None:
        """Something that was mended."""
        if len(self.found) < MAX_PROBLEMS:
            self.found.append(Problem(line, reason))
        else:
            self.more += 1


def lines_below(folder: Path) -> Iterator[Path]:
    """The JSONL transcripts below a folder."""
    yield from named_below(folder, ".jsonl", but=".trajectory.jsonl")


def named_below(folder: Path, ending: str, but: str = "\n") -> Iterator[Path]:
    """Every path below a folder whose name ends so, sorted; links to folders are not followed. A fifth of the cost of Path.rglob.

    but: a longer ending, which is left out.
    """
    every = (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)
    yield from map(Path, sorted(path for path in every if path.endswith(ending) and not path.endswith(but)))


def log_of(path: Path) -> tuple[Path, ...]:
    """Where a database's newest rows stand until they are moved into it; none for files of other kinds."""
    return () if path.suffix in (".jsonl", ".json", ".zip", ENDING) else (path.with_name(path.name + "-wal"),)


@dataclass(frozen=True)
class Format:
    """How one format is read.

    trace: what a stored event and its copy in a forked session's file have in common. below: the transcript files below a folder, in
    the order in which they are read; wanted: what those are called, for people. forks: whether a file names the session that it was
    copied from.

    What tells that a file has not changed: tells: whether its size and time and those of its logs do. beside: files that are not of it
    and change often, and told, what they say about one of its sessions.
    """

    name: str
    read: Callable[[Path, Problems], Generator[Source, None, None]]
    trace: Callable[[Event], str]
    below: Callable[[Path], Iterator[Path]] = lines_below
    wanted: str = "*.jsonl"
    forks: bool = True
    tells: Callable[[Path], bool] = lambda path: True
    logs: Callable[[Path], tuple[Path, ...]] = log_of
    beside: Callable[[Path], tuple[Path, ...]] = lambda path: ()
    told: Callable[[Path, str], object] = lambda path, session_id: None


@dataclass(frozen=True)
class Line:
    """One line of a file; whole is False for a last line without its newline, data is None where it was too long to read."""

    number: int
    offset: int
    data: bytes | None
    whole: bool


def raw_lines(path: Path, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """The lines of a file, cut at LF only, without their ends and without a byte-order mark."""
    with open_lines(path) as file:
        number, offset = 0, 0
        while data := file.readline(max_bytes + 1):
            number += 1
            size = len(data)
            whole, line = data.endswith(b"\n"), data
            if size > max_bytes and not whole:
                rest, whole = _pass_over(file.readline)
                yield Line(number, offset, None, whole)
                size += rest
            else:
                if number == 1 and line.startswith(_BOM):
                    line = line[len(_BOM) :]
                yield Line(number, offset, line.strip(b" \t\r\n"), whole)
            offset += size


def _pass_over(readline: Callable[[int], bytes]) -> tuple[int, bool]:
    size = 0
    while data := readline(_CHUNK):
        size += len(data)
        if data.endswith(b"\n"):
            return size, True
    return size, False


class Entry(NamedTuple):
    """A line that is a JSON object."""

    number: int
    offset: int
    value: dict[str, Any]


def entries(path: Path, problems: Problems) -> Iterator[Entry]:
    """The JSON objects of a file; every other line is reported and passed over, an unfinished last one waits."""
    for line in raw_lines(path):
        entry = read_line(line, problems)
        if entry:
            yield entry


def read_line(line: Line, problems: Problems) -> Entry | None:
    """The object of one line, or None with the reason reported."""
    if line.data is None:
        problems.skip(line.number, f"longer than {MAX_LINE_BYTES >> 20} MiB")
        return None
    if not line.data:
        return None
    try:
        value = jsontext.loads(line.data)
        reason = "not a JSON object"
    except jsontext.BadJson as e:
        value, reason = None, f"not valid JSON ({e})"
    if isinstance(value, dict):
        return Entry(line.number, line.offset, value)
    if line.whole:
        problems.skip(line.number, reason)
    else:
        problems.wait(line.number, "line is incomplete and waits for the rest")
    return None


def entry_at(path: Path, number: int, offset: int) -> Entry | None:
    """The object of a line that was read before."""
    with path.open("rb") as file:
        file.seek(offset)
        data = file.readline(MAX_LINE_BYTES + 1)
    return read_line(Line(number, offset, data.removeprefix(_BOM).strip(b" \t\r\n"), True), Problems())


def safe_id(value: str) -> str:
    """The id itself, or a hash of it where it is longer than an id may be or holds control characters."""
    data = value.encode("utf-8", "surrogatepass")
    if len(data) <= MAX_ID_BYTES and value.isprintable():
        return value
    return "h" + sha256(data).hexdigest()[:40]


def kind_of(value: dict[str, Any], name: str = "type") -> str:
    """The value's type where it is a string; "" otherwise."""
    kind = value.get(name)
    return kind if isinstance(kind, str) else ""


LINE_ID = re.compile(r"l\d{6,}", re.ASCII)


def line_id(number: int) -> str:
    """The id of an event that has none: its line, which stays the same when the file grows."""
    return f"l{number:06d}"


def said_alike(event: Event) -> str:
    """What an event says apart from its place and time: the same for a message that came again under another id."""
    return jsontext.dumps({name: value for name, value in event.items() if name not in ("id", "parentId", "timestamp")})


def quoted(value: object) -> str:
    """A value for a report: on one line, and short."""
    text = repr(value)
    return text if len(text) <= 80 else text[:76] + " ..."
