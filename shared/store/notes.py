"""What is remembered of an imported transcript beside its events: where its source had its leaf, what it was forked from, and whether it
may still begin with copies of that.

None is truth of a session nor projection: where a note is missing, the next import takes the source's leaf, and copies stay.
"""

import sqlite3

ONE = "SELECT value FROM meta WHERE name = :name"
KEEP = "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
FORGET = "DELETE FROM meta WHERE name = :name"
FORKS = """
    SELECT t.transcript_no, t.session_id
    FROM meta AS m
    CROSS JOIN transcripts AS t ON t.transcript_no = CAST(m.value AS INTEGER)
    WHERE m.name >= :prefix AND m.name < :prefix || ':'        -- digits follow; the cost is that of the forks of this one session
      AND m.name = :prefix || m.value                          -- and not of one whose id begins with this one's
    ORDER BY t.transcript_no
"""
_LEAF, _ORIGIN = "source leaf ", "forked from "


def source_leaf(conn: sqlite3.Connection, transcript_no: int) -> str | None:
    """The id of the source's leaf when it was last imported, "" for an empty branch; None where that was not kept."""
    row = conn.execute(ONE, {"name": f"{_LEAF}{transcript_no}"}).fetchone()
    return str(row[0]) if row else None


def keep_source_leaf(conn: sqlite3.Connection, transcript_no: int, leaf: str) -> None:
    conn.execute(KEEP, {"name": f"{_LEAF}{transcript_no}", "value": leaf})


def origin(conn: sqlite3.Connection, transcript_no: int) -> str | None:
    """The session id of what the transcript was forked from."""
    row = conn.execute(ONE, {"name": f"{_ORIGIN}{transcript_no}"}).fetchone()
    return str(row[0]) if row else None


def keep_origin(conn: sqlite3.Connection, transcript_no: int, session_id: str, *, copied: bool) -> None:
    """The transcript was forked from this one. copied: which was not stored then, so that it may begin with copies."""
    conn.execute(KEEP, {"name": f"{_ORIGIN}{transcript_no}", "value": session_id})
    if copied:
        conn.execute(KEEP, {"name": f"{_copied(session_id)}{transcript_no}", "value": str(transcript_no)})


def forget_copies(conn: sqlite3.Connection, transcript_no: int) -> None:
    """The transcript holds its own events alone."""
    conn.execute(FORGET, {"name": f"{_copied(origin(conn, transcript_no) or '')}{transcript_no}"})


def forks_of(conn: sqlite3.Connection, session_id: str) -> list[tuple[int, str]]:
    """Numbers and session ids of the transcripts that may still begin with copies of this one."""
    return conn.execute(FORKS, {"prefix": _copied(session_id)}).fetchall()


def forget_notes(conn: sqlite3.Connection, transcript_no: int) -> None:
    """Nothing is remembered of the transcript."""
    forget_copies(conn, transcript_no)
    conn.executemany(FORGET, [{"name": f"{prefix}{transcript_no}"} for prefix in (_LEAF, _ORIGIN)])


def _copied(session_id: str) -> str:
    return f"copied from {session_id} by "
