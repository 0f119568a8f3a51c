"""What the reconcile of one transcript reads and writes; every write checks that its snapshot still holds."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared import jsontext
from shared.branch import Node
from shared.errors import LeaseLost
from shared.store import events, projection
from shared.store.projection import NewMessage, State
from shared.store.sessions import Transcript, find_session, leaf_node, transcripts_of
from shared.store.workers import AHEAD_MS

MAX_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `messages` as it stands."""

    message_no: int
    seq: int
    position: int
    role: str
    session_no: int
    hidden: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pending transcript at one moment. path: seqs of the branch beyond `done`; rows: those beyond it."""

    transcript: Transcript
    state: State
    leaf: Node
    done: int
    path: list[int]
    rows: dict[int, Row]
    stale: list[Row]  # those that must go, by position

    @property
    def recheck(self) -> bool:
        return self.state.recheck


def pending_transcripts(conn: sqlite3.Connection, session_key: str) -> list[tuple[Transcript, State]]:
    """The transcripts of a session that are pending, and what is known of each."""
    session = find_session(conn, session_key)
    found = []
    for transcript in transcripts_of(conn, session.session_no) if session else ():
        state = projection.read_state(conn, transcript.transcript_no)
        if state is not None and state.pending_reason is not None:
            found.append((transcript, state))
    return found


ROWS = """
    SELECT m.message_no, m.seq, m.position, m.role, m.session_no,
           EXISTS (SELECT 1 FROM marks AS k
                   WHERE k.transcript_no = m.transcript_no AND k.to_generation >= m.generation
                     AND k.from_generation <= m.generation AND m.position > k.mark)
    FROM messages AS m
    WHERE m.transcript_no = ? AND m.position > ?
    ORDER BY m.position, m.seq
"""


def rows_beyond(conn: sqlite3.Connection, transcript_no: int, position: int) -> list[Row]:
    """The rows of a transcript beyond a position, in the order of their positions."""
    return [replace(Row(*found), hidden=bool(found[5])) for found in conn.execute(ROWS, (transcript_no, position))]


def take_snapshot(conn: sqlite3.Connection, transcript: Transcript, state: State) -> Snapshot:
    """What has to be compared: the branch and the rows beyond the position up to which they are known to agree."""
    leaf = leaf_node(conn, transcript)
    done = 0 if state.whole_to is None and state.recheck else leaf.depth if state.whole_to is None else min(state.whole_to, leaf.depth)
    path = events.branch_beyond(conn, transcript.transcript_no, leaf, done)
    at = {seq: done + n for n, seq in enumerate(path, 1)}
    rows: dict[int, Row] = {}
    stale: list[Row] = []
    for row in rows_beyond(conn, transcript.transcript_no, done):
        if at.get(row.seq) == row.position and row.seq not in rows:
            rows[row.seq] = row
        else:
            stale.append(row)
    return Snapshot(transcript, state, leaf, done, path, rows, stale)


# ----------------------------------------------------------------------------------------------------------- lease

# A lease that ends long after one taken now would end was taken before the clock was set back; its holder, if it lives, takes it anew.
TAKE_LEASE = f"""
    UPDATE index_state SET lease_owner = :owner, lease_until_ms = :until_ms
    WHERE transcript_no = :transcript_no AND (lease_owner IS NULL OR lease_owner = :owner OR lease_until_ms < :now_ms
                                           OR lease_until_ms > :until_ms + {AHEAD_MS})
"""


def take_lease(conn: sqlite3.Connection, transcript_no: int, owner: str, now_ms: int, until_ms: int) -> None:
    """The transcript is this worker's until then. raises: LeaseLost while it is another's."""
    values = {"transcript_no": transcript_no, "owner": owner, "now_ms": now_ms, "until_ms": until_ms}
    if conn.execute(TAKE_LEASE, values).rowcount == 0:
        raise LeaseLost("another worker is at this session")


def drop_lease(conn: sqlite3.Connection, transcript_no: int, owner: str) -> None:
    conn.execute(
        "UPDATE index_state SET lease_owner = NULL, lease_until_ms = 0 WHERE transcript_no = ? AND lease_owner = ?", (transcript_no, owner)
    )


def unmoved(conn: sqlite3.Connection, transcript: Transcript) -> bool:
    """Whether nothing but appends to the leaf happened to the transcript since it was read."""
    row = conn.execute("SELECT moves FROM transcripts WHERE transcript_no = ?", (transcript.transcript_no,)).fetchone()
    return row is not None and row[0] == transcript.moves


def untouched(conn: sqlite3.Connection, transcript: Transcript, whole_to: int | None) -> bool:
    """Whether the transcript still owes, from the same position on: nobody else published since."""
    row = conn.execute("SELECT pending_reason, whole_to FROM index_state WHERE transcript_no = ?", (transcript.transcript_no,)).fetchone()
    return row is not None and row[0] is not None and row[1] == whole_to


# --------------------------------------------------------------------------------------------------------- publish


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a reconcile. done: the position up to which rows equal the branch once it is published."""

    remove: list[int]
    unhide: list[int]
    add: list[NewMessage]
    done: int


def publish(conn: sqlite3.Connection, snapshot: Snapshot, change: Change) -> None:
    """Applies one step; inside a write transaction that found the lease held and the transcript unmoved."""
    transcript = snapshot.transcript
    projection.remove_messages(conn, change.remove)
    conn.executemany("UPDATE messages SET generation = ? WHERE message_no = ?", [(transcript.generation, n) for n in change.unhide])
    projection.add_messages(conn, transcript.transcript_no, transcript.session_no, transcript.generation, change.add)
    conn.execute(
        "UPDATE index_state SET whole_to = ?, indexed = 1 WHERE transcript_no = ?", (change.done, transcript.transcript_no)
    )


def settle(conn: sqlite3.Connection, transcript_no: int) -> None:
    """The rows equal the active branch; nothing is owed."""
    conn.execute("DELETE FROM marks WHERE transcript_no = ?", (transcript_no,))
    conn.execute(
        """
        UPDATE index_state
        SET pending_reason = NULL, pending_since_ms = 0, whole_to = NULL, recheck = 0, indexed = 1, parked = 0, attempts = 0,
            retry_at_ms = 0, error = NULL, lease_owner = NULL, lease_until_ms = 0
        WHERE transcript_no = ?
        """,
        (transcript_no,),
    )


def note_failure(conn: sqlite3.Connection, transcript_no: int, owner: str, error: str, retry_at_ms: int, *, parked: bool) -> None:
    """The attempt failed; parked: no further one is made until somebody asks for it or the session changes.

    Nothing is noted by a worker that lost the session to another.
    """
    conn.execute(
        """
        UPDATE index_state
        SET attempts = attempts + 1, retry_at_ms = ?, parked = ?, error = ?, lease_owner = NULL, lease_until_ms = 0
        WHERE transcript_no = ? AND pending_reason IS NOT NULL AND (lease_owner IS NULL OR lease_owner = ?)
        """,
        (retry_at_ms, int(parked), error[:MAX_ERROR_CHARS], transcript_no, owner),
    )


StoredEvent = tuple[int, int, str | None, int, int, str | None]  # seq, depth, role, time_ms, stored_ms, payload

PAYLOADS = """
    SELECT e.seq, e.depth, e.role, e.time_ms, e.stored_ms,
           CASE WHEN e.kind = 'message' AND e.role IN (SELECT value FROM json_each(:roles)) THEN e.payload END
    FROM json_each(:seqs) AS w
    CROSS JOIN events AS e ON e.transcript_no = :transcript_no AND e.seq = w.value
    ORDER BY e.depth
"""


def payloads(conn: sqlite3.Connection, transcript_no: int, seqs: Sequence[int], roles: Sequence[str]) -> list[StoredEvent]:
    """These events by depth; of one that is no message of these roles without the payload, which may be large."""
    values = {"transcript_no": transcript_no, "seqs": jsontext.dumps(seqs), "roles": jsontext.dumps(roles)}
    return conn.execute(PAYLOADS, values).fetchall()


def document_of(conn: sqlite3.Connection, message_no: int) -> tuple[str, str] | None:
    """The token streams of a row."""
    row = conn.execute("SELECT text, parts FROM message_index WHERE rowid = ?", (message_no,)).fetchone()
    return (row[0], row[1]) if row else None


def has_unreadable(conn: sqlite3.Connection, transcript_no: int) -> int | None:
    """The position of an event from outside that was never understood; None when there is none."""
    row = conn.execute("SELECT min(seq) FROM events WHERE transcript_no = ? AND kind = 'unreadable'", (transcript_no,)).fetchone()
    return row[0] if row else None
