"""Which sessions a caller may see: one function, used by search, history and list alike.

Invariant: each mode contains the one before it, a request narrows and never widens, and what cannot be worked out is an error. The
registry tells the lineage across agents; each agent's database is the truth about its own sessions, and where the two differ the
narrower one holds.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from shared.config import MODES, Mode
from shared.errors import NotFound, StoreUnavailable, Unprocessable, VisibilityUnknown
from shared.store import Store, registry, sessions
from shared.store.lists import in_texts
from shared.store.registry import Claim
from shared.store.trees import Tree, lineage_mark

_LINKS = "SELECT session_key, incarnation, spawned_by, spawned_incarnation FROM sessions WHERE session_key {named}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. owner: the owner of the data folder at a terminal, who sees all but incognito sessions."""

    agent_id: str
    session_key: str
    sandboxed: bool = False
    owner: bool = False


OWNER = Caller("", "", owner=True)


@dataclass(frozen=True, slots=True)
class Visible:
    """The sessions a caller sees: all of some agents', named ones of others. Incognito sessions are in neither.

    scope: the mode that applied. keys holds no agent that is in whole.
    """

    scope: Mode
    whole: frozenset[str]
    keys: Mapping[str, frozenset[str]]

    def agents(self) -> list[str]:
        """Every agent that has visible sessions, sorted."""
        return sorted(self.whole | set(self.keys))

    def sees(self, agent_id: str, session_key: str) -> bool:
        """Whether a session of this key is visible, if there is one and it is not incognito."""
        return agent_id in self.whole or session_key in self.keys.get(agent_id, ())


def applied_scope(store: Store, caller: Caller, scope: str | None) -> Mode:
    """The mode of a request: what it asks for, within what the deployment and the sandbox allow. raises: Unprocessable."""
    if scope is not None and scope not in MODES:
        raise Unprocessable(f"scope must be one of {', '.join(MODES)}", "scope")
    if caller.owner:
        return scope or "all"
    widest = store.settings.mode_of(caller.agent_id)
    if caller.sandboxed and widest != "self":
        widest = "tree"
    return min(scope or widest, widest, key=MODES.index)


def visible_sessions(store: Store, caller: Caller, scope: str | None = None) -> Visible:
    """What this caller sees under this scope.

    raises: Unprocessable for an unknown scope; VisibilityUnknown when a database that decides cannot be read.
    """
    applied = applied_scope(store, caller, scope)
    try:
        if caller.owner:
            return Visible(applied, frozenset(store.agent_ids()), {})
        return _Sight(store, caller, applied).visible()
    except StoreUnavailable as e:
        raise VisibilityUnknown("which sessions are visible cannot be worked out now", e.path) from e


class _Sight:
    """One caller's view under one mode."""

    def __init__(self, store: Store, caller: Caller, scope: Mode) -> None:
        self._store, self._caller, self._scope = store, caller, scope
        self._told: dict[str, dict[str, tuple[int, str | None, int]]] = {}
        self._marks: dict[str | None, str | None] = {}  # read before the rows they stand for

    def visible(self) -> Visible:
        keys = {self._caller.agent_id: frozenset({self._caller.session_key})} if self._scope == "self" else self._known_tree()
        whole = {a for a in self._whole() if self._store.has_agent(a)}
        rest = {agent_id: found for agent_id, found in keys.items() if agent_id not in whole and self._store.has_agent(agent_id)}
        return Visible(self._scope, frozenset(whole), rest)

    def _whole(self) -> set[str]:
        """The agents all of whose sessions are visible."""
        if self._scope not in ("agent", "all"):
            return set()
        own = {self._caller.agent_id}
        return own | self._opened() if self._scope == "all" else own

    def _opened(self) -> set[str]:
        """The agents that the agent-to-agent policy opens to this caller: it and they must both be named."""
        policy = self._store.settings.agent_to_agent
        if "*" not in policy and self._caller.agent_id not in policy:
            return set()
        return set(self._store.agent_ids()) if "*" in policy else set(policy)

    def _known_tree(self) -> Mapping[str, frozenset[str]]:
        """The caller's tree: as it was read last time, if no row of lineage changed anywhere it was read from."""
        place = self._caller.agent_id, self._caller.session_key
        known = self._store.trees.of_callers.find(place)
        if known and all(self._mark(agent_id) == mark for agent_id, mark in known.marks.items()):
            return known.keys
        self._marks[None] = self._mark(None)
        keys = self._tree()
        if None not in self._marks.values():
            self._store.trees.of_callers.keep(place, Tree(keys, self._marks))
        return keys

    def _mark(self, agent_id: str | None) -> str | None:
        if agent_id is None:
            with self._store.registry_reader() as conn:
                return lineage_mark(conn)
        if not self._store.has_agent(agent_id):
            return "no database"
        with self._store.reader(agent_id) as conn:
            return lineage_mark(conn)

    def _tree(self) -> dict[str, frozenset[str]]:
        """The caller's own session and everything it spawned, across agents."""
        own = self._caller.session_key
        with self._store.registry_reader() as conn:
            latest = registry.latest_claim(conn, own)
            if latest is not None and latest.agent_id != self._caller.agent_id:  # another agent's key lends no view
                return {self._caller.agent_id: frozenset({own})}
            incarnation = max(registry.current_incarnation(conn, own), self._own_incarnation())
            claims = registry.spawned_tree(conn, own, incarnation)
        root = (own, incarnation)
        doubted = {(c.session_key, c.incarnation) for c in claims if not self._agrees(c, claims)} - {root}
        sound = _connected(root, [c for c in claims if (c.session_key, c.incarnation) not in doubted]) if doubted else claims
        found: dict[str, set[str]] = {self._caller.agent_id: {own}}
        for claim in sound:
            if not claim.deleted:
                found.setdefault(claim.agent_id, set()).add(claim.session_key)
        return {agent_id: frozenset(keys) for agent_id, keys in found.items()}

    def _own_incarnation(self) -> int:
        """What the agent's database says of the caller's key: after a kill the registry may not know yet that a session was deleted."""
        self._marks[self._caller.agent_id] = self._mark(self._caller.agent_id)
        if not self._store.has_agent(self._caller.agent_id):
            return 0
        with self._store.reader(self._caller.agent_id) as conn:
            return sessions.incarnation_of(conn, self._caller.session_key)

    def _agrees(self, claim: Claim, claims: list[Claim]) -> bool:
        """Whether the agent's database tells the same parent; a deleted session has only the registry to speak for it."""
        if claim.deleted:
            return True
        told = self._links(claim.agent_id, claims).get(claim.session_key)
        return told == (claim.incarnation, claim.spawned_by, claim.spawned_incarnation)

    def _links(self, agent_id: str, claims: list[Claim]) -> dict[str, tuple[int, str | None, int]]:
        if agent_id not in self._told:
            self._told[agent_id] = self._read_links(agent_id, [c.session_key for c in claims if c.agent_id == agent_id])
        return self._told[agent_id]

    def _read_links(self, agent_id: str, keys: list[str]) -> dict[str, tuple[int, str | None, int]]:
        self._marks.setdefault(agent_id, self._mark(agent_id))
        if not self._store.has_agent(agent_id):
            return {}
        with self._store.reader(agent_id) as conn:
            return links_of(conn, keys)


def links_of(conn: sqlite3.Connection, keys: list[str]) -> dict[str, tuple[int, str | None, int]]:
    """For each of these keys that has a session: its incarnation and its parent's key and incarnation."""
    named, values = in_texts(keys)
    return {row[0]: (row[1], row[2], row[3]) for row in conn.execute(_LINKS.format(named=named), values)}


def _connected(root: tuple[str, int], claims: list[Claim]) -> list[Claim]:
    """The claims that are still reached from the root when those that do not agree are left out."""
    children: dict[tuple[str, int], list[Claim]] = {}
    for claim in claims:
        if claim.spawned_by is not None:
            children.setdefault((claim.spawned_by, claim.spawned_incarnation), []).append(claim)
    reached, waiting, seen = [], [root], {root}
    while waiting:
        for claim in children.get(waiting.pop(), ()):
            node = (claim.session_key, claim.incarnation)
            if node not in seen:
                seen.add(node)
                reached.append(claim)
                waiting.append(node)
    return reached


def visible_agent(store: Store, caller: Caller, session_key: str) -> str:
    """The agent of a session that the caller sees. raises: NotFound for one that is hidden or is not there, VisibilityUnknown."""
    visible = visible_sessions(store, caller)
    with store.registry_reader() as conn:
        claim = registry.latest_claim(conn, session_key)
    agent_id = claim.agent_id if claim else ""
    if not visible.sees(agent_id, session_key):
        raise NotFound("no such session")
    return agent_id
