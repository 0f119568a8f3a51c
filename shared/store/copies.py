"""What a stored transcript holds, event by event; for recognising its events where another session's file begins with copies of them."""

import sqlite3
from collections.abc import Iterator

_CHUNK = 500

PAYLOADS = """
    SELECT seq, payload
    FROM events
    WHERE transcript_no = :transcript_no AND seq > :after
    ORDER BY seq
    LIMIT :limit
"""


def payloads(conn: sqlite3.Connection, transcript_no: int) -> Iterator[str]:
    """The payloads of a transcript in their order; read in pieces, so that no statement stays open in between."""
    after = 0
    while rows := conn.execute(PAYLOADS, {"transcript_no": transcript_no, "after": after, "limit": _CHUNK}).fetchall():
        yield from (payload for _, payload in rows)
        after = rows[-1][0]
