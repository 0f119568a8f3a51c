"""Reading a branch page by page, from the events alone: what history shows does not wait for the projection."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from shared.branch import Node, ancestor
from shared.store.events import node_fetcher

CHUNK = 64  # events a step of a walk

UP = """
    WITH RECURSIVE path (seq, parent_seq, depth, step) AS (
        SELECT seq, parent_seq, depth, 1 FROM events
        WHERE transcript_no = :transcript_no AND seq = :seq AND parent_seq IS NOT NULL
        UNION ALL
        SELECT e.seq, e.parent_seq, e.depth, path.step + 1
        FROM path JOIN events AS e ON e.transcript_no = :transcript_no AND e.seq = path.parent_seq
        WHERE path.step < :limit AND e.parent_seq IS NOT NULL AND e.depth < path.depth
    )
    SELECT path.seq, path.parent_seq, path.depth, e.event_id, e.role, e.time_ms,
           CASE WHEN e.kind = 'message' THEN e.payload END
    FROM path JOIN events AS e ON e.transcript_no = :transcript_no AND e.seq = path.seq
    ORDER BY path.step
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a branch. payload: None for what is no message."""

    seq: int
    parent_seq: int
    depth: int
    event_id: str
    role: str | None
    time_ms: int
    payload: str | None


def upwards(conn: sqlite3.Connection, transcript_no: int, seq: int) -> Iterator[Step]:
    """The events from seq towards the root, itself included."""
    depth = None
    while seq:
        chunk = [Step(*row) for row in conn.execute(UP, {"transcript_no": transcript_no, "seq": seq, "limit": CHUNK})]
        if not chunk or (depth is not None and chunk[0].depth >= depth):
            return
        yield from chunk
        seq, depth = chunk[-1].parent_seq, chunk[-1].depth


def downwards(conn: sqlite3.Connection, transcript_no: int, leaf: Node, depth: int) -> Iterator[Step]:
    """The events of the leaf's branch deeper than `depth`, towards the leaf."""
    fetch = node_fetcher(conn, transcript_no)
    while depth < leaf.depth:
        far = ancestor(leaf, min(leaf.depth, depth + CHUNK), fetch)
        chunk = _up_to(conn, transcript_no, far, depth)
        if not chunk:
            return
        yield from reversed(chunk)
        depth = far.depth


def _up_to(conn: sqlite3.Connection, transcript_no: int, start: Node, depth: int) -> list[Step]:
    limit = start.depth - depth
    rows = conn.execute(UP, {"transcript_no": transcript_no, "seq": start.seq, "limit": limit})
    return [step for step in (Step(*row) for row in rows) if step.depth > depth]
