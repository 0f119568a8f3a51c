"""Work that nobody asks for: the sweep, upkeep of files, pruning of the ledger, the nightly reindex.

Every process may ask for a run; the ledger gives each to one of them, and none begins while the last still runs. Results are words
for operators.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import tzinfo

from shared.clock import now_ms, zone_of
from shared.config import Settings
from shared.cron import Cron, parse
from shared.errors import StoreUnavailable
from shared.queue import MOST_ATTEMPTS, RECONCILE, Queue
from shared.store import Store, batches, jobs, upkeep, workers
from shared.store.connect import write_transaction
from shared.store.ledger import Wanted

log = logging.getLogger(__name__)

SWEEP_STEP = 400  # sessions of an agent that a sweep puts into the queue
REFUSED_MS = 600_000  # a session whose job was cancelled or failed for good is left to searches and people for so long
DAY_MS = 86_400_000
KEPT = {"done": (7 * DAY_MS, 50_000), "cancelled": (7 * DAY_MS, 20_000), "failed": (30 * DAY_MS, 100_000)}
UNFINISHED_MS = 600_000  # an ordering that stopped so long ago is not taken up again
WORKERS_KEPT_MS = 3_600_000
BATCHES_KEPT_MS = 90 * DAY_MS
VERIFY_S = 300  # an agent's index is compared in turn, one every five minutes
MERGE_STEPS = 200
LOG_BYTES = 4 << 20  # a write-ahead log longer than this is cut; SQLite itself aims at 4 MB while writers are busy
ERASE_TRIES = 40  # tries to empty the write-ahead log while readers hold it
ERASE_PAUSE_S = 0.25


@dataclass(frozen=True)
class Chore:
    """One kind of periodic work: when it is due, in words and as a time, and what it does. long: it may take minutes."""

    name: str
    rule: str
    next_ms: Callable[[int], int]
    run: Callable[[Store, Queue], str]
    long: bool = False


def chores(settings: Settings) -> list[Chore]:
    """All periodic work under these settings. raises: BadCron for a schedule that is never due."""
    found = [
        _every(settings.sweep_s, "sweep", sweep),
        _every(60, "mend", mend),
        _every(5, "checkpoint", checkpoint),
        _every(3600, "prune", lambda _, queue: prune(queue)),
        _every(60, "lineage", lineage, long=True),
        _every(VERIFY_S, "verify", verify_next, long=True),
        _every(3600, "merge", merge, long=True),
    ]
    if settings.reindex_cron:
        zone = zone_of(settings.timezone)
        found.append(Chore("reindex", f"{settings.reindex_cron} {zone.key}", _by_cron(parse(settings.reindex_cron), zone), reindex))
    return found


def _every(seconds: int, name: str, run: Callable[[Store, Queue], str], *, long: bool = False) -> Chore:
    return Chore(name, f"every {seconds} s", lambda at_ms: at_ms + seconds * 1000, run, long)


def _by_cron(cron: Cron, zone: tzinfo) -> Callable[[int], int]:
    return lambda at_ms: cron.next_after(at_ms, zone)


class Chores:
    """The periodic work of one process. What may take long is run in a thread of its own, so that it holds up nothing else."""

    def __init__(self, store: Store, queue: Queue, process: str, found: list[Chore]) -> None:
        self._store, self._queue, self._process, self._chores = store, queue, process, found

    def announce(self, at_ms: int) -> None:
        """Operators see the schedules; those no longer configured are gone. What comes every minute or more often is due at once."""
        with self._queue.transaction() as conn:
            for chore in self._chores:
                first_ms = chore.next_ms(at_ms)
                if chore.rule.startswith("every") and first_ms - at_ms <= 60_000:
                    first_ms = at_ms
                workers.know_schedule(conn, chore.name, chore.rule, first_ms)
            for row in workers.schedules(conn):
                if row.name not in {chore.name for chore in self._chores}:
                    workers.drop_schedule(conn, row.name)

    def run_due(self, alive_since_ms: int, at_ms: int, *, long: bool = False) -> None:
        """Each chore of this kind that is due, and that no other process has claimed, was run."""
        if self._forgotten():
            self.announce(at_ms)
        for chore in self._chores:
            if chore.long == long and self._claimed(chore, alive_since_ms, at_ms):
                self._run(chore, at_ms)

    def _forgotten(self) -> bool:
        """Whether the ledger, made anew meanwhile, no longer knows the schedules."""
        with self._queue.reading() as conn:
            return not {chore.name for chore in self._chores} <= {row.name for row in workers.schedules(conn)}

    def _claimed(self, chore: Chore, alive_since_ms: int, at_ms: int) -> bool:
        next_at_ms = chore.next_ms(at_ms)
        with self._queue.reading() as conn:
            too_far = workers.schedule_too_far(conn, chore.name, next_at_ms)
            if not too_far and not workers.schedule_due(conn, chore.name, at_ms):
                return False
        with self._queue.transaction() as conn:
            if too_far:
                workers.bring_forward(conn, chore.name, next_at_ms)
                return False
            return workers.claim_run(
                conn, chore.name, self._process, next_at_ms=next_at_ms, alive_since_ms=alive_since_ms, now_ms=at_ms
            )

    def _run(self, chore: Chore, at_ms: int) -> None:
        started = time.monotonic()
        try:
            result = chore.run(self._store, self._queue)
        except StoreUnavailable as e:
            result = f"failed: {e}"
            log.warning("periodic work failed", extra={"name_of_work": chore.name, "error": str(e), "path": e.path})
        except Exception as e:
            result = f"failed: {type(e).__name__}"
            log.exception("periodic work failed", extra={"name_of_work": chore.name})
        ended_ms = at_ms + round((time.monotonic() - started) * 1000)
        with self._queue.transaction() as conn:
            workers.end_run(conn, chore.name, self._process, started_at_ms=at_ms, result=result, now_ms=ended_ms)


# ---- the chores


def sweep(store: Store, queue: Queue) -> str:
    """Every session that is owed has a live job, a bounded number an agent at a time; one database that fails holds up no other."""
    from shared.overview import owed_sessions

    made, troubled = 0, 0
    for agent_id in store.agent_ids():
        try:
            owed = owed_sessions(store, agent_id, limit=SWEEP_STEP, now_ms=now_ms())
        except StoreUnavailable as e:
            troubled += 1
            log.warning("agent not swept", extra={"agent_id": agent_id, "error": str(e), "path": e.path})
            continue
        made += queue.order(_not_refused(queue, agent_id, owed), now_ms())
    return f"{made} sessions enqueued" + (f", {troubled} databases unavailable" if troubled else "")


def _not_refused(queue: Queue, agent_id: str, owed: list[str]) -> list[Wanted]:
    since_ms = now_ms() - REFUSED_MS
    wanted = [Wanted(RECONCILE, agent_id, key, "bulk") for key in owed]
    if not owed:
        return wanted
    with queue.reading() as conn:
        return [one for one in wanted if not jobs.refused_since(conn, agent_id, str(one.session_key), since_ms, MOST_ATTEMPTS)]


def mend(store: Store, queue: Queue) -> str:
    """Queued jobs whose message is gone have one again; batches whose ordering was killed, and never taken up again, can end."""
    at_ms = now_ms()
    mended = queue.mend()
    with queue.transaction() as conn:
        closed = batches.close_silent(conn, at_ms - UNFINISHED_MS, at_ms)
    return f"{mended} jobs without a message, {closed} unfinished batches" if mended or closed else "nothing to mend"


def checkpoint(store: Store, queue: Queue) -> str:
    """Write-ahead logs that have grown are written back and cut, where no reader or writer has to wait for it."""
    long, cut = 0, 0
    for agent_id in store.agent_ids():
        path = store.agent_path(agent_id)
        try:
            if path.with_name(path.name + "-wal").stat().st_size > LOG_BYTES:
                long += 1
                with store.writer(agent_id) as conn:
                    cut += upkeep.cut_log(conn)
        except FileNotFoundError:
            continue
        except StoreUnavailable as e:
            log.warning("log not cut", extra={"agent_id": agent_id, "error": str(e), "path": e.path})
    return f"{cut} of {long} long logs cut"


def prune(queue: Queue, at_ms: int | None = None) -> str:
    """Ended jobs, batches and silent workers are forgotten by age and number; failed jobs are kept longest."""
    at_ms = now_ms() if at_ms is None else at_ms
    gone = sum(_prune_jobs(queue, state, at_ms - age_ms, keep) for state, (age_ms, keep) in KEPT.items())
    with queue.transaction() as conn:
        batches.forget_batches(conn, at_ms - BATCHES_KEPT_MS)
        workers.forget_silent(conn, at_ms - WORKERS_KEPT_MS)
    return f"{gone} jobs forgotten"


def _prune_jobs(queue: Queue, state: str, before_ms: int, keep: int) -> int:
    gone = 0
    while True:
        with queue.transaction() as conn:
            step = jobs.forget(conn, state, before_ms=before_ms, keep=keep, limit=500)
        gone += step
        if step < 500:
            return gone


def reindex(store: Store, queue: Queue) -> str:
    """Whatever is owed is ordered as one batch; a batch that still runs is joined, not doubled."""
    from shared.reindex import order_reindex

    order = order_reindex(store, queue, all_agents=True, now_ms=now_ms())
    return f"batch {order.batch_id}: {order.sessions} sessions" + (" (still running)" if order.joined else "")


def lineage(store: Store, queue: Queue) -> str:
    """The registry tells the lineage of sessions as the agents' databases do."""
    from shared.lineage import mend_lineage

    mended = sum(_each_agent(store, lambda agent_id: mend_lineage(store, agent_id, now_ms())))
    return f"{mended} rows mended" if mended else "nothing to mend"


def verify_next(store: Store, queue: Queue) -> str:
    """One agent's index, the next in turn, was compared with its transcripts; one that differs is built anew."""
    from worker.verify import verify_agent

    agents = store.agent_ids()
    if not agents:
        return "no agents"
    with queue.reading() as conn:
        last = workers.setting(conn, "verified") or ""
    agent_id = next((one for one in agents if one > last), agents[0])
    found = verify_agent(store, agent_id, repair=True, now_ms=now_ms())
    with queue.transaction() as conn:
        workers.set_setting(conn, "verified", agent_id)
    if found:
        log.error("index differs from its transcripts", extra={"agent_id": agent_id, "differences": len(found)})
    return f"agent {agent_id}: {len(found)} differences" if found else f"agent {agent_id}: no difference"


def merge(store: Store, queue: Queue) -> str:
    """Index segments are merged in short steps, a bounded number of them an agent, so that searches stay fast."""
    steps = sum(_each_agent(store, lambda agent_id: _merge_some(store, agent_id)))
    return f"{steps} steps"


def _merge_some(store: Store, agent_id: str) -> int:
    for step in range(MERGE_STEPS):
        with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
            if not upkeep.merge_step(conn, begin=False):
                return step
    return MERGE_STEPS


def _each_agent(store: Store, work: Callable[[str], int]) -> Iterator[int]:
    """What the work counts at each agent; one whose database is not available is passed over."""
    for agent_id in store.agent_ids():
        try:
            yield work(agent_id)
        except StoreUnavailable as e:
            log.warning("agent passed over", extra={"agent_id": agent_id, "error": str(e), "path": e.path})


# ---- erasing


def erase(store: Store, agent_id: str, beat: Callable[[], None]) -> None:
    """What was deleted is in none of the agent's files: index segments are merged, free pages overwritten, the log is emptied.

    raises: StoreUnavailable when readers hold the log for longer than this waits; it is then tried again.
    """
    if not store.has_agent(agent_id):
        return
    path = store.agent_path(agent_id)
    begin = True
    while True:
        beat()
        with store.writer(agent_id) as conn, write_transaction(conn, path):
            if not upkeep.merge_step(conn, begin=begin):
                break
        begin = False
    for _ in range(ERASE_TRIES):
        beat()
        with store.writer(agent_id) as conn:
            if upkeep.cut_log(conn):
                return
        time.sleep(ERASE_PAUSE_S)
    raise StoreUnavailable("readers hold the write-ahead log", str(path))
