"""What was read of transcript files, so that one that has not changed is not read again; kept in the registry, over restarts.

A file is passed over when all of this holds: it is the same file of the same size and time (and so is its database's log), what stands
beside it tells the same of its sessions, and those are stored as the reading left them. The last makes it safe to lose, restore or
change either side alone: an older copy of an agent's database, a rewind or a delete here, and the file is read again. Only files that
were read to their end without a remark are remembered here, for a remark is told each time.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from shared.errors import StoreUnavailable
from shared.store import Store, readings
from shared.store.connect import write_transaction
from worker.import_report import FileReport, Taken
from worker.importers.base import Format, Source, safe_id

PROGRAM = version("session-search")  # a newer one may read more out of the same file
KEEP_EVERY = 100  # readings a commit: what a killed import read is at most so many files, again
_FINE_NS, _COARSE_NS = 50_000_000, 2_000_000_000  # a file system's clock ticks in ms, or (times of whole seconds) in seconds

State = tuple[tuple[int, ...], ...]  # of a file and its log: size, inode, and when they changed, in ns; () where there is none


@dataclass(frozen=True)
class Look:
    """A file as it looks without being read. settled: a later change will show in its state."""

    state: State
    beside: State
    settled: bool


Stat = Callable[[Path], tuple[int, ...]]


def look_at(format_: Format, path: Path, stat: Stat | None = None) -> Look | None:
    """How a file looks now; None where that does not tell whether it has changed. stat: for what stands beside files, stat_of."""
    if not format_.tells(path):
        return None
    state = (stat_of(path), *map(stat_of, format_.logs(path)))
    beside = tuple(map(stat or stat_of, format_.beside(path)))
    return Look(state, beside, all(map(_is_settled, state + beside))) if state[0] else None


def stat_of(path: Path) -> tuple[int, ...]:
    """Size, inode and times of a file; () where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)  # the last cannot be set: a copy may bring its old mtime


def _is_settled(state: tuple[int, ...]) -> bool:
    """Whether a further change would get another time: what changes within one tick of the file system's clock does not."""
    if not state:
        return True
    changed_ns = state[-1]
    return time.time_ns() - changed_ns > (_FINE_NS if changed_ns % 1_000_000_000 else _COARSE_NS)


class _Session(NamedTuple):
    """A session as a reading left it. told: a digest of what stood beside its file; standing: of what is stored; mark: as Source's."""

    agent_id: str
    session_id: str
    told: str
    standing: str | None
    mark: str | None
    events: int
    copied: int


@dataclass
class Readings:
    """The readings of one format's files on behalf of one agent; again: none is believed, all are kept."""

    store: Store
    format: Format
    agent: str
    again: bool = False
    _looks: dict[Path, Look | None] = field(default_factory=dict)
    _known: dict[Path, dict[str, _Session]] = field(default_factory=dict)
    _unwritten: dict[bytes, str] = field(default_factory=dict)

    def recall(self, file: FileReport) -> bool:
        """Whether the file is as it was read and need not be read; its report then says what it would after a reading."""
        look = self._looks[file.path] = look_at(self.format, file.path)
        kept = self._kept(file.path) if look and not self.again else None
        if look is None or kept is None:
            return False
        sessions = [_Session(*one) for one in kept["sessions"]]
        self._known[file.path] = {one.session_id: one for one in sessions if one.mark is not None}
        if _states(kept["state"]) != look.state or not all(map(self._stands, sessions)):
            return False
        if _states(kept["beside"]) != look.beside and any(one.told != self._told(file.path, one.session_id) for one in sessions):
            return False
        file.sessions = len(sessions)
        file.known, file.copied = sum(one.events for one in sessions), sum(one.copied for one in sessions)
        return True

    def settled(self, file: FileReport, agent: str, source: Source) -> Taken | None:
        """What was taken of one session of a file of many, where neither its source nor what is stored has changed since."""
        before = self._known.get(file.path, {}).get(safe_id(source.session_id))
        if before is None or before.agent_id != agent or before.mark != mark_of(source) or not self._stands(before):
            return None
        return Taken(agent, before.session_id, before.mark, before.events, copied=before.copied)

    def keep(self, file: FileReport) -> None:
        """The file is remembered, if all was well."""
        look = self._looks.pop(file.path, None)
        self._known.pop(file.path, None)
        if look is None or not look.settled or file.error or file.empty or file.deleted or file.problems.found:
            return
        sessions = [self._session(file.path, taken) for taken in file.taken]
        if any(one.standing is None for one in sessions):
            return  # deleted meanwhile
        kept = {"program": PROGRAM, "state": look.state, "beside": look.beside, "sessions": sessions}
        self._unwritten[_name(file.path)] = json.dumps(kept)
        if len(self._unwritten) >= KEEP_EVERY:
            self.write()

    def write(self) -> None:
        """What is to be kept is in the registry; where that cannot be written now, the files are read again another time."""
        if not self._unwritten:
            return
        with suppress(StoreUnavailable), self.store.registry_writer() as conn, write_transaction(conn, self.store.registry_path):
            readings.keep_readings(conn, self.format.name, self.agent, self._unwritten.items())
        self._unwritten.clear()

    def _kept(self, path: Path) -> dict[str, Any] | None:
        with self.store.registry_reader() as conn:
            found = readings.reading_of(conn, _name(path), self.format.name, self.agent)
        kept = json.loads(found) if found else None
        return kept if kept and kept["program"] == PROGRAM else None

    def _told(self, path: Path, session_id: str) -> str:
        """A digest of what stands beside the file about one of its sessions; it may hold titles, which do not belong here."""
        return _digest(self.format.told(path, session_id)) if self.format.beside(path) else ""

    def _session(self, path: Path, taken: Taken) -> _Session:
        told, standing = self._told(path, taken.session_id), self._standing(taken.agent_id, taken.session_id)
        return _Session(taken.agent_id, taken.session_id, told, standing, taken.mark, taken.events, taken.copied)

    def _stands(self, session: _Session) -> bool:
        """Whether the session is stored as the reading left it."""
        return session.standing == self._standing(session.agent_id, session.session_id)

    def _standing(self, agent: str, session_id: str) -> str | None:
        if not self.store.has_agent(agent):
            return None
        with self.store.reader(agent) as conn:
            return readings.standing(conn, session_id)


def mark_of(source: Source) -> str | None:
    """What stays the same as long as a reading of this session would give the same; None where only a reading can tell."""
    if source.mark is None:
        return None
    head = (source.title, source.kind, source.parent_id, source.parent_agent_id, source.copied_from, source.incognito)
    return _digest((source.mark, *head))


def _digest(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _name(path: Path) -> bytes:
    return os.fsencode(os.path.abspath(path))


def _states(value: list[list[int]]) -> State:
    return tuple(tuple(one) for one in value)
