"""Each task: its name, its arguments, its retry rule.

Arguments are an agent and, where it has one, a session key; the work itself is found in the agent's database. Bodies import their
verbs inside, so that knowing the names costs nothing.

Retry rule. A store that cannot be read or written now, and an error nobody foresaw, are worth a retry, each after a longer pause;
after MOST_ATTEMPTS runs the job is failed. An event that cannot be understood is permanent: the session is parked, the job failed.
A session that another worker holds is tried again shortly: its holder may be dead, and then its lease runs out.
"""

import logging
import random
from collections.abc import Callable
from contextlib import suppress

from huey import Huey

from shared.clock import now_ms
from shared.errors import IndexDamaged, LeaseLost, NotFound, SessionSearchError, StoreDamaged, StoreUnavailable
from shared.logs import where_raised
from shared.queue import CANCELLED, DRAIN, ERASE, ERASE_AFTER_MS, RECONCILE, Ending, QueueName
from shared.suspects import note_suspect
from worker.runtime import Cancelled, Interrupted, Run, Runtime, Stopping

log = logging.getLogger(__name__)

FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 120_000
DRAIN_STEP = 400  # sessions that a drain has in the queue at a time
DRAIN_PAUSE_MS = 2_000


class Later(Exception):
    """The task has more to do and goes on after a pause; not a failure."""

    def __init__(self, pause_ms: int) -> None:
        self.pause_ms = pause_ms


def register(huey: Huey, runtime: Runtime, queue: QueueName) -> None:
    """Huey knows every task by its name; each runs within the process's runtime."""

    @huey.task(name=RECONCILE)  # type: ignore[untyped-decorator]
    def reconcile(job_id: str, agent_id: str, session_key: str) -> None:
        run_job(runtime, queue, job_id, lambda run: reconcile_one(runtime, run, agent_id, session_key))

    @huey.task(name=DRAIN)  # type: ignore[untyped-decorator]
    def drain(job_id: str, agent_id: str, session_key: None = None) -> None:
        run_job(runtime, queue, job_id, lambda _: drain_agent(runtime, agent_id))

    @huey.task(name=ERASE)  # type: ignore[untyped-decorator]
    def erase(job_id: str, agent_id: str, session_key: None = None) -> None:
        run_job(runtime, queue, job_id, lambda run: erase_agent(runtime, run, agent_id), again_after_ms=ERASE_AFTER_MS)


def reconcile_one(runtime: Runtime, run: Run, agent_id: str, session_key: str) -> None:
    """The session's projection equals its active branch. raises: as worker.reconcile.reconcile_session."""
    from worker.reconcile import reconcile_session

    def failing(error: str) -> None:
        runtime.write(lambda: runtime.queue.note_error(run.job_id, run.worker, error))

    begun = now_ms()
    try:
        found = reconcile_session(runtime.store, agent_id, session_key, run.worker, now_ms, run.beat, failing)
    except NotFound:
        return  # deleted meanwhile: nothing is owed
    except Interrupted:
        release(runtime, run, agent_id, session_key)
        raise
    told = {"agent_id": agent_id, "session_key": session_key, "job": run.job_id}
    log.info("session reconciled", extra={**told, "entries": found.entries, "removed": found.removed, "duration_ms": now_ms() - begun})


def release(runtime: Runtime, run: Run, agent_id: str, session_key: str) -> None:
    """The session is nobody's, so that the next worker need not wait until this one's lease has run out."""
    from shared.store import owed
    from shared.store.connect import write_transaction

    with suppress(StoreUnavailable), runtime.store.writer(agent_id) as conn, write_transaction(conn, runtime.store.agent_path(agent_id)):
        for transcript, _ in owed.pending_transcripts(conn, session_key):
            owed.drop_lease(conn, transcript.transcript_no, run.worker)


def drain_agent(runtime: Runtime, agent_id: str) -> None:
    """Every session the agent owes has a job, a bounded number of them at a time. raises: Later while there are more."""
    from shared.overview import owed_sessions
    from shared.store.ledger import Wanted

    if not runtime.store.has_agent(agent_id):
        return
    owed = owed_sessions(runtime.store, agent_id, limit=DRAIN_STEP, now_ms=now_ms())
    runtime.queue.order([Wanted(RECONCILE, agent_id, key, "bulk", priority=1) for key in owed], now_ms())
    if len(owed) == DRAIN_STEP:
        raise Later(DRAIN_PAUSE_MS)


def erase_agent(runtime: Runtime, run: Run, agent_id: str) -> None:
    """What was deleted is no longer in the agent's files."""
    from worker.maintenance import erase

    erase(runtime.store, agent_id, run.beat)


def run_job(runtime: Runtime, queue: QueueName, job_id: str, body: Callable[[Run], None], again_after_ms: int = 0) -> None:
    """The job was run, once more for as long as it was asked for meanwhile, and the ledger says how it ended.

    again_after_ms: how long it rests before it runs once more.
    """
    run = runtime.begin(job_id, runtime.worker_id(queue))
    try:
        body(run)
        while not runtime.write(lambda: runtime.queue.end(job_id, run.worker, "done", error=None, now_ms=now_ms())):
            if not runtime.queue.hear_again(job_id, run.worker):
                return  # it was taken for lost and belongs to another now
            if again_after_ms:
                raise Later(again_after_ms)
            body(run)
    except Stopping:
        runtime.write(lambda: runtime.queue.give_back(job_id, run.worker, now_ms()))
    except Cancelled:
        end(runtime, run, "cancelled", CANCELLED)
    except Later as e:
        due_at_ms = now_ms() + e.pause_ms
        runtime.write(lambda: runtime.queue.go_on_later(job_id, run.worker, due_at_ms, now_ms()))
    except LeaseLost:
        try_again(runtime, run, "another worker has this session", "cancelled")
    except StoreUnavailable as e:
        if isinstance(e, StoreDamaged) and not isinstance(e, IndexDamaged):  # an index is built anew by itself
            note_suspect(runtime.settings, str(e.path))
        try_again(runtime, run, str(e), "failed")
    except SessionSearchError as e:
        end(runtime, run, "failed", str(e))
    except Exception as e:
        try_again(runtime, run, where_raised(e), "failed")


def try_again(runtime: Runtime, run: Run, error: str, at_last: Ending) -> None:
    """The job runs again after a pause; one that was begun often enough ends, as at_last says."""
    queue = runtime.queue
    runtime.write(lambda: queue.try_again(run.job_id, run.worker, error, pause_ms=pause_ms, at_last=at_last, now_ms=now_ms()) or True)
    log.warning("job could not be done now", extra={"job": run.job_id, "error": error})


def end(runtime: Runtime, run: Run, ending: Ending, error: str) -> None:
    """The job is over, for good or by order."""
    runtime.write(lambda: runtime.queue.end(run.job_id, run.worker, ending, error=error, now_ms=now_ms()) or True)
    (log.error if ending == "failed" else log.info)("job ended", extra={"job": run.job_id, "state": ending, "error": error})


def pause_ms(attempts: int) -> int:
    """How long to wait after so many runs: doubled each time, with chance in it so that many do not come back at once."""
    longest = min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << min(attempts, 20))
    return longest // 2 + random.randrange(longest // 2)  # noqa: S311  # spreads load, guards nothing
