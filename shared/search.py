"""The search verb: from typed text to one page of hits.

A request is resolved to the visible sessions first; whatever follows, ranking, counts and `indexing` included, is computed from them
alone. The answer never waits for work that is owed: it says so, and names what to enqueue.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shared import cursors, redaction
from shared.damage import condemn_index
from shared.errors import BadRequest, IndexDamaged, Unprocessable
from shared.hits import Hits
from shared.matching import Matcher, loosens, matcher, parse_query
from shared.parts import Part
from shared.query import Query
from shared.store import Store, projection, registry, search
from shared.store.connect import read_transaction
from shared.store.projection import time_floor
from shared.store.registry import Catalogue
from shared.store.search import BOTTOM, MAX_PENDING, TOP, Filter, Pending
from shared.stream import Resume, Stream
from shared.visibility import Caller, Visible, visible_sessions

MAX_LIMIT = 50
ENQUEUED = 20  # sessions a search asks for at once; an agent's drain takes the rest
RETRY_AFTER_S = 1
MATCHES = ("auto", "all", "any")
ORDERS = ("relevance", "recent")
GROUPS = ("message", "session")
ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as asked. after_ms is inclusive, before_ms is not; scope None is the widest the caller may have.

    agent_id, session_key, session_keys: look there only, in what all that are given hold together; one that the caller does not see
    holds nothing, like one that is not there.
    """

    query: str
    agent_id: str | None = None
    session_key: str | None = None
    session_keys: frozenset[str] | None = None
    role: str | None = None
    after_ms: int | None = None
    before_ms: int | None = None
    match: str = "auto"
    order: str = "relevance"
    group: str = "message"
    scope: str | None = None
    limit: int = 10
    cursor: str | None = None

    @property
    def named(self) -> frozenset[str] | None:
        """The keys of the only sessions to look in; None: nothing is said of keys."""
        if self.session_key is None:
            return self.session_keys
        return frozenset({self.session_key} if self.session_keys is None else {self.session_key} & self.session_keys)


@dataclass(frozen=True, slots=True)
class Owed:
    """A session whose reconcile should be enqueued."""

    agent_id: str
    session_key: str


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """body: ready for JSON; owed and drain: what to enqueue; retry_after_s: None when nothing is being worked on."""

    body: dict[str, Any]
    owed: tuple[Owed, ...]
    drain: tuple[str, ...]
    retry_after_s: int | None


def search_sessions(store: Store, caller: Caller, request: SearchRequest, now_ms: int) -> SearchAnswer:
    """One page of hits in the sessions this caller sees.

    raises: BadRequest, BadQuery, BadCursor, Unprocessable for an unknown scope, VisibilityUnknown, StoreUnavailable.
    """
    _check(request)
    catalogue = store.catalogue()
    query = _parse(request.query, catalogue)
    visible = visible_sessions(store, caller, request.scope)
    try:
        with ExitStack() as opened:
            parts = _parts(store, visible, request, catalogue, now_ms, opened)
            return _Search(store, caller, request, catalogue, query, visible, parts).answer()
    except IndexDamaged as e:
        for agent_id in visible.agents():
            if str(store.agent_path(agent_id)) == e.path:
                condemn_index(store, agent_id, now_ms)
        raise


def _check(request: SearchRequest) -> None:
    _one_of(request.match, MATCHES, "match")
    _one_of(request.order, ORDERS, "order")
    _one_of(request.group, GROUPS, "group")
    if request.role is not None:
        _one_of(request.role, ROLES, "role")
    if not 1 <= request.limit <= MAX_LIMIT:
        raise BadRequest(f"limit must be 1 to {MAX_LIMIT}", "limit")


def _one_of(value: str, allowed: tuple[str, ...], field: str) -> None:
    if value not in allowed:
        raise Unprocessable(f"{field} must be one of {', '.join(allowed)}", field)


def _parse(text: str, catalogue: Catalogue) -> Query:
    """The query as understood; under `strict` a secret in it is a word that nobody wrote."""
    masks = redaction.mask(text, catalogue.secrets).spans if catalogue.policy == "strict" and len(text) <= 4_096 else ()
    return parse_query(text, masks)


def _parts(
    store: Store, visible: Visible, request: SearchRequest, catalogue: Catalogue, now_ms: int, opened: ExitStack
) -> list[Part]:
    """Each visible agent's database with its visible sessions inside the filters; as many as may be are open in one read transaction."""
    keys = visible.keys if request.named is None else _named(store, visible, request.named)
    parts: list[Part] = []
    for agent_id in visible.agents() if request.named is None else sorted(keys):
        if request.agent_id is not None and agent_id != request.agent_id:
            continue
        path, held = store.agent_path(agent_id), len(parts) < store.held_at_once
        with ExitStack() as briefly:
            opening = opened if held else briefly
            conn = opening.enter_context(store.reader(agent_id))
            store.adopt(conn, agent_id, catalogue, now_ms)
            opening.enter_context(read_transaction(conn, path))
            sessions = search.known_numbers(conn, store.trees, agent_id, keys.get(agent_id))
            pending = search.pending(conn, sessions, now_ms, ENQUEUED)
            if projection.condemned(conn):  # everything is owed, and what is left of the index is not to be trusted
                sessions = replace(sessions, numbers=())
        parts.append(Part(agent_id, path, conn if held else None, partial(store.reader, agent_id), sessions, pending))
    return parts


def _named(store: Store, visible: Visible, keys: frozenset[str]) -> dict[str, frozenset[str]]:
    """Those of the keys that are visible, by the agents that own them."""
    found: dict[str, set[str]] = {}
    with store.registry_reader() as conn:
        claims = [claim for key in keys if (claim := registry.latest_claim(conn, key))]
    for claim in claims:
        if visible.sees(claim.agent_id, claim.session_key):
            found.setdefault(claim.agent_id, set()).add(claim.session_key)
    return {agent_id: frozenset(of_agent) for agent_id, of_agent in found.items()}


@dataclass(frozen=True, slots=True)
class _Owing:
    """What all visible sessions inside the filters owe together."""

    sessions: int
    parked: int
    owes_text: bool

    @staticmethod
    def of(pending: list[Pending]) -> "_Owing":
        return _Owing(sum(p.sessions for p in pending), sum(p.parked for p in pending), any(p.owes_text for p in pending))

    def warning(self) -> str:
        count = f"at least {MAX_PENDING:,}" if self.sessions > MAX_PENDING else str(self.sessions)
        text = f"Results may be incomplete: {count} {'session is' if self.sessions == 1 else 'sessions are'} being indexed."
        if self.parked:
            text += f" {self.parked} of them could not be indexed and {'needs' if self.parked == 1 else 'need'} an operator."
        return text


class _Search:
    """One request on its open databases."""

    def __init__(
        self, store: Store, caller: Caller, request: SearchRequest, catalogue: Catalogue, query: Query, visible: Visible,
        parts: list[Part],
    ) -> None:  # fmt: skip
        self._store, self._request, self._catalogue, self._query = store, request, catalogue, query
        self._visible, self._parts = visible, parts
        self._owing = _Owing.of([part.pending for part in parts])
        self._bound_to = [
            "search", caller.agent_id, caller.session_key, caller.sandboxed, caller.owner, visible.scope, request.query,
            request.agent_id, None if request.named is None else sorted(request.named), request.role, request.after_ms,
            request.before_ms, request.match, request.order, request.group,
        ]  # fmt: skip

    def answer(self) -> SearchAnswer:
        request = self._request
        resume = self._resume()
        mode = resume.mode if resume else "any" if request.match == "any" else "all"
        page = self._page(matcher(self._query, mode), resume)
        if self._relaxes(resume, page):
            mode = "any"
            page = self._page(matcher(self._query, mode), None)
        owing = self._owing
        body: dict[str, Any] = {
            "results": page.results,
            "indexing": owing.sessions > 0,
            "pendingSessions": min(owing.sessions, MAX_PENDING),
            "truncated": page.resume is not None,
            "nextCursor": self._seal(page.resume) if page.resume else None,
            "interpreted": self._query.interpreted,
            "relaxed": mode == "any" and loosens(self._query),
            "scope": self._visible.scope,
        }
        if owing.sessions:
            body["warning"] = owing.warning()
        return SearchAnswer(body, *self._to_enqueue(), RETRY_AFTER_S if owing.sessions > owing.parked else None)

    def _page(self, wanted: Matcher, resume: Resume | None) -> Hits:
        request = self._request
        stream = Stream(
            self._parts, wanted, self._filter(), self._catalogue, resume,
            by_relevance=request.order == "relevance", by_session=request.group == "session", demotes=request.named is None,
        )  # fmt: skip
        return Hits.of(stream, request.limit)

    def _filter(self) -> Filter:
        """The request's filters, as bounds of the row number, which is made from the message's time."""
        request = self._request
        low = time_floor(request.after_ms) if request.after_ms is not None else BOTTOM
        high = min(TOP, time_floor(request.before_ms) - 1) if request.before_ms is not None else TOP
        return Filter(role=request.role, low=low, high=high)

    def _relaxes(self, resume: Resume | None, page: Hits) -> bool:
        """`auto` finds nothing with every word, and no session that could still owes its text."""
        asked = self._request.match == "auto" and resume is None and loosens(self._query)
        return asked and not page.results and not self._owing.owes_text

    def _to_enqueue(self) -> tuple[tuple[Owed, ...], tuple[str, ...]]:
        due = tuple(Owed(part.agent_id, key) for part in self._parts for key in part.pending.due)
        drained = tuple(part.agent_id for part in self._parts if part.pending.sessions - part.pending.parked > len(part.pending.due))
        return due[:ENQUEUED], (*drained, *dict.fromkeys(owed.agent_id for owed in due[ENQUEUED:]))

    def _resume(self) -> Resume | None:
        if self._request.cursor is None:
            return None
        return Resume.of(cursors.unseal(self._store.cursor_key(), self._bound_to, self._request.cursor))

    def _seal(self, resume: Resume) -> str:
        return cursors.seal(self._store.cursor_key(), self._bound_to, resume.as_list())
