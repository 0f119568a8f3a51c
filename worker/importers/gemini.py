"""Gemini CLI's chats: one JSON object a session, in newer versions a log a line (gemini_log.py); subagents in their parent's folder.

A person's and the model's words become messages; notes of the program, and what it put into the person's mouth, become asides.
source: gemini-cli, packages/core/src/services/chatRecordingService.ts and chatRecordingTypes.ts.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.errors import UnknownFormat, UnreadableSource
from shared.transcript import time_of
from worker.importers import shapes
from worker.importers.base import Branch, Event, Problems, Source, entries, entry_at, said_alike
from worker.importers.chain import Chain
from worker.importers.gemini_log import Log, Place
from worker.importers.gemini_shapes import event_of, is_message

FORMAT = "gemini"
MAX_FILE_BYTES = 64 << 20  # of the older files, which are one JSON object; the newer ones have no limit
_NAMED = re.compile(r"session-[\dT-]+-([0-9a-f]{8})", re.ASCII)


def files(folder: Path) -> Iterator[Path]:
    """The chats below a folder; an older file that a newer version went on from is passed over, for the newer holds all of it."""
    for path in sorted(folder.rglob("*.json*")):
        named, newer = path.name.startswith("session-"), path.with_suffix(".jsonl")
        if (path == newer and (named or "chats" in path.parts)) or (path.suffix == ".json" and named and not newer.is_file()):
            yield path


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The one session of the file. raises: UnknownFormat before anything is yielded."""
    yield _whole(path, problems) if path.suffix == ".json" else _log(path, problems)


def trace(event: Event) -> str:
    """A message that was written again under another id says the same."""
    return said_alike(event)


def _source(path: Path, meta: dict[str, Any], events: Iterator[Event], branch: Branch) -> Source:
    session_id, found = shapes.word(meta.get("sessionId")), _NAMED.fullmatch(path.stem)
    subagent = meta.get("kind") == "subagent"
    parent = path.parent.name if subagent and path.parent.parent.name == "chats" else None
    return Source(
        session_id=session_id or (found[1] if found else path.stem),
        events=events,
        title=shapes.word(meta.get("summary")),
        kind="subagent" if subagent else "main",
        parent_id=parent,
        created_at_ms=time_of(meta.get("startTime")),
        branch=branch,
    )


# -- one object


def _whole(path: Path, problems: Problems) -> Source:
    problems.unit = "message"
    if path.stat().st_size > MAX_FILE_BYTES:
        raise UnreadableSource(f"it is longer than {MAX_FILE_BYTES >> 20} MiB")
    try:
        value = jsontext.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except jsontext.BadJson as e:
        raise UnknownFormat(f"not a {FORMAT} chat: {path.name} is not valid JSON ({e})") from e
    if not isinstance(value, dict) or not isinstance(value.get("sessionId"), str) or not isinstance(value.get("messages"), list):
        raise UnknownFormat(f"not a {FORMAT} chat: {path.name} has no sessionId and no messages")
    branch = Branch()
    return _source(path, value, _messages(value["messages"], Chain(problems, branch, value.get("startTime"))), branch)


def _messages(messages: list[Any], chain: Chain) -> Iterator[Event]:
    for index, record in enumerate(messages, 1):
        if not isinstance(record, dict) or not is_message(record):
            chain.skip(0, f"number {index} is no message with an id and a type")
            continue
        finished = chain.follow(0, event_of(chain.free(record["id"]), record))
        if finished is not None:
            yield finished


# -- a log


def _log(path: Path, problems: Problems) -> Source:
    log = Log()
    for entry in entries(path, problems):
        unknown, lost = log.unknown, log.lost_rewinds
        log.take(entry, whole=not problems.skipped)
        if log.unknown > unknown:
            problems.skip(entry.number, "not a record of a chat")
        if log.lost_rewinds > lost:
            problems.note(entry.number, "a rewind to a message that is not there")
    if not log.nodes and "sessionId" not in log.meta:
        raise UnknownFormat(f"not a {FORMAT} chat: no line of {path.name} is a chat's header or a message")
    if "sessionId" not in log.meta:
        problems.note(0, "the chat's header is missing; its id is taken from the file's name")
    branch = Branch(leaf=None, whole=not (problems.skipped or problems.waiting))
    return _source(path, log.meta, _nodes(path, log, Chain(problems, branch, log.meta.get("startTime"))), branch)


def _nodes(path: Path, log: Log, chain: Chain) -> Iterator[Event]:
    lines, names = _Lines(path), dict[str, str | None]()
    for own, node in log.nodes.items():
        record, parent = lines.record(node.place), names.get(node.parent or "")
        finished = chain.add(node.place.number, event_of(own, record), parent) if record else None
        names[own] = finished["id"] if finished else parent
        if finished is not None:
            yield finished
    chain.branch.leaf = names.get(log.leaf or "")


class _Lines:
    """Records read again by their place; the line read last is kept, for the messages of one $set are read one after the other."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._value = path, -1, dict[str, Any]()

    def record(self, place: Place) -> dict[str, Any] | None:
        """The last version of a message; None when the file was cut or replaced since it was looked over."""
        if place.offset != self._offset:
            entry = entry_at(self._path, place.number, place.offset)
            self._offset, self._value = place.offset, entry.value if entry else {}
        value = self._value
        if place.item is not None:
            listed = shapes.sequence(shapes.mapping(value.get("$set", value)).get("messages"))
            value = shapes.mapping(listed[place.item]) if place.item < len(listed) else {}
        return value if is_message(value) else None
