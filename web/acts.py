"""The acts of operators: the fields each takes, what is asked before it, and how it is done."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from shared.errors import BadRequest, Conflict, NotFound
from shared.forms import AgentId, Body, IsoTime, Milliseconds, SessionKey
from shared.jobs import cancel_job, cancel_jobs, count_jobs, job_detail, pause_queue, resume_queue, retry_job, retry_jobs
from shared.overview import agents_overview
from shared.parking import park_selected, park_session, unpark
from shared.reindex import order_reindex
from web.address import link
from web.bodies import JobFilter, Nothing
from web.call import Call
from web.ops import filter_of
from web.times import milliseconds


class Jobs(JobFilter, frozen=True, kw_only=True):
    """One job, or all that a filter selects."""

    job: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class Parked(Body, frozen=True, kw_only=True):
    """Parked sessions: one, an agent's, or with nothing named all."""

    agent_id: AgentId | None = None
    session_key: SessionKey | None = None


class Order(Body, frozen=True, kw_only=True):
    """What to reconcile; with neither agent nor session, everything."""

    agent_id: AgentId | None = None
    session_key: SessionKey | None = None
    since: Milliseconds | IsoTime | None = None
    force: bool = False


Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class Question:
    """What is asked before an act. danger: work stops by it; empty: there is nothing to act upon."""

    title: str
    text: str
    button: str
    back: str
    facts: Facts = field(default_factory=list)
    danger: bool = False
    empty: bool = False


@dataclass(frozen=True)
class Act:
    """One thing to do: the fields it takes, what is asked, and how it is done: (the way on, how many it reached)."""

    fields: type[Body]
    ask: Callable[[Call[Any]], Question]
    do: Callable[[Call[Any]], tuple[str, int]]


# ---- jobs


def _selected(call: Call[Jobs]) -> JobFilter:
    """The filter; an empty one is refused, for it is more often a slip than meant."""
    if not _words(call.body):
        raise BadRequest("name a job, or at least one field of the filter")
    return call.body


def _ask_about(verb: str, states: frozenset[str], text: str, *, whose: str = "", danger: bool = False) -> Callable[[Call[Jobs]], Question]:
    """The question of an act on one job, or on those of a filter that are in one of these states."""

    def ask(call: Call[Jobs]) -> Question:
        if call.body.job is not None:
            job = job_detail(call.queue, call.body.job, call.now_ms)
            facts = [("Job", job["id"]), ("State", job["state"]), ("Task", job["task"]), *_named(job)]
            return Question(f"{verb} {whose}this job?", text, verb, f"/ops/jobs/{job['id']}", facts, danger, job["state"] not in states)
        counts = count_jobs(call.queue, filter_of(_selected(call)), call.now_ms)
        reached = sum(count for state, count in counts.items() if state in states)
        facts = [*_words(call.body), *((f"Jobs {state}", _count(count, state in states)) for state, count in counts.items())]
        title = f"{verb} {whose}{reached:,} {'job' if reached == 1 else 'jobs'}?"
        return Question(title, text, verb, _back(call.body), facts, danger, not reached)

    return ask


def _count(count: int, reached: bool) -> str:
    return f"{count:,}" if reached else f"{count:,}, left as they are"


def _named(job: dict[str, Any]) -> Facts:
    found = [("Agent", job["agentId"]), ("Session", job["sessionKey"]), ("Error", job["error"])]
    return [(name, value) for name, value in found if value]


LABELS = {
    "state": "State",
    "task": "Task",
    "agent_id": "Agent",
    "session_key": "Session",
    "batch_id": "Bulk run",
    "q": "Job id or text of the error",
    "since": "Queued from",
    "until": "Queued until",
}


def _words(body: JobFilter) -> Facts:
    """The filter in words."""
    return [(label, str(value)) for name, label in LABELS.items() if (value := getattr(body, name)) is not None]


def _back(body: JobFilter) -> str:
    """The operators' page under the same filter."""
    names = {"agent_id": "agentId", "session_key": "sessionKey", "batch_id": "batchId"}
    kept = {names.get(name, name): str(value) for name in LABELS if (value := getattr(body, name)) is not None}
    return link("/ops", kept) + "#jobs"


def _retry(call: Call[Jobs]) -> tuple[str, int]:
    if call.body.job is not None:
        retry_job(call.store, call.queue, call.body.job, call.now_ms)
        return f"/ops/jobs/{call.body.job}", 1
    return _back(call.body), retry_jobs(call.store, call.queue, filter_of(_selected(call)), call.now_ms)


def _cancel(call: Call[Jobs]) -> tuple[str, int]:
    if call.body.job is not None:
        cancel_job(call.queue, call.body.job, call.now_ms)
        return f"/ops/jobs/{call.body.job}", 1
    return _back(call.body), cancel_jobs(call.queue, filter_of(_selected(call)), call.now_ms)


def _park(call: Call[Jobs]) -> tuple[str, int]:
    if call.body.job is None:
        return _back(call.body), park_selected(call.store, call.queue, filter_of(_selected(call)), call.now_ms)
    job = job_detail(call.queue, call.body.job, call.now_ms)
    if not job["agentId"] or not job["sessionKey"]:
        raise Conflict("this job is about no session")
    park_session(call.store, call.queue, job["agentId"], job["sessionKey"], call.now_ms)
    return f"/ops/jobs/{job['id']}", 1


# ---- parked sessions


def _ask_unpark(call: Call[Parked]) -> Question:
    agents = [row for row in agents_overview(call.store) if call.body.agent_id in (None, row["agentId"])]
    if not agents:
        raise NotFound("no agent has this id")
    if call.body.session_key is not None:
        facts = [("Agent", call.body.agent_id or "any"), ("Session", call.body.session_key)]
        return Question("Try this session again?", "It is no longer parked, and gets a job now.", "Try again", "/ops#parked", facts)
    parked = sum(row["failed"] for row in agents)
    facts = [("Agents", ", ".join(row["agentId"] for row in agents if row["failed"]) or "–"), ("Sessions parked", f"{parked:,}")]
    text = "They are no longer parked, and get jobs now. Those whose trouble is still there will be parked again."
    return Question("Try the parked sessions again?", text, "Try again", "/ops#parked", facts, empty=not parked)


def _unpark(call: Call[Parked]) -> tuple[str, int]:
    return "/ops#parked", unpark(call.store, call.queue, call.body.agent_id, call.body.session_key, call.now_ms)


# ---- the queue


def _ask_pause(call: Call[Nothing]) -> Question:
    text = "Workers finish what they run and take nothing new. Answers go on, and say `indexing` where work is owed."
    return Question("Pause the queue?", text, "Pause", "/ops#queue", danger=True)


def _pause(call: Call[Nothing]) -> tuple[str, int]:
    pause_queue(call.queue, call.now_ms)
    return "/ops#queue", 1


def _ask_resume(call: Call[Nothing]) -> Question:
    return Question("Resume the queue?", "Workers take jobs again.", "Resume", "/ops#queue")


def _resume(call: Call[Nothing]) -> tuple[str, int]:
    resume_queue(call.queue, call.now_ms)
    return "/ops#queue", 1


# ---- bulk runs


def _ask_reindex(call: Call[Order]) -> Question:
    body = call.body
    agents = [row for row in agents_overview(call.store) if body.agent_id in (None, row["agentId"])]
    if not agents and body.agent_id is not None:
        raise NotFound("no agent has this id")
    facts = [("Session", body.session_key)] if body.session_key is not None else _extent(agents, body.agent_id)
    if body.since is not None:
        milliseconds("since", body.since)
        facts.append(("Used since", f"{body.since} UTC"))
    facts.append(("Which", "all of them, indexed or not" if body.force else "those that owe work, parked ones included"))
    text = "It runs behind interactive work. What is indexed goes on being found meanwhile; the same order does not run twice at a time."
    return Question("Order this reindex?", text, "Order it", "/ops#bulk", facts)


def _extent(agents: list[dict[str, Any]], agent_id: str | None) -> Facts:
    sums = {name: sum(row[name] for row in agents) for name in ("sessions", "pending", "failed")}
    who = ("Agent", agent_id) if agent_id is not None else ("Agents", f"every one of {len(agents):,}")
    return [who, ("Sessions", f"{sums['sessions']:,}, of which {sums['pending']:,} pending and {sums['failed']:,} parked")]


def _reindex(call: Call[Order]) -> tuple[str, int]:
    body = call.body
    order = order_reindex(
        call.store,
        call.queue,
        agent_id=body.agent_id,
        session_key=body.session_key,
        all_agents=body.agent_id is None and body.session_key is None,
        since_ms=milliseconds("since", body.since),
        force=body.force,
        now_ms=call.now_ms,
    )
    return "/ops#bulk", order.sessions


RETRIED = "What failed, was cancelled or waits for another try is queued now. A session of theirs that is parked is no longer."
CANCELLED = "What waits is cancelled, what runs is asked to stop. The work stays owed: a search, the sweep or a reindex asks for it again."
PARKED = (
    "The sessions are left alone until somebody asks for them, or they change; live jobs of theirs are cancelled. "
    "Searches go on saying that they are incomplete."
)
ENDED_BADLY = frozenset({"failed", "cancelled", "retrying"})
LIVE = frozenset({"queued", "running", "retrying"})

ACTS = {
    "retry": Act(Jobs, _ask_about("Retry", ENDED_BADLY, RETRIED), _retry),
    "cancel": Act(Jobs, _ask_about("Cancel", LIVE, CANCELLED, danger=True), _cancel),
    "park": Act(Jobs, _ask_about("Park", ENDED_BADLY | LIVE, PARKED, whose="what is owed behind ", danger=True), _park),
    "unpark": Act(Parked, _ask_unpark, _unpark),
    "pause": Act(Nothing, _ask_pause, _pause),
    "resume": Act(Nothing, _ask_resume, _resume),
    "reindex": Act(Order, _ask_reindex, _reindex),
}
