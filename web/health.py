"""Alive and ready: two different things, and the second names what is wrong."""

from shared.errors import StoreUnavailable
from shared.jobs import readiness
from shared.overview import agents_overview
from web.bodies import Nothing
from web.call import Call, Reply


def alive(call: Call[Nothing]) -> Reply:
    """The process answers; no database is asked."""
    return Reply({"status": "ok"})


def ready(call: Call[Nothing]) -> Reply:
    """200 when databases open and work gets done, else 503 with the reasons; damaged files are named."""
    reasons = [*_database_troubles(call), *_queue_troubles(call)]
    return Reply({"ready": not reasons, "reasons": reasons}, status=503 if reasons else 200)


def _database_troubles(call: Call[Nothing]) -> list[str]:
    try:
        agents_overview(call.store)
    except StoreUnavailable as e:
        return [_named(e)]
    return []


def _queue_troubles(call: Call[Nothing]) -> list[str]:
    try:
        return list(readiness(call.queue, call.now_ms).reasons)
    except StoreUnavailable as e:
        return [_named(e)]


def _named(error: StoreUnavailable) -> str:
    return f"{error}: {error.path}" if error.path else str(error)
