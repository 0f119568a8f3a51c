"""Statements on batches: one order to reindex, its jobs and how far they are. The counts are kept by triggers on the jobs."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class Batch:
    """One order. open, done, failed and cancelled count its jobs; ordered: all of them are in the queue."""

    id: str
    scope: str
    created_at_ms: int
    touched_at_ms: int
    ordered: bool
    sessions: int
    open: int
    done: int
    failed: int
    cancelled: int
    ended_at_ms: int | None


_COLUMNS = "id, scope, created_at_ms, touched_at_ms, ordered, sessions, open, done, failed, cancelled, ended_at_ms"
ONE = f"SELECT {_COLUMNS} FROM batches WHERE id = :id"
LIVE = f"SELECT {_COLUMNS} FROM batches WHERE scope = :scope AND ended_at_ms IS NULL"
NEWEST = f"SELECT {_COLUMNS} FROM batches ORDER BY id DESC LIMIT :limit"


def batch(conn: sqlite3.Connection, batch_id: str) -> Batch | None:
    """The batch of this id."""
    return _batch(conn.execute(ONE, {"id": batch_id}).fetchone())


def live_batch(conn: sqlite3.Connection, scope: str) -> Batch | None:
    """The batch of this scope that has not ended; the unique index allows one."""
    return _batch(conn.execute(LIVE, {"scope": scope}).fetchone())


def newest_batches(conn: sqlite3.Connection, limit: int) -> list[Batch]:
    """The newest batches, newest first."""
    return [found for row in conn.execute(NEWEST, {"limit": limit}) if (found := _batch(row))]


def _batch(row: tuple[str, str, int, int, int, int, int, int, int, int, int | None] | None) -> Batch | None:
    return Batch(row[0], row[1], row[2], row[3], bool(row[4]), *row[5:]) if row else None


ADD = "INSERT INTO batches (id, scope, created_at_ms, touched_at_ms) VALUES (:id, :scope, :now_ms, :now_ms)"
TOUCH = "UPDATE batches SET touched_at_ms = :now_ms WHERE id = :id"
TAKE_OVER = "UPDATE batches SET touched_at_ms = :now_ms WHERE id = :id AND touched_at_ms = :seen_ms AND ordered = 0 AND ended_at_ms IS NULL"
ORDERED = "UPDATE batches SET ordered = 1, ended_at_ms = CASE WHEN open = 0 THEN :now_ms END WHERE id = :id AND ended_at_ms IS NULL"
CLOSE_SILENT = """
    UPDATE batches
    SET ordered = 1, ended_at_ms = CASE WHEN open = 0 THEN :now_ms END
    WHERE ordered = 0 AND ended_at_ms IS NULL AND touched_at_ms < :before_ms
"""
FORGET = "DELETE FROM batches WHERE ended_at_ms < :before_ms"


def add_batch(conn: sqlite3.Connection, batch_id: str, scope: str, now_ms: int) -> None:
    """The batch is there and its ordering has begun."""
    conn.execute(ADD, {"id": batch_id, "scope": scope, "now_ms": now_ms})


def touch(conn: sqlite3.Connection, batch_id: str, now_ms: int) -> None:
    """Whoever orders the batch is alive."""
    conn.execute(TOUCH, {"id": batch_id, "now_ms": now_ms})


def take_over(conn: sqlite3.Connection, found: Batch, now_ms: int) -> bool:
    """Whether the ordering that stopped half-way is now the caller's to finish; of several that ask, one gets it."""
    return bool(conn.execute(TAKE_OVER, {"id": found.id, "seen_ms": found.touched_at_ms, "now_ms": now_ms}).rowcount)


def all_ordered(conn: sqlite3.Connection, batch_id: str, now_ms: int) -> None:
    """No more jobs come; a batch whose jobs have all ended by now ends too."""
    conn.execute(ORDERED, {"id": batch_id, "now_ms": now_ms})


def close_silent(conn: sqlite3.Connection, before_ms: int, now_ms: int) -> int:
    """Batches whose ordering stopped before then get no more jobs, so that they end; how many. What they lack stays owed."""
    return conn.execute(CLOSE_SILENT, {"before_ms": before_ms, "now_ms": now_ms}).rowcount


def forget_batches(conn: sqlite3.Connection, before_ms: int) -> int:
    """Batches that ended before then are gone; how many."""
    return conn.execute(FORGET, {"before_ms": before_ms}).rowcount
