"""Statements that keep an agent's files small and clean: index segments merged, write-ahead logs cut back.

Deleted words stay in the pages of a full-text index until its segments are merged. A negative page count begins to merge all of
them into one, and each further call goes on where the last stopped (FTS5 manual, "The 'merge' Command"); `optimize` would do
the same in one long write.
"""

import sqlite3

MERGE_PAGES = 64  # a step of about 10 ms
MERGE = "INSERT INTO message_index (message_index, rank) VALUES ('merge', :pages)"
WRITE_BACK = "PRAGMA wal_checkpoint(PASSIVE)"
CUT = "PRAGMA wal_checkpoint(TRUNCATE)"


def merge_step(conn: sqlite3.Connection, *, begin: bool) -> bool:
    """One short step of a merge, inside the caller's transaction; whether there was anything to do. begin: take in every segment."""
    before = conn.total_changes
    conn.execute(MERGE, {"pages": -MERGE_PAGES if begin else MERGE_PAGES})
    return conn.total_changes - before > 1  # the statement itself counts as one


def cut_log(conn: sqlite3.Connection) -> bool:
    """Whether the write-ahead log is empty now. Nobody waits for it: what readers still hold is left for the next time."""
    _, pages, written = conn.execute(WRITE_BACK).fetchone()
    if pages != written:
        return False
    waits_ms = conn.execute("PRAGMA busy_timeout").fetchone()[0]
    conn.execute("PRAGMA busy_timeout = 0")  # TRUNCATE would hold up writers for as long as it waits for readers
    try:
        busy, _, _ = conn.execute(CUT).fetchone()
        return not busy
    finally:
        conn.execute(f"PRAGMA busy_timeout = {waits_ms}")
