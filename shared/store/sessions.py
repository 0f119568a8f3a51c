"""Rows of the sessions, transcripts and tombstones of one agent."""

import sqlite3
from dataclasses import asdict, dataclass, replace
from typing import Any

from shared.branch import ROOT, Node
from shared.store import events
from shared.store.notes import forget_notes


@dataclass(frozen=True, slots=True)
class Session:
    """A session and its label; times in ms."""

    session_no: int
    session_key: str
    incarnation: int
    session_id: str
    spawned_by: str | None
    spawned_incarnation: int
    title: str | None
    kind: str
    incognito: bool
    created_at_ms: int
    updated_at_ms: int
    stored_at_ms: int


@dataclass(frozen=True, slots=True)
class Transcript:
    transcript_no: int
    session_no: int
    session_id: str
    leaf_id: str | None
    last_seq: int
    generation: int
    moves: int


SESSION_COLUMNS = """s.session_no, s.session_key, s.incarnation, s.session_id, s.spawned_by, s.spawned_incarnation,
       s.title, s.kind, s.incognito, s.created_at_ms, s.updated_at_ms, s.stored_at_ms"""
_BY_KEY = f"SELECT {SESSION_COLUMNS} FROM sessions AS s WHERE s.session_key = ?"
_BY_ID = """
    SELECT transcript_no, session_no, session_id, leaf_id, last_seq, generation, moves
    FROM transcripts WHERE session_id = ?
"""


def session_of_row(row: tuple[Any, ...]) -> Session:
    """A session from a row of SESSION_COLUMNS."""
    return replace(Session(*row), incognito=bool(row[8]))


def find_session(conn: sqlite3.Connection, session_key: str) -> Session | None:
    row = conn.execute(_BY_KEY, (session_key,)).fetchone()
    return session_of_row(row) if row else None


def find_transcript(conn: sqlite3.Connection, session_id: str) -> Transcript | None:
    row = conn.execute(_BY_ID, (session_id,)).fetchone()
    return Transcript(*row) if row else None


def transcripts_of(conn: sqlite3.Connection, session_no: int) -> list[Transcript]:
    """Every transcript a session ever had, oldest first."""
    rows = conn.execute(_BY_ID.replace("WHERE session_id = ?", "WHERE session_no = ? ORDER BY transcript_no"), (session_no,))
    return [Transcript(*row) for row in rows]


def leaf_node(conn: sqlite3.Connection, transcript: Transcript) -> Node:
    """The node the next event hangs on; ROOT when the branch is empty or its leaf is gone."""
    if transcript.leaf_id is None:
        return ROOT
    return events.find_node(conn, transcript.transcript_no, transcript.leaf_id) or ROOT


INSERT_SESSION = """
    INSERT INTO sessions (session_key, incarnation, session_id, spawned_by, spawned_incarnation, title, kind, incognito,
                          created_at_ms, updated_at_ms, stored_at_ms)
    VALUES (:session_key, :incarnation, :session_id, :spawned_by, :spawned_incarnation, :title, :kind, :incognito,
            :created_at_ms, :updated_at_ms, :stored_at_ms)
"""


def insert_session(conn: sqlite3.Connection, session: Session) -> int:
    """Stores a new session; the number it got. session.session_no is not read."""
    cursor = conn.execute(INSERT_SESSION, {**asdict(session), "incognito": int(session.incognito)})
    return int(cursor.lastrowid or 0)


UPDATE_SESSION = """
    UPDATE sessions
    SET session_id = :session_id, spawned_by = :spawned_by, spawned_incarnation = :spawned_incarnation, title = :title, kind = :kind,
        incognito = :incognito, updated_at_ms = max(updated_at_ms, :updated_at_ms), stored_at_ms = max(stored_at_ms, :stored_at_ms)
    WHERE session_no = :session_no
"""


def update_session(conn: sqlite3.Connection, session: Session) -> None:
    conn.execute(UPDATE_SESSION, {**asdict(session), "incognito": int(session.incognito)})


TOUCH = """
    UPDATE sessions
    SET updated_at_ms = max(updated_at_ms, :used_ms), stored_at_ms = max(stored_at_ms, :now_ms)
    WHERE session_no = :session_no
"""


def touch_session(conn: sqlite3.Connection, session_no: int, now_ms: int, used_ms: int | None = None) -> None:
    """The session was written to now; used_ms: when it was used, if that is another time."""
    conn.execute(TOUCH, {"session_no": session_no, "now_ms": now_ms, "used_ms": now_ms if used_ms is None else used_ms})


def insert_transcript(conn: sqlite3.Connection, session_no: int, session_id: str, *, indexed: bool) -> Transcript:
    """A new, empty transcript. indexed: what is appended to it is indexed at once."""
    cursor = conn.execute("INSERT INTO transcripts (session_id, session_no) VALUES (?, ?)", (session_id, session_no))
    transcript_no = int(cursor.lastrowid or 0)
    conn.execute("INSERT INTO index_state (transcript_no, session_no, indexed) VALUES (?, ?, ?)", (transcript_no, session_no, int(indexed)))
    return Transcript(transcript_no, session_no, session_id, None, 0, 0, 0)


GROW = """
    UPDATE transcripts
    SET leaf_id = :leaf_id, last_seq = :last_seq, generation = :generation, moves = moves + :moved
    WHERE transcript_no = :transcript_no
"""


def grow_transcript(
    conn: sqlite3.Connection, transcript_no: int, *, leaf_id: str | None, last_seq: int, generation: int, moved: int
) -> None:
    """The transcript's leaf and extent; before its events are inserted, so that they do not look like foreign writes."""
    conn.execute(
        GROW, {"transcript_no": transcript_no, "leaf_id": leaf_id, "last_seq": last_seq, "generation": generation, "moved": moved}
    )


def tombstoned(conn: sqlite3.Connection, session_id: str) -> bool:
    """Whether a session with this id was deleted."""
    return conn.execute("SELECT 1 FROM tombstones WHERE session_id = ?", (session_id,)).fetchone() is not None


def next_incarnation(conn: sqlite3.Connection, session_key: str) -> int:
    """How many sessions of this key were deleted here."""
    row = conn.execute("SELECT max(incarnation) + 1 FROM tombstones WHERE session_key = ?", (session_key,)).fetchone()
    return int(row[0] or 0)


def incarnation_of(conn: sqlite3.Connection, session_key: str) -> int:
    """The incarnation that the key names now, or will name once somebody makes it, as this database has it."""
    session = find_session(conn, session_key)
    return next_incarnation(conn, session_key) if session is None else session.incarnation


def bury(conn: sqlite3.Connection, session: Session, now_ms: int) -> None:
    """Removes the session, its transcripts and events, and leaves a tombstone for every session id it had."""
    conn.execute(
        """
        INSERT INTO tombstones (session_id, session_key, incarnation, spawned_by, spawned_incarnation, deleted_at_ms)
        SELECT t.session_id, :session_key, :incarnation, :spawned_by, :spawned_incarnation, :now_ms
        FROM transcripts AS t WHERE t.session_no = :session_no
        """,
        {
            "session_key": session.session_key,
            "incarnation": session.incarnation,
            "spawned_by": session.spawned_by,
            "spawned_incarnation": session.spawned_incarnation,
            "now_ms": now_ms,
            "session_no": session.session_no,
        },
    )
    numbers = [row[0] for row in conn.execute("SELECT transcript_no FROM transcripts WHERE session_no = ?", (session.session_no,))]
    conn.execute("DELETE FROM transcripts WHERE session_no = ?", (session.session_no,))  # first: see the trigger events_deleted
    conn.executemany("DELETE FROM events WHERE transcript_no = ?", [(n,) for n in numbers])
    for number in numbers:
        forget_notes(conn, number)
    conn.execute("DELETE FROM idempotency WHERE session_no = ?", (session.session_no,))
    conn.execute("DELETE FROM sessions WHERE session_no = ?", (session.session_no,))
