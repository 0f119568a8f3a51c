"""Statements on workers, on periodic work and on the queue's settings.

A heartbeat says that a worker's process lives; progress says that its job gets on. The two are kept apart, for a worker can live
for a month and do nothing.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

LOST_AFTER_MS = 20_000  # a worker without a heartbeat for so long is gone; the contract allows 30 s
AHEAD_MS = 5_000  # a time further in the future was written before the clock was set back, and tells nothing
ALIVE = f"w.heartbeat_at_ms BETWEEN :alive_since_ms AND :alive_since_ms + {LOST_AFTER_MS + AHEAD_MS}"

ADD_WORKER = """
    INSERT INTO workers (id, queue, started_at_ms, heartbeat_at_ms, progress_at_ms)
    VALUES (:id, :queue, :now_ms, :now_ms, :now_ms)
    ON CONFLICT (id) DO UPDATE SET started_at_ms = :now_ms, heartbeat_at_ms = :now_ms, progress_at_ms = :now_ms, job = NULL
"""
BEAT = """
    UPDATE workers
    SET heartbeat_at_ms = :now_ms,
        progress_at_ms = min(max(progress_at_ms, :progress_at_ms), :now_ms)   -- not ahead of a clock that was set back
    WHERE id = :id
"""
STOP_ASKED = "SELECT worker FROM jobs WHERE state = 'running' AND stop = 1"
REMOVE_WORKER = "DELETE FROM workers WHERE id = :id"
FORGET_SILENT = "DELETE FROM workers WHERE heartbeat_at_ms < :before_ms"


def add_worker(conn: sqlite3.Connection, worker: str, queue: str, now_ms: int) -> None:
    """The worker is known and idle."""
    conn.execute(ADD_WORKER, {"id": worker, "queue": queue, "now_ms": now_ms})


def beat(conn: sqlite3.Connection, progress_at_ms: Mapping[str, int], now_ms: int) -> None:
    """The workers named live now; each got on when its number says."""
    for worker, at_ms in progress_at_ms.items():
        if not conn.execute(BEAT, {"id": worker, "progress_at_ms": at_ms, "now_ms": now_ms}).rowcount:
            add_worker(conn, worker, worker.rpartition("/")[2].partition("-")[0], now_ms)  # it was silent so long that it was forgotten


def stop_asked(conn: sqlite3.Connection) -> set[str]:
    """The workers whose job an operator asked to end."""
    return {row[0] for row in conn.execute(STOP_ASKED)}


def remove_worker(conn: sqlite3.Connection, worker: str) -> None:
    """The worker has gone in good order."""
    conn.execute(REMOVE_WORKER, {"id": worker})


def forget_silent(conn: sqlite3.Connection, before_ms: int) -> int:
    """Workers not heard of since then are no longer listed; how many."""
    return conn.execute(FORGET_SILENT, {"before_ms": before_ms}).rowcount


WORKERS = "SELECT id, queue, started_at_ms, heartbeat_at_ms, progress_at_ms, job FROM workers ORDER BY id"


@dataclass(frozen=True)
class WorkerRow:
    """One worker thread as it last reported."""

    id: str
    queue: str
    started_at_ms: int
    heartbeat_at_ms: int
    progress_at_ms: int
    job: str | None


def workers(conn: sqlite3.Connection) -> list[WorkerRow]:
    """Every worker that is known."""
    return [WorkerRow(*row) for row in conn.execute(WORKERS)]


# ---- periodic work

KNOW_SCHEDULE = """
    INSERT INTO schedules (name, rule, next_at_ms) VALUES (:name, :rule, :next_at_ms)
    ON CONFLICT (name) DO UPDATE SET rule = :rule, next_at_ms = :next_at_ms WHERE rule <> :rule
"""
CLAIM_RUN = f"""
    UPDATE schedules
    SET next_at_ms = :next_at_ms, running_by = :process, running_since_ms = :now_ms
    WHERE name = :name AND next_at_ms <= :now_ms       -- one process moves it on, the others find it moved
      AND (running_by IS NULL                          -- and a run that outlasts its interval is not joined by another
           OR NOT EXISTS (SELECT 1 FROM workers AS w WHERE instr(w.id, running_by || '/') = 1 AND {ALIVE}))
"""
END_RUN = """
    UPDATE schedules
    SET running_by = NULL, running_since_ms = NULL, last_at_ms = :started_at_ms, last_ms = :now_ms - :started_at_ms, last_result = :result
    WHERE name = :name AND running_by = :process
"""
SCHEDULES = "SELECT name, rule, next_at_ms, running_since_ms, last_at_ms, last_ms, last_result FROM schedules ORDER BY name"
DROP_SCHEDULE = "DELETE FROM schedules WHERE name = :name"
DUE_SCHEDULE = "SELECT 1 FROM schedules WHERE name = :name AND next_at_ms <= :now_ms"
TOO_FAR = f"SELECT 1 FROM schedules WHERE name = :name AND next_at_ms > :next_at_ms + {AHEAD_MS}"
BRING_FORWARD = f"UPDATE schedules SET next_at_ms = :next_at_ms WHERE name = :name AND next_at_ms > :next_at_ms + {AHEAD_MS}"


@dataclass(frozen=True)
class ScheduleRow:
    """One kind of periodic work, as its last run left it."""

    name: str
    rule: str
    next_at_ms: int
    running_since_ms: int | None
    last_at_ms: int | None
    last_ms: int | None
    last_result: str | None


def know_schedule(conn: sqlite3.Connection, name: str, rule: str, next_at_ms: int) -> None:
    """The schedule is there; one whose rule changed starts afresh, one that is unchanged keeps its next run."""
    conn.execute(KNOW_SCHEDULE, {"name": name, "rule": rule, "next_at_ms": next_at_ms})


def schedule_due(conn: sqlite3.Connection, name: str, now_ms: int) -> bool:
    """Whether a claim is worth a write."""
    return conn.execute(DUE_SCHEDULE, {"name": name, "now_ms": now_ms}).fetchone() is not None


def schedule_too_far(conn: sqlite3.Connection, name: str, next_at_ms: int) -> bool:
    """Whether the next run stands further off than one that is reckoned from now: the clock was set back."""
    return conn.execute(TOO_FAR, {"name": name, "next_at_ms": next_at_ms}).fetchone() is not None


def bring_forward(conn: sqlite3.Connection, name: str, next_at_ms: int) -> None:
    """The next run is then, unless it is sooner."""
    conn.execute(BRING_FORWARD, {"name": name, "next_at_ms": next_at_ms})


def alive(heartbeat_at_ms: int, alive_since_ms: int) -> bool:
    """As ALIVE: a heartbeat from the future is a dead worker's, for a living one beats by the clock as it is now."""
    return 0 <= heartbeat_at_ms - alive_since_ms <= LOST_AFTER_MS + AHEAD_MS


def claim_run(conn: sqlite3.Connection, name: str, process: str, *, next_at_ms: int, alive_since_ms: int, now_ms: int) -> bool:
    """Whether the run that is due is this process's; of several that ask, one gets it."""
    values = {"name": name, "process": process, "next_at_ms": next_at_ms, "alive_since_ms": alive_since_ms, "now_ms": now_ms}
    return bool(conn.execute(CLAIM_RUN, values).rowcount)


def end_run(conn: sqlite3.Connection, name: str, process: str, *, started_at_ms: int, result: str, now_ms: int) -> None:
    """The run is over and its result can be read."""
    conn.execute(END_RUN, {"name": name, "process": process, "started_at_ms": started_at_ms, "result": result, "now_ms": now_ms})


def schedules(conn: sqlite3.Connection) -> list[ScheduleRow]:
    """All periodic work that a worker has made known."""
    return [ScheduleRow(*row) for row in conn.execute(SCHEDULES)]


def drop_schedule(conn: sqlite3.Connection, name: str) -> None:
    """The schedule is no longer listed."""
    conn.execute(DROP_SCHEDULE, {"name": name})


# ---- settings of the queue

READ_SETTING = "SELECT value FROM settings WHERE name = :name"
WRITE_SETTING = "INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
DROP_SETTING = "DELETE FROM settings WHERE name = :name"


def setting(conn: sqlite3.Connection, name: str) -> str | None:
    """A setting's value, or None."""
    row = conn.execute(READ_SETTING, {"name": name}).fetchone()
    return str(row[0]) if row else None


def set_setting(conn: sqlite3.Connection, name: str, value: str | None) -> None:
    """The setting holds the value; None removes it."""
    if value is None:
        conn.execute(DROP_SETTING, {"name": name})
    else:
        conn.execute(WRITE_SETTING, {"name": name, "value": value})
