"""What each operation answers, as the OpenAPI document and the reference page print it; the reading verbs' answers are in shared/forms.py.

Answers are made by the kernel as plain dictionaries and are not checked against these structs on the way out; the tests do that.
"""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from shared.forms import Answer, Count, Iso


class Problem(Answer, frozen=True, kw_only=True):
    """An error, as RFC 9457 has it."""

    type: Annotated[str, Meta(description="stable; what a program should look at")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="names the field and the limit")]
    field: Annotated[str, Meta(description="the field that is wrong, where it is one")] | UnsetType = UNSET


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
