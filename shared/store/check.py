"""What verify asks of one agent's database."""

import sqlite3

from shared.store.owed import Row, rows_beyond


def all_transcripts(conn: sqlite3.Connection) -> list[str]:
    return [row[0] for row in conn.execute("SELECT session_id FROM transcripts ORDER BY transcript_no")]


def session_key(conn: sqlite3.Connection, session_no: int) -> str:
    row = conn.execute("SELECT session_key FROM sessions WHERE session_no = ?", (session_no,)).fetchone()
    return row[0] if row else ""


def quick_check(conn: sqlite3.Connection) -> str | None:
    """SQLite's own first complaint about the file; None when it has none."""
    row = conn.execute("PRAGMA quick_check(1)").fetchone()
    return None if row is None or row[0] == "ok" else str(row[0]).splitlines()[0]


def rows_of(conn: sqlite3.Connection, transcript_no: int) -> tuple[dict[int, Row], list[Row]]:
    """The rows of a transcript by seq, and those that are one too many for theirs."""
    rows: dict[int, Row] = {}
    return rows, [row for row in rows_beyond(conn, transcript_no, -1) if rows.setdefault(row.seq, row) is not row]


ORPHANS = """
    SELECT (SELECT count(*) FROM messages AS m WHERE NOT EXISTS (SELECT 1 FROM transcripts AS t WHERE t.transcript_no = m.transcript_no))
         + (SELECT count(*) FROM message_index_content AS c WHERE NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.message_no = c.id))
"""


def orphans(conn: sqlite3.Connection) -> int:
    """Rows of the projection that belong to no transcript."""
    return int(conn.execute(ORPHANS).fetchone()[0])


def finds(conn: sqlite3.Connection, message_no: int, session_no: int, token: str | None) -> bool:
    """Whether the inverted index itself, not only its copy of the text, leads from the session and a word to the row."""
    match = f"session : s{session_no}"
    if token is not None:
        match += ' AND text : "' + token.replace('"', '""') + '"'
    row = conn.execute("SELECT 1 FROM message_index WHERE message_index MATCH ? AND rowid = ?", (match, message_no)).fetchone()
    return row is not None
