"""What a Claude Code file says of itself as a whole: its session, its title, and whose records it begins with."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.transcript import time_of
from worker.importers.base import Line, Problems, kind_of, raw_lines, read_line

TREE = frozenset({"user", "assistant", "system", "attachment", "progress"})  # records that are linked by uuid
_TITLE = re.compile(rb'"type"\s*:\s*"(?:summary|custom-title|ai-title)"')
_TITLE_BYTES = 4096  # a line with a title is short; longer ones are not looked at for one
_BESIDE = {  # types of records that are not linked, and a field that each has
    "summary": "leafUuid",
    "custom-title": "sessionId",
    "ai-title": "sessionId",
    "last-prompt": "sessionId",
    "queue-operation": "sessionId",
    "file-history-snapshot": "messageId",
}
_LOOK = 50  # lines at the top that tell whose copy a file begins with


@dataclass
class Survey:
    """ours: a record of Claude Code's stands in the file; talk: one that is said by somebody, and not only kept beside the talk."""

    ours: bool = False
    talk: bool = False
    session_id: str | None = None
    title: str | None = None
    copied_from: str | None = None
    created_at_ms: int | None = None


def survey(path: Path) -> Survey:
    """Session id, title and origin, from one look over the lines that hardly decodes any.

    A resumed session may begin with records of the one it continues: the file's name decides where it is one of the session ids.
    """
    named = re.compile(rb'"sessionId"\s*:\s*"' + re.escape(path.stem.encode("utf-8", "surrogateescape")) + rb'"')
    found, ids, titles, own, decoded = Survey(), dict[str, None](), _Titles(), False, 0
    for line in raw_lines(path):
        if not line.data:
            continue
        own = own or bool(named.search(line.data))
        if len(line.data) <= _TITLE_BYTES and _TITLE.search(line.data):
            titles.add(_value(line))
        titles.look_for_leaf(line.data)
        if decoded < _LOOK or not found.talk:
            decoded += 1
            _learn(found, ids, _value(line))
    found.session_id = path.stem if own else next(iter(ids), None)
    found.copied_from = found.copied_from or next((other for other in ids if own and other != path.stem), None)
    found.title = titles.best()
    return found


def _value(line: Line) -> dict[str, Any]:
    entry = read_line(line, Problems())
    return entry.value if entry else {}


def _learn(found: Survey, ids: dict[str, None], record: dict[str, Any]) -> None:
    """What one record of the top tells."""
    kind, session_id = kind_of(record), record.get("sessionId")
    found.talk = found.talk or _is_talk(record)
    found.ours = found.ours or found.talk or _is_beside_talk(record)
    if isinstance(session_id, str) and session_id:
        ids[session_id] = None
    origin = record.get("forkedFrom")
    if isinstance(origin, dict) and isinstance(origin.get("sessionId"), str):
        found.copied_from = found.copied_from or origin["sessionId"]
    if kind in TREE and found.created_at_ms is None:
        found.created_at_ms = time_of(record.get("timestamp"))


def _is_talk(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict)
    return kind in ("system", "attachment", "progress") and isinstance(record.get("uuid"), str)


def _is_beside_talk(record: dict[str, Any]) -> bool:
    """Claude Code also leaves files that hold nothing but titles, snapshots or queue operations."""
    return isinstance(record.get(_BESIDE.get(kind_of(record), "")), str)


@dataclass
class _Titles:
    """Titles of a file: the person's own, then the model's last, then the summary of a leaf that stands in this file, then any."""

    ranked: dict[int, str] = field(default_factory=dict)
    leaves: dict[bytes, str] = field(default_factory=dict)  # older versions put summaries of other sessions at a file's top

    def add(self, record: dict[str, Any]) -> None:
        names = {"custom-title": (0, "customTitle"), "ai-title": (1, "aiTitle"), "summary": (3, "summary")}
        rank, name = names.get(kind_of(record), (9, ""))
        title, leaf = record.get(name), record.get("leafUuid")
        if not isinstance(title, str) or not title.strip():
            return
        self.ranked[rank] = title
        if rank == 3 and isinstance(leaf, str) and leaf and len(self.leaves) < 100:
            self.leaves[leaf.encode("utf-8", "replace")] = title

    def look_for_leaf(self, line: bytes) -> None:
        for leaf in [leaf for leaf in self.leaves if leaf in line and b'"uuid"' in line]:
            self.ranked[2] = self.leaves.pop(leaf)

    def best(self) -> str | None:
        return self.ranked[min(self.ranked)] if self.ranked else None
