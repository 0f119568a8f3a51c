"""Figures for Prometheus: read from the ledger and the agents' databases, and summed over the web processes of this server.

Whichever process is asked, the answer is the same. No label is a session, an agent or anything else that callers name: every label's
values are known from the start.
"""

import shutil
from collections.abc import Iterable
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.census import Seen
from shared.errors import StoreUnavailable
from shared.jobs import QueueMetrics, metrics_snapshot
from shared.queue import TASKS
from shared.store.ledger import TIMING_BUCKETS_MS
from web.bodies import Nothing
from web.call import Call, Reply

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
QUEUES = ("interactive", "bulk")
LIVE = ("queued", "running", "retrying")
ENDINGS = ("done", "failed", "cancelled")


def metrics(call: Call[Nothing]) -> Reply:
    """The figures in Prometheus' text format. A queue that cannot be read is told, and does not keep the rest from being told."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures([*_queue(call), *_databases(call), *call.services.together.figures.collect()]))
    return Reply(generate_latest(registry))


class _Figures(Collector):
    """Figures that were read before."""

    def __init__(self, figures: list[Metric]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        return self._figures


def _queue(call: Call[Nothing]) -> list[Metric]:
    try:
        seen = metrics_snapshot(call.queue, call.now_ms)
    except StoreUnavailable:
        return [_gauge("session_search_queue_readable", "1 while the queue's database can be read.", 0)]
    jobs = GaugeMetricFamily("session_search_jobs", "Jobs that have not ended, by queue and state.", labels=("queue", "state"))
    for queue in QUEUES:
        for state in LIVE:
            jobs.add_metric((queue, state), seen.depth.get((queue, state), 0))
    ended = CounterMetricFamily("session_search_job_outcomes", "Jobs that ended, by task and outcome.", labels=("task", "state"))
    for task in (*sorted(TASKS), "other"):
        for state in ENDINGS:
            ended.add_metric((task, state), sum(n for of, n in seen.outcomes.items() if of == (task, state) or _is_other(task, state, of)))
    workers = GaugeMetricFamily("session_search_workers", "Worker threads, by state.", labels=("state",))
    for state, number in seen.workers.items():
        workers.add_metric((state,), number)
    return [
        _gauge("session_search_queue_readable", "1 while the queue's database can be read.", 1),
        jobs,
        ended,
        workers,
        _gauge("session_search_queue_oldest_wait_seconds", "Age of the job that has been queued longest.", seen.oldest_wait_ms / 1000),
        _gauge("session_search_queue_paused", "1 while an operator holds the queue.", int(seen.paused)),
        _gauge("session_search_worker_progress_age_seconds", "Time since any worker got something done.", seen.progress_age_s),
        *_timings(seen),
    ]


def _is_other(task: str, state: str, of: tuple[str, str]) -> bool:
    """A message in the queue may name any task; all that are none of ours are one."""
    return task == "other" and of[0] not in TASKS and of[1] == state


def _timings(seen: QueueMetrics) -> list[Metric]:
    """How long jobs waited and ran, as histograms in seconds."""
    made: list[Metric] = []
    for kind, about in (("wait", "Time from order to start of a job."), ("run", "Time from start to end of a job.")):
        rows = {upper_ms: (jobs, ms) for of, upper_ms, jobs, ms in seen.timings if of == kind}
        counts = accumulate(rows.get(upper_ms, (0, 0))[0] for upper_ms in TIMING_BUCKETS_MS)
        buckets = [(str(upper_ms / 1000), float(count)) for upper_ms, count in zip(TIMING_BUCKETS_MS, counts, strict=True)]
        total = float(sum(jobs for jobs, _ in rows.values()))
        family = HistogramMetricFamily(f"session_search_job_{kind}_seconds", about)
        family.add_metric((), [*buckets, ("+Inf", total)], sum(ms for _, ms in rows.values()) / 1000)
        made.append(family)
    return made


def _databases(call: Call[Nothing]) -> list[Metric]:
    seen = call.services.census.look(call.store, call.now_ms)
    sessions = GaugeMetricFamily("session_search_sessions", "Sessions of all agents, by the state of their index.", labels=("state",))
    standing = seen.standing
    sessions.add_metric(("indexed",), standing.sessions - standing.pending - standing.parked)
    sessions.add_metric(("pending",), standing.pending)
    sessions.add_metric(("parked",), standing.parked)
    agents = GaugeMetricFamily("session_search_agents", "Agents' databases: counted, not yet, or not readable.", labels=("state",))
    agents.add_metric(("counted",), seen.agents - seen.uncounted - len(seen.unreadable))
    agents.add_metric(("uncounted",), seen.uncounted)
    agents.add_metric(("unreadable",), len(seen.unreadable))
    free = shutil.disk_usage(call.services.settings.data).free
    return [sessions, agents, *_sizes(call, seen), _gauge("session_search_disk_free_bytes", "Free space where the data folder is.", free)]


def _sizes(call: Call[Nothing], seen: Seen) -> list[Metric]:
    """Bytes of the databases and of their write-ahead logs."""
    size = GaugeMetricFamily("session_search_database_bytes", "Size of the databases; all agents' are one.", labels=("database",))
    log = GaugeMetricFamily("session_search_wal_bytes", "Size of the databases' write-ahead logs.", labels=("database",))
    size.add_metric(("agents",), seen.database_bytes)
    log.add_metric(("agents",), seen.log_bytes)
    for name in ("registry", "queue"):
        path = call.services.settings.data / f"{name}.sqlite"
        for family, file in ((size, path), (log, path.with_name(path.name + "-wal"))):
            family.add_metric((name,), file.stat().st_size if file.is_file() else 0)
    return [size, log]


def _gauge(name: str, about: str, value: float | None) -> Metric:
    made = GaugeMetricFamily(name, about)
    if value is not None:
        made.add_metric((), value)
    return made
