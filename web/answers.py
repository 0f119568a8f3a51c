"""What each operation answers, as the OpenAPI document and the reference page print it.

Answers are made by the kernel as plain dictionaries and are not checked against these structs on the way out; the tests do that.
"""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

Iso = Annotated[str, Meta(description="ISO 8601, UTC, milliseconds", examples=["2026-11-30T10:15:00.000Z"])]
Count = Annotated[int, Meta(ge=0)]


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """An answer's fields, all of them."""


class Problem(Answer, frozen=True, kw_only=True):
    """An error, as RFC 9457 has it."""

    type: Annotated[str, Meta(description="stable; what a program should look at")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="names the field and the limit")]
    field: Annotated[str, Meta(description="the field that is wrong, where it is one")] | UnsetType = UNSET


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


class Appended(Answer, frozen=True, kw_only=True):
    """What an append stored."""

    session_id: str
    appended: Annotated[int, Meta(description="events that were new")]
    leaf_id: str | None
    seq: Annotated[int, Meta(description="position of the last stored event")]


class Rewound(Answer, frozen=True, kw_only=True):
    """Where the leaf is now."""

    session_id: str
    leaf_id: str | None
    pending: bool


class Reset(Answer, frozen=True, kw_only=True):
    """The transcript now under the key."""

    session_id: str


class Deleted(Answer, frozen=True, kw_only=True):
    """Always true; a session that is not there is a 404."""

    deleted: bool


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


class Agent(Answer, frozen=True, kw_only=True):
    """One agent's index."""

    agent_id: str
    sessions: Count
    indexed: Count
    pending: Count
    failed: Annotated[int, Meta(ge=0, description="parked: they need an operator")]
    index_bytes: Count
    error: Annotated[str, Meta(description="why the database cannot be read; the counts are then 0")] | UnsetType = UNSET


class Agents(Answer, frozen=True, kw_only=True):
    """Every agent's index."""

    agents: list[Agent]


class Worker(Answer, frozen=True, kw_only=True):
    """One worker process."""

    id: str
    state: Annotated[str, Meta(description="healthy, stale (no heartbeat) or stuck (alive, but nothing gets done)")]
    heartbeat_at: Iso | None
    progress_at: Iso | None
    job: str | None


class Percentiles(Answer, frozen=True, kw_only=True):
    """Over the last hour; null when nothing ended."""

    p50: float | None
    p95: float | None


class QueueState(Answer, frozen=True, kw_only=True):
    """The queue now."""

    depth: Annotated[dict[str, int], Meta(description="jobs by state")]
    oldest_wait_ms: int | None
    paused: bool
    throughput: Annotated[float | None, Meta(description="jobs a minute over the last ten minutes")]
    wait_ms: Percentiles
    run_ms: Percentiles
    workers: list[Worker]


class Job(Answer, frozen=True, kw_only=True):
    """One call of a task, queued or ended."""

    id: str
    state: str
    task: str
    agent_id: str | None
    session_key: str | None
    batch_id: str | None
    attempts: int
    error: str | None
    queued_at: Iso
    started_at: Iso | None
    ended_at: Iso | None
    worker: str | None


class Moment(Answer, frozen=True, kw_only=True):
    """One thing that happened to a job."""

    at: Iso
    event: str
    worker: str | None
    note: str | None


class JobDetail(Job, frozen=True, kw_only=True):
    """One job and what happened to it."""

    timeline: list[Moment]
    queue: str
    due_at: Iso | None
    lost_worker: bool


class Jobs(Answer, frozen=True, kw_only=True):
    """Jobs, newest first."""

    jobs: list[Job]
    next_cursor: str | None


class Changed(Answer, frozen=True, kw_only=True):
    """How many jobs the action reached."""

    changed: Count


class Ordered(Answer, frozen=True, kw_only=True):
    """A bulk run that was taken on."""

    batch_id: str
    sessions: Count


class Batch(Answer, frozen=True, kw_only=True):
    """A bulk run and how far it is."""

    batch_id: str
    scope: Any
    state: Annotated[str, Meta(description="ordering, running, done or failed")]
    sessions: Count
    open: Count
    done: Count
    failed: Count
    cancelled: Count
    created_at: Iso
    ended_at: Iso | None


class Paused(Answer, frozen=True, kw_only=True):
    """Whether the queue hands out work."""

    paused: bool


class Health(Answer, frozen=True, kw_only=True):
    """The process is alive."""

    status: str


class Ready(Answer, frozen=True, kw_only=True):
    """Whether the service can do its work, and if not, why."""

    ready: bool
    reasons: list[str]
