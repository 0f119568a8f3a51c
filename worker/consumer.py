"""One worker process: Huey's consumers, the signs of life, the periodic work.

Threads, not processes: a killed worker leaves no orphans. Interactive jobs have worker_threads threads, bulk jobs one of their own,
so that a reindex of everything never holds up a search's small job. On TERM, jobs that end by their next beat end, others are given
back, and the process goes.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from huey.consumer import Consumer, Scheduler

from shared.broker import huey_for
from shared.clock import now_ms
from shared.config import Settings
from shared.errors import StoreDamaged, StoreUnavailable
from shared.garbage import settle_garbage
from shared.queue import HEARTBEAT_MS, Queue, QueueName
from shared.store import open_store, workers
from worker.maintenance import Chores, chores
from worker.runtime import Runtime
from worker.tasks import register

log = logging.getLogger(__name__)

POLL_S = 0.05  # an idle thread looks this often at first …
MAX_POLL_S = 0.2  # … and at least this often: 0.01 to 0.11 s until a job is picked up, for 0.4 % of a core
DUE_S = 1.0  # how often pauses that are over and silent workers are looked for
STOP_S = 5.0  # how long jobs may take to reach their next beat when the process is asked to end


def run_worker(settings: Settings, *, only_bulk: bool = False, stop: threading.Event | None = None) -> bool:
    """Runs jobs until the process is asked to end (TERM, INT) or `stop` is set; whether every thread has ended by then.

    raises: StoreUnavailable when the data folder cannot be used; BadCron for a schedule that is never due.
    """
    found = chores(settings)
    store, queue = open_store(settings), Queue(settings)
    queue.renew_if_damaged()
    runtime = Runtime(settings, store, queue)
    if stop is None:
        _end_on_signals(runtime)
    else:
        runtime.stopping = stop
    names: dict[QueueName, int] = {"bulk": settings.worker_threads if only_bulk else 1}
    if not only_bulk:
        names["interactive"] = settings.worker_threads
    work = Chores(store, queue, runtime.process, found)
    work.announce(now_ms())
    _introduce(runtime, names)
    consumers = [_consumer(runtime, name, threads) for name, threads in names.items()]
    for consumer in consumers:
        consumer.start()
    background = [
        _background(runtime, "pulse", HEARTBEAT_MS / 1000, runtime.pulse),
        _background(runtime, "chores", 0.5, lambda: work.run_due(runtime.alive_since_ms(), now_ms())),
        _background(runtime, "long chores", 1.0, lambda: work.run_due(runtime.alive_since_ms(), now_ms(), long=True)),
    ]
    settle_garbage()
    log.info("worker started", extra={"worker": runtime.process, "queues": names})
    while not runtime.stopping.wait(10):
        for consumer in consumers:
            consumer.check_worker_health()
    return _end(runtime, consumers, background)


def _end_on_signals(runtime: Runtime) -> None:
    def end(signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGINT and runtime.stopping.is_set():
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # somebody at a terminal is out of patience: a third one ends it
        runtime.stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)


def _introduce(runtime: Runtime, names: dict[QueueName, int]) -> None:
    """The ledger knows this process's worker threads before they take their first job."""
    with runtime.queue.transaction() as conn:
        for name, threads in names.items():
            for number in range(1, threads + 1):
                worker = f"{runtime.process}/{name}-{number}"
                workers.add_worker(conn, worker, name, now_ms())
                runtime.progress_at_ms[worker] = now_ms()


def _consumer(runtime: Runtime, name: QueueName, threads: int) -> "_Consumer":
    huey = huey_for(runtime.queue, name, "worker.tasks", lambda: runtime.worker_id(name), now_ms)
    register(huey, runtime, name)
    return _Consumer(
        huey, workers=threads, periodic=False, initial_delay=POLL_S, max_delay=MAX_POLL_S, check_worker_health=True, worker_type="thread"
    )


class _Scheduler(Scheduler):  # type: ignore[misc]
    """In place of Huey's scheduler, whose table has no record in the ledger: what is due is queued by one commit."""

    def loop(self, now: Any = None) -> None:
        try:
            self.huey.storage.bring_due()
        except StoreUnavailable as e:
            log.warning("queue not reached", extra={"path": e.path})
        self.stop_flag.wait(DUE_S)


class _Consumer(Consumer):  # type: ignore[misc]
    scheduler_class = _Scheduler

    def _set_signal_handlers(self) -> None:
        """Signals are the process's, which has two consumers."""


def _background(runtime: Runtime, name: str, pause_s: float, work: Callable[[], None]) -> threading.Thread:
    """The work is done again and again in a thread of its own; a failure is told and the next time comes."""

    def loop() -> None:
        while not runtime.stopping.wait(pause_s):
            try:
                work()
            except StoreDamaged as e:
                log.error("queue damaged", extra={"path": e.path, "thread": name})
                runtime.queue.renew_if_damaged()
            except StoreUnavailable as e:
                log.warning("queue not reached", extra={"path": e.path, "thread": name})
            except Exception:
                log.exception("background work failed", extra={"thread": name})

    thread = threading.Thread(target=loop, name=name, daemon=True)
    thread.start()
    return thread


def _end(runtime: Runtime, consumers: list[_Consumer], background: list[threading.Thread]) -> bool:
    """Jobs have ended or are given back, the ledger no longer lists this process; whether every thread has ended."""
    for consumer in consumers:
        consumer.stop()
    threads = [thread for consumer in consumers for _, thread in consumer.worker_threads]
    threads += [*background, *(consumer.scheduler for consumer in consumers)]
    until = time.monotonic() + STOP_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = any(thread.is_alive() for thread in threads)
    try:
        runtime.depart()
    except StoreUnavailable as e:
        log.warning("queue not reached", extra={"path": e.path})
    log.info("worker ended", extra={"worker": runtime.process, "late": late or None})
    if not late:
        runtime.queue.close()
        runtime.store.close()
    return not late
