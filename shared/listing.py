"""The list verb: the sessions a caller sees, most recently used first."""

import heapq
from dataclasses import dataclass
from itertools import islice
from typing import Any

from shared import cursors
from shared.errors import BadRequest
from shared.store import Store, listing
from shared.store.listing import ListedSession
from shared.visibility import Caller, Visible, visible_agent, visible_sessions

MAX_LIMIT = 200


@dataclass(frozen=True, slots=True)
class ListRequest:
    limit: int = 20
    cursor: str | None = None
    scope: str | None = None


def list_sessions(store: Store, caller: Caller, request: ListRequest) -> dict[str, Any]:
    """One page of the visible sessions. raises: BadRequest, Unprocessable, BadCursor, VisibilityUnknown."""
    if not 1 <= request.limit <= MAX_LIMIT:
        raise BadRequest(f"limit must be 1 to {MAX_LIMIT}", "limit")
    visible = visible_sessions(store, caller, request.scope)
    bound_to = ["list", caller.agent_id, caller.session_key, caller.sandboxed, caller.owner, visible.scope]
    after = None
    if request.cursor is not None:
        time_ms, key = cursors.unseal(store.cursor_key(), bound_to, request.cursor)
        after = (int(time_ms), str(key))
    found = _newest(store, visible, after, request.limit + 1)
    catalogue = store.catalogue()
    page = found[: request.limit]
    more = len(found) > request.limit
    last = page[-1][1].session if page else None
    return {
        "sessions": [listing.as_json(listed, agent_id, catalogue) for agent_id, listed in page],
        "nextCursor": cursors.seal(store.cursor_key(), bound_to, [last.updated_at_ms, last.session_key]) if more and last else None,
        "scope": visible.scope,
    }


def listed_session(store: Store, caller: Caller, session_key: str) -> dict[str, Any] | None:
    """One visible session as lists show it; None: it is incognito or has just been deleted. raises: NotFound, VisibilityUnknown."""
    agent_id = visible_agent(store, caller, session_key)
    with store.reader(agent_id) as conn:
        rows = listing.page(conn, [session_key], None, 1)
    return listing.as_json(rows[0], agent_id, store.catalogue()) if rows else None


def _newest(store: Store, visible: Visible, after: tuple[int, str] | None, limit: int) -> list[tuple[str, ListedSession]]:
    """The first sessions of all visible agents together."""
    pages = []
    for agent_id in visible.agents():
        with store.reader(agent_id) as conn:
            rows = listing.page(conn, visible.keys.get(agent_id), after, limit)
        pages.append([(agent_id, row) for row in rows])
    merged = heapq.merge(*pages, key=lambda pair: (-pair[1].session.updated_at_ms, pair[1].session.session_key))
    return list(islice(merged, limit))
