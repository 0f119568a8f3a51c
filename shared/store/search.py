"""The statements of search on one agent's database.

Invariant: a filter only narrows. Every statement here names the visible sessions and leaves out what a mark hides, so no row that
leaves this module needs another look at who may see it.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from shared import jsontext
from shared.store.connect import not_utf8
from shared.store.lists import in_texts
from shared.store.projection import TIME_SHIFT
from shared.store.sums import RETRY_DUE
from shared.store.trees import Numbers, Trees, lineage_mark

FEW = 192  # up to so many sessions are named in the match expression; more are joined, which costs a look at each match of the others
MAX_PENDING = 1_000  # pendingSessions is exact up to here
BOTTOM, TOP = -(1 << 63), (1 << 63) - 1  # no row number is below or above


@dataclass(frozen=True, slots=True)
class Sessions:
    """The visible sessions of one agent inside the request's filters. numbers None: all that are not incognito."""

    numbers: tuple[int, ...] | None
    newest_store_ms: int


@dataclass(frozen=True, slots=True)
class Filter:
    """What a candidate must fulfil beside the words. low and high bound the row number; stored_to_ms fixes what a cursor saw."""

    sessions: Sessions = Sessions((), 0)
    role: str | None = None
    low: int = BOTTOM
    high: int = TOP
    stored_to_ms: int | None = None
    demoted: bool | None = None  # True: only background and cron sessions; False: all others; None: both
    without: tuple[int, ...] = ()  # sessions left out
    settled: bool = False  # none of the sessions is pending, so that no mark hides a row of theirs


class Candidate(NamedTuple):
    """A visible message that matches. A tuple, for a request makes a thousand of them."""

    message_no: int
    transcript_no: int
    seq: int
    session_no: int
    position: int
    text: str
    parts: str

    @property
    def time_ms(self) -> int:
        return self.message_no >> TIME_SHIFT


# ------------------------------------------------------------------------------------------------------ sessions

NUMBERS = "SELECT session_no, stored_at_ms FROM sessions WHERE incognito = 0 AND session_key {named}"
NEWEST_STORE = "SELECT stored_at_ms FROM sessions WHERE incognito = 0 ORDER BY stored_at_ms DESC LIMIT 1"


def visible_numbers(conn: sqlite3.Connection, keys: Iterable[str] | None) -> Sessions:
    """The sessions of these keys; None: all. Incognito ones are in neither."""
    if keys is None:
        row = conn.execute(NEWEST_STORE).fetchone()
        return Sessions(None, row[0] if row else 0) if row else Sessions((), 0)
    named, values = in_texts(keys)
    found = conn.execute(NUMBERS.format(named=named), values).fetchall()
    return Sessions(tuple(sorted(row[0] for row in found)), max((row[1] for row in found), default=0))


NEWEST_STORE_OF = """
    SELECT stored_at_ms FROM sessions
    WHERE session_no IN (SELECT value FROM json_each(?))
    ORDER BY stored_at_ms DESC
    LIMIT 1
"""
OTHER = """
    SELECT 1 FROM sessions
    WHERE incognito = 0 AND session_no NOT IN (SELECT value FROM json_each(?))
    LIMIT 1
"""


def known_numbers(conn: sqlite3.Connection, trees: Trees, agent_id: str, keys: frozenset[str] | None) -> Sessions:
    """As visible_numbers, many keys looked up again only when the agent's sessions changed; inside a read transaction.

    Many keys that are all of the agent's are found as all: who sees everything then costs no list of ten thousand a statement.
    """
    if keys is None or len(keys) <= FEW:
        return visible_numbers(conn, keys)
    mark = lineage_mark(conn)
    known = trees.numbers.find((agent_id, keys))
    if mark is None or known is None or known.mark != mark:
        known = Numbers(_numbers_of(conn, keys), mark)
        trees.numbers.keep((agent_id, keys), known)
    if known.numbers is None:
        return visible_numbers(conn, None)
    row = conn.execute(NEWEST_STORE_OF, (jsontext.dumps(known.numbers),)).fetchone()
    return Sessions(known.numbers, row[0] if row else 0)


def _numbers_of(conn: sqlite3.Connection, keys: Iterable[str]) -> tuple[int, ...] | None:
    found = visible_numbers(conn, keys).numbers
    return found if conn.execute(OTHER, (jsontext.dumps(found),)).fetchone() else None


def has_demoted(conn: sqlite3.Connection) -> bool:
    """Whether there are sessions that relevance ranks after all others."""
    return conn.execute("SELECT 1 FROM sessions WHERE kind IN ('background', 'cron') LIMIT 1").fetchone() is not None


# -------------------------------------------------------------------------------------------------------- matches

_PLACE = "m.message_no, m.transcript_no, m.seq, m.session_no, m.position"

# FTS5 keeps the token streams in a table of its own, from which they are read in two thirds of the time that its columns take.
_TOKENS = " LEFT JOIN message_index_content AS x ON x.id = m.message_no "

# CROSS JOIN keeps the full-text index as the outer loop: newest first, it stops as soon as enough visible rows are found.
_MATCHES = """
    FROM message_index AS f
    CROSS JOIN messages AS m ON m.message_no = f.rowid
    {tokens}
    WHERE f.message_index MATCH :match
      AND f.rowid BETWEEN :low AND :high
"""
_ON_BRANCH = """
      AND NOT EXISTS (
          SELECT 1 FROM marks AS k
          WHERE k.transcript_no = m.transcript_no AND k.to_generation >= m.generation
            AND k.from_generation <= m.generation AND m.position > k.mark
      )
"""
_NOT_INCOGNITO = " AND m.session_no NOT IN (SELECT session_no FROM sessions WHERE incognito = 1)"


def _clauses(wanted: Filter, tokens: str = "") -> str:
    clauses = _MATCHES.format(tokens=tokens) + ("" if wanted.settled else _ON_BRANCH)
    if wanted.sessions.numbers is None:
        clauses += _NOT_INCOGNITO
    elif len(wanted.sessions.numbers) > FEW:
        clauses += " AND m.session_no IN (SELECT value FROM json_each(:numbers))"
    if wanted.role is not None:
        clauses += " AND m.role = :role"
    if wanted.stored_to_ms is not None:
        clauses += " AND m.stored_ms <= :stored_to_ms"
    if wanted.demoted is not None:
        which = "IN" if wanted.demoted else "NOT IN"
        clauses += f" AND m.session_no {which} (SELECT session_no FROM sessions WHERE kind IN ('background', 'cron'))"
    if wanted.without:
        clauses += " AND m.session_no NOT IN (SELECT value FROM json_each(:without))"
    return clauses


def _values(wanted: Filter, match: str, limit: int) -> dict[str, object]:
    numbers = wanted.sessions.numbers
    if numbers is not None and len(numbers) <= FEW:
        match = f"({match}) AND session : ({' OR '.join(f's{n}' for n in numbers)})"
    return {
        "match": match,
        "low": wanted.low,
        "high": wanted.high,
        "numbers": jsontext.dumps(numbers) if numbers is not None and len(numbers) > FEW else None,
        "role": wanted.role,
        "stored_to_ms": wanted.stored_to_ms,
        "without": jsontext.dumps(wanted.without),
        "limit": limit,
    }


def _nothing(wanted: Filter) -> bool:
    return wanted.sessions.numbers == () or wanted.low > wanted.high


def candidates(conn: sqlite3.Connection, match: str, wanted: Filter, limit: int) -> list[Candidate]:
    """The newest visible matches with their token streams, newest first."""
    if _nothing(wanted):
        return []
    order, values = "ORDER BY f.rowid DESC LIMIT :limit", _values(wanted, match, limit)
    found = _with_tokens(conn, f"SELECT {_PLACE}, x.c0, x.c1 {_clauses(wanted, _TOKENS)} {order}", values)
    if found is None:
        found = _as_candidates(conn.execute(f"SELECT {_PLACE}, f.text, f.parts {_clauses(wanted)} {order}", values))
    return found


BY_NUMBER = f"FROM json_each(:numbers) AS w CROSS JOIN messages AS m ON m.message_no = w.value {_TOKENS}"
BY_NUMBER_IN_INDEX = (
    "FROM json_each(:numbers) AS w CROSS JOIN messages AS m ON m.message_no = w.value CROSS JOIN message_index AS f ON f.rowid = w.value"
)


def candidates_of(conn: sqlite3.Connection, message_numbers: Iterable[int]) -> list[Candidate]:
    """The rows of these numbers with their token streams: what `numbers` found in the same read transaction."""
    values: dict[str, object] = {"numbers": jsontext.dumps(list(message_numbers))}
    found = _with_tokens(conn, f"SELECT {_PLACE}, x.c0, x.c1 {BY_NUMBER}", values)
    if found is None:
        found = _as_candidates(conn.execute(f"SELECT {_PLACE}, f.text, f.parts {BY_NUMBER_IN_INDEX}", values))
    return found


def _with_tokens(conn: sqlite3.Connection, statement: str, values: dict[str, object]) -> list[Candidate] | None:
    """What a statement finds that reads FTS5's table itself; None when that is damaged, which only FTS5 tells as its own damage.

    raises: DatabaseError, as FTS5 does, when words of a row that matches are gone.
    """
    try:
        found = _as_candidates(conn.execute(statement, values))
    except sqlite3.DatabaseError as e:
        if not_utf8(e):
            raise _damage("the words of a row are no text") from e
        if e.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return None
    if any(candidate.text is None for candidate in found):
        raise _damage("the words of a row are gone")
    return found


def _damage(what: str) -> sqlite3.DatabaseError:
    """The error that FTS5 raises for damage of its tables."""
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT_VTAB
    return error


def _as_candidates(rows: Iterable[tuple[Any, ...]]) -> list[Candidate]:
    return list(map(Candidate._make, rows))


def numbers(conn: sqlite3.Connection, match: str, wanted: Filter, limit: int) -> list[int]:
    """The row numbers of the newest visible matches."""
    if _nothing(wanted):
        return []
    statement = f"SELECT m.message_no {_clauses(wanted)} ORDER BY f.rowid DESC LIMIT :limit"
    return [row[0] for row in conn.execute(statement, _values(wanted, match, limit))]


_IN_ALL = "FROM messages AS m WHERE TRUE" + _NOT_INCOGNITO
_IN_SOME = """
    FROM json_each(:numbers) AS w
    CROSS JOIN transcripts AS t ON t.session_no = w.value
    CROSS JOIN messages AS m ON m.transcript_no = t.transcript_no
    WHERE TRUE
"""


def visible_messages(conn: sqlite3.Connection, sessions: Sessions, limit: int) -> int:
    """How many messages the sessions have, counted up to limit. No other filter counts: to find what it keeps might take a full scan."""
    if sessions.numbers == ():
        return 0
    rows = (_IN_ALL if sessions.numbers is None else _IN_SOME) + _ON_BRANCH
    values = {"numbers": jsontext.dumps(sessions.numbers), "limit": limit}
    return len(conn.execute(f"SELECT 1 {rows} LIMIT :limit", values).fetchall())


EVENT_IDS = """
    SELECT m.message_no, e.event_id, t.session_id
    FROM json_each(?) AS w
    CROSS JOIN messages AS m ON m.message_no = w.value
    CROSS JOIN events AS e ON e.transcript_no = m.transcript_no AND e.seq = m.seq
    CROSS JOIN transcripts AS t ON t.transcript_no = m.transcript_no
"""


def event_ids(conn: sqlite3.Connection, message_numbers: Iterable[int]) -> dict[int, tuple[str, str]]:
    """For each row number: the id of its event, and its session id."""
    rows = conn.execute(EVENT_IDS, (jsontext.dumps(list(message_numbers)),))
    return {number: (event_id, session_id) for number, event_id, session_id in rows}


def of_session(wanted: Filter, session_no: int) -> Filter:
    """The same filter, narrowed to one session it holds."""
    return replace(wanted, sessions=Sessions((session_no,), wanted.sessions.newest_store_ms), demoted=None, without=())


# ----------------------------------------------------------------------------------------------------------- hits

HIT = """
    SELECT e.event_id, e.role, e.time_ms, e.payload, t.session_id, s.session_key, s.kind, s.title
    FROM events AS e
    JOIN transcripts AS t ON t.transcript_no = e.transcript_no
    JOIN sessions AS s ON s.session_no = t.session_no
    WHERE e.transcript_no = ? AND e.seq = ?
"""


@dataclass(frozen=True, slots=True)
class HitRow:
    event_id: str
    role: str
    time_ms: int
    payload: str
    session_id: str
    session_key: str
    kind: str
    title: str | None


def hit_row(conn: sqlite3.Connection, candidate: Candidate) -> HitRow | None:
    """What a page shows of a match; None once it was deleted, where the candidate is of an earlier read transaction."""
    row = conn.execute(HIT, (candidate.transcript_no, candidate.seq)).fetchone()
    return HitRow(*row) if row else None


# ------------------------------------------------------------------------------------------------------- what is owed


@dataclass(frozen=True, slots=True)
class Pending:
    """What the visible sessions inside the filters still owe.

    sessions: counted to MAX_PENDING + 1, the parked ones among them; due: keys to enqueue, most recently used first.
    """

    sessions: int
    parked: int
    owes_text: bool
    due: tuple[str, ...]


_OF_SESSIONS = {
    "all": "session_no NOT IN (SELECT session_no FROM sessions WHERE incognito = 1)",
    "some": "session_no IN (SELECT value FROM json_each(:numbers))",
}
PENDING = """
    SELECT session_no, min(parked) FROM index_state INDEXED BY index_state_owed
    WHERE pending_reason IS NOT NULL AND {sessions}
    GROUP BY session_no
    LIMIT :limit
"""
OWES_TEXT = """
    SELECT 1 FROM index_state INDEXED BY index_state_owes_text
    WHERE pending_reason IN ('imported', 'rewound', 'edited') AND parked = 0 AND {sessions}
    LIMIT 1
"""
DUE = f"""
    SELECT s.session_key
    FROM json_each(:pending) AS w
    CROSS JOIN sessions AS s ON s.session_no = w.value
    WHERE EXISTS (SELECT 1 FROM index_state AS i
                  WHERE i.session_no = s.session_no AND i.pending_reason IS NOT NULL AND i.parked = 0 AND {RETRY_DUE})
    ORDER BY s.updated_at_ms DESC, s.session_key
    LIMIT :limit
"""


def pending(conn: sqlite3.Connection, sessions: Sessions, now_ms: int, limit: int) -> Pending:
    """What is owed; its cost is bounded whatever the number of pending sessions."""
    if sessions.numbers == ():
        return Pending(0, 0, owes_text=False, due=())
    which = _OF_SESSIONS["all" if sessions.numbers is None else "some"]
    values: dict[str, object] = {"numbers": jsontext.dumps(sessions.numbers), "limit": MAX_PENDING + 1}
    found = conn.execute(PENDING.format(sessions=which), values).fetchall()
    if not found:
        return Pending(0, 0, owes_text=False, due=())
    owes_text = conn.execute(OWES_TEXT.format(sessions=which), values).fetchone() is not None
    due = conn.execute(DUE, {"pending": jsontext.dumps([row[0] for row in found]), "now_ms": now_ms, "limit": limit})
    return Pending(len(found), sum(row[1] for row in found), owes_text, tuple(row[0] for row in due))


RECHECKED = "SELECT transcript_no FROM index_state WHERE recheck = 1 AND pending_reason IS NOT NULL"


def rechecked(conn: sqlite3.Connection) -> set[int]:
    """The transcripts whose rows may have been made by an older catalogue or analyser."""
    return {row[0] for row in conn.execute(RECHECKED)}
