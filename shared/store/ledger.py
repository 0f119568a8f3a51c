"""Every statement that moves a job: ordered, taken by a worker, put off, given back, ended.

A job's record and Huey's message about it change in one commit, at both ends: what is queued has a message, what was taken from
Huey is running under the name of the worker that took it. So a kill at any moment leaves either a message or a running job whose
worker is silent, and both are seen. The functions run inside the caller's transaction.
"""

import secrets
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from itertools import count
from typing import Literal

from shared.message import BadMessage, Message, decode, encode
from shared.store.workers import ALIVE

QueueName = Literal["interactive", "bulk"]
Ending = Literal["done", "failed", "cancelled"]
CANCELLED = "cancelled by an operator"
LIVE = frozenset({"queued", "running", "retrying"})


@dataclass(frozen=True)
class Wanted:
    """Work to be ordered: a task for an agent, or for one of its sessions."""

    task: str
    agent_id: str
    session_key: str | None = None
    queue: QueueName = "interactive"
    priority: int = 0  # higher goes first within its queue
    after_ms: int = 0  # how long it may gather more of its kind before it runs


@dataclass(frozen=True)
class Live:
    """A job that is queued, running or retrying."""

    id: str
    state: str
    queue: str
    message: int | None
    again: bool

    def serves(self, wanted: Wanted) -> bool:
        """Whether nothing has to be written for the wish: the job will look at the session after now, and soon enough."""
        soon = self.queue == "interactive" or wanted.queue == "bulk"
        return self.state == "retrying" or self.again or (self.state == "queued" and soon)


# ---- ordering

LIVE_JOB = """
    SELECT id, state, queue, message, again
    FROM jobs
    WHERE task = :task AND agent_id = :agent_id AND ifnull(session_key, '') = ifnull(:session_key, '')
      AND state IN ('queued', 'running', 'retrying')   -- the partial unique index: at most one
"""
ADD_JOB = """
    INSERT INTO jobs (id, state, task, queue, priority, agent_id, session_key, batch_id, message, queued_at_ms, due_at_ms)
    VALUES (:id, CASE WHEN :due_at_ms IS NULL THEN 'queued' ELSE 'retrying' END, :task, :queue, :priority, :agent_id, :session_key,
            :batch_id, :message, :now_ms, :due_at_ms)
"""
ADD_MESSAGE = "INSERT INTO task (queue, data, priority) VALUES (:queue, :data, :priority)"
JOIN_BATCH = "INSERT INTO batch_jobs (job_id, batch_id) VALUES (:job_id, :batch_id) ON CONFLICT DO NOTHING"
ASK_AGAIN = "UPDATE jobs SET again = 1 WHERE id = :id AND state = 'running'"
MOVE_JOB = "UPDATE jobs SET queue = 'interactive', priority = :priority WHERE id = :id AND state = 'queued'"
MOVE_MESSAGE = "UPDATE task SET queue = 'interactive', priority = :priority WHERE id = :message"


def live_job(conn: sqlite3.Connection, wanted: Wanted) -> Live | None:
    """The live job that already does what is wanted."""
    row = conn.execute(LIVE_JOB, {"task": wanted.task, "agent_id": wanted.agent_id, "session_key": wanted.session_key}).fetchone()
    return Live(row[0], row[1], row[2], row[3], bool(row[4])) if row else None


def order(conn: sqlite3.Connection, wanted: Wanted, now_ms: int, batch_id: str | None = None) -> bool:
    """A live job does what is wanted and belongs to the batch; whether it had to be made.

    A running one will look again when it is through; one that waits on bulk comes to the front when the wish is interactive.
    """
    found = live_job(conn, wanted)
    job_id = found.id if found else new_id(now_ms)
    if found is None:
        message = None
        if not wanted.after_ms:
            data = encode(Message(job_id, wanted.task, wanted.agent_id, wanted.session_key))
            message = conn.execute(ADD_MESSAGE, {"queue": wanted.queue, "data": data, "priority": wanted.priority}).lastrowid
        due_at_ms = now_ms + wanted.after_ms if wanted.after_ms else None
        values = {"id": job_id, "batch_id": batch_id, "message": message, "now_ms": now_ms, "due_at_ms": due_at_ms}
        conn.execute(ADD_JOB, {**vars(wanted), **values})
    elif found.state == "running":
        conn.execute(ASK_AGAIN, {"id": found.id})
    elif not found.serves(wanted):
        conn.execute(MOVE_JOB, {"id": found.id, "priority": wanted.priority})
        conn.execute(MOVE_MESSAGE, {"message": found.message, "priority": wanted.priority})
    if batch_id is not None:
        conn.execute(JOIN_BATCH, {"job_id": job_id, "batch_id": batch_id})
    return found is None


_numbers = count()


def new_id(now_ms: int) -> str:
    """A job's or a batch's id: 12 hexadecimal digits of time, 4 of a count, 4 of chance.

    Later ones are greater, those of one process and moment included, so that rows are added at the end of their indexes.
    """
    return f"{now_ms:012x}{next(_numbers) & 0xFFFF:04x}{secrets.token_hex(2)}"


JOB_TO_SEND = "SELECT task, queue, priority, agent_id, session_key FROM jobs WHERE id = :id"
MESSAGE_SENT = "UPDATE jobs SET message = :message WHERE id = :id"


def send(conn: sqlite3.Connection, job_id: str) -> None:
    """The queued job has a message in Huey's table."""
    task, queue, priority, agent_id, session_key = conn.execute(JOB_TO_SEND, {"id": job_id}).fetchone()
    data = encode(Message(job_id, task, agent_id, session_key))
    sent = conn.execute(ADD_MESSAGE, {"queue": queue, "data": data, "priority": priority})
    conn.execute(MESSAGE_SENT, {"id": job_id, "message": sent.lastrowid})


# ---- taking

ANY_MESSAGE = """
    SELECT EXISTS (SELECT 1 FROM task WHERE queue = :queue)
       AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'paused')
"""
NEXT_MESSAGE = "SELECT id, data FROM task WHERE queue = :queue ORDER BY priority DESC, id LIMIT 1"
DROP_MESSAGE = "DELETE FROM task WHERE id = :id"
START_JOB = """
    UPDATE jobs
    SET state = 'running', worker = :worker, started_at_ms = :now_ms, message = NULL, attempts = attempts + 1, again = 0, stop = 0
    WHERE id = :id AND state = 'queued'            -- a doubled or late message starts nothing
"""
WORKER_TOOK = "UPDATE workers SET job = :job, progress_at_ms = :now_ms, heartbeat_at_ms = :now_ms WHERE id = :worker"
ADD_LOST_MESSAGE = """
    INSERT INTO jobs (id, state, task, queue, error, queued_at_ms, ended_at_ms)
    VALUES (:id, 'failed', :task, :queue, :error, :now_ms, :now_ms)
"""


def anything_to_take(conn: sqlite3.Connection, queue: QueueName) -> bool:
    """Whether a look with the write lock is worth its cost: a message waits and the queue is not paused."""
    return bool(conn.execute(ANY_MESSAGE, {"queue": queue}).fetchone()[0])


def take(conn: sqlite3.Connection, queue: QueueName, worker: str, known: Collection[str], now_ms: int) -> bytes | None:
    """The next message, taken from Huey; its job is running under the worker's name.

    What cannot be run (unreadable, or a task this release does not know) becomes a failed job that says why; what names no
    queued job is dropped.
    """
    if not anything_to_take(conn, queue):
        return None
    for _ in range(100):  # at most so many dead messages in one write
        row = conn.execute(NEXT_MESSAGE, {"queue": queue}).fetchone()
        if row is None:
            return None
        conn.execute(DROP_MESSAGE, {"id": row[0]})
        message = _readable(conn, bytes(row[1]), queue, known, now_ms)
        if message and conn.execute(START_JOB, {"id": message.job_id, "worker": worker, "now_ms": now_ms}).rowcount:
            conn.execute(WORKER_TOOK, {"worker": worker, "job": message.job_id, "now_ms": now_ms})
            return bytes(row[1])
    return None


def _readable(conn: sqlite3.Connection, data: bytes, queue: QueueName, known: Collection[str], now_ms: int) -> Message | None:
    try:
        message = decode(data)
        if message.task not in known:
            raise BadMessage(f"no task of this release is named {message.task}")
        return message
    except BadMessage as e:
        fail_message(conn, data, queue, str(e), now_ms)
        return None


FAIL_QUEUED = "UPDATE jobs SET state = 'failed', error = :error, ended_at_ms = :now_ms, message = NULL WHERE id = :id AND state = 'queued'"


def fail_message(conn: sqlite3.Connection, data: bytes, queue: QueueName, error: str, now_ms: int) -> None:
    """The ledger shows once, as a failed job, what nobody can run."""
    try:
        found = decode(data)
        if conn.execute(FAIL_QUEUED, {"id": found.job_id, "error": error, "now_ms": now_ms}).rowcount:
            return
        task = found.task
    except BadMessage:
        task = "unknown"
    conn.execute(ADD_LOST_MESSAGE, {"id": new_id(now_ms), "task": task, "queue": queue, "error": error, "now_ms": now_ms})


STRAY_MESSAGES = "SELECT id, data FROM task WHERE queue NOT IN ('interactive', 'bulk') ORDER BY id LIMIT 100"


def fail_stray_messages(conn: sqlite3.Connection, now_ms: int) -> int:
    """Messages under a queue name that no worker reads are failed jobs; how many there were (100 at most)."""
    rows = conn.execute(STRAY_MESSAGES).fetchall()
    for message_id, data in rows:
        conn.execute(DROP_MESSAGE, {"id": message_id})
        error = "a message on a queue that no worker reads"
        try:
            decode(bytes(data))
        except BadMessage as e:
            error = str(e)
        fail_message(conn, bytes(data), "interactive", error, now_ms)
    return len(rows)


# ---- ending a run

END_JOB = """
    UPDATE jobs
    SET state = :state, error = :error, ended_at_ms = :now_ms, again = 0
    WHERE id = :id AND state = 'running' AND worker = :worker   -- not when it was given to another meanwhile
      AND (again = 0 OR :state <> 'done')
    RETURNING queued_at_ms, started_at_ms
"""
NOTE_ERROR = "UPDATE jobs SET error = :error WHERE id = :id AND state = 'running' AND worker = :worker"
WORKER_FREE = "UPDATE workers SET job = NULL, progress_at_ms = :now_ms WHERE id = :worker"
ADD_TIMING = """
    INSERT INTO timings (kind, upper_ms, jobs, total_ms) VALUES (:kind, :upper_ms, 1, :ms)
    ON CONFLICT (kind, upper_ms) DO UPDATE SET jobs = jobs + 1, total_ms = total_ms + excluded.total_ms
"""
TIMING_BUCKETS_MS = (10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000)
BEYOND_MS = 1 << 53  # the last bucket: longer than all of them


def note_error(conn: sqlite3.Connection, job_id: str, worker: str, error: str) -> None:
    """The running job shows why it is about to fail."""
    conn.execute(NOTE_ERROR, {"id": job_id, "worker": worker, "error": error})


def end(conn: sqlite3.Connection, job_id: str, worker: str, state: Ending, *, error: str | None, now_ms: int) -> bool:
    """The run is over and so is the job; False when it is not this worker's any more, or is asked for again and has to go on."""
    row = conn.execute(END_JOB, {"id": job_id, "worker": worker, "state": state, "error": error, "now_ms": now_ms}).fetchone()
    if row is None:
        return False
    conn.execute(WORKER_FREE, {"worker": worker, "now_ms": now_ms})
    for kind, ms in (("wait", max(0, row[1] - row[0])), ("run", max(0, now_ms - row[1]))):
        upper = next((bucket for bucket in TIMING_BUCKETS_MS if ms <= bucket), BEYOND_MS)
        conn.execute(ADD_TIMING, {"kind": kind, "upper_ms": upper, "ms": ms})
    return True


HEAR_AGAIN = "UPDATE jobs SET again = 0 WHERE id = :id AND state = 'running' AND worker = :worker AND again = 1"


def hear_again(conn: sqlite3.Connection, job_id: str, worker: str) -> bool:
    """Whether the running job was asked for once more; the wish is then taken as heard."""
    return bool(conn.execute(HEAR_AGAIN, {"id": job_id, "worker": worker}).rowcount)


ATTEMPTS = "SELECT attempts FROM jobs WHERE id = :id"


def attempts(conn: sqlite3.Connection, job_id: str) -> int:
    """How many runs of the job were begun."""
    row = conn.execute(ATTEMPTS, {"id": job_id}).fetchone()
    return int(row[0]) if row else 0


PUT_OFF = """
    UPDATE jobs
    SET state = 'retrying', due_at_ms = :due_at_ms, error = :error, again = 0, attempts = attempts - :no_attempt
    WHERE id = :id AND state = 'running' AND worker = :worker
"""


def put_off(conn: sqlite3.Connection, job_id: str, worker: str, *, due_at_ms: int, error: str | None, now_ms: int) -> bool:
    """The job will run again, not before due_at_ms. Without an error it only has more to do, and the run counts as no attempt."""
    values = {"id": job_id, "worker": worker, "due_at_ms": due_at_ms, "error": error, "no_attempt": int(error is None)}
    if not conn.execute(PUT_OFF, values).rowcount:
        return False
    conn.execute(WORKER_FREE, {"worker": worker, "now_ms": now_ms})
    if error is not None:
        note(conn, job_id, now_ms, "put off", worker=worker, text=error)
    return True


GIVE_BACK = """
    UPDATE jobs
    SET state = 'queued', attempts = attempts - 1   -- a worker that is stopped is no fault of the job
    WHERE id = :id AND state = 'running' AND worker = :worker
"""


def give_back(conn: sqlite3.Connection, job_id: str, worker: str, now_ms: int) -> bool:
    """The job is queued again, since its worker has to stop."""
    if not conn.execute(GIVE_BACK, {"id": job_id, "worker": worker}).rowcount:
        return False
    send(conn, job_id)
    conn.execute(WORKER_FREE, {"worker": worker, "now_ms": now_ms})
    note(conn, job_id, now_ms, "given back", worker=worker)
    return True


JOB_OF = "SELECT id FROM jobs WHERE state = 'running' AND worker = :worker ORDER BY started_at_ms DESC, id DESC LIMIT 1"


def job_of(conn: sqlite3.Connection, worker: str) -> str | None:
    """The job that the worker runs."""
    row = conn.execute(JOB_OF, {"worker": worker}).fetchone()
    return str(row[0]) if row else None


# ---- what time brings

LONGEST_PAUSE_MS = 600_000  # no pause is longer: one that ends later was begun before the clock was set back
DUE = f"state = 'retrying' AND (due_at_ms <= :now_ms OR due_at_ms > :now_ms + {LONGEST_PAUSE_MS})"
DUE_JOBS = f"SELECT id FROM jobs WHERE {DUE} ORDER BY due_at_ms, id LIMIT 200"
QUEUE_AGAIN = "UPDATE jobs SET state = 'queued', due_at_ms = NULL WHERE id = :id AND state = 'retrying'"


def queue_due(conn: sqlite3.Connection, now_ms: int) -> int:
    """Jobs whose pause is over are queued again (200 at most); how many."""
    due = [row[0] for row in conn.execute(DUE_JOBS, {"now_ms": now_ms})]
    for job_id in due:
        conn.execute(QUEUE_AGAIN, {"id": job_id})
        send(conn, job_id)
    return len(due)


# A running job is lost when no living worker says that it is at it.
LOST = f"""
    NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.id = jobs.worker AND w.job = jobs.id AND {ALIVE})
"""
LOST_JOBS = f"SELECT id, worker, attempts FROM jobs WHERE state = 'running' AND {LOST} ORDER BY id LIMIT 200"
REQUEUE_LOST = "UPDATE jobs SET state = 'queued', error = 'worker lost', again = 0 WHERE id = :id AND state = 'running'"
FAIL_LOST = "UPDATE jobs SET state = 'failed', error = :error, ended_at_ms = :now_ms WHERE id = :id AND state = 'running'"


ANYTHING_DUE = f"""
    SELECT EXISTS (SELECT 1 FROM jobs WHERE {DUE})
        OR EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND {LOST})
        OR EXISTS (SELECT 1 FROM task WHERE queue < 'bulk' OR queue > 'bulk' AND queue < 'interactive' OR queue > 'interactive')
"""


def anything_due(conn: sqlite3.Connection, alive_since_ms: int, now_ms: int) -> bool:
    """Whether a pause is over, a job runs on paper only, or a message stands where nobody reads: a look that takes no lock."""
    return bool(conn.execute(ANYTHING_DUE, {"alive_since_ms": alive_since_ms, "now_ms": now_ms}).fetchone()[0])


def requeue_lost(conn: sqlite3.Connection, alive_since_ms: int, most_attempts: int, now_ms: int) -> list[str]:
    """Jobs of silent workers are queued again, or failed when they were begun too often; their ids (200 at most)."""
    lost = conn.execute(LOST_JOBS, {"alive_since_ms": alive_since_ms}).fetchall()
    for job_id, worker, attempts in lost:
        note(conn, job_id, now_ms, "worker lost", worker=worker)
        if attempts >= most_attempts:
            conn.execute(FAIL_LOST, {"id": job_id, "error": f"worker lost in each of {attempts} runs", "now_ms": now_ms})
        else:
            conn.execute(REQUEUE_LOST, {"id": job_id})
            send(conn, job_id)
    return [row[0] for row in lost]


UNSENT = """
    SELECT id FROM jobs
    WHERE state = 'queued' AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = jobs.message)
    ORDER BY id LIMIT 200
"""


def any_unsent(conn: sqlite3.Connection) -> bool:
    """Whether a queued job has no message: a look that takes no lock."""
    return conn.execute(UNSENT).fetchone() is not None


def send_unsent(conn: sqlite3.Connection) -> int:
    """Queued jobs whose message is gone (a flushed or mended file) have one again (200 at most); how many lacked it."""
    unsent = [row[0] for row in conn.execute(UNSENT)]
    for job_id in unsent:
        send(conn, job_id)
    return len(unsent)


ADD_EVENT = """
    INSERT INTO job_events (job_id, number, at_ms, event, worker, note)
    SELECT :job_id, ifnull(max(number), 0) + 1, :at_ms, :event, :worker, :note FROM job_events WHERE job_id = :job_id
"""


def note(conn: sqlite3.Connection, job_id: str, at_ms: int, event: str, *, worker: str | None = None, text: str | None = None) -> None:
    """One line of the job's timeline."""
    conn.execute(ADD_EVENT, {"job_id": job_id, "at_ms": at_ms, "event": event, "worker": worker, "note": text})
