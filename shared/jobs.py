"""What operators see of the queue and do about it. Answers are dicts ready for JSON; none holds text of a transcript.

What is shown is judged by signs of life: a running job has a worker that sends heartbeats, a healthy worker gets on with its job,
and the queue is ready when somebody made progress or nobody has anything to do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shared import overview
from shared.clock import when
from shared.errors import BadCursor, BadRequest, Conflict, NotFound
from shared.queue import LOST_AFTER_MS, RECONCILE, Queue
from shared.store import Store, workers
from shared.store import batches as batch_rows
from shared.store import jobs as rows
from shared.store.batches import Batch
from shared.store.jobs import STATES, JobFilter, JobRow
from shared.store.workers import WorkerRow

__all__ = ["STATES", "JobFilter", "Readiness", "batch", "cancel_job", "cancel_jobs", "job_detail", "list_batches", "list_jobs"]

MAX_LIMIT = 200
STUCK_AFTER_MS = 60_000  # a job whose worker lives and got nowhere for so long is flagged
HOUR_MS = 3_600_000
THROUGHPUT_MS = 600_000
AT_ONCE = 500  # jobs a transaction, when all that a filter selects are acted on


# ---- seeing


def list_jobs(queue: Queue, asked: JobFilter, now_ms: int, *, cursor: str | None = None, limit: int = 50) -> dict[str, Any]:
    """{"jobs", "nextCursor"}: what the filter lets through, newest first. raises: BadRequest, BadCursor."""
    _check(asked)
    if cursor is not None and not (len(cursor) == 20 and cursor.isalnum() and cursor.isascii()):
        raise BadCursor()
    if not 1 <= limit <= MAX_LIMIT:
        raise BadRequest(f"limit must be 1 to {MAX_LIMIT}", "limit")
    with queue.reading() as conn:
        found = rows.select_jobs(conn, asked, _alive_since(now_ms), before=cursor, limit=limit + 1)
    page = found[:limit]
    return {"jobs": [_job(row) for row in page], "nextCursor": page[-1].id if len(found) > limit else None}


def count_jobs(queue: Queue, asked: JobFilter, now_ms: int) -> dict[str, int]:
    """How many jobs the filter lets through, by their state; a state without any is left out. raises: BadRequest."""
    _check(asked)
    with queue.reading() as conn:
        return rows.count_selected(conn, asked, _alive_since(now_ms))


def job_detail(queue: Queue, job_id: str, now_ms: int) -> dict[str, Any]:
    """One job with its timeline. raises: NotFound."""
    with queue.reading() as conn:
        row = _found(rows.job(conn, job_id, _alive_since(now_ms)))
        told = rows.events(conn, job_id)
    timeline = [_event(row.queued_at_ms, "queued", None, None), *(_event(*one) for one in told)]
    if row.started_at_ms is not None:
        timeline.append(_event(row.started_at_ms, f"started, run {row.attempts}", row.worker, None))
    if row.ended_at_ms is not None:
        timeline.append(_event(row.ended_at_ms, row.state, row.worker, row.error))
    timeline.sort(key=lambda event: str(event["at"]))
    return {**_job(row), "queue": row.queue, "dueAt": when(row.due_at_ms), "lostWorker": bool(row.lost), "timeline": timeline}


def _job(row: JobRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": "retrying" if row.lost else row.state,
        "task": row.task,
        "agentId": row.agent_id,
        "sessionKey": row.session_key,
        "batchId": row.batch_id,
        "attempts": row.attempts,
        "error": "worker lost" if row.lost else row.error,
        "queuedAt": when(row.queued_at_ms),
        "startedAt": when(row.started_at_ms),
        "endedAt": when(row.ended_at_ms),
        "worker": row.worker,
    }


def _event(at_ms: int, event: str, worker: str | None, note: str | None) -> dict[str, Any]:
    return {"at": when(at_ms), "event": event, "worker": worker, "note": note}


def queue_overview(queue: Queue, now_ms: int) -> dict[str, Any]:
    """The fields of GET /v1/ops/queue: times are those of the last hour's runs, throughput is jobs done a minute."""
    with queue.reading() as conn:
        depth = rows.depth(conn, _alive_since(now_ms))
        oldest = rows.oldest_queued_ms(conn)
        paused = workers.setting(conn, "paused") is not None
        runs = rows.ended(conn, now_ms - HOUR_MS)
        done = rows.ended_count(conn, now_ms - THROUGHPUT_MS)
        known = workers.workers(conn)
    return {
        "depth": depth,
        "oldestWaitMs": 0 if oldest is None else max(0, now_ms - oldest),
        "paused": paused,
        "throughput": round(done * 60_000 / THROUGHPUT_MS, 1),
        "waitMs": _p50_p95([wait for _, wait, _ in runs]),
        "runMs": _p50_p95([run for _, _, run in runs]),
        "workers": [_worker(row, now_ms) for row in known],
    }


def _worker(row: WorkerRow, now_ms: int) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": worker_state(row, now_ms),
        "heartbeatAt": when(row.heartbeat_at_ms),
        "progressAt": when(row.progress_at_ms),
        "job": row.job,
    }


def worker_state(row: WorkerRow, now_ms: int) -> str:
    """healthy, stale (no heartbeat) or stuck (it lives, and its job gets nowhere)."""
    if not workers.alive(row.heartbeat_at_ms, _alive_since(now_ms)):
        return "stale"
    return "stuck" if row.job and now_ms - row.progress_at_ms > STUCK_AFTER_MS else "healthy"


def queue_series(queue: Queue, now_ms: int, *, window_ms: int, buckets: int) -> list[dict[str, Any]]:
    """The window cut into equal stretches, oldest first: how many jobs ended, how long they waited and ran (null: none did)."""
    width_ms = window_ms // buckets
    since_ms = now_ms - width_ms * buckets
    with queue.reading() as conn:
        counts = rows.ended_in_buckets(conn, since_ms, width_ms, buckets)
        every = 1 + sum(done + failed for done, failed in counts) // 4_000  # percentiles of a sample do for a chart
        runs = rows.ended(conn, since_ms, every=every, limit=10_000)
    waits: dict[int, list[int]] = {}
    times: dict[int, list[int]] = {}
    for ended_at_ms, wait_ms, run_ms in runs:
        waits.setdefault((ended_at_ms - since_ms) // width_ms, []).append(wait_ms)
        times.setdefault((ended_at_ms - since_ms) // width_ms, []).append(run_ms)
    return [_stretch(since_ms + n * width_ms, counts[n], waits.get(n, []), times.get(n, [])) for n in range(buckets)]


def _stretch(at_ms: int, counts: tuple[int, int], waits: list[int], runs: list[int]) -> dict[str, Any]:
    wait, run = _p50_p95(waits), _p50_p95(runs)
    ended = {"done": counts[0], "failed": counts[1]}
    return {"at": when(at_ms), **ended, "waitP50": wait["p50"], "waitP95": wait["p95"], "runP50": run["p50"], "runP95": run["p95"]}


def _p50_p95(values: list[int]) -> dict[str, int | None]:
    if not values:
        return {"p50": None, "p95": None}
    values = sorted(values)
    return {"p50": values[len(values) // 2], "p95": values[min(len(values) - 1, len(values) * 95 // 100)]}


def batch(queue: Queue, batch_id: str) -> dict[str, Any]:
    """One order to reindex and how far it is. raises: NotFound."""
    with queue.reading() as conn:
        found = batch_rows.batch(conn, batch_id)
    if found is None:
        raise NotFound("no batch has this id")
    return _batch(found)


def list_batches(queue: Queue, limit: int = 20) -> list[dict[str, Any]]:
    """The newest orders to reindex, newest first."""
    with queue.reading() as conn:
        return [_batch(found) for found in batch_rows.newest_batches(conn, limit)]


def _batch(found: Batch) -> dict[str, Any]:
    return {
        "batchId": found.id,
        "scope": found.scope,
        "state": _batch_state(found),
        "sessions": found.sessions,
        "open": found.open,
        "done": found.done,
        "failed": found.failed,
        "cancelled": found.cancelled,
        "createdAt": when(found.created_at_ms),
        "endedAt": when(found.ended_at_ms),
    }


def _batch_state(found: Batch) -> str:
    if found.ended_at_ms is None:
        return "running" if found.ordered else "ordering"
    return "failed" if found.failed else "done"


def schedules(queue: Queue, now_ms: int) -> list[dict[str, Any]]:
    """The periodic work that workers made known: its rule (with the zone), its last result and its next run."""
    with queue.reading() as conn:
        found = workers.schedules(conn)
    return [
        {
            "name": row.name,
            "rule": row.rule,
            "running": row.running_since_ms is not None,
            "lastRunAt": when(row.last_at_ms),
            "lastMs": row.last_ms,
            "lastResult": row.last_result,
            "nextRunAt": when(row.next_at_ms),
            "late": now_ms - row.next_at_ms > STUCK_AFTER_MS,
        }
        for row in found
    ]


@dataclass(frozen=True)
class Readiness:
    """Whether owed work gets done; reasons say in words why not."""

    ready: bool
    reasons: tuple[str, ...] = ()


def readiness(queue: Queue, now_ms: int) -> Readiness:
    """Ready: a worker made progress lately, or nothing waits."""
    with queue.reading() as conn:
        oldest = rows.oldest_queued_ms(conn)
        paused = workers.setting(conn, "paused") is not None
        known = workers.workers(conn)
    if paused or oldest is None or now_ms - oldest <= STUCK_AFTER_MS:
        return Readiness(True)
    if any(now_ms - row.progress_at_ms <= STUCK_AFTER_MS and workers.alive(row.heartbeat_at_ms, _alive_since(now_ms)) for row in known):
        return Readiness(True)
    waited_s = (now_ms - oldest) // 1000
    return Readiness(False, (f"a job has waited {waited_s} s and no worker made progress in the last {STUCK_AFTER_MS // 1000} s",))


@dataclass(frozen=True)
class QueueMetrics:
    """The queue in numbers, for a scrape. Counters and histograms are all-time and survive restarts and pruning."""

    depth: dict[tuple[str, str], int]  # (queue, live state) -> jobs
    oldest_wait_ms: int
    paused: bool
    outcomes: dict[tuple[str, str], int]  # (task, done | failed | cancelled) -> jobs ever
    timings: list[tuple[str, int, int, int]]  # (wait | run, bucket's upper bound in ms, jobs in it, their ms together)
    workers: dict[str, int]  # healthy | stale | stuck -> worker threads
    progress_age_s: float | None  # since any worker made progress; None: no worker is known


def metrics_snapshot(queue: Queue, now_ms: int) -> QueueMetrics:
    """What /metrics tells of the queue; the same from every process."""
    with queue.reading() as conn:
        oldest = rows.oldest_queued_ms(conn)
        known = workers.workers(conn)
        states = [worker_state(row, now_ms) for row in known]
        return QueueMetrics(
            depth=rows.live_depth(conn),
            oldest_wait_ms=0 if oldest is None else max(0, now_ms - oldest),
            paused=workers.setting(conn, "paused") is not None,
            outcomes=rows.outcomes(conn),
            timings=rows.timings(conn),
            workers={state: states.count(state) for state in ("healthy", "stale", "stuck")},
            progress_age_s=min((max(0, now_ms - row.progress_at_ms) / 1000 for row in known), default=None),
        )


# ---- doing


def retry_job(store: Store, queue: Queue, job_id: str, now_ms: int) -> dict[str, Any]:
    """The job is queued now as if it were new, and its session, if it was parked, is no longer. raises: NotFound, Conflict."""
    with queue.transaction() as conn:
        found = _found(rows.job(conn, job_id, _alive_since(now_ms)))
        if not rows.retry(conn, found, now_ms):
            raise Conflict(_why_not_retried(found))
    _unpark(store, found)
    return job_detail(queue, job_id, now_ms)


def _why_not_retried(found: JobRow) -> str:
    if found.agent_id is None:
        return "what the job was to do is lost, so it cannot be retried"
    if found.state in ("failed", "cancelled"):
        return "another job already does this work"
    return f"a job that is {found.state} cannot be retried"


def cancel_job(queue: Queue, job_id: str, now_ms: int) -> dict[str, Any]:
    """A waiting job is cancelled; a running one is asked to stop and ends at its next beat. raises: NotFound, Conflict."""
    with queue.transaction() as conn:
        found = _found(rows.job(conn, job_id, _alive_since(now_ms)))
        if not rows.cancel(conn, found, now_ms):
            raise Conflict(f"a job that is {found.state} cannot be cancelled")
    return job_detail(queue, job_id, now_ms)


def retry_jobs(store: Store, queue: Queue, asked: JobFilter, now_ms: int) -> int:
    """Every failed, cancelled or waiting-to-retry job that the filter selects is queued now; how many."""

    def act(conn: Any, found: JobRow) -> bool:
        return rows.retry(conn, found, now_ms)

    return _act_on_all(queue, asked, now_ms, act, lambda found: _unpark(store, found))


def cancel_jobs(queue: Queue, asked: JobFilter, now_ms: int) -> int:
    """Every live job that the filter selects is cancelled, or asked to stop where it runs; how many."""

    def act(conn: Any, found: JobRow) -> bool:
        return rows.cancel(conn, found, now_ms)

    return _act_on_all(queue, asked, now_ms, act, lambda _: None)


def _act_on_all(queue: Queue, asked: JobFilter, now_ms: int, act: Callable[[Any, JobRow], bool], then: Callable[[JobRow], None]) -> int:
    """Acts page by page, each in a short transaction; `then` follows the commit. The cursor only moves on, so this ends."""
    _check(asked)
    cursor, acted = None, 0
    while True:
        with queue.transaction() as conn:
            page = rows.select_jobs(conn, asked, _alive_since(now_ms), before=cursor, limit=AT_ONCE)
            changed = [found for found in page if act(conn, found)]
        for found in changed:
            then(found)
        acted += len(changed)
        if len(page) < AT_ONCE:
            return acted
        cursor = page[-1].id


def _unpark(store: Store, found: JobRow) -> None:
    if found.task == RECONCILE and found.agent_id is not None and store.has_agent(found.agent_id):
        overview.unpark(store, found.agent_id, found.session_key)


def pause_queue(queue: Queue, now_ms: int) -> None:
    """Workers take nothing more until the queue is resumed; what runs goes on."""
    with queue.transaction() as conn:
        workers.set_setting(conn, "paused", str(now_ms))


def resume_queue(queue: Queue, now_ms: int) -> None:
    """Workers take jobs again."""
    with queue.transaction() as conn:
        workers.set_setting(conn, "paused", None)


def queue_paused(queue: Queue) -> bool:
    """Whether an operator paused the queue."""
    with queue.reading() as conn:
        return workers.setting(conn, "paused") is not None


def _check(asked: JobFilter) -> None:
    if asked.state is not None and asked.state not in STATES:
        raise BadRequest(f"state must be one of {', '.join(STATES)}", "state")


def _found(row: JobRow | None) -> JobRow:
    if row is None:
        raise NotFound("no job has this id")
    return row


def _alive_since(now_ms: int) -> int:
    return now_ms - LOST_AFTER_MS
