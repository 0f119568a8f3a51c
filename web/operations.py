"""Every operation for programs, one table: it feeds the routes, the OpenAPI document and the reference page.

A path that is not here answers nothing under /v1; an operation whose kinds are empty needs no credential.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from shared import forms
from web import answers, bodies, documents, health, history, listing, metrics, ops, search, sessions
from web.call import Call, Reply

PLATFORM = frozenset({"platform"})
READERS = frozenset({"platform", "agent"})
OPERATORS = frozenset({"operator"})
MACHINES = frozenset({"operator", "platform"})
ANYBODY = frozenset({"platform", "agent", "operator"})
NOBODY: frozenset[str] = frozenset()  # no credential needed


Verb = Callable[[Call[Any]], Reply]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One path with its methods, fields, answer, and the kinds of credential that may use it."""

    name: str
    path: str  # as OpenAPI writes it: /v1/ops/jobs/{id}
    summary: str
    verb: Verb
    group: str
    kinds: frozenset[str]
    methods: tuple[str, ...] = ("GET",)
    body: type[forms.Body] = bodies.Nothing
    answer: type[forms.Answer] | None = None  # None: a document of its own, of the type `media`
    compatible: type[forms.Answer] | None = None  # the answer in another program's shape, where `compat` asks for it
    status: int = 200
    errors: tuple[int, ...] = ()  # beyond those that every operation with a body or a credential may answer
    acts: bool = False  # changes something for operators: closed to read-only tokens
    idempotent: bool = False  # takes an Idempotency-Key
    retry_after: bool = False  # its answer may carry Retry-After
    media: str = "application/json"


_write = partial(Operation, methods=("POST",), kinds=PLATFORM, group="Write")
_read = partial(Operation, methods=("POST", "GET"), kinds=READERS, group="Read")
_look = partial(Operation, kinds=OPERATORS, group="Operate")
_act = partial(Operation, methods=("POST",), kinds=OPERATORS, group="Operate", acts=True)
_watch = partial(Operation, kinds=ANYBODY, group="Watch")

OPERATIONS: tuple[Operation, ...] = (
    _write(
        name="put",
        path="/v1/sessions/put",
        summary="Make a session, or change what is named",
        body=bodies.PutSession,
        answer=forms.Session,
        verb=sessions.put,
        errors=(409, 507),
    ),
    _write(
        name="append",
        path="/v1/sessions/append",
        summary="Store and index events, all or none",
        body=bodies.AppendEvents,
        answer=answers.Appended,
        verb=sessions.append,
        errors=(409, 507),
        idempotent=True,
    ),
    _write(
        name="rewind",
        path="/v1/sessions/rewind",
        summary="Move the leaf to an event, or to none",
        body=bodies.RewindSession,
        answer=answers.Rewound,
        verb=sessions.rewind,
        errors=(404, 507),
    ),
    _write(
        name="reset",
        path="/v1/sessions/reset",
        summary="Begin a new transcript under the key",
        body=bodies.ResetSession,
        answer=answers.Reset,
        verb=sessions.reset,
        errors=(404, 409, 507),
    ),
    _write(
        name="delete",
        path="/v1/sessions/delete",
        summary="Delete a session, its events and its index rows",
        body=bodies.DeleteSession,
        answer=answers.Deleted,
        verb=sessions.delete,
        errors=(404, 507),
    ),
    _read(
        name="search",
        path="/v1/sessions/search",
        summary="Find messages on the active branches that the caller sees",
        body=forms.SearchSessions,
        answer=forms.Found,
        compatible=forms.FoundForOpenclaw,
        verb=search.search,
        retry_after=True,
    ),
    _read(
        name="history",
        path="/v1/sessions/history",
        summary="Read one session's messages, page by page or around one",
        body=forms.ReadHistory,
        answer=forms.Page,
        verb=history.history,
        errors=(404,),
    ),
    _read(
        name="list",
        path="/v1/sessions/list",
        summary="List the sessions that the caller sees",
        body=forms.ListSessions,
        answer=forms.Sessions,
        verb=listing.listing,
    ),
    _look(name="opsAgents", path="/v1/ops/agents", summary="How much of every agent is indexed", answer=answers.Agents, verb=ops.agents),
    _look(name="opsQueue", path="/v1/ops/queue", summary="Depth, waits and workers", answer=answers.QueueState, verb=ops.queue),
    _look(name="opsJobs", path="/v1/ops/jobs", summary="Find jobs", body=bodies.ListJobs, answer=answers.Jobs, verb=ops.jobs),
    _look(
        name="opsJob",
        path="/v1/ops/jobs/{id}",
        summary="One job and what happened to it",
        answer=answers.JobDetail,
        verb=ops.job,
        errors=(404,),
    ),
    _look(
        name="opsBatch",
        path="/v1/ops/batches/{id}",
        summary="How far a bulk run is",
        answer=answers.Batch,
        verb=ops.batch_progress,
        errors=(404,),
    ),
    _act(
        name="opsReindex",
        path="/v1/ops/reindex",
        summary="Reconcile a session, an agent or everything",
        body=bodies.Reindex,
        answer=answers.Ordered,
        verb=ops.reindex,
        status=202,
        errors=(404,),
    ),
    _act(
        name="opsJobRetry",
        path="/v1/ops/jobs/{id}/retry",
        summary="Queue an ended job again",
        answer=answers.JobDetail,
        verb=ops.retry,
        errors=(404, 409),
    ),
    _act(
        name="opsJobCancel",
        path="/v1/ops/jobs/{id}/cancel",
        summary="Cancel a job",
        answer=answers.JobDetail,
        verb=ops.cancel,
        errors=(404, 409),
    ),
    _act(
        name="opsJobsRetry",
        path="/v1/ops/jobs/retry",
        summary="Queue again what the filter selects",
        body=bodies.JobFilter,
        answer=answers.Changed,
        verb=ops.retry_selected,
    ),
    _act(
        name="opsJobsCancel",
        path="/v1/ops/jobs/cancel",
        summary="Cancel what the filter selects",
        body=bodies.JobFilter,
        answer=answers.Changed,
        verb=ops.cancel_selected,
    ),
    _act(name="opsQueuePause", path="/v1/ops/queue/pause", summary="Hand out no more work", answer=answers.Paused, verb=ops.pause),
    _act(name="opsQueueResume", path="/v1/ops/queue/resume", summary="Hand out work again", answer=answers.Paused, verb=ops.resume),
    _watch(name="healthz", path="/healthz", summary="The process is alive", answer=answers.Health, verb=health.alive, kinds=NOBODY),
    _watch(name="readyz", path="/readyz", summary="Databases open and work gets done", answer=answers.Ready, verb=health.ready),
    _watch(name="metrics", path="/metrics", summary="Figures for Prometheus", verb=metrics.metrics, kinds=MACHINES, media=metrics.MEDIA),
    _watch(name="openapi", path="/openapi.json", summary="This description", verb=documents.openapi),
)
