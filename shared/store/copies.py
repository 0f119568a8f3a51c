"""What a stored transcript holds, event by event; for recognising its events where another session's file begins with copies of them."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping

_CHUNK = 500

PAYLOADS = """
    SELECT seq, payload
    FROM events
    WHERE transcript_no = :transcript_no AND seq > :after
    ORDER BY seq
    LIMIT :limit
"""
REWRITE = "UPDATE events SET payload = :payload WHERE transcript_no = :transcript_no AND event_id = :event_id"
REMOVE = "DELETE FROM events WHERE transcript_no = :transcript_no AND event_id = :event_id"
EMPTY = "UPDATE transcripts SET leaf_id = NULL WHERE transcript_no = :transcript_no AND leaf_id = :event_id"


def payloads(conn: sqlite3.Connection, transcript_no: int) -> Iterator[str]:
    """The payloads of a transcript in their order; read in pieces, so that no statement stays open in between."""
    after = 0
    while rows := conn.execute(PAYLOADS, {"transcript_no": transcript_no, "after": after, "limit": _CHUNK}).fetchall():
        yield from (payload for _, payload in rows)
        after = rows[-1][0]


def remove_copies(conn: sqlite3.Connection, transcript_no: int, copied: Iterable[str], rehung: Mapping[str, str]) -> None:
    """These events are gone and those have other payloads; as after another program's write, the reconcile works the tree out again."""
    of = {"transcript_no": transcript_no}
    conn.executemany(REWRITE, [{**of, "event_id": event_id, "payload": payload} for event_id, payload in rehung.items()])
    gone = [{**of, "event_id": event_id} for event_id in copied]
    conn.executemany(EMPTY, gone)
    conn.executemany(REMOVE, gone)
