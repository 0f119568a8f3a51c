"""What each operation may be asked: one struct a body, its limits beside its fields, unknown fields refused.

The same structs check the JSON bodies, the query parameters of the read verbs and the search form, and are what the
OpenAPI document and the reference page print. A field that may be left out is `UNSET` where null means something of its
own (`spawnedBy: null` clears it) and `None` where null is the same as leaving it out.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_KEY_BYTES = 512
MAX_ID_BYTES = 256

AgentId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$(?!\n)", description="letters, digits, '.', '_' and '-', at most 64")]
SessionKey = Annotated[str, Meta(min_length=1, max_length=512, description="at most 512 bytes of UTF-8")]
EventId = Annotated[str, Meta(min_length=1, max_length=256, description="an event's id, at most 256 bytes of UTF-8")]
SessionId = Annotated[str, Meta(min_length=1, max_length=256, description="at most 256 bytes of UTF-8")]
Cursor = Annotated[str, Meta(min_length=1, max_length=8192, description="taken from an earlier answer to the same question")]
Title = Annotated[str, Meta(max_length=300)]
Milliseconds = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]  # the last is the end of the year 9999
IsoTime = Annotated[str, Meta(min_length=1, max_length=40)]
Scope = Literal["self", "tree", "agent", "all"]
State = Literal["queued", "running", "done", "retrying", "failed", "cancelled"]

_PARENT = "key of the session that spawned it, any agent's; null for none"
_KINDS = "main, group, subagent, cron, background or a word of your own"
_EVENT = '{"id"?, "parentId"?, "type": "message", "timestamp"?, "message": {"role", "content"}}'
_SCOPE = "narrows what the caller sees, never widens it"


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A request that refuses what it does not know."""


class CallerName(Body, frozen=True, kw_only=True):
    """In whose name a platform asks."""

    agent_id: AgentId
    session_key: SessionKey
    sandboxed: Annotated[bool, Meta(description="sees no more than `tree`")] = False


class PutSession(Body, frozen=True, kw_only=True):
    """A session to make, or what to change in one."""

    agent_id: AgentId
    session_key: SessionKey
    session_id: SessionId | UnsetType = UNSET
    spawned_by: Annotated[SessionKey | None, Meta(description=_PARENT)] | UnsetType = UNSET
    title: Annotated[Title | None, Meta(description="at most 300 characters; null for none")] | UnsetType = UNSET
    kind: Annotated[str, Meta(min_length=1, max_length=64, description=_KINDS)] | UnsetType = UNSET
    incognito: Annotated[bool, Meta(description="true: never found, by nobody")] | UnsetType = UNSET


class AppendEvents(Body, frozen=True, kw_only=True):
    """Events to store and index in one transaction: all of them or none."""

    agent_id: AgentId
    session_key: SessionKey
    events: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=1000, description=_EVENT)]


class RewindSession(Body, frozen=True, kw_only=True):
    """Where the leaf goes."""

    agent_id: AgentId
    session_key: SessionKey
    to_event_id: Annotated[EventId | None, Meta(description="any stored event's id, or null for an empty branch")]


class ResetSession(Body, frozen=True, kw_only=True):
    """A new transcript under the same key."""

    agent_id: AgentId
    session_key: SessionKey
    new_session_id: SessionId | None = None


class DeleteSession(Body, frozen=True, kw_only=True):
    """The session whose events and index rows go."""

    agent_id: AgentId
    session_key: SessionKey


Caller = Annotated[CallerName, Meta(description="required with a platform's token, refused with an agent's")]


class SearchSessions(Body, frozen=True, kw_only=True):
    """Words to find on the active branches that the caller sees."""

    query: Annotated[str, Meta(min_length=1, max_length=4096, description='words; "a phrase", word*, OR and NOT')]
    caller: Caller | UnsetType = UNSET
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


class ReadHistory(Body, frozen=True, kw_only=True):
    """A page of one session's messages, or the window around one of them."""

    session_key: SessionKey
    caller: Caller | UnsetType = UNSET
    message_id: Annotated[EventId | None, Meta(description="the window around this message")] = None
    session_id: Annotated[SessionId | None, Meta(description="a retained transcript of the session")] = None
    limit: Annotated[Annotated[int, Meta(ge=1, le=200)] | None, Meta(description="messages a page")] = 20
    before: Annotated[Cursor | None, Meta(description="cursor to older messages")] = None
    after: Annotated[Cursor | None, Meta(description="cursor to newer messages")] = None
    include_tools: Annotated[bool | None, Meta(description="tool calls and results as items of their own")] = False


class ListSessions(Body, frozen=True, kw_only=True):
    """The sessions the caller sees, most recently used first."""

    caller: Caller | UnsetType = UNSET
    limit: Annotated[Annotated[int, Meta(ge=1, le=200)] | None, Meta(description="sessions a page")] = 20
    cursor: Cursor | None = None
    scope: Annotated[Scope | None, Meta(description=_SCOPE)] = None


class Nothing(Body, frozen=True, kw_only=True):
    """No fields."""


class Reindex(Body, frozen=True, kw_only=True):
    """What to reconcile: one session, one agent, or all."""

    agent_id: AgentId | None = None
    session_key: SessionKey | None = None
    all: Annotated[bool | None, Meta(description="true: every agent")] = False
    since: Annotated[Milliseconds | IsoTime | None, Meta(description="sessions used since then: ms since 1970 or ISO 8601")] = None
    force: Annotated[bool | None, Meta(description="true: also what is not pending")] = False


class JobFilter(Body, frozen=True, kw_only=True):
    """Which jobs; every field given narrows."""

    state: State | None = None
    task: Annotated[Annotated[str, Meta(min_length=1, max_length=64)] | None, Meta(description="a task's name")] = None
    agent_id: AgentId | None = None
    session_key: SessionKey | None = None
    batch_id: Annotated[Annotated[str, Meta(min_length=1, max_length=64)] | None, Meta(description="jobs of one bulk run")] = None
    q: Annotated[Annotated[str, Meta(min_length=1, max_length=256)] | None, Meta(description="a job's id, or text of the error")] = None
    since: Annotated[Milliseconds | IsoTime | None, Meta(description="queued from then on: ms since 1970 or ISO 8601")] = None
    until: Annotated[Milliseconds | IsoTime | None, Meta(description="queued until then: ms since 1970 or ISO 8601")] = None


class ListJobs(JobFilter, frozen=True, kw_only=True):
    """A page of the jobs that the filter selects, newest first."""

    cursor: Cursor | None = None
    limit: Annotated[Annotated[int, Meta(ge=1, le=200)] | None, Meta(description="jobs a page")] = 50
