"""Why a caller sees a session or does not, for the owner of the data folder at a terminal."""

from typing import Any

from shared.store import Store, registry
from shared.store.sessions import find_session
from shared.visibility import Caller, applied_scope, visible_sessions


def explain(store: Store, caller: Caller, session_key: str, scope: str | None) -> dict[str, Any]:
    """{"seen", "why", "scope", "agentId", "facts"}. raises: Unprocessable, VisibilityUnknown, StoreUnavailable."""
    applied = applied_scope(store, caller, scope)
    with store.registry_reader() as conn:
        claim = registry.latest_claim(conn, session_key)
    session = None
    if claim is not None and not claim.deleted and store.has_agent(claim.agent_id):
        with store.reader(claim.agent_id) as conn:
            session = find_session(conn, session_key)
    if claim is None or session is None:
        why = "the session was deleted" if claim is not None and claim.deleted else "there is no such session"
        return _told(False, why, applied, None, [])
    facts = [f"it is agent {claim.agent_id}'s, of kind {session.kind}"]
    facts.append(f"it was spawned by {session.spawned_by}" if session.spawned_by else "nobody spawned it")
    facts.append(_asks(store, caller, applied))
    if session.incognito:
        return _told(False, "it is incognito, and nobody finds it", applied, claim.agent_id, facts)
    seen = visible_sessions(store, caller, scope).sees(claim.agent_id, session_key)
    return _told(seen, _why(caller, claim.agent_id, session_key, applied, seen), applied, claim.agent_id, facts)


def _asks(store: Store, caller: Caller, applied: str) -> str:
    if caller.owner:
        return "the owner of the data folder asks"
    mode = store.settings.mode_of(caller.agent_id)
    sandbox = ", sandboxed" if caller.sandboxed else ""
    return f"{caller.session_key} of agent {caller.agent_id} asks{sandbox}; its agent's mode is {mode}, {applied} applies"


def _why(caller: Caller, agent_id: str, session_key: str, applied: str, seen: bool) -> str:
    if caller.owner:
        return "the owner sees every session that is not incognito"
    if session_key == caller.session_key and agent_id == caller.agent_id:
        return "it is the caller's own session"
    if seen and agent_id == caller.agent_id and applied in ("agent", "all"):
        return f"mode {applied} shows every session of the caller's own agent"
    if seen:
        return "the caller spawned it" if applied == "tree" else "the caller spawned it, or the agent-to-agent policy opens its agent"
    return {
        "self": "mode self shows the caller's own session alone",
        "tree": "mode tree shows what the caller spawned, and it did not spawn this",
        "agent": "it is another agent's, and the caller did not spawn it",
        "all": "it is another agent's, the caller did not spawn it, and the agent-to-agent policy does not open it",
    }[applied]


def _told(seen: bool, why: str, scope: str, agent_id: str | None, facts: list[str]) -> dict[str, Any]:
    return {"seen": seen, "why": why, "scope": scope, "agentId": agent_id, "facts": facts}
