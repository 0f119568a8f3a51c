"""What a Gemini CLI log comes to: messages written again under their id, taken back by $rewindTo, replaced by $set.

A look over all lines keeps of each message its place in the tree and where in the file its last version stands. What a rewind took back
stays as a branch of its own. A replacement that sums up is a compaction: what was said before it stays, and the copies it brings under
new ids are the messages they say again.
source: chatRecordingService.ts, loadConversationRecord, rewindTo, updateMessagesFromHistory.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from worker.importers import shapes
from worker.importers.base import Entry
from worker.importers.gemini_shapes import is_message, is_summary, is_talk, said


class Place(NamedTuple):
    """A record's line, and where it is one of a $set's messages, its number there."""

    number: int
    offset: int
    item: int | None


@dataclass(slots=True)
class Node:
    """A message: what it hangs on, where its last version stands, whether it is talk, and a hash of its words."""

    parent: str | None
    place: Place
    talk: bool
    words: int | None


@dataclass
class Log:
    """meta: the fields of the header and of every $set; nodes: every message by its id, in the order in which they came."""

    meta: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    unknown: int = 0  # records that are none of Gemini's
    lost_rewinds: int = 0  # rewinds to a message that is nowhere
    _path: dict[str, None] = field(default_factory=dict)  # the current branch, in order
    _ids: dict[str, str] = field(default_factory=dict)  # a message's id in the file, and the node it is now

    @property
    def leaf(self) -> str | None:
        return next(reversed(self._path), None)

    def take(self, entry: Entry, *, whole: bool) -> None:
        """One record. whole: nothing before it was unreadable, so that a rewind to an unknown message means an empty branch."""
        record = entry.value
        if isinstance(target := record.get("$rewindTo"), str):
            self._rewind(target, whole)
        elif isinstance(changes := record.get("$set"), dict):
            self._set(changes, entry)
        elif is_message(record):
            self._say(record, Place(entry.number, entry.offset, None))
        elif isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
            self._set(record, entry)
        else:
            self.unknown += 1

    def _set(self, changes: dict[str, Any], entry: Entry) -> None:
        self.meta |= {name: value for name, value in changes.items() if name != "messages"}
        found = [(index, value) for index, value in enumerate(shapes.sequence(changes.get("messages"))) if isinstance(value, dict)]
        messages = [(value, Place(entry.number, entry.offset, index)) for index, value in found if is_message(value)]
        if messages:
            self._replace(messages)

    def _say(self, record: dict[str, Any], place: Place) -> None:
        own = self._ids.get(record["id"], record["id"])
        if own in self._path:
            self._rewrite(own, record, place)
        else:
            self._append(record, place)

    def _rewrite(self, own: str, record: dict[str, Any], place: Place) -> None:
        before = self.nodes[own]
        self.nodes[own] = Node(before.parent, place, is_talk(record), _words(record))

    def _append(self, record: dict[str, Any], place: Place) -> None:
        """The message hangs on the leaf; one that was taken back and comes again somewhere else gets an id of its own."""
        own, count = record["id"], 1
        while own in self.nodes and self.nodes[own].parent != self.leaf:
            count += 1
            own = f"{record['id']}:{count}"
        self.nodes[own] = Node(self.leaf, place, is_talk(record), _words(record))
        self._ids[record["id"]] = own
        self._path[own] = None

    def _rewind(self, target: str, whole: bool) -> None:
        """The branch ends before the target. Gemini forgets everything when it knows no such message, and so is it here."""
        own = self._ids.get(target, target)
        if own not in self._path:
            self.lost_rewinds += 1
            if not whole:
                return
        while self._path:
            last, _ = self._path.popitem()
            if last == own:
                return

    def _replace(self, messages: list[tuple[dict[str, Any], Place]]) -> None:
        """The model's view of the conversation is these messages."""
        if any(is_summary(record) and record["id"] not in self._ids for record, _ in messages):
            self._compact(messages)
            return
        self._recognise([record for record, _ in messages])
        now = [own for own in self._path if self.nodes[own].talk]
        wanted = [self._ids.get(record["id"], record["id"]) for record, _ in messages if is_talk(record)]
        kept = next((n for n, (a, b) in enumerate(zip(now, wanted, strict=False)) if a != b), min(len(now), len(wanted)))
        if kept < len(now):
            self._cut_after(now[kept - 1] if kept else None)
        for record, place in messages:
            self._say(record, place)

    def _compact(self, messages: list[tuple[dict[str, Any], Place]]) -> None:
        self._recognise([record for record, _ in messages])
        for record, place in messages:
            if self._ids.get(record["id"], record["id"]) not in self._path:
                self._append(record, place)

    def _recognise(self, records: list[dict[str, Any]]) -> None:
        """Messages under ids that were never seen are those of the branch that say the same, each once and in order."""
        copies: dict[int, deque[str]] = {}
        named = {record["id"] for record in records}
        for own in self._path:
            words = self.nodes[own].words
            if words is not None and own not in named:
                copies.setdefault(words, deque()).append(own)
        for record in records:
            words = _words(record)
            if record["id"] not in self._ids and words is not None and copies.get(words):
                self._ids[record["id"]] = copies[words].popleft()

    def _cut_after(self, last: str | None) -> None:
        while self._path and self.leaf != last:
            self._path.popitem()


def _words(record: dict[str, Any]) -> int | None:
    words = said(record)
    return hash((record["type"], words)) if words.strip() else None
