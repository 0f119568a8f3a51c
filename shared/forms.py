"""What the reading verbs are asked and what they answer, field by field: one struct each.

Every door takes these: the structs check the JSON bodies, the query parameters and the search form, and the OpenAPI document, the reference
page and the definitions of the agents' tools are printed from them. A field that may be left out is `UNSET` where null means something
of its own and `None` where null is the same as leaving it out. Pure.

Answers are made by the verbs as plain dictionaries and are not checked against their structs on the way out; the tests do that.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_KEY_BYTES = 512
MAX_ID_BYTES = 256

AgentId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$(?!\n)", description="letters, digits, '.', '_' and '-', at most 64")]
SessionKey = Annotated[str, Meta(min_length=1, max_length=512, description="at most 512 bytes of UTF-8")]
EventId = Annotated[str, Meta(min_length=1, max_length=256, description="an event's id, at most 256 bytes of UTF-8")]
SessionId = Annotated[str, Meta(min_length=1, max_length=256, description="at most 256 bytes of UTF-8")]
Cursor = Annotated[str, Meta(min_length=1, max_length=8192, description="taken from an earlier answer to the same question")]
Milliseconds = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]  # the last is the end of the year 9999
IsoTime = Annotated[str, Meta(min_length=1, max_length=40)]
Scope = Literal["self", "tree", "agent", "all"]
Iso = Annotated[str, Meta(description="ISO 8601, UTC, milliseconds", examples=["2026-11-30T10:15:00.000Z"])]
Count = Annotated[int, Meta(ge=0)]

_SCOPE = "narrows what the caller sees, never widens it"


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A request that refuses what it does not know."""


class CallerName(Body, frozen=True, kw_only=True):
    """In whose name a platform asks."""

    agent_id: AgentId
    session_key: SessionKey
    sandboxed: Annotated[bool, Meta(description="sees no more than `tree`")] = False


Caller = Annotated[CallerName, Meta(description="required with a platform's token, refused with an agent's")]


class Search(Body, frozen=True, kw_only=True):
    """Words to find on the active branches that the caller sees."""

    query: Annotated[str, Meta(min_length=1, max_length=4096, description='words; "a phrase", word*, OR and NOT')]
    agent_id: Annotated[AgentId | None, Meta(description="look in this agent's sessions only; never widens what the caller sees")] = None
    session_key: Annotated[SessionKey | None, Meta(description="look in this session only")] = None
    role: Annotated[Literal["user", "assistant"] | None, Meta(description="whose messages")] = None
    after: Annotated[Milliseconds | IsoTime | None, Meta(description="messages from then on: ms since 1970 or ISO 8601")] = None
    before: Annotated[Milliseconds | IsoTime | None, Meta(description="messages until then: ms since 1970 or ISO 8601")] = None
    match: Annotated[Literal["auto", "all", "any"] | None, Meta(description="every word, any word, or every and else any")] = "auto"
    order: Annotated[Literal["relevance", "recent"] | None, Meta(description="best first or newest first")] = "relevance"
    group: Annotated[Literal["message", "session"] | None, Meta(description="every hit, or each session's best")] = "message"
    scope: Annotated[Scope | None, Meta(description=_SCOPE)] = None
    limit: Annotated[Annotated[int, Meta(ge=1, le=50)] | None, Meta(description="hits a page")] = 10
    cursor: Cursor | None = None


SessionKeys = Annotated[list[SessionKey], Meta(min_length=1, max_length=200)]


class SearchSessions(Search, frozen=True, kw_only=True):
    """Words to find on the active branches that the caller sees."""

    session_keys: Annotated[SessionKeys | None, Meta(description="look in these sessions only")] = None
    compat: Annotated[Literal["openclaw"] | None, Meta(description="answer in the shape of OpenClaw's sessions.search")] = None
    caller: Caller | UnsetType = UNSET


class History(Body, frozen=True, kw_only=True):
    """A page of one session's messages, or the window around one of them."""

    session_key: SessionKey
    message_id: Annotated[EventId | None, Meta(description="the window around this message")] = None
    session_id: Annotated[SessionId | None, Meta(description="a retained transcript of the session")] = None
    limit: Annotated[Annotated[int, Meta(ge=1, le=200)] | None, Meta(description="messages a page")] = 20
    before: Annotated[Cursor | None, Meta(description="cursor to older messages")] = None
    after: Annotated[Cursor | None, Meta(description="cursor to newer messages")] = None
    include_tools: Annotated[bool | None, Meta(description="tool calls and results as items of their own")] = False


class ReadHistory(History, frozen=True, kw_only=True):
    """A page of one session's messages, or the window around one of them."""

    caller: Caller | UnsetType = UNSET


class Listing(Body, frozen=True, kw_only=True):
    """The sessions the caller sees, most recently used first."""

    limit: Annotated[Annotated[int, Meta(ge=1, le=200)] | None, Meta(description="sessions a page")] = 20
    cursor: Cursor | None = None
    scope: Annotated[Scope | None, Meta(description=_SCOPE)] = None


class ListSessions(Listing, frozen=True, kw_only=True):
    """The sessions the caller sees, most recently used first."""

    caller: Caller | UnsetType = UNSET


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """An answer's fields, all of them."""


class Session(Answer, frozen=True, kw_only=True):
    """A session as `list` shows it."""

    session_key: str
    session_id: str
    agent_id: str
    title: str | None
    kind: str
    spawned_by: str | None
    created_at: Iso
    updated_at: Iso
    messages: Count
    pending: bool
    redacted: Annotated[int, Meta(description="masks in the title")]


class Hit(Answer, frozen=True, kw_only=True):
    """One matching message."""

    session_key: str
    session_id: str
    message_id: str
    agent_id: str
    timestamp: Iso
    role: str
    kind: str
    title: str | None
    excerpt: Annotated[str, Meta(max_length=300)]
    highlights: Annotated[list[tuple[int, int]], Meta(description="half-open offsets in code points into `excerpt`")]
    redacted: Annotated[int, Meta(description="masks in excerpt and title")]
    matches: Annotated[int, Meta(description="with group=session: matches in it, exact up to 100")] | UnsetType = UNSET
    matches_more: bool | UnsetType = UNSET


class Found(Answer, frozen=True, kw_only=True):
    """A page of hits."""

    results: list[Hit]
    indexing: Annotated[bool, Meta(description="true: results may be incomplete, ask again after Retry-After")]
    pending_sessions: Annotated[int, Meta(ge=0, le=1000)]
    truncated: bool
    next_cursor: str | None
    interpreted: Annotated[str, Meta(description="the query as it was understood")]
    relaxed: Annotated[bool, Meta(description="true: no message has every word, these have some")]
    scope: Annotated[str, Meta(description="the scope that applied")]
    warning: str | UnsetType = UNSET


class OpenclawHit(Answer, frozen=True, kw_only=True):
    """One matching message as OpenClaw's sessions.search has it."""

    session_key: str
    session_id: str
    message_id: str
    role: str
    timestamp: Annotated[int, Meta(ge=0, description="ms since 1970")]
    snippet: Annotated[str, Meta(max_length=300)]
    score: Annotated[float, Meta(description="1 divided by the hit's place in this answer: it orders the hits and tells nothing else")]


class FoundForOpenclaw(Answer, frozen=True, kw_only=True):
    """A page of hits in the shape of OpenClaw's sessions.search."""

    results: list[OpenclawHit]
    indexing: Annotated[bool, Meta(description="only where true: results may be incomplete")] | UnsetType = UNSET
    truncated: Annotated[bool, Meta(description="only where true: there are more hits")] | UnsetType = UNSET


class Message(Answer, frozen=True, kw_only=True):
    """One message of the active branch, or with includeTools one part of it."""

    id: str
    role: str
    timestamp: Iso
    text: Annotated[str, Meta(max_length=4000)]
    redacted: Annotated[int, Meta(description="masks in the text")]
    omitted: Annotated[int, Meta(description="reasoning and images left out")]
    type: Annotated[str, Meta(description="with includeTools: text, toolCall or toolResult")] | UnsetType = UNSET
    name: Annotated[str, Meta(description="the tool's name")] | UnsetType = UNSET
    cut: Annotated[bool, Meta(description="true: the text is longer")] | UnsetType = UNSET


class Page(Answer, frozen=True, kw_only=True):
    """Messages, oldest first."""

    session_key: str
    session_id: str
    messages: list[Message]
    before: Annotated[str | None, Meta(description="cursor to older messages")]
    after: Annotated[str | None, Meta(description="cursor to newer messages")]
    truncated: bool


class Sessions(Answer, frozen=True, kw_only=True):
    """Sessions, most recently used first."""

    sessions: list[Session]
    next_cursor: str | None
    scope: str
