"""What happens when an agent's full-text index turns out to be damaged: every session of the agent is owed, at once and durably.

The transcripts are not concerned. Searches say `indexing: true` and appends are stored without index until a reconcile has thrown the
index away and built it anew.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from shared.errors import IndexDamaged, StoreUnavailable
from shared.store import Store, projection
from shared.store.connect import write_transaction

log = logging.getLogger(__name__)
T = TypeVar("T")


def condemn_index(store: Store, agent_id: str, now_ms: int) -> None:
    """The agent's index is to be built anew; where that cannot be written down now, the next one to meet the damage tries again."""
    log.error("index damaged", extra={"agent_id": agent_id, "path": str(store.agent_path(agent_id))})
    with suppress(StoreUnavailable), store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        if not projection.condemned(conn):
            projection.condemn(conn, now_ms)


def despite_damage(store: Store, agent_id: str, now_ms: int, write: Callable[[], T]) -> T:
    """What the write returns; one that met a damaged index is done again without it."""
    try:
        return write()
    except IndexDamaged:
        condemn_index(store, agent_id, now_ms)
        return write()
