"""The clock is set back by an hour: what was written before stands in the future, and nothing waits until it is there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared import jobs
from shared.config import Settings
from shared.jobs import JobFilter
from shared.message import decode
from shared.overview import owed_sessions
from shared.queue import LOST_AFTER_MS, TASKS, Queue
from shared.store import workers
from tests.conftest import Killed, Session, dies_after, message
from worker import reconcile
from worker.maintenance import DAY_MS, Chore, Chores, chores

HOUR_MS = 3_600_000
NOW = 1_800_000_000_000
BEFORE = NOW + HOUR_MS  # what the clock said before it was set back to NOW
ADA = ("ada", "agent:ada:main")


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    queue = Queue(Settings(data=tmp_path / "data"))
    yield queue
    queue.close()


def taken(queue: Queue, worker: str, now_ms: int) -> str:
    with queue.transaction() as conn:
        workers.add_worker(conn, worker, "interactive", now_ms)
    data = queue.take("interactive", worker, TASKS, now_ms)
    assert data is not None
    return decode(data).job_id


def state(queue: Queue, now_ms: int) -> str:
    return str(jobs.list_jobs(queue, JobFilter(), now_ms)["jobs"][0]["state"])


def test_the_job_of_a_worker_that_died_before_is_run_again_at_once(queue):
    """Its heartbeat, an hour ahead, used to count as fresh for an hour."""
    queue.enqueue_reconcile([ADA], BEFORE)
    job_id = taken(queue, "dead/interactive-1", BEFORE)

    shown = state(queue, NOW)
    queue.bring_due(NOW)

    assert shown == "retrying"
    assert taken(queue, "alive/interactive-1", NOW) == job_id


def test_a_worker_that_lives_keeps_its_job_from_its_next_beat_on_and_a_small_step_back_takes_nothing(queue):
    queue.enqueue_reconcile([ADA], BEFORE)
    taken(queue, "w/interactive-1", BEFORE)

    small_step = state(queue, BEFORE - 2_000)
    queue.beat({"w/interactive-1": BEFORE}, NOW)
    queue.bring_due(NOW)

    assert small_step == "running"
    assert state(queue, NOW) == "running"


def test_a_worker_that_gets_nowhere_is_stuck_by_the_clock_as_it_is_now(queue):
    queue.enqueue_reconcile([ADA], BEFORE)
    taken(queue, "w/interactive-1", BEFORE)
    queue.beat({"w/interactive-1": BEFORE}, NOW)
    later = NOW + jobs.STUCK_AFTER_MS + 10_000
    for at_ms in range(NOW, later + 1, 2_000):
        queue.beat({"w/interactive-1": NOW}, at_ms)

    (row,) = jobs.queue_overview(queue, later)["workers"]

    assert row["state"] == "stuck"


def test_a_job_that_pauses_runs_when_its_pause_would_be_over_at_the_latest(queue):
    queue.enqueue_reconcile([ADA], BEFORE)
    job_id = taken(queue, "w/interactive-1", BEFORE)
    queue.go_on_later(job_id, "w/interactive-1", BEFORE + 2_000, BEFORE)

    queue.bring_due(NOW)

    assert state(queue, NOW) == "queued"


def test_periodic_work_goes_on_in_its_rhythm(world, queue):
    runs: list[int] = []
    chore = Chore("count", "every 60 s", lambda at_ms: at_ms + 60_000, lambda _store, _queue: runs.append(1) or "done")
    process = Chores(world.store, queue, "p", [chore])
    process.announce(BEFORE)
    process.run_due(BEFORE - LOST_AFTER_MS, BEFORE)

    for second in range(0, 90, 10):
        process.run_due(NOW + second * 1000 - LOST_AFTER_MS, NOW + second * 1000)

    assert len(runs) == 2


@pytest.fixture
def small_steps(monkeypatch):
    """A few messages a step."""
    monkeypatch.setattr(reconcile, "MAX_STEP", 2)
    monkeypatch.setattr(reconcile, "MIN_STEP", 1)


def test_the_lease_of_a_worker_that_was_killed_before_holds_nobody_up(agent: Session, small_steps):
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(9)])
    agent.world.now.ms = BEFORE
    with pytest.raises(Killed):
        agent.reconcile("killed", dies_after(0))
    held = agent.leased()
    agent.world.now.ms = NOW

    agent.reconcile("other")

    assert held
    assert len(agent.found("alpha")) == 9
    assert agent.listed()["pending"] is False


def test_two_workers_do_not_publish_over_each_other_while_the_clock_moves(agent: Session, small_steps):
    """The first takes its lease an hour ahead, the second takes the session over and settles it; the first then finds nothing owed."""
    agent.take_in("s1", [message(f"e{n}", "alpha") for n in range(9)])
    agent.world.now.ms = BEFORE
    other: list[object] = []

    def set_back() -> None:
        if not other:
            agent.world.now.ms = NOW
            other.append(agent.reconcile("second"))

    agent.reconcile("first", set_back)

    assert len(agent.found("alpha")) == 9
    assert agent.world.verify() == []


def test_a_session_that_failed_is_tried_again_no_later_than_its_pause(agent: Session):
    agent.take_in("s1", [message("e1", "alpha")])
    agent.write_outside("UPDATE index_state SET attempts = 1, retry_at_ms = ? WHERE transcript_no = :t", BEFORE)

    due = owed_sessions(agent.world.store, "ada", limit=10, now_ms=NOW)
    waits = owed_sessions(agent.world.store, "ada", limit=10, now_ms=BEFORE - 1_000)

    assert (due, waits) == ([agent.key], [])


def test_a_clock_that_was_a_year_ahead_for_a_while_takes_nothing_away(world, queue):
    """Everything periodic runs in the year that is not there yet; then the clock is right again."""
    main, gone = world.session("ada").append("a", "the ferry"), world.session("ada", "gone")
    gone.take_in("g1", [message("g", "a deleted lantern")])
    gone.delete()
    rewound = world.session("ada", "rewound").append("r1", "a quay").append("r2", "another quay")

    world.now.pass_ms(365 * DAY_MS)
    rewound.rewind("r1")
    main.append("b", "the ferry, a year ahead")
    for chore in chores(world.store.settings):
        chore.run(world.store, queue)
    world.now.pass_ms(-365 * DAY_MS)
    main.append("c", "the ferry, today")
    rewound.reconcile()

    assert main.found("ferry", order="recent") == ["b", "c", "a"]  # what was stored in that year is of that year
    assert [shown["id"] for shown in main.history()["messages"]] == ["a", "b", "c"]
    assert rewound.found("quay") == ["r1"]
    assert gone.take_in("g1", [message("g", "a deleted lantern")]).deleted
    assert world.search(main.caller, "ferry")["indexing"] is False
    assert world.verify() == []
