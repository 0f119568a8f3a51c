"""Statements that read the ledger for operators, and those by which they act on it.

A running job whose worker is silent is shown as retrying, "worker lost": what is shown as running has a live heartbeat. Every
statement that counts or lists asks the index, so that a page over 100,000 failed jobs costs what it shows.
"""

import sqlite3
from dataclasses import dataclass
from typing import Any

from shared.store import ledger
from shared.store.ledger import LOST

STATES = ("queued", "running", "done", "retrying", "failed", "cancelled")


@dataclass(frozen=True)
class JobFilter:
    """Which jobs; None asks for all. q: a job's whole id, or part of an error's text. Times are those of the order."""

    state: str | None = None
    task: str | None = None
    agent_id: str | None = None
    session_key: str | None = None
    batch_id: str | None = None
    q: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


@dataclass(frozen=True)
class JobRow:
    """One job as the ledger has it; lost: it is running on paper, and its worker is silent."""

    id: str
    state: str
    task: str
    queue: str
    agent_id: str | None
    session_key: str | None
    batch_id: str | None
    attempts: int
    error: str | None
    queued_at_ms: int
    due_at_ms: int | None
    started_at_ms: int | None
    ended_at_ms: int | None
    worker: str | None
    lost: bool  # SQLite gives 0 or 1


_COLUMNS = f"""
    jobs.id, state, task, queue, agent_id, session_key, jobs.batch_id, attempts, error, queued_at_ms, due_at_ms, started_at_ms,
    ended_at_ms, worker, state = 'running' AND {LOST}
"""
ONE = f"SELECT {_COLUMNS} FROM jobs WHERE id = :id"

_STATE_IS = {
    "running": f"(state = 'running' AND NOT {LOST})",
    "retrying": f"(state = 'retrying' OR (state = 'running' AND {LOST}))",
}
_WHERE = {
    "task": "task = :task",
    "agent_id": "agent_id = :agent_id",
    "session_key": "session_key = :session_key",
    "since_ms": "jobs.id >= :since_id",
    "until_ms": "jobs.id < :until_id",
}


def job(conn: sqlite3.Connection, job_id: str, alive_since_ms: int) -> JobRow | None:
    """The job of this id."""
    return _row(conn.execute(ONE, {"id": job_id, "alive_since_ms": alive_since_ms}).fetchone())


def select_jobs(conn: sqlite3.Connection, asked: JobFilter, alive_since_ms: int, *, before: str | None, limit: int) -> list[JobRow]:
    """The newest jobs that the filter lets through, newest first, from the one after `before` on."""
    source, conditions, values = _conditions(asked, alive_since_ms)
    if before is not None:
        conditions.append("jobs.id < :before")
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = f"SELECT {_COLUMNS} FROM {source} {where} ORDER BY jobs.id DESC LIMIT :limit"
    rows = conn.execute(sql, {**values, "before": before, "limit": limit})
    return [found for row in rows if (found := _row(row))]


def count_selected(conn: sqlite3.Connection, asked: JobFilter, alive_since_ms: int) -> dict[str, int]:
    """How many jobs the filter lets through, by the state they are shown in; a state without any is left out."""
    source, conditions, values = _conditions(asked, alive_since_ms)
    where = " AND ".join(["TRUE", *conditions])
    counts = {row[0]: row[1] for row in conn.execute(f"SELECT state, count(*) FROM {source} WHERE {where} GROUP BY +state", values)}
    lost = conn.execute(f"SELECT count(*) FROM {source} WHERE {where} AND state = 'running' AND {LOST}", values).fetchone()[0]
    counts["running"] = counts.get("running", 0) - lost
    counts["retrying"] = counts.get("retrying", 0) + lost
    return {state: counts[state] for state in STATES if counts.get(state)}


def _conditions(asked: JobFilter, alive_since_ms: int) -> tuple[str, list[str], dict[str, Any]]:
    values = {name: value for name, value in vars(asked).items() if value is not None}
    values["alive_since_ms"] = alive_since_ms
    conditions = [_WHERE[name] for name in values if name in _WHERE]
    values["since_id"], values["until_id"] = f"{max(0, asked.since_ms or 0):012x}", f"{max(0, asked.until_ms or 0):012x}"
    source = "jobs"
    if asked.state is not None:
        narrow = "" if asked.session_key is None else "+"  # a session has few jobs: the index is to be the session's
        conditions.append(_STATE_IS.get(asked.state, f"{narrow}state = :state"))
    if asked.batch_id is not None:
        source = "batch_jobs AS b CROSS JOIN jobs ON jobs.id = b.job_id"
        conditions.append("b.batch_id = :batch_id")
    if asked.q is not None:
        conditions.append("jobs.id = :q" if _is_id(asked.q) else "error IS NOT NULL AND instr(lower(error), lower(:q)) > 0")
    return source, conditions, values


def _is_id(text: str) -> bool:
    return len(text) == 20 and all(c in "0123456789abcdef" for c in text)


def _row(row: tuple[Any, ...] | None) -> JobRow | None:
    return JobRow(*row) if row else None


EVENTS = "SELECT at_ms, event, worker, note FROM job_events WHERE job_id = :id ORDER BY number"


def events(conn: sqlite3.Connection, job_id: str) -> list[tuple[int, str, str | None, str | None]]:
    """What happened to the job out of the ordinary: (time, what, worker, note), oldest first."""
    return [(row[0], row[1], row[2], row[3]) for row in conn.execute(EVENTS, {"id": job_id})]


# ---- counts and times

DEPTH = "SELECT state, count(*) FROM jobs GROUP BY state"
LOST_COUNT = f"SELECT count(*) FROM jobs WHERE state = 'running' AND {LOST}"
LIVE_DEPTH = "SELECT queue, state, count(*) FROM jobs WHERE state IN ('queued', 'running', 'retrying') GROUP BY queue, state"
OLDEST = "SELECT min(queued_at_ms) FROM (SELECT queued_at_ms FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 50)"  # ids begin with it
ENDED_COUNT = "SELECT count(*) FROM jobs INDEXED BY jobs_ended WHERE ended_at_ms >= :since_ms AND state = 'done'"
ENDED = """
    SELECT ended_at_ms, max(0, started_at_ms - queued_at_ms), max(0, ended_at_ms - started_at_ms)
    FROM jobs
    WHERE ended_at_ms >= :since_ms AND started_at_ms IS NOT NULL AND ended_at_ms % :every = 0
    ORDER BY ended_at_ms DESC
    LIMIT :limit
"""
ENDED_BETWEEN = """
    SELECT ifnull(sum(state = 'done'), 0), ifnull(sum(state = 'failed'), 0)
    FROM jobs INDEXED BY jobs_ended
    WHERE ended_at_ms >= :from_ms AND ended_at_ms < :to_ms
"""


def depth(conn: sqlite3.Connection, alive_since_ms: int) -> dict[str, int]:
    """How many jobs are shown in each state; every state is named."""
    counts = dict.fromkeys(STATES, 0)
    counts.update({row[0]: row[1] for row in conn.execute(DEPTH)})
    lost = conn.execute(LOST_COUNT, {"alive_since_ms": alive_since_ms}).fetchone()[0]
    counts["running"] -= lost
    counts["retrying"] += lost
    return counts


def live_depth(conn: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """How many jobs of each queue are in each live state."""
    return {(row[0], row[1]): row[2] for row in conn.execute(LIVE_DEPTH)}


def oldest_queued_ms(conn: sqlite3.Connection) -> int | None:
    """When the job that waits longest was ordered."""
    found: int | None = conn.execute(OLDEST).fetchone()[0]
    return found


def ended_count(conn: sqlite3.Connection, since_ms: int) -> int:
    """How many jobs were done since then."""
    return int(conn.execute(ENDED_COUNT, {"since_ms": since_ms}).fetchone()[0])


def ended(conn: sqlite3.Connection, since_ms: int, *, every: int = 1, limit: int = 2_000) -> list[tuple[int, int, int]]:
    """(when it ended, ms it waited, ms it ran) of the newest runs since then; every: one in so many, the same ones each time."""
    return conn.execute(ENDED, {"since_ms": since_ms, "every": every, "limit": limit}).fetchall()


def ended_in_buckets(conn: sqlite3.Connection, since_ms: int, width_ms: int, buckets: int) -> list[tuple[int, int]]:
    """(done, failed) of each stretch of time from since_ms on; a range of the index each, which needs no sorting."""
    starts = range(since_ms, since_ms + buckets * width_ms, width_ms)
    found = (conn.execute(ENDED_BETWEEN, {"from_ms": start, "to_ms": start + width_ms}).fetchone() for start in starts)
    return [(row[0], row[1]) for row in found]


OUTCOMES = "SELECT task, state, jobs FROM outcomes ORDER BY task, state"
TIMINGS = "SELECT kind, upper_ms, jobs, total_ms FROM timings ORDER BY kind, upper_ms"


def outcomes(conn: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """How many jobs of each task ever ended in each way."""
    return {(row[0], row[1]): row[2] for row in conn.execute(OUTCOMES)}


def timings(conn: sqlite3.Connection) -> list[tuple[str, int, int, int]]:
    """(wait or run, upper bound in ms, jobs, their ms together) of every bucket ever filled."""
    return [(row[0], row[1], row[2], row[3]) for row in conn.execute(TIMINGS)]


# ---- what operators do

RETRY = """
    UPDATE jobs
    SET state = 'queued', attempts = 0, error = NULL, stop = 0, due_at_ms = NULL, ended_at_ms = NULL, queued_at_ms = :now_ms
    WHERE id = :id AND state IN ('failed', 'cancelled', 'retrying') AND agent_id IS NOT NULL
"""
CANCEL_WAITING = """
    UPDATE jobs
    SET state = 'cancelled', error = :error, ended_at_ms = :now_ms, due_at_ms = NULL, message = NULL
    WHERE id = :id AND state = :state
"""
DROP_MESSAGE_OF = "DELETE FROM task WHERE id = (SELECT message FROM jobs WHERE id = :id AND state = 'queued')"
ASK_TO_STOP = "UPDATE jobs SET stop = 1 WHERE id = :id AND state = 'running'"


def retry(conn: sqlite3.Connection, found: JobRow, now_ms: int) -> bool:
    """Whether the job, failed, cancelled or put off, is queued now as if it were new."""
    if found.state != "retrying" and found.agent_id is not None:
        same = ledger.Wanted(found.task, found.agent_id, found.session_key)
        if ledger.live_job(conn, same) is not None:
            return False  # another job has taken its place
    if not conn.execute(RETRY, {"id": found.id, "now_ms": now_ms}).rowcount:
        return False
    ledger.send(conn, found.id)
    ledger.note(conn, found.id, now_ms, "retried by an operator", text=found.error)
    return True


def cancel(conn: sqlite3.Connection, found: JobRow, now_ms: int) -> bool:
    """Whether the job was live: one that waits has ended, one that runs is asked to."""
    if found.state == "running" and not found.lost:
        asked = conn.execute(ASK_TO_STOP, {"id": found.id}).rowcount
        if asked:
            ledger.note(conn, found.id, now_ms, "asked to stop")
        return bool(asked)
    if found.state not in ledger.LIVE:
        return False
    conn.execute(DROP_MESSAGE_OF, {"id": found.id})
    return bool(conn.execute(CANCEL_WAITING, {"id": found.id, "state": found.state, "error": ledger.CANCELLED, "now_ms": now_ms}).rowcount)


RECENTLY_REFUSED = """
    SELECT 1 FROM jobs
    WHERE agent_id = :agent_id AND session_key = :session_key AND task = 'reconcile' AND ended_at_ms >= :since_ms
      AND (error = :cancelled OR (state = 'failed' AND attempts >= :most_attempts))
    LIMIT 1
"""


def refused_since(conn: sqlite3.Connection, agent_id: str, session_key: str, since_ms: int, most_attempts: int) -> bool:
    """Whether a job for the session was cancelled by an operator, or failed for good, since then."""
    values = {
        "agent_id": agent_id,
        "session_key": session_key,
        "since_ms": since_ms,
        "most_attempts": most_attempts,
        "cancelled": ledger.CANCELLED,
    }
    return conn.execute(RECENTLY_REFUSED, values).fetchone() is not None


# ---- forgetting

NTH_NEWEST = "SELECT id FROM jobs WHERE state = :state ORDER BY id DESC LIMIT 1 OFFSET :keep"
FORGET = """
    DELETE FROM jobs
    WHERE id IN (SELECT id FROM jobs WHERE state = :state AND id <= :last_id ORDER BY id LIMIT :limit)
"""


def forget(conn: sqlite3.Connection, state: str, *, before_ms: int, keep: int, limit: int) -> int:
    """Ended jobs of the state, older than before_ms or beyond the newest `keep`, are gone (`limit` at most); how many."""
    nth = conn.execute(NTH_NEWEST, {"state": state, "keep": keep}).fetchone()
    last_id = max(f"{max(0, before_ms):012x}", nth[0] if nth else "")
    return conn.execute(FORGET, {"state": state, "last_id": last_id, "limit": limit}).rowcount
