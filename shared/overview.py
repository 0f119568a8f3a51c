"""What operators read and order across all sessions of an agent: what is indexed, what is owed, what is parked."""

from typing import Any

from shared.errors import StoreUnavailable
from shared.store import Store, projection, sums
from shared.store.connect import write_transaction
from shared.store.sessions import find_session

RUN = 128  # sessions that are worked on oldest first where many are owed


def agents_overview(store: Store) -> list[dict[str, Any]]:
    """One row an agent, sorted by id. One whose database cannot be read has `error` in place of its counts."""
    return [_agent_row(store, agent_id) for agent_id in store.agent_ids()]


def _agent_row(store: Store, agent_id: str) -> dict[str, Any]:
    try:
        with store.reader(agent_id) as conn:
            found = sums.count_sessions(conn)
    except StoreUnavailable as e:
        return {"agentId": agent_id, "sessions": 0, "indexed": 0, "pending": 0, "failed": 0, "indexBytes": 0, "error": str(e)}
    return {
        "agentId": agent_id,
        "sessions": found.sessions,
        "indexed": found.sessions - found.pending - found.failed,
        "pending": found.pending,
        "failed": found.failed,
        "indexBytes": found.index_bytes,
    }


def owed_sessions(
    store: Store, agent_id: str, *, limit: int, now_ms: int, since_ms: int | None = None, include_parked: bool = False
) -> list[str]:
    """Keys of the sessions that are pending and due, in the order in which to work on them; since_ms: only those written to since then.

    The most recently used come first. Many do so run by run, each oldest first: rows whose numbers, which are times, arrive backwards
    leave two fifths of every page empty, in runs of 128 sessions less than a tenth.
    """
    with store.reader(agent_id) as conn:
        found = sums.due_keys(conn, limit=limit, now_ms=now_ms, since_ms=since_ms, include_parked=include_parked)
    return found if len(found) <= RUN else [key for start in range(0, len(found), RUN) for key in reversed(found[start : start + RUN])]


def parked_sessions(store: Store, agent_id: str, *, limit: int, session_key: str | None = None) -> list[dict[str, Any]]:
    """The sessions that need an operator, with the reason; no text of theirs. session_key: only this one, if it is parked."""
    with store.reader(agent_id) as conn:
        found = sums.parked(conn, limit, session_key)
    return [{"sessionKey": key, "error": error, "attempts": attempts} for key, error, attempts in found]


def mark_pending(store: Store, agent_id: str, session_key: str | None, *, since_ms: int | None = None, now_ms: int) -> int:
    """All rows named are to be looked at again while they go on serving; the number of sessions this names."""
    with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        number = None
        if session_key is not None:
            session = find_session(conn, session_key)
            if session is None:
                return 0
            number = session.session_no
        return projection.outdate(conn, "forced", now_ms, number, since_ms)


def park(store: Store, agent_id: str, session_key: str, error: str) -> int:
    """What the session owes is not tried again until somebody asks for it; the number of transcripts this names."""
    with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        return sums.park(conn, session_key, error)


def unpark(store: Store, agent_id: str, session_key: str | None) -> int:
    """Parked sessions are due again; the number of sessions this names."""
    with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        return sums.unpark(conn, session_key)


def oldest_owed_ms(store: Store, agent_id: str) -> int | None:
    """Since when the longest waiting session of an agent has been pending; None when none is."""
    with store.reader(agent_id) as conn:
        return sums.oldest_owed_ms(conn)


def rebuild_index(store: Store, agent_id: str, now_ms: int) -> None:
    """Throws the agent's projection away; every session is pending and says so until it is indexed again."""
    with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        projection.drop_index(conn, now_ms)
