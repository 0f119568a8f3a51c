"""What a worker process knows while it runs jobs: its store and queue, the signs of life of its threads, and whether it must stop.

A job's outcome is always written: when the queue's file cannot be written at its end, the outcome waits here and the pulse tries
again. A body calls `beat` whenever it got on; there it also learns that it must stop.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from shared.clock import now_ms
from shared.config import Settings
from shared.errors import StoreUnavailable
from shared.queue import LOST_AFTER_MS, Queue
from shared.store import Store

log = logging.getLogger(__name__)
Beat = Callable[[], None]


class Interrupted(BaseException):
    """The job has to stop here. No Exception, so that nothing on its way takes it for a fault of the session."""


class Stopping(Interrupted):
    """The worker process is asked to end; the job is given back."""


class Cancelled(Interrupted):
    """An operator cancelled the job."""


@dataclass(frozen=True)
class Run:
    """One job in the hands of one worker thread."""

    job_id: str
    worker: str
    started_at_ms: int
    beat: Beat


class Runtime:
    """One worker process. Its threads share this object; each field is written whole."""

    def __init__(self, settings: Settings, store: Store, queue: Queue) -> None:
        self.settings, self.store, self.queue = settings, store, queue
        self.process = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
        self.stopping = threading.Event()
        self.stop_asked: set[str] = set()
        self.progress_at_ms: dict[str, int] = {}
        self._unwritten: list[Callable[[], object]] = []

    def worker_id(self, queue_name: str) -> str:
        """The name of the worker thread that asks."""
        return f"{self.process}/{queue_name}-{threading.current_thread().name.rpartition('-')[2]}"

    def begin(self, job_id: str, worker: str) -> Run:
        """The thread's run of a job, with the beat its body calls."""
        self.stop_asked.discard(worker)
        started_at_ms = self.progress_at_ms[worker] = now_ms()

        def beat() -> None:
            self.progress_at_ms[worker] = now_ms()
            if worker in self.stop_asked:
                raise Cancelled
            if self.stopping.is_set():
                raise Stopping

        return Run(job_id, worker, started_at_ms, beat)

    def write(self, outcome: Callable[[], bool]) -> bool:
        """The outcome is in the ledger, or will be once its file can be written again; what the ledger answered (then True)."""
        try:
            return outcome()
        except StoreUnavailable as e:
            log.warning("outcome of a job waits for the queue", extra={"path": e.path})
            self._unwritten.append(outcome)
            return True

    def pulse(self) -> None:
        """The ledger knows that this process's workers live and how far they are; outcomes that wait are written."""
        at_ms = now_ms()
        stop = self.queue.beat(dict(self.progress_at_ms), at_ms)
        self.stop_asked |= stop & self.progress_at_ms.keys()
        while self._unwritten:
            self._unwritten[0]()
            self._unwritten.pop(0)

    def alive_since_ms(self) -> int:
        """A heartbeat older than this is a dead worker's."""
        return now_ms() - LOST_AFTER_MS

    def depart(self) -> None:
        """Jobs still in the hands of this process are queued again, and its workers are no longer listed."""
        for outcome in self._unwritten:
            outcome()
        self.queue.depart(tuple(self.progress_at_ms), now_ms())
