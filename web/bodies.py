"""What each operation may be asked: one struct a body, its limits beside its fields, unknown fields refused.

The bodies of the reading verbs are in shared/forms.py, for they are not this door's alone; all others are here and follow the same
rules. A field that may be left out is `UNSET` where null means something of its own (`spawnedBy: null` clears it) and `None` where null
is the same as leaving it out.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from shared.forms import AgentId, Body, Cursor, EventId, IsoTime, Milliseconds, SessionId, SessionKey

Title = Annotated[str, Meta(max_length=300)]
State = Literal["queued", "running", "done", "retrying", "failed", "cancelled"]

_PARENT = "key of the session that spawned it, any agent's; null for none"
_KINDS = "main, group, subagent, cron, background or a word of your own"
_EVENT = '{"id"?, "parentId"?, "type": "message", "timestamp"?, "message": {"role", "content"}}'


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
