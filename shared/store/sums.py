"""Counts and lists of what is owed in one agent's database, for operators and the sweep."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """Sessions by how they stand; failed ones are parked, and not counted as pending."""

    sessions: int
    pending: int
    failed: int
    index_bytes: int


PENDING_BY_SESSION = """
    SELECT count(*), coalesce(sum(parked), 0)
    FROM (SELECT max(parked) AS parked FROM index_state INDEXED BY index_state_owed WHERE pending_reason IS NOT NULL GROUP BY session_no)
"""


def count_sessions(conn: sqlite3.Connection) -> Counts:
    """How many sessions there are, how many are pending and parked, and what the index takes on disk (bytes)."""
    sessions = int(conn.execute("SELECT count(*) FROM sessions").fetchone()[0])
    owing, failed = conn.execute(PENDING_BY_SESSION).fetchone()
    return Counts(sessions, owing - failed, failed, _index_bytes(conn))


def _index_bytes(conn: sqlite3.Connection) -> int:
    """The segments of the full-text index; the newest are a few pages that this does not wait for."""
    row = conn.execute("SELECT coalesce(sum(length(block)), 0) FROM message_index_data").fetchone()
    return int(row[0])


LONGEST_PAUSE_MS = 600_000  # no pause after a failure is longer: one that ends later was begun before the clock was set back
RETRY_DUE = f"(i.retry_at_ms <= :now_ms OR i.retry_at_ms > :now_ms + {LONGEST_PAUSE_MS})"
DUE_KEYS = f"""
    SELECT s.session_key
    FROM sessions AS s
    WHERE s.session_no IN (
        SELECT i.session_no FROM index_state AS i INDEXED BY index_state_owed
        WHERE i.pending_reason IS NOT NULL AND (:include_parked OR (i.parked = 0 AND {RETRY_DUE}))
    ) AND (:since_ms IS NULL OR s.stored_at_ms >= :since_ms)
    ORDER BY s.updated_at_ms DESC, s.session_key
    LIMIT :limit
"""


def due_keys(conn: sqlite3.Connection, *, limit: int, now_ms: int, since_ms: int | None, include_parked: bool) -> list[str]:
    """Keys of sessions with work that is due, most recently used first."""
    values = {"limit": limit, "now_ms": now_ms, "since_ms": since_ms, "include_parked": include_parked}
    return [row[0] for row in conn.execute(DUE_KEYS, values)]


def parked(conn: sqlite3.Connection, limit: int, session_key: str | None = None) -> list[tuple[str, str, int]]:
    """(session key, error, attempts) of parked sessions; session_key: of this one only."""
    return conn.execute(
        """
        SELECT s.session_key, coalesce(i.error, ''), i.attempts
        FROM index_state AS i JOIN sessions AS s USING (session_no)
        WHERE i.pending_reason IS NOT NULL AND i.parked = 1 AND (:key IS NULL OR s.session_key = :key)
        ORDER BY s.session_key LIMIT :limit
        """,
        {"limit": limit, "key": session_key},
    ).fetchall()


def park(conn: sqlite3.Connection, session_key: str, error: str) -> int:
    """What the session owes is not tried again until somebody asks, or it changes; how many transcripts that were."""
    return conn.execute(
        """
        UPDATE index_state SET parked = 1, error = :error
        WHERE pending_reason IS NOT NULL AND parked = 0
          AND session_no = (SELECT session_no FROM sessions WHERE session_key = :key)
        """,
        {"key": session_key, "error": error},
    ).rowcount


def unpark(conn: sqlite3.Connection, session_key: str | None) -> int:
    """Parked sessions are due at once; how many transcripts that were."""
    return conn.execute(
        """
        UPDATE index_state SET parked = 0, attempts = 0, retry_at_ms = 0
        WHERE pending_reason IS NOT NULL AND parked = 1
          AND (:key IS NULL OR session_no = (SELECT session_no FROM sessions WHERE session_key = :key))
        """,
        {"key": session_key},
    ).rowcount


def oldest_owed_ms(conn: sqlite3.Connection) -> int | None:
    row = conn.execute("SELECT min(pending_since_ms) FROM index_state WHERE pending_reason IS NOT NULL AND parked = 0").fetchone()
    return row[0] if row else None
