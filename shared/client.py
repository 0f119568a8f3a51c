"""A client of the service for Python, in one module that needs the standard library and nothing else of here.

    with SessionSearch("http://127.0.0.1:8321", token, caller={"agentId": "ada", "sessionKey": "agent:ada:main"}) as sessions:
        for hit in sessions.hits("noon ferry"):
            print(hit["sessionKey"], hit["excerpt"])

A call that is refused for now (429, 503) is made again after the time that the answer names, a few times at most. One whose connection
broke is made again where that cannot do a thing twice: appends carry an Idempotency-Key for this. A client holds one connection and is
one thread's.
"""

import http.client
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, Unpack, cast
from urllib.parse import urlsplit

ATTEMPTS = 4
LONGEST_WAIT_S = 30.0
RETRIED = frozenset({429, 503})  # nothing was done
Json = dict[str, Any]
Scope = Literal["self", "tree", "agent", "all"]


class Caller(TypedDict):
    """In whose name a platform's token reads; an agent's token has its own."""

    agentId: str
    sessionKey: str
    sandboxed: NotRequired[bool]


class Hit(TypedDict):
    """One matching message; highlights are half-open offsets in characters into excerpt."""

    sessionKey: str
    sessionId: str
    messageId: str
    agentId: str
    timestamp: str
    role: str
    kind: str
    title: str | None
    excerpt: str
    highlights: list[tuple[int, int]]
    redacted: int
    matches: NotRequired[int]
    matchesMore: NotRequired[bool]


class Found(TypedDict):
    """A page of hits."""

    results: list[Hit]
    indexing: bool
    pendingSessions: int
    truncated: bool
    nextCursor: str | None
    interpreted: str
    relaxed: bool
    scope: str
    warning: NotRequired[str]


class Message(TypedDict):
    """One message, or with include_tools one part of it."""

    id: str
    role: str
    timestamp: str
    text: str
    redacted: int
    omitted: int
    type: NotRequired[str]
    name: NotRequired[str]
    cut: NotRequired[bool]


class Page(TypedDict):
    """Messages, oldest first, with the cursors to older and newer ones."""

    sessionKey: str
    sessionId: str
    messages: list[Message]
    before: str | None
    after: str | None
    truncated: bool


class Session(TypedDict):
    """A session."""

    sessionKey: str
    sessionId: str
    agentId: str
    title: str | None
    kind: str
    spawnedBy: str | None
    createdAt: str
    updatedAt: str
    messages: int
    pending: bool
    redacted: int


class Sessions(TypedDict):
    """A page of sessions, most recently used first."""

    sessions: list[Session]
    nextCursor: str | None
    scope: str


class Appended(TypedDict):
    """What an append stored."""

    sessionId: str
    appended: int
    leafId: str | None
    seq: int


class Rewound(TypedDict):
    """Where the leaf is now."""

    sessionId: str
    leafId: str | None
    pending: bool


class Changes(TypedDict, total=False):
    """What a put may name; None is a value."""

    sessionId: str
    spawnedBy: str | None
    title: str | None
    kind: str
    incognito: bool


class Within(TypedDict, total=False):
    """Where to look: less than the caller sees, never more."""

    sessionKey: str
    agentId: str
    scope: Scope


class Filters(Within, total=False):
    """What a search may name besides its words. Times are ms since 1970 or ISO 8601."""

    role: Literal["user", "assistant"]
    after: int | str
    before: int | str
    match: Literal["auto", "all", "any"]
    order: Literal["relevance", "recent"]
    group: Literal["message", "session"]
    limit: int
    cursor: str


class Window(TypedDict, total=False):
    """Which messages of a session: one of messageId, before and after, else the newest."""

    messageId: str
    sessionId: str
    limit: int
    before: str
    after: str
    includeTools: bool


class Paging(TypedDict, total=False):
    """Which sessions."""

    limit: int
    cursor: str
    scope: Scope


class Problem(Exception):
    """A refusal, as the service's problem document tells it; `kind` is the last word of its type, such as bad-query.

    The document is empty where something else answered, such as a proxy with a page of its own, whatever its status.
    """

    def __init__(self, status: int, document: Mapping[str, Any], retry_after_s: float | None = None) -> None:
        super().__init__(str(document.get("detail") or document.get("title") or f"the service answered {status}"))
        self.status, self.document, self.retry_after_s = status, dict(document), retry_after_s
        self.kind = str(document.get("type", "")).rpartition(":")[2]
        self.field = document.get("field")


class Unreachable(Exception):
    """Nobody answered at the address, or the connection broke before the answer was whole."""


class TimedOut(Unreachable):
    """Whoever is at the address did not answer in time."""


class NotIndexed(Exception):
    """The sessions in question did not become whole in time, or cannot without an operator."""


class Wire:
    """One connection to the service, opened when it is needed and kept."""

    def __init__(self, address: str, timeout_s: float) -> None:
        """address: http or https, a host and a port. raises: ValueError for anything else."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{address!r} is no address of the service; one is http://127.0.0.1:8321")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.path = parts.path.rstrip("/")
        self._connection = kind(parts.hostname, parts.port, timeout=timeout_s)

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, http.client.HTTPMessage, bytes]:
        """The answer's status, headers and body. raises: Unreachable, after which the next call opens a new connection."""
        try:
            self._connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
            answer = self._connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException) as e:
            self.close()
            kind = TimedOut if isinstance(e, TimeoutError) else Unreachable
            raise kind(f"the service does not answer: {e or type(e).__name__}") from e

    def close(self) -> None:
        self._connection.close()


class SessionSearch:
    """The service as one credential sees it. Every verb raises Problem and Unreachable."""

    def __init__(self, address: str, token: str, *, caller: Caller | None = None, timeout_s: float = 30.0) -> None:
        """caller: for whom to read with a platform's token, unless a call names another."""
        self._wire, self._token, self._caller = Wire(address, timeout_s), token, caller

    def __enter__(self) -> "SessionSearch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The connection is closed."""
        self._wire.close()

    # -- writing, with a platform's token

    def put(self, agent_id: str, session_key: str, **changes: Unpack[Changes]) -> Session:
        """The session, made or changed."""
        return cast(Session, self._ask("put", {"agentId": agent_id, "sessionKey": session_key, **changes}))

    def append(
        self, agent_id: str, session_key: str, events: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> Appended:
        """1 to 1,000 events are stored and searchable, all or none; once, however often the call had to be made."""
        body = {"agentId": agent_id, "sessionKey": session_key, "events": list(events)}
        return cast(Appended, self._ask("append", body, {"Idempotency-Key": idempotency_key or secrets.token_hex(16)}))

    def rewind(self, agent_id: str, session_key: str, to_event_id: str | None) -> Rewound:
        """The leaf is at this event; None is before the first."""
        return cast(Rewound, self._ask("rewind", {"agentId": agent_id, "sessionKey": session_key, "toEventId": to_event_id}))

    def reset(self, agent_id: str, session_key: str, *, new_session_id: str | None = None) -> str:
        """The id of the new transcript under the key."""
        body = {"agentId": agent_id, "sessionKey": session_key, **_given(newSessionId=new_session_id)}
        return str(self._ask("reset", body, again=False)["sessionId"])

    def delete(self, agent_id: str, session_key: str) -> None:
        """The session is gone. raises: Problem 404 where there is none."""
        self._ask("delete", {"agentId": agent_id, "sessionKey": session_key}, again=False)

    # -- reading

    def search(self, query: str, *, caller: Caller | None = None, **filters: Unpack[Filters]) -> Found:
        """One page of hits."""
        return cast(Found, self._ask("search", {"query": query, **self._named(caller), **filters}))

    def hits(self, query: str, *, caller: Caller | None = None, **filters: Unpack[Filters]) -> Iterator[Hit]:
        """Every hit, page after page."""
        while True:
            page = self.search(query, caller=caller, **filters)
            yield from page["results"]
            if page["nextCursor"] is None:
                return
            filters["cursor"] = page["nextCursor"]

    def history(self, session_key: str, *, caller: Caller | None = None, **window: Unpack[Window]) -> Page:
        """One page of messages."""
        return cast(Page, self._ask("history", {"sessionKey": session_key, **self._named(caller), **window}))

    def messages(self, session_key: str, *, caller: Caller | None = None, **window: Unpack[Window]) -> Iterator[Message]:
        """Every message, newest first, page after page."""
        while True:
            page = self.history(session_key, caller=caller, **window)
            yield from reversed(page["messages"])
            if page["before"] is None:
                return
            window["before"] = page["before"]

    def list(self, *, caller: Caller | None = None, **paging: Unpack[Paging]) -> Sessions:
        """One page of sessions."""
        return cast(Sessions, self._ask("list", {**self._named(caller), **paging}))

    def sessions(self, *, caller: Caller | None = None, **paging: Unpack[Paging]) -> Iterator[Session]:
        """Every session, page after page."""
        while True:
            page = self.list(caller=caller, **paging)
            yield from page["sessions"]
            if page["nextCursor"] is None:
                return
            paging["cursor"] = page["nextCursor"]

    def wait_until_indexed(self, *, caller: Caller | None = None, timeout_s: float = 60.0, **within: Unpack[Within]) -> None:
        """No session that the caller sees there is pending.

        raises: NotIndexed when it takes longer, or when what is left waits for an operator.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            headers, found = self._answer("search", {"query": "indexed", "limit": 1, **self._named(caller), **within})
            if not found["indexing"]:
                return
            wait_s = _wait_s(headers)
            if wait_s is None or time.monotonic() + wait_s > end_s:
                raise NotIndexed(str(found.get("warning", "sessions are still being indexed")))
            time.sleep(wait_s)

    # -- how

    def _named(self, caller: Caller | None) -> Json:
        return _given(caller=caller or self._caller)

    def _ask(self, verb: str, body: Json, headers: Mapping[str, str] | None = None, *, again: bool = True) -> Json:
        return self._answer(verb, body, headers, again=again)[1]

    def _answer(
        self, verb: str, body: Json, headers: Mapping[str, str] | None = None, *, again: bool = True
    ) -> tuple[http.client.HTTPMessage, Json]:
        """A verb's answer, headers and body, asked for a few times if need be. again: also where nobody knows whether it was done."""
        sent, data = {"Authorization": f"Bearer {self._token}", **(headers or {})}, json.dumps(body).encode()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                status, told, text = self._wire.post(f"{self._wire.path}/v1/sessions/{verb}", data, sent)
            except Unreachable:
                if attempt == ATTEMPTS or not again:
                    raise
                time.sleep(0.1 * 2**attempt)
                continue
            document = _document(text)
            if status < 300 and document:
                return told, document
            wait_s = _wait_s(told)
            if attempt == ATTEMPTS or status not in RETRIED or (wait_s or 0) > LONGEST_WAIT_S:
                raise Problem(status, document, wait_s)
            time.sleep(wait_s if wait_s is not None else 0.1 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _wait_s(headers: http.client.HTTPMessage) -> float | None:
    value = headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else None


def _document(text: bytes) -> Json:
    """The object that a body holds; something else on the way (a proxy) may answer without one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
