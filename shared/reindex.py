"""An order to reconcile whole agents: by cron, by a person at a terminal, by an operator's click.

The same order is not carried out twice at a time: a second one joins the batch that runs. An ordering that was killed half-way
is finished by the next one of its kind; what it had marked stays owed and is found by the sweep in any case.
"""

from dataclasses import dataclass

from shared import overview
from shared.errors import BadRequest, NotFound
from shared.queue import CHUNK, RECONCILE, Queue
from shared.store import Store, batches, registry
from shared.store.ledger import Wanted, new_id

ALL = 1 << 31  # more sessions than an agent can have
NEVER_MS = 1 << 60  # so that a session that waits for its next try is taken too
SILENT_MS = 30_000  # an ordering without a sign of life for so long was killed


@dataclass(frozen=True)
class Order:
    """The batch that does what was asked for. joined: it was running already."""

    batch_id: str
    sessions: int
    joined: bool


def order_reindex(
    store: Store,
    queue: Queue,
    *,
    now_ms: int,
    agent_id: str | None = None,
    session_key: str | None = None,
    all_agents: bool = False,
    since_ms: int | None = None,
    force: bool = False,
) -> Order:
    """Every session named that is owed has a job in one batch. force: all that are named become pending first, and serve on.

    since_ms: only sessions used since then. What is parked is tried again.
    raises: BadRequest unless one of agent, session or all is named; NotFound; StoreUnavailable.
    """
    agents = _agents(store, agent_id, session_key, all_agents)
    batch_id, joined = _begin(queue, _scope(agents, session_key, all_agents, since_ms, force), now_ms)
    if not joined:
        for agent in agents:
            _order_agent(store, queue, batch_id, agent, session_key, since_ms=since_ms, force=force, now_ms=now_ms)
        with queue.transaction() as conn:
            batches.all_ordered(conn, batch_id, now_ms)
    with queue.reading() as conn:
        found = batches.batch(conn, batch_id)
    return Order(batch_id, found.sessions if found else 0, joined)


def _agents(store: Store, agent_id: str | None, session_key: str | None, all_agents: bool) -> list[str]:
    """The agents that the order is about."""
    if all_agents:
        if agent_id is not None or session_key is not None:
            raise BadRequest("all goes with neither agentId nor sessionKey", "all")
        return store.agent_ids()
    if session_key is not None:
        with store.registry_reader() as conn:
            claim = registry.latest_claim(conn, session_key)
        if claim is None or claim.deleted or agent_id not in (None, claim.agent_id):
            raise NotFound("no session has this key")
        return [claim.agent_id]
    if agent_id is None:
        raise BadRequest("name one of agentId, sessionKey and all", "agentId")
    if not store.has_agent(agent_id):
        raise NotFound("no agent has this id")
    return [agent_id]


def _scope(agents: list[str], session_key: str | None, all_agents: bool, since_ms: int | None, force: bool) -> str:
    """The order in words that are equal when two orders are."""
    what = "all" if all_agents else f"session {session_key}" if session_key is not None else f"agent {agents[0]}"
    return what + ("" if since_ms is None else f" since {since_ms}") + (" forced" if force else "")


def _begin(queue: Queue, scope: str, now_ms: int) -> tuple[str, bool]:
    """(a batch, whether it is somebody else's): a new one, one whose ordering was killed, or the one that runs."""
    with queue.transaction() as conn:
        found = batches.live_batch(conn, scope)
        if found is None:
            batch_id = new_id(now_ms)
            batches.add_batch(conn, batch_id, scope, now_ms)
            return batch_id, False
        silent = not found.ordered and now_ms - found.touched_at_ms > SILENT_MS
        return found.id, not (silent and batches.take_over(conn, found, now_ms))


def _order_agent(
    store: Store, queue: Queue, batch_id: str, agent_id: str, session_key: str | None, *, since_ms: int | None, force: bool, now_ms: int
) -> None:
    """The agent's part of the batch is in the queue."""
    if force:
        overview.mark_pending(store, agent_id, session_key, since_ms=since_ms, now_ms=now_ms)
    else:
        overview.unpark(store, agent_id, session_key)
    owed = overview.owed_sessions(store, agent_id, limit=ALL, now_ms=NEVER_MS, since_ms=since_ms)
    if session_key is not None:
        owed = [key for key in owed if key == session_key]
    for start in range(0, len(owed), CHUNK):
        queue.order([Wanted(RECONCILE, agent_id, key, "bulk") for key in owed[start : start + CHUNK]], now_ms, batch_id)
        with queue.transaction() as conn:
            batches.touch(conn, batch_id, now_ms)
