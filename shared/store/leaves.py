"""Where a source that is rewritten in place had its leaf when it was last imported.

What moved the leaf here since, a rewind or an append, is told from what moved it there by this alone. It is no truth of a session and no
projection: where it is missing, the next import takes the source's leaf.
"""

import sqlite3

ONE = "SELECT value FROM meta WHERE name = :name"
KEEP = "INSERT INTO meta (name, value) VALUES (:name, :leaf) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
FORGET = "DELETE FROM meta WHERE name = :name"


def source_leaf(conn: sqlite3.Connection, transcript_no: int) -> str | None:
    """The id of the source's leaf, "" for an empty branch; None where none was kept."""
    row = conn.execute(ONE, {"name": _name(transcript_no)}).fetchone()
    return str(row[0]) if row else None


def keep_source_leaf(conn: sqlite3.Connection, transcript_no: int, leaf: str) -> None:
    conn.execute(KEEP, {"name": _name(transcript_no), "leaf": leaf})


def forget_source_leaf(conn: sqlite3.Connection, transcript_no: int) -> None:
    conn.execute(FORGET, {"name": _name(transcript_no)})


def _name(transcript_no: int) -> str:
    return f"source leaf {transcript_no}"
