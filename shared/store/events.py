"""Rows of the events and their places in the tree."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.branch import ROOT, Node
from shared.store.lists import in_texts

_NODE_COLUMNS = "seq, parent_seq, jump_seq, depth, reset_depth, said"
NODE_BY_SEQ = f"SELECT {_NODE_COLUMNS} FROM events WHERE transcript_no = ? AND seq = ? AND parent_seq IS NOT NULL"
NODE_BY_ID = f"SELECT {_NODE_COLUMNS} FROM events WHERE transcript_no = ? AND event_id = ? AND parent_seq IS NOT NULL"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be stored; node is None when it does not stand in the tree."""

    seq: int
    event_id: str | None
    kind: str
    role: str | None
    time_ms: int
    stored_ms: int
    node: Node | None
    payload: str


def node_fetcher(conn: sqlite3.Connection, transcript_no: int) -> Callable[[int], Node]:
    """seq to node; ROOT for 0, for an event that is gone and for one that is no node."""

    def fetch(seq: int) -> Node:
        row = conn.execute(NODE_BY_SEQ, (transcript_no, seq)).fetchone() if seq else None
        return Node(*row) if row else ROOT

    return fetch


def find_node(conn: sqlite3.Connection, transcript_no: int, event_id: str) -> Node | None:
    """The node of an event id; None when the id is unknown or no node."""
    row = conn.execute(NODE_BY_ID, (transcript_no, event_id)).fetchone()
    return Node(*row) if row else None


def known_payloads(conn: sqlite3.Connection, transcript_no: int, event_ids: Iterable[str]) -> dict[str, tuple[int, str]]:
    """For each of these ids that is stored: its seq and payload."""
    named, values = in_texts(event_ids)
    rows = conn.execute(
        f"SELECT event_id, seq, payload FROM events WHERE transcript_no = :transcript_no AND event_id {named}",
        {"transcript_no": transcript_no, **values},
    )
    return {event_id: (seq, payload) for event_id, seq, payload in rows}


INSERT_EVENT = """
    INSERT INTO events (transcript_no, seq, event_id, kind, role, time_ms, stored_ms,
                        parent_seq, jump_seq, depth, reset_depth, said, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def insert_events(conn: sqlite3.Connection, transcript_no: int, new: Iterable[NewEvent]) -> None:
    conn.executemany(INSERT_EVENT, (_row(transcript_no, event) for event in new))


def _row(transcript_no: int, event: NewEvent) -> tuple[object, ...]:
    node = event.node
    place = (node.parent_seq, node.jump_seq, node.depth, node.reset_depth, node.said) if node else (None, 0, 0, 0, 0)
    return (
        transcript_no, event.seq, event.event_id, event.kind, event.role, event.time_ms, event.stored_ms, *place, event.payload,
    )  # fmt: skip


# The branch from the leaf up to, and without, a depth. The walk stops by itself at a root, at a gap, and where depth does not fall.
PATH = """
    WITH RECURSIVE path (seq, depth, parent_seq) AS (
        SELECT seq, depth, parent_seq FROM events
        WHERE transcript_no = :transcript_no AND seq = :leaf_seq AND parent_seq IS NOT NULL AND depth > :above
        UNION ALL
        SELECT e.seq, e.depth, e.parent_seq
        FROM path JOIN events AS e ON e.transcript_no = :transcript_no AND e.seq = path.parent_seq
        WHERE e.parent_seq IS NOT NULL AND e.depth > :above AND e.depth < path.depth
    )
    SELECT seq FROM path ORDER BY depth
"""


def branch_beyond(conn: sqlite3.Connection, transcript_no: int, leaf: Node, depth: int) -> list[int]:
    """The seqs of the active branch deeper than `depth`, from the root's side to the leaf."""
    return [row[0] for row in conn.execute(PATH, {"transcript_no": transcript_no, "leaf_seq": leaf.seq, "above": depth})]
