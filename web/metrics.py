"""Figures for Prometheus, read from the ledger and the agents' databases at the moment of the question.

Nothing is counted in the process, so every web process answers alike.
"""

from collections.abc import Iterable
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.jobs import QueueMetrics, metrics_snapshot
from shared.overview import agents_overview
from shared.store.ledger import TIMING_BUCKETS_MS
from web.bodies import Nothing
from web.call import Call, Reply

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


def metrics(call: Call[Nothing]) -> Reply:
    """The figures in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures([*_queue(call), *_sessions(call)]))
    return Reply(generate_latest(registry))


class _Figures(Collector):
    """Figures that were read before."""

    def __init__(self, figures: list[Metric]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        return self._figures


def _queue(call: Call[Nothing]) -> list[Metric]:
    seen = metrics_snapshot(call.queue, call.now_ms)
    jobs = GaugeMetricFamily("session_search_jobs", "Jobs that have not ended.", labels=("queue", "state"))
    for (queue, state), number in seen.depth.items():
        jobs.add_metric((queue, state), number)
    ended = CounterMetricFamily("session_search_job_outcomes", "Jobs that ended.", labels=("task", "state"))
    for (task, state), number in seen.outcomes.items():
        ended.add_metric((task, state), number)
    workers = GaugeMetricFamily("session_search_workers", "Worker threads by their state.", labels=("state",))
    for state, number in seen.workers.items():
        workers.add_metric((state,), number)
    wait = GaugeMetricFamily("session_search_queue_oldest_wait_seconds", "Age of the oldest queued job.")
    wait.add_metric((), seen.oldest_wait_ms / 1000)
    paused = GaugeMetricFamily("session_search_queue_paused", "1 while the queue hands out no work.")
    paused.add_metric((), int(seen.paused))
    progress = GaugeMetricFamily("session_search_worker_progress_age_seconds", "Time since any worker got something done.")
    if seen.progress_age_s is not None:
        progress.add_metric((), seen.progress_age_s)
    return [jobs, ended, workers, wait, paused, progress, *_timings(seen)]


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


def _sessions(call: Call[Nothing]) -> list[Metric]:
    rows = agents_overview(call.store)
    sessions = GaugeMetricFamily("session_search_sessions", "Sessions by the state of their index.", labels=("state",))
    for state in ("indexed", "pending", "failed"):
        sessions.add_metric((state,), sum(row[state] for row in rows))
    index = GaugeMetricFamily("session_search_index_bytes", "Size of the index, all agents together.")
    index.add_metric((), sum(row["indexBytes"] for row in rows))
    return [sessions, index]
