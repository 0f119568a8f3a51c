"""Parking: an operator's word that a session is left alone, or is tried again.

A parked session goes on making answers say `indexing: true`; parking hides no work, it only stops the tries.
"""

from shared import overview
from shared.errors import Conflict, NotFound
from shared.jobs import JobFilter, cancel_jobs, list_jobs
from shared.queue import RECONCILE, Queue
from shared.store import Store
from shared.store.ledger import LIVE

PARKED = "parked by an operator"
PAGE = 200


def park_session(store: Store, queue: Queue, agent_id: str, session_key: str, now_ms: int) -> None:
    """No try is made for the session until somebody asks, or it changes; its live job is cancelled.

    raises: NotFound; Conflict when it owes nothing or is parked already.
    """
    if not _park(store, queue, agent_id, session_key, now_ms):
        raise Conflict("this session owes nothing, or it is parked already")


def park_selected(store: Store, queue: Queue, asked: JobFilter, now_ms: int) -> int:
    """As park_session, for every session that the jobs of the filter are about; how many were parked."""
    return sum(_park(store, queue, agent_id, session_key, now_ms) for agent_id, session_key in _sessions_of(queue, asked, now_ms))


def unpark(store: Store, queue: Queue, agent_id: str | None, session_key: str | None, now_ms: int) -> int:
    """The parked session, or all of the agent, or all of every agent are tried again now; how many transcripts that were.

    raises: NotFound for an agent that is not there.
    """
    if agent_id is not None and not store.has_agent(agent_id):
        raise NotFound("no agent has this id")
    return sum(_unpark(store, queue, agent, session_key, now_ms) for agent in ([agent_id] if agent_id else store.agent_ids()))


def _park(store: Store, queue: Queue, agent_id: str, session_key: str, now_ms: int) -> bool:
    if not store.has_agent(agent_id):
        raise NotFound("no agent has this id")
    parked = overview.park(store, agent_id, session_key, PARKED)
    if parked:
        for state in sorted(LIVE):
            asked = JobFilter(state=state, task=RECONCILE, agent_id=agent_id, session_key=session_key)
            cancel_jobs(queue, asked, now_ms)
    return parked > 0


def _unpark(store: Store, queue: Queue, agent_id: str, session_key: str | None, now_ms: int) -> int:
    found = overview.unpark(store, agent_id, session_key)
    if found and session_key is not None:
        queue.enqueue_reconcile([(agent_id, session_key)], now_ms)
    elif found:
        queue.enqueue_drain(agent_id, now_ms)
    return found


def _sessions_of(queue: Queue, asked: JobFilter, now_ms: int) -> list[tuple[str, str]]:
    """The sessions that the jobs of a filter are about, each once."""
    found: dict[tuple[str, str], None] = {}
    cursor: str | None = None
    while True:
        page = list_jobs(queue, asked, now_ms, cursor=cursor, limit=PAGE)
        found.update({(row["agentId"], row["sessionKey"]): None for row in page["jobs"] if row["agentId"] and row["sessionKey"]})
        cursor = page["nextCursor"]
        if cursor is None:
            return list(found)
