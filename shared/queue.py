"""Makes owed work soon: jobs in the ledger and the messages about them, in data/queue.sqlite.

What is owed stands in the agents' databases. So enqueueing never raises for a queue that is busy, full or read-only, and waits a
bounded time: a search answers, and the sweep finds later what was not enqueued. This module and broker.py are the only ones that
know the file.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Protocol, TypeVar

from shared.config import Settings
from shared.errors import StoreDamaged, StoreUnavailable
from shared.store import ledger, workers
from shared.store.connect import drop_strange_log, failures_named, file_id, open_reader, open_writer
from shared.store.ledger import CANCELLED, Ending, QueueName, Wanted
from shared.store.migrate import migrate
from shared.store.workers import LOST_AFTER_MS

log = logging.getLogger(__name__)
T = TypeVar("T")

__all__ = ["CANCELLED", "DRAIN", "ERASE", "LOST_AFTER_MS", "RECONCILE", "TASKS", "Ending", "Queue", "QueueName", "Wanted"]

RECONCILE, DRAIN, ERASE = "reconcile", "drain", "erase"
TASKS = frozenset({RECONCILE, DRAIN, ERASE})

SOON_MS = 250  # the longest an answer waits for the queue's file
PATIENT_MS = 10_000  # the longest that work behind the scenes waits for it
HEARTBEAT_MS = 2_000
MOST_ATTEMPTS = 6  # runs begun before a job that keeps failing is failed
ERASE_AFTER_MS = 20_000  # merging an index costs in proportion to its size, so deletes are gathered; the contract allows minutes
CHUNK = 400  # jobs a transaction, so that no other writer waits long


class SessionName(Protocol):
    """Names a session that is owed."""

    @property
    def agent_id(self) -> str: ...
    @property
    def session_key(self) -> str: ...


class Queue:
    """The queue of a data folder. Opened at first use, safe to use from several threads; after a fork, make a new one."""

    def __init__(self, settings: Settings) -> None:
        self.path = settings.data / "queue.sqlite"
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._opening = threading.Lock()
        self._generation = 0  # connections of an older one are not used any more

    # ---- the wishes of callers

    def enqueue_reconcile(
        self, owed: Iterable[SessionName | tuple[str, str]], now_ms: int, *, batch_id: str | None = None, bulk: bool = False
    ) -> int:
        """Each session has a live job; how many jobs are new. Never raises for a queue that cannot be written."""
        queue: QueueName = "bulk" if bulk else "interactive"
        pairs = [pair if isinstance(pair, tuple) else (pair.agent_id, pair.session_key) for pair in owed]
        wanted = [Wanted(RECONCILE, agent_id, session_key, queue) for agent_id, session_key in pairs]
        return self._soon(wanted, now_ms, batch_id)

    def enqueue_drain(self, agent_id: str, now_ms: int) -> bool:
        """A live job enqueues whatever the agent's sessions owe; whether it is new. Never raises, as above."""
        return self._soon([Wanted(DRAIN, agent_id, None, "bulk", priority=1)], now_ms, None) == 1

    def enqueue_erase(self, agent_id: str, now_ms: int) -> bool:
        """A live job removes deleted words from the agent's files, many deletes' at a time; whether it is new. Never raises."""
        return self._soon([Wanted(ERASE, agent_id, None, "bulk", priority=2, after_ms=ERASE_AFTER_MS)], now_ms, None) == 1

    def order(self, wanted: Sequence[Wanted], now_ms: int, batch_id: str | None = None) -> int:
        """As enqueue_reconcile for work behind the scenes: waits for the file, and raises StoreUnavailable when it is in vain."""
        made = 0
        if batch_id is None:
            wanted = self._unserved(wanted)
        for start in range(0, len(wanted), CHUNK):
            with self.transaction() as conn:
                made += sum(ledger.order(conn, one, now_ms, batch_id) for one in wanted[start : start + CHUNK])
        return made

    def _soon(self, wanted: Sequence[Wanted], now_ms: int, batch_id: str | None) -> int:
        try:
            if batch_id is None:
                wanted = self._unserved(wanted)
            if not wanted:
                return 0
            with self.transaction(SOON_MS) as conn:
                return sum(ledger.order(conn, one, now_ms, batch_id) for one in wanted)
        except StoreUnavailable as e:
            log.warning("queue not reached, the sweep will ask", extra={"reason": type(e).__name__, "jobs": len(wanted), "path": e.path})
            return 0

    def _unserved(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """The wishes that no live job serves yet: asking twice costs a read."""
        with self.reading() as conn:
            return [one for one in wanted if not ((found := ledger.live_job(conn, one)) and found.serves(one))]

    # ---- the workers' side

    def take(self, queue: QueueName, worker: str, known: Collection[str], now_ms: int) -> bytes | None:
        """The next message of a queue; its job is running under the worker's name. None: nothing to do, or paused."""
        with self.reading() as conn:
            if not ledger.anything_to_take(conn, queue):
                return None
        with self.transaction() as conn:
            return ledger.take(conn, queue, worker, known, now_ms)

    def end(self, job_id: str, worker: str, state: Ending, *, error: str | None, now_ms: int) -> bool:
        """The worker's job is over. False: it is not this worker's any more, or was asked for again (see `hear_again`)."""
        with self.transaction() as conn:
            return ledger.end(conn, job_id, worker, state, error=error, now_ms=now_ms)

    def note_error(self, job_id: str, worker: str, error: str) -> bool:
        """The running job shows why it is about to fail, so that no failed session is seen without a reason."""
        with self.transaction() as conn:
            ledger.note_error(conn, job_id, worker, error)
        return True

    def hear_again(self, job_id: str, worker: str) -> bool:
        """Whether the running job was asked for again since it last looked: then it has to look once more."""
        with self.transaction() as conn:
            return ledger.hear_again(conn, job_id, worker)

    def go_on_later(self, job_id: str, worker: str, due_at_ms: int, now_ms: int) -> bool:
        """The job, which has more to do, runs again, not before due_at_ms; that is no failed attempt."""
        with self.transaction() as conn:
            return ledger.put_off(conn, job_id, worker, due_at_ms=due_at_ms, error=None, now_ms=now_ms)

    def try_again(self, job_id: str, worker: str, error: str, *, pause_ms: Callable[[int], int], at_last: Ending, now_ms: int) -> bool:
        """The job runs again after a pause; one that was begun MOST_ATTEMPTS times ends, as at_last says."""
        with self.transaction() as conn:
            attempts = ledger.attempts(conn, job_id)
            if attempts >= MOST_ATTEMPTS:
                return ledger.end(conn, job_id, worker, at_last, error=error, now_ms=now_ms)
            return ledger.put_off(conn, job_id, worker, due_at_ms=now_ms + pause_ms(attempts), error=error, now_ms=now_ms)

    def give_back(self, job_id: str, worker: str, now_ms: int) -> bool:
        """The job is queued again, for its worker has to stop."""
        with self.transaction() as conn:
            return ledger.give_back(conn, job_id, worker, now_ms)

    def bring_due(self, now_ms: int) -> int:
        """What time brings: pauses that are over, jobs of silent workers, messages nobody reads. How many jobs moved."""
        alive_since_ms = now_ms - LOST_AFTER_MS
        with self.reading() as conn:
            if not ledger.anything_due(conn, alive_since_ms, now_ms):
                return 0
        with self.transaction() as conn:
            moved = ledger.queue_due(conn, now_ms) + ledger.fail_stray_messages(conn, now_ms)
            lost = ledger.requeue_lost(conn, alive_since_ms, MOST_ATTEMPTS, now_ms)
        for job_id in lost:
            log.warning("job lost its worker", extra={"job": job_id})
        return moved + len(lost)

    def mend(self) -> int:
        """Queued jobs without a message have one again; how many lacked it."""
        with self.reading() as conn:
            if not ledger.any_unsent(conn):
                return 0
        with self.transaction() as conn:
            return ledger.send_unsent(conn)

    def beat(self, progress_at_ms: dict[str, int], now_ms: int) -> set[str]:
        """The workers named live; returns those whose job an operator asked to end."""
        with self.transaction() as conn:
            workers.beat(conn, progress_at_ms, now_ms)
            return workers.stop_asked(conn)

    def depart(self, leaving: Iterable[str], now_ms: int) -> None:
        """The workers have gone in good order: what they still had is queued again."""
        with self.transaction() as conn:
            for worker in leaving:
                if (job_id := ledger.job_of(conn, worker)) is not None:
                    ledger.give_back(conn, job_id, worker, now_ms)
                workers.remove_worker(conn, worker)

    # ---- the file

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for statements that only read."""
        with self._named():
            yield self._connection()

    @contextmanager
    def transaction(self, wait_ms: int = PATIENT_MS) -> Iterator[sqlite3.Connection]:
        """One write, whole or not at all. raises: StoreUnavailable when the file is not free within wait_ms."""
        with self._named():
            conn = self._connection()
            conn.execute(f"PRAGMA busy_timeout = {wait_ms}")
            conn.execute("BEGIN IMMEDIATE")
            try:
                yield conn
                conn.execute("COMMIT")
            except BaseException:
                if conn.in_transaction:
                    conn.execute("ROLLBACK")
                raise

    def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """What a reading function answers, on one state of the file."""
        with self.reading() as conn:
            conn.execute("BEGIN")
            try:
                return question(conn)
            finally:
                conn.execute("COMMIT")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """SQLite's errors as ours; after damage the next use opens the file anew, which may have been replaced meanwhile."""
        try:
            with failures_named(self.path):
                yield
        except StoreDamaged:
            self._generation += 1
            raise

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection to the file that is at the path now: what is written to one that was removed would be lost."""
        conn: sqlite3.Connection | None = getattr(self._local, "conn", None)
        if conn is None or self._local.generation != self._generation or self._local.file != file_id(self.path):
            with self._opening:
                if conn is not None and self._local.file != file_id(self.path):
                    drop_strange_log(self.path)
                self._local.generation = self._generation
                if conn is not None and not conn.in_transaction:
                    self._open.remove(conn)
                    conn.close()
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._local.file = file_id(self.path)
                conn = self._opened()
                self._local.file = self._local.file or file_id(self.path)
                conn.execute(f"PRAGMA busy_timeout = {SOON_MS}")
                migrate(conn, "queue", self.path)
                self._open.append(conn)
            self._local.conn = conn
        return conn

    def _opened(self) -> sqlite3.Connection:
        """A new connection. Two processes that make the file at once are in each other's way for a moment whatever the busy timeout,
        for switching to WAL turns a read lock into a write lock."""
        for pause_s in (0.01, 0.02, 0.04, 0.08, 0.1):
            try:
                return open_writer(self.path, "NORMAL")  # what a power cut takes from here is found again in the agents' databases
            except StoreUnavailable as e:
                if getattr(e.__cause__, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                time.sleep(pause_s)
        return open_writer(self.path, "NORMAL")

    def renew_if_damaged(self) -> bool:
        """Whether the file was damaged: it is set aside then, and a new one begun. What it held is found again by the sweep."""
        if not self.path.exists() or self._sound():
            return False
        with failures_named(self.path):
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns() // 1_000_000}")
            self.path.rename(aside)
            for ending in ("-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        self._generation += 1
        log.error("damaged queue set aside", extra={"path": str(aside)})
        return True

    def _sound(self) -> bool:
        try:
            with failures_named(self.path), closing(open_reader(self.path)) as conn:
                return bool(conn.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        except StoreDamaged:
            return False
        except StoreUnavailable:
            return True  # busy or not readable now is not damaged

    def close(self) -> None:
        """Every connection is closed; the queue may be used again."""
        with self._opening:
            for conn in self._open:
                conn.close()
            self._open.clear()
            self._local = threading.local()
