"""The projection: the rows that search reads, and the record of what is owed to them.

Invariant: a row of `messages` that no mark hides stands for a message on the active branch of its transcript. What is missing is
owed, and owed work is written in `index_state` by the transaction that made it so.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shared.store.connect import write_transaction
from shared.tokenizer import ANALYSER_VERSION, TOKENIZE

if TYPE_CHECKING:
    from shared.analysis import Document

Reason = Literal["imported", "rewound", "edited", "outdated", "forced"]

TIME_SHIFT = 18  # message_no = time ms << 18 | counter: 262,144 messages of one ms before the next ms is borrowed from
_COUNTER = (1 << TIME_SHIFT) - 1
_MAX_NUMBER = (1 << 63) - 1

CREATE_INDEX = f"""
    CREATE VIRTUAL TABLE IF NOT EXISTS message_index USING fts5 (
        text,                        -- the words of a message, in order
        parts,                       -- words with the punctuation inside or after them; single characters of scripts without spaces
        session,                     -- s and the session_no: a small visible set is named in the match expression
        {TOKENIZE},                  -- every token is ours: SQLite cuts at spaces and folds nothing
        columnsize = 0               -- lengths serve bm25 only, which would count what is hidden
    )
"""

# Fewer merges of larger segments: 7 % less work a row in commits of 48 rows; the commonest word took 1.3 to 1.6 ms either way.
MERGE_LATER = "INSERT INTO message_index (message_index, rank) VALUES ('automerge', 8)"


def has_index(conn: sqlite3.Connection) -> bool:
    return conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_index'").fetchone() is not None


def ensure_index(conn: sqlite3.Connection, path: Path) -> None:
    """The full-text index is there; what it was made by is written beside it."""
    if not has_index(conn):
        with write_transaction(conn, path):
            _create_index(conn)


def _create_index(conn: sqlite3.Connection) -> None:
    conn.execute(CREATE_INDEX)
    conn.execute(MERGE_LATER)


OWE_ALL = """
    UPDATE index_state
    SET pending_since_ms = CASE WHEN pending_reason IS NULL THEN :now_ms ELSE pending_since_ms END,
        pending_reason = 'edited', indexed = 0, whole_to = 0, recheck = 0, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
"""


START_OVER = "UPDATE transcripts SET moves = moves + 1"  # what a reconcile read before is not what it is to publish


def condemn(conn: sqlite3.Connection, now_ms: int) -> None:
    """The index is damaged: nothing reads or writes it any more, and every session is owed. The next reconcile throws it away."""
    conn.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('condemned', '1')")
    _owe_all(conn, now_ms)


def condemned(conn: sqlite3.Connection) -> bool:
    """Whether the index waits to be thrown away."""
    return conn.execute("SELECT 1 FROM meta WHERE name = 'condemned'").fetchone() is not None


def drop_index(conn: sqlite3.Connection, now_ms: int) -> None:
    """Empties the projection: every transcript is owed as if it had never been indexed."""
    conn.execute("DROP TABLE IF EXISTS message_index")
    _create_index(conn)
    conn.execute("DELETE FROM messages")
    conn.execute("DELETE FROM marks")
    conn.execute("DELETE FROM meta WHERE name = 'condemned'")
    _owe_all(conn, now_ms)


def _owe_all(conn: sqlite3.Connection, now_ms: int) -> None:
    conn.execute(OWE_ALL, {"now_ms": now_ms})
    conn.execute(START_OVER)


# ------------------------------------------------------------------------------------------------------------ rows


INSERT_MESSAGE = """
    INSERT INTO messages (message_no, transcript_no, seq, position, generation, session_no, stored_ms, role)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A row about to be added. position: the event's depth."""

    seq: int
    position: int
    time_ms: int
    stored_ms: int
    role: str
    document: "Document"


def add_messages(conn: sqlite3.Connection, transcript_no: int, session_no: int, generation: int, new: Iterable[NewMessage]) -> None:
    """Adds rows of one generation, with ascending row numbers, which is what FTS5 writes fastest."""
    numbers: dict[int, int] = {}
    numbered = sorted(((_number(conn, m.time_ms, numbers), m) for m in new), key=lambda pair: pair[0])
    conn.executemany(
        INSERT_MESSAGE,
        [(no, transcript_no, m.seq, m.position, generation, session_no, m.stored_ms, m.role) for no, m in numbered],
    )
    conn.executemany(
        "INSERT INTO message_index (rowid, text, parts, session) VALUES (?, ?, ?, ?)",
        [(no, m.document.text, m.document.parts, f"s{session_no}") for no, m in numbered],
    )


def time_floor(time_ms: int) -> int:
    """The lowest row number of a message of this time; below 0 for times before 1970."""
    return time_ms << TIME_SHIFT


def _number(conn: sqlite3.Connection, time_ms: int, taken: dict[int, int]) -> int:
    """A free row number for a message of this time; the next after those of the same ms."""
    first = time_floor(time_ms)
    last = taken.get(first)
    if last is None:
        row = conn.execute("SELECT max(message_no) FROM messages WHERE message_no BETWEEN ? AND ?", (first, first | _COUNTER)).fetchone()
        last = first - 1 if row[0] is None else int(row[0])
    number = last + 1
    if number > first | _COUNTER:
        number = _first_free(conn, number, taken)
    taken[first] = number
    return number


def _first_free(conn: sqlite3.Connection, number: int, taken: dict[int, int]) -> int:
    """The first free number from here on, for a ms that is full."""
    used = set(taken.values())
    while number in used or conn.execute("SELECT 1 FROM messages WHERE message_no = ?", (number,)).fetchone():
        number += 1
    return min(number, _MAX_NUMBER)


def remove_messages(conn: sqlite3.Connection, numbers: Iterable[int]) -> None:
    rows = [(n,) for n in numbers]
    if not condemned(conn):
        conn.executemany("DELETE FROM message_index WHERE rowid = ?", rows)
    conn.executemany("DELETE FROM messages WHERE message_no = ?", rows)


def remove_session(conn: sqlite3.Connection, session_no: int) -> None:
    """No row of the projection knows the session any more."""
    for (transcript_no,) in conn.execute("SELECT transcript_no FROM transcripts WHERE session_no = ?", (session_no,)).fetchall():
        numbers = conn.execute("SELECT message_no FROM messages WHERE transcript_no = ?", (transcript_no,)).fetchall()
        remove_messages(conn, (row[0] for row in numbers))
        conn.execute("DELETE FROM marks WHERE transcript_no = ?", (transcript_no,))
        conn.execute("DELETE FROM index_state WHERE transcript_no = ?", (transcript_no,))


# ----------------------------------------------------------------------------------------------------------- marks


def note_move(conn: sqlite3.Connection, transcript_no: int, generation: int, agreed: int) -> None:
    """After a move of the leaf: rows of this generation and those before it count up to position `agreed` only."""
    lowered = conn.execute(
        "DELETE FROM marks WHERE transcript_no = ? AND mark >= ? RETURNING from_generation", (transcript_no, agreed)
    ).fetchall()
    if lowered:
        first = min(row[0] for row in lowered)
    else:
        row = conn.execute("SELECT max(to_generation) + 1 FROM marks WHERE transcript_no = ?", (transcript_no,)).fetchone()
        first = row[0] or 0
    conn.execute(
        "INSERT INTO marks (transcript_no, from_generation, to_generation, mark) VALUES (?, ?, ?, ?)",
        (transcript_no, first, generation, agreed),
    )
    conn.execute(
        "UPDATE index_state SET whole_to = min(coalesce(whole_to, :agreed), :agreed) WHERE transcript_no = :transcript_no",
        {"agreed": agreed, "transcript_no": transcript_no},
    )


# ----------------------------------------------------------------------------------------------------------- state


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a transcript's rows. whole_to: rows up to this position equal the branch; None: all do."""

    transcript_no: int
    pending_reason: Reason | None
    indexed: bool
    whole_to: int | None
    recheck: bool
    foreign_writes: int
    parked: bool
    attempts: int
    error: str | None


STATE = """
    SELECT transcript_no, pending_reason, indexed, whole_to, recheck, foreign_writes, parked, attempts, error
    FROM index_state WHERE transcript_no = ?
"""


def read_state(conn: sqlite3.Connection, transcript_no: int) -> State | None:
    row = conn.execute(STATE, (transcript_no,)).fetchone()
    return State(row[0], row[1], bool(row[2]), row[3], bool(row[4]), row[5], bool(row[6]), row[7], row[8]) if row else None


OWE = """
    UPDATE index_state
    SET pending_since_ms = CASE WHEN pending_reason IS NULL THEN :now_ms ELSE pending_since_ms END,
        pending_reason = CASE WHEN pending_reason IN ('imported', 'edited') THEN pending_reason ELSE :reason END,
        parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
    WHERE transcript_no = :transcript_no
"""


def owe(conn: sqlite3.Connection, transcript_no: int, reason: Reason, now_ms: int) -> None:
    """The transcript is pending, for a reason that has to do with its text."""
    conn.execute(OWE, {"transcript_no": transcript_no, "reason": reason, "now_ms": now_ms})


def owe_tail(conn: sqlite3.Connection, transcript_no: int, reason: Reason, depth: int, now_ms: int) -> None:
    """Rows may be missing beyond this position."""
    owe(conn, transcript_no, reason, now_ms)
    conn.execute(START_OVER + " WHERE transcript_no = ?", (transcript_no,))
    conn.execute(
        "UPDATE index_state SET whole_to = min(coalesce(whole_to, :depth), :depth) WHERE transcript_no = :transcript_no",
        {"depth": depth, "transcript_no": transcript_no},
    )


OUTDATE = """
    UPDATE index_state
    SET pending_since_ms = CASE WHEN pending_reason IS NULL THEN :now_ms ELSE pending_since_ms END,
        pending_reason = coalesce(pending_reason, :reason),
        whole_to = 0, recheck = 1, parked = 0, attempts = 0, retry_at_ms = 0, error = NULL
"""


def outdate(conn: sqlite3.Connection, reason: Reason, now_ms: int, session_no: int | None = None, since_ms: int | None = None) -> int:
    """Makes all rows to be looked at again while they go on serving; the number of sessions this names."""
    values = {"reason": reason, "now_ms": now_ms, "session_no": session_no, "since_ms": since_ms}
    where = " WHERE (:session_no IS NULL OR session_no = :session_no)"
    if since_ms is not None:
        where += " AND session_no IN (SELECT session_no FROM sessions WHERE updated_at_ms >= :since_ms)"
    conn.execute(OUTDATE + where, values)
    conn.execute(START_OVER + where, values)
    return int(conn.execute("SELECT count(DISTINCT session_no) FROM index_state" + where, values).fetchone()[0])


def made_by(conn: sqlite3.Connection) -> str | None:
    """The analyser and catalogue that the projection is to be brought up to; None before the first."""
    row = conn.execute("SELECT value FROM meta WHERE name = 'made by'").fetchone()
    return row[0] if row else None


def maker(catalogue_version: str, policy: str) -> str:
    """The analyser and catalogue of now, as made_by() tells them; a catalogue does not touch what is indexed unless it is strict."""
    return f"{ANALYSER_VERSION} {catalogue_version if policy == 'strict' else policy}"


def adopt(conn: sqlite3.Connection, now_maker: str, now_ms: int) -> None:
    """Rows made by an older analyser or catalogue are owed; from now on they count as on their way to this one."""
    before = made_by(conn)
    if before == now_maker:
        return
    if before is not None:
        outdate(conn, "outdated", now_ms)
    conn.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('made by', ?)", (now_maker,))
