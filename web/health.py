"""Alive and ready: two different things, and the second names what is wrong."""

from contextlib import suppress

from shared.errors import BadRequest, StoreUnavailable
from shared.jobs import JobFilter, list_jobs, readiness
from shared.suspects import note_suspect
from web.bodies import Nothing
from web.call import Call, Reply

NAMED = 20  # databases that an answer names
DAMAGED = "a database is damaged"  # as the store words it, in the error of a job
JOBS_OF_MS = 3_600_000


def alive(call: Call[Nothing]) -> Reply:
    """The process answers; no database is asked."""
    return Reply({"status": "ok"})


def ready(call: Call[Nothing]) -> Reply:
    """200 when databases open and work gets done, else 503 with the reasons; damaged files are named."""
    queue = _queue_troubles(call)  # first, for what its jobs met is looked at with the databases
    reasons = [*_database_troubles(call), *queue]
    return Reply({"ready": not reasons, "reasons": reasons}, status=503 if reasons else 200)


def _database_troubles(call: Call[Nothing]) -> list[str]:
    try:
        seen = call.services.census.look(call.store, call.now_ms)
    except StoreUnavailable as e:
        return [_named(e)]
    named = [f"{error}: {path}" for path, error in sorted(seen.unreadable.items())]
    more = len(named) - NAMED
    return named if more <= 0 else [*named[:NAMED], f"and {more} more databases"]


def _queue_troubles(call: Call[Nothing]) -> list[str]:
    try:
        _note_what_jobs_met(call)
        return list(readiness(call.queue, call.now_ms).reasons)
    except StoreUnavailable as e:
        return [_named(e)]


def _note_what_jobs_met(call: Call[Nothing]) -> None:
    """Databases that the last hour's jobs found damaged are suspects: the next look at all databases checks them."""
    asked = JobFilter(q=DAMAGED, since_ms=call.now_ms - JOBS_OF_MS)
    for job in list_jobs(call.queue, asked, call.now_ms, limit=NAMED)["jobs"]:
        with suppress(BadRequest):  # a message in the queue may name any agent
            if job["agentId"] and call.store.has_agent(job["agentId"]):
                note_suspect(call.services.settings, str(call.store.agent_path(job["agentId"])))


def _named(error: StoreUnavailable) -> str:
    return f"{error}: {error.path}" if error.path else str(error)
