"""What another program wrote into an agent's database is taken over: its events get their place in the tree.

The triggers have noticed it (migrations/agent/0001); here the columns that follow from the payloads are worked out again. A payload
that cannot be understood keeps the place it had; its session is parked by the reconcile that has to read it.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shared import jsontext, searchable
from shared.branch import ROOT, Node, child_of
from shared.errors import BadRequest
from shared.growth import Growth
from shared.store import events, projection
from shared.store.sessions import Transcript, grow_transcript, leaf_node, touch_session
from shared.transcript import ABSENT, Event, read_event

UNREADABLE = "unreadable"  # kind of an event from outside that was never understood
ADDED, CHANGED, FILLED = 1, 2, 3  # index_state.foreign_writes


def take_over(conn: sqlite3.Connection, transcript: Transcript, now_ms: int) -> Transcript:
    """The transcript, ready for a verb: what was added from outside has its place; what was only changed is left to the reconcile."""
    state = projection.read_state(conn, transcript.transcript_no)
    if state is None or not state.foreign_writes:
        return transcript
    leaf_is_gone = transcript.leaf_id is not None and leaf_node(conn, transcript) is ROOT
    whole = leaf_is_gone or state.foreign_writes == FILLED
    return rework(conn, transcript, now_ms) if whole else _place_added(conn, transcript, now_ms)


def rework(conn: sqlite3.Connection, transcript: Transcript, now_ms: int) -> Transcript:
    """Works out the whole tree again, in the order of storing; the transcript as it is then."""
    tree = _Tree(conn, transcript, now_ms)
    return tree.store()


def says(payload: dict[str, object], role: str | None) -> bool:
    """Whether an event is a message with text that search may find."""
    return role in ("user", "assistant") and bool(searchable.message_text(payload))


@dataclass(frozen=True, slots=True)
class _Row:
    """An event as it is stored; event is None when the payload cannot be understood.

    placed: its place was worked out before; edited: since then its payload was, by more than its text.
    """

    seq: int
    event_id: str | None
    parent_seq: int | None
    placed: bool
    edited: bool
    time_ms: int
    stored_ms: int
    event: Event | None
    said: bool


def _rows(conn: sqlite3.Connection, transcript_no: int, after: int) -> Iterator[_Row]:
    found = conn.execute(
        """
        SELECT seq, event_id, parent_seq, kind, jump_seq, time_ms, stored_ms, payload FROM events
        WHERE transcript_no = ? AND seq > ? ORDER BY seq
        """,
        (transcript_no, after),
    )
    for seq, event_id, parent_seq, kind, jump_seq, time_ms, stored_ms, payload in found:
        event = _event(payload, event_id, seq)
        placed = parent_seq is not None or kind not in ("", UNREADABLE)
        said = event is not None and says(event.payload, event.role)
        yield _Row(seq, event_id, parent_seq, placed, jump_seq < 0, time_ms, stored_ms, event, said)


def _event(payload: str, event_id: str | None, seq: int) -> Event | None:
    """The event of a stored payload; one without an id keeps the id it has, or gets a stable one."""
    try:
        value = jsontext.loads(payload)
        event = read_event(value) if isinstance(value, dict) else None
    except (jsontext.BadJson, BadRequest):
        return None
    if event is not None and event.id is None and event.kind == "message":
        return replace(event, id=event_id or f"seq-{seq}")
    return event


UPDATE_EVENT = """
    UPDATE events
    SET event_id = :event_id, kind = :kind, role = :role, time_ms = :time_ms, stored_ms = :stored_ms,
        parent_seq = :parent_seq, jump_seq = :jump_seq, depth = :depth, reset_depth = :reset_depth, said = :said
    WHERE transcript_no = :transcript_no AND seq = :seq
"""


def _write(conn: sqlite3.Connection, transcript_no: int, row: _Row, node: Node | None, event_id: str | None, now_ms: int) -> None:
    event = row.event
    stored_ms = min(row.stored_ms or now_ms, now_ms)
    values = {
        "transcript_no": transcript_no,
        "seq": row.seq,
        "event_id": event_id,
        "kind": event.kind if event else UNREADABLE,
        "role": event.role if event else None,
        "time_ms": event.time_ms if event and event.time_ms is not None else row.time_ms or stored_ms,
        "stored_ms": stored_ms,
        "parent_seq": node.parent_seq if node else None,
        "jump_seq": node.jump_seq if node else 0,
        "depth": node.depth if node else 0,
        "reset_depth": node.reset_depth if node else 0,
        "said": node.said if node else 0,
    }
    conn.execute(UPDATE_EVENT, values)


def _place_added(conn: sqlite3.Connection, transcript: Transcript, now_ms: int) -> Transcript:
    """Events beyond last_seq get their place, in order."""
    number = transcript.transcript_no
    growth = Growth(
        leaf_node(conn, transcript), transcript.leaf_id, transcript.generation,
        events.node_fetcher(conn, number), lambda event_id: events.find_node(conn, number, event_id),
    )  # fmt: skip
    last_seq = transcript.last_seq
    for row in list(_rows(conn, number, transcript.last_seq)):
        node = None
        event_id = row.event.id if row.event else row.event_id
        if event_id is not None and _taken(conn, number, event_id, row.seq):
            event_id = None
        elif row.event is not None:
            node = growth.add(row.event, row.seq, said=row.said)
        _write(conn, number, row, node, event_id, now_ms)
        last_seq = row.seq
    return _grown(conn, transcript, growth, last_seq, ADDED, now_ms)


def _taken(conn: sqlite3.Connection, transcript_no: int, event_id: str, seq: int) -> bool:
    row = conn.execute("SELECT seq FROM events WHERE transcript_no = ? AND event_id = ?", (transcript_no, event_id)).fetchone()
    return row is not None and row[0] != seq


def _grown(conn: sqlite3.Connection, transcript: Transcript, growth: Growth, last_seq: int, done: int, now_ms: int) -> Transcript:
    """Stores leaf and extent; the foreign writes of the kind `done` are taken over."""
    number = transcript.transcript_no
    touch_session(conn, transcript.session_no, now_ms, used_ms=0)
    moved = len(growth.moves) + 1  # what is computed meanwhile is stale
    grow_transcript(conn, number, leaf_id=growth.leaf_id, last_seq=last_seq, generation=growth.generation, moved=moved)
    for generation, agreed in growth.moves:
        projection.note_move(conn, number, generation, agreed)
    conn.execute("UPDATE index_state SET foreign_writes = 0 WHERE transcript_no = ? AND foreign_writes <= ?", (number, done))
    return replace(
        transcript, leaf_id=growth.leaf_id, last_seq=last_seq, generation=growth.generation, moves=transcript.moves + moved
    )


def _way_up(seq: int, parents: dict[int, int], nodes: dict[int, Node], unreachable: set[int]) -> list[int]:
    """The events from seq up to the first that is placed, or is known to be unreachable, or closes a cycle."""
    chain: dict[int, None] = {}
    while seq not in nodes and seq not in unreachable and seq not in chain:
        chain[seq] = None
        seq = parents[seq]
    return list(chain)


class _Tree:
    """The whole tree of one transcript, worked out in memory: a few integers an event."""

    def __init__(self, conn: sqlite3.Connection, transcript: Transcript, now_ms: int) -> None:
        self._conn, self._transcript, self._now_ms = conn, transcript, now_ms
        self._rows: list[_Row] = []
        self._ids: dict[str, int] = {}
        self._own_id: dict[int, str] = {}
        for row in _rows(conn, transcript.transcript_no, 0):
            event_id = row.event.id if row.event else row.event_id
            if event_id is not None and self._ids.setdefault(event_id, row.seq) == row.seq:
                self._own_id[row.seq] = event_id
            self._rows.append(row if row.event is None else replace(row, event=replace(row.event, payload={})))
        below = {row.parent_seq for row in self._rows}  # what replaced an event takes its place
        self._new = {row.seq for row in self._rows if row.seq > transcript.last_seq or not (row.placed or row.seq in below)}
        self._nodes = self._placed([row for row in self._rows if row.seq not in self._new])

    def _placed(self, old: list[_Row]) -> dict[int, Node]:
        """Nodes of the events that had a place; those on a cycle or below one get none."""
        in_tree = {row.seq for row in old if self._is_node(row)}
        parents = {row.seq: self._parent(row, in_tree) for row in old if row.seq in in_tree}
        facts = {row.seq: row for row in old}
        nodes: dict[int, Node] = {0: ROOT}
        unreachable: set[int] = set()
        for seq in parents:
            chain = _way_up(seq, parents, nodes, unreachable)
            if chain and parents[chain[-1]] not in nodes:
                unreachable.update(chain)
                continue
            for below in reversed(chain):
                row = facts[below]
                reset = row.event is not None and row.event.kind == "reset"
                nodes[below] = child_of(nodes[parents[below]], below, lambda s: nodes.get(s, ROOT), reset=reset, said=row.said)
        return nodes

    def _is_node(self, row: _Row) -> bool:
        if row.seq not in self._own_id:
            return False
        return row.event.node if row.event is not None else row.parent_seq is not None

    def _parent(self, row: _Row, in_tree: set[int]) -> int:
        """The payload's parent where there was one when the event came; else the place the event had; the root where that is gone."""
        named = row.event.parent_id if row.event is not None else ABSENT
        if named is None:
            return 0
        if isinstance(named, str) and (seq := self._ids.get(named)) in in_tree and seq is not None and (seq < row.seq or row.edited):
            return seq
        if row.parent_seq is None:
            return max((seq for seq in in_tree if seq < row.seq), default=0)
        return row.parent_seq if row.parent_seq in in_tree else 0

    def store(self) -> Transcript:
        """Writes every event's place; the transcript with its leaf, which follows what was added from outside."""
        conn, number = self._conn, self._transcript.transcript_no
        conn.execute("UPDATE transcripts SET last_seq = 0 WHERE transcript_no = ?", (number,))  # see the trigger events_updated
        conn.execute("UPDATE events SET event_id = NULL WHERE transcript_no = ?", (number,))  # ids may have been exchanged
        growth = self._growth()
        if any(self._parent_seq(row) != row.parent_seq for row in self._rows if row.seq not in self._new):
            growth.uproot()
        for row in self._rows:
            node = self._nodes.get(row.seq)
            if row.seq in self._new and row.event is not None and (row.event.id is None or row.seq in self._own_id):
                node = growth.add(row.event, row.seq, said=row.said)
            _write(conn, number, row, node, self._own_id.get(row.seq), self._now_ms)
        leaf_id = self._transcript.leaf_id
        if leaf_id is not None and self._ids.get(leaf_id) in self._new and (named := growth.find(leaf_id)) is not None:
            growth.move_to(named, leaf_id)
        return _grown(conn, self._transcript, growth, max((row.seq for row in self._rows), default=0), FILLED, self._now_ms)

    def _parent_seq(self, row: _Row) -> int | None:
        node = self._nodes.get(row.seq)
        return node.parent_seq if node else None

    def _growth(self) -> Growth:
        leaf_id = self._transcript.leaf_id
        leaf = self._nodes.get(self._ids.get(leaf_id, -1)) if leaf_id is not None else ROOT
        if leaf is None:  # the leaf itself is gone, new, or on a cycle
            on_cycle = self._ids.get(leaf_id or "", 0) not in {0, *self._new}
            leaf, leaf_id = (ROOT, leaf_id) if on_cycle else self._last_leaf()
        return Growth(leaf, leaf_id, self._transcript.generation, lambda seq: self._nodes.get(seq, ROOT), self._find)

    def _last_leaf(self) -> tuple[Node, str | None]:
        for row in reversed(self._rows):
            if row.seq in self._nodes and not (row.event is not None and row.event.side):
                return self._nodes[row.seq], self._own_id.get(row.seq)
        return ROOT, None

    def _find(self, event_id: str) -> Node | None:
        return self._nodes.get(self._ids.get(event_id, -1))
