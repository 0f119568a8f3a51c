"""The operators' verbs: what is owed, what the queue does, and acting on jobs. Nothing here shows a transcript's text."""

from dataclasses import astuple

from shared.errors import BadRequest
from shared.jobs import (
    JobFilter as Jobs,
)
from shared.jobs import (
    batch,
    cancel_job,
    cancel_jobs,
    job_detail,
    list_jobs,
    pause_queue,
    queue_overview,
    resume_queue,
    retry_job,
    retry_jobs,
)
from shared.overview import agents_overview
from shared.reindex import order_reindex
from web.bodies import JobFilter, ListJobs, Nothing, Reindex
from web.call import Call, Reply, given
from web.times import milliseconds


def agents(call: Call[Nothing]) -> Reply:
    """How much of every agent is indexed."""
    return Reply({"agents": agents_overview(call.store)})


def queue(call: Call[Nothing]) -> Reply:
    """Depth, waits, workers."""
    return Reply(queue_overview(call.queue, call.now_ms))


def jobs(call: Call[ListJobs]) -> Reply:
    """A page of jobs, newest first."""
    return Reply(list_jobs(call.queue, filter_of(call.body), call.now_ms, **given(call.body, "cursor", "limit")))


def job(call: Call[Nothing]) -> Reply:
    """One job and what happened to it."""
    return Reply(job_detail(call.queue, call.path["id"], call.now_ms))


def retry(call: Call[Nothing]) -> Reply:
    """An ended job is queued again."""
    return Reply(retry_job(call.store, call.queue, call.path["id"], call.now_ms))


def cancel(call: Call[Nothing]) -> Reply:
    """A job that has not ended is cancelled, or asked to stop."""
    return Reply(cancel_job(call.queue, call.path["id"], call.now_ms))


def retry_selected(call: Call[JobFilter]) -> Reply:
    """Every job of the filter that can be retried is queued again."""
    return Reply({"changed": retry_jobs(call.store, call.queue, _narrow(call.body), call.now_ms)})


def cancel_selected(call: Call[JobFilter]) -> Reply:
    """Every job of the filter that has not ended is cancelled."""
    return Reply({"changed": cancel_jobs(call.queue, _narrow(call.body), call.now_ms)})


def batch_progress(call: Call[Nothing]) -> Reply:
    """How far a bulk run is."""
    return Reply(batch(call.queue, call.path["id"]))


def pause(call: Call[Nothing]) -> Reply:
    """Workers finish what they run and take nothing new."""
    pause_queue(call.queue, call.now_ms)
    return Reply({"paused": True})


def resume(call: Call[Nothing]) -> Reply:
    """Workers take jobs again."""
    resume_queue(call.queue, call.now_ms)
    return Reply({"paused": False})


def reindex(call: Call[Reindex]) -> Reply:
    """A bulk run is taken on; overlapping ones join."""
    body = call.body
    order = order_reindex(
        call.store,
        call.queue,
        agent_id=body.agent_id,
        session_key=body.session_key,
        all_agents=bool(body.all),
        since_ms=milliseconds("since", body.since),
        force=bool(body.force),
        now_ms=call.now_ms,
    )
    return Reply({"batchId": order.batch_id, "sessions": order.sessions}, status=202)


def filter_of(body: JobFilter) -> Jobs:
    """The ledger's filter that a request asks for."""
    return Jobs(
        since_ms=milliseconds("since", body.since),
        until_ms=milliseconds("until", body.until),
        **given(body, "state", "task", "agent_id", "session_key", "batch_id", "q"),
    )


def _narrow(body: JobFilter) -> Jobs:
    """A filter for an action on many jobs: an empty one is refused, for it is more often a slip than meant."""
    chosen = filter_of(body)
    if all(value is None for value in astuple(chosen)):
        raise BadRequest("name at least one field of the filter: state, task, agentId, sessionKey, batchId, q, since or until")
    return chosen
