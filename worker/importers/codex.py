"""Codex rollouts: a line is {"timestamp", "type", "payload"}; what was said stands in response items and, mostly, again in events.

A response item is taken, and an event only where no item of the same words stands beside it: each text once, and a text that was said
twice twice. Tool calls, their results and reasoning become blocks of the v3 shape. What Codex put into the person's mouth (environment,
instructions, notices) is kept as a custom event. A rollback of n turns moves the leaf to before the n-th last of the person's messages.
A rollout that was not used for a week is packed with zstd; what it was called before names the session. A thread that was reverted goes on
in another rollout, whose leaf is where it names the end of the first (codex_pages.py).
source: codex-rs, protocol and rollout; a rollback counts user messages, rollout/truncation.rs; rollout/compression.rs.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from shared.errors import UnknownFormat
from shared.searchable import message_text
from shared.transcript import time_of
from worker.importers.base import Entry, Problems, Source, entries, kind_of, line_id, lines_below, named_below, quoted, said_alike
from worker.importers.codex_pages import MOST_PAGES, Base, base_of, is_beyond, page_mark, rollout_of
from worker.importers.codex_pairs import Pairs, Spoken
from worker.importers.codex_shapes import Shapes, id_in, is_context
from worker.importers.finishing import Finisher
from worker.importers.packed import ENDING, plain_name

FORMAT = "codex"
_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_BARE = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})  # items before the envelope came
_SPEAKERS = {"user_message": "user", "agent_message": "assistant"}
_TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})


def files(folder: Path) -> Iterator[Path]:
    """The rollouts below a folder; of one that is there both packed and not, the one that is not goes on."""
    plain = set(lines_below(folder))
    packed = (path for path in named_below(folder, f".jsonl{ENDING}") if path.with_name(plain_name(path)) not in plain)
    yield from sorted([*plain, *packed])


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The one session of the file. raises: UnknownFormat before anything is yielded."""
    lines = entries(path, problems)
    first = _first_of_ours(lines, problems, path)
    meta = _meta(first.value)
    base = base_of(meta)
    session_id, parent_id = id_in(meta, "id") or id_in(meta, "session_id"), _spawner(meta)
    yield Source(
        session_id=session_id or Path(plain_name(path)).stem,
        events=_events(path, problems, first, lines),
        kind="subagent" if parent_id else "main",
        parent_id=parent_id,
        copied_from=None if base else id_in(meta, "forked_from_id") or parent_id,  # what is referred to is not copied
        created_at_ms=time_of(meta.get("timestamp")) or time_of(first.value.get("timestamp")),
    )


def trace(event: dict[str, Any]) -> str:
    """What a copied event shares with its original: all but id, place and time, which a fork writes anew."""
    return said_alike(event)


def _first_of_ours(lines: Iterator[Entry], problems: Problems, path: Path) -> Entry:
    for entry in lines:
        if _item(entry.value)[0] or _is_old_header(entry.value):
            return entry
        problems.skip(entry.number, "stands before the session's first line")
    raise UnknownFormat(f"not a {FORMAT} rollout: no line of {path.name} is a rollout item")


def _item(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a line and its payload; ("", {}) for a line that is no rollout item."""
    kind, payload = kind_of(value), value.get("payload")
    if kind in _TYPES and isinstance(payload, dict):
        return kind, payload
    if kind in _BARE and "payload" not in value and (kind != "message" or ("role" in value and "content" in value)):
        return "response_item", value
    return "", {}


def _is_envelope(value: dict[str, Any]) -> bool:
    """Whether a line is a rollout item of a kind that says nothing, or is not known yet: the state of the world, scores, other agents."""
    return kind_of(value) not in ("", *_TYPES) and isinstance(value.get("payload"), dict) and isinstance(value.get("timestamp"), str)


def _is_old_header(value: dict[str, Any]) -> bool:
    return "type" not in value and isinstance(value.get("id"), str) and "timestamp" in value and ("instructions" in value or "git" in value)


def _meta(value: dict[str, Any]) -> dict[str, Any]:
    kind, payload = _item(value)
    return payload if kind == "session_meta" else value if _is_old_header(value) else {}


def _spawner(meta: dict[str, Any]) -> str | None:
    """The session that spawned this one: a subagent's meta names it in its source."""
    node: object = meta.get("source")
    for name in ("subagent", "thread_spawn"):
        node = node.get(name) if isinstance(node, dict) else None
    return id_in(node, "parent_thread_id") or id_in(meta, "parent_thread_id")


def _events(path: Path, problems: Problems, first: Entry, lines: Iterator[Entry]) -> Iterator[dict[str, Any]]:
    """The events of a rollout; one that goes on from another of its session begins with the leaf at the end of what it takes over."""
    meta = _meta(first.value)
    rollout = _Rollout(problems, first.value.get("timestamp"))
    base = base_of(meta)
    if base is not None:
        rollout.mark = page_mark(meta)
        before = _before(path, meta, base, {path})
        if before is not None:
            yield rollout.goes_on(before)
        elif id_in(meta, "forked_from_id") is None:
            problems.note(first.number, f"the rollout {quoted(base.rollout_id)} is not there; what goes on from it follows what is stored")
    yield from rollout.events(first, lines)


def _before(path: Path, meta: dict[str, Any], base: Base, passed: set[Path]) -> "_Rollout | None":
    """The rollout that another goes on from, read up to there; None where there is none of this session."""
    found = rollout_of(path, base.rollout_id)
    if found is None or found in passed or len(passed) > MOST_PAGES:
        return None
    unheard = Problems()
    lines = entries(found, unheard)
    try:
        first = _first_of_ours(lines, unheard, found)
    except UnknownFormat:
        return None
    own = _meta(first.value)
    if id_in(own, "id") != id_in(meta, "id"):
        return None
    rollout = _Rollout(unheard, first.value.get("timestamp"))
    above = base_of(own)
    if above is not None:
        rollout.mark = page_mark(own)
        if (before := _before(found, own, above, passed | {found})) is not None:
            rollout.goes_on(before)
    for _ in rollout.events(first, takewhile(lambda entry: not is_beyond(entry, base), lines)):
        pass
    return rollout


@dataclass
class _Rollout:
    """One rollout while it is read: where the next event hangs, and what stood before each of the person's messages.

    mark: what the ids of its lines end with.
    """

    problems: Problems
    started: Any = None
    mark: str = ""
    leaf: str | None = None
    begun: bool = False
    before_turn: list[str | None] = field(default_factory=list)
    shapes: Shapes = field(default_factory=Shapes)

    def __post_init__(self) -> None:
        self.finisher = Finisher(self.problems, self.started)

    def goes_on(self, before: "_Rollout") -> dict[str, Any]:
        """The event that moves the leaf to where the rollout before ended, from which this one goes on."""
        self.leaf, self.before_turn, self.begun = before.leaf, list(before.before_turn), True
        self.finisher.know([before.leaf, *before.before_turn])
        return {"type": "leaf", "id": f"leaf{self.mark}", "targetId": self.leaf, "timestamp": self.started}

    def events(self, first: Entry, lines: Iterator[Entry]) -> Iterator[dict[str, Any]]:
        """The events; a text of an event waits for its item, and what follows it waits with it."""
        pairs = Pairs()
        for said in self._spoken(first, pairs):
            yield from self._placed(said)
        for entry in lines:
            for said in self._spoken(entry, pairs):
                yield from self._placed(said)
        for said in pairs.rest():
            yield from self._placed(said)

    def _spoken(self, entry: Entry, pairs: Pairs) -> Iterator[Spoken]:
        kind, payload = _item(entry.value)
        if not kind:
            if not (_is_old_header(entry.value) or _is_envelope(entry.value)):
                self.problems.skip(entry.number, "not a rollout item")
            return
        time = entry.value.get("timestamp")
        if kind == "response_item":
            yield from self._response_item(entry.number, time, payload, pairs)
        elif kind == "event_msg":
            yield from self._event_msg(entry.number, time, payload, pairs)
        elif kind == "compacted":
            yield from pairs.other(Spoken(entry.number, time, {"type": "compaction", "summary": payload.get("message")}))

    def _response_item(self, number: int, time: Any, payload: dict[str, Any], pairs: Pairs) -> Iterator[Spoken]:
        event = self.shapes.event(payload)
        event_id = id_in(payload, "id")
        role = event.get("message", {}).get("role") if payload.get("type") == "message" and event["type"] == "message" else None
        said = Spoken(number, time, event, event_id=event_id, role=role, text=message_text(event) if role else "")
        yield from pairs.item(said) if role else pairs.other(said)

    def _event_msg(self, number: int, time: Any, payload: dict[str, Any], pairs: Pairs) -> Iterator[Spoken]:
        kind, text = kind_of(payload), payload.get("message")
        if kind in _SPEAKERS and isinstance(text, str) and not is_context(text):
            role = _SPEAKERS[kind]
            block = "input_text" if role == "user" else "output_text"
            event = {"type": "message", "message": {"role": role, "content": [{"type": block, "text": text}]}}
            yield from pairs.event(Spoken(number, time, event, role=role, text=message_text(event)))
        elif kind == "thread_rolled_back":
            turns = payload.get("num_turns")
            if isinstance(turns, int) and not isinstance(turns, bool) and turns > 0:
                yield from pairs.other(Spoken(number, time, {"type": "leaf"}, rolled_back=turns))
            else:
                self.problems.skip(number, "a rollback that names no number of turns")
        elif kind in _TURN_ENDS:
            yield from pairs.rest()

    def _placed(self, said: Spoken) -> Iterator[dict[str, Any]]:
        """The event with its id and its place."""
        own = said.event_id
        event_id = own if own and own not in self.finisher else line_id(said.number) + self.mark
        event = {**said.event, "id": event_id, "timestamp": said.time}
        if said.rolled_back:
            self.leaf = self._leaf_before(said.rolled_back)
            event["targetId"] = self.leaf
        elif self.begun:  # the first claims no root: where a session goes on in a second file, it follows what is stored
            event["parentId"] = self.leaf
        finished = self.finisher.finish(said.number, event)
        if finished is None:
            return
        self.begun = True
        if not said.rolled_back:
            if said.role == "user":
                self.before_turn.append(self.leaf)
            self.leaf = finished["id"]
        yield finished

    def _leaf_before(self, turns: int) -> str | None:
        first = max(0, len(self.before_turn) - turns)
        leaf = self.before_turn[first] if first < len(self.before_turn) else self.leaf
        del self.before_turn[first:]
        return leaf
