"""What operators see of the queue, and what they do about it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared import jobs
from shared.appending import append_events
from shared.config import Settings
from shared.errors import BadCursor, BadRequest, Conflict, NotFound
from shared.jobs import JobFilter
from shared.message import decode
from shared.queue import LOST_AFTER_MS, TASKS, Queue
from shared.store import Store, batches, open_store, workers
from worker.maintenance import prune

NOW = 1_800_000_000_000
HOUR = 3_600_000
DAY = 24 * HOUR


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(Settings(data=tmp_path / "data"))
    yield store
    store.close()


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    queue = Queue(Settings(data=tmp_path / "data"))
    with queue.transaction() as conn:
        workers.add_worker(conn, "w/1", "interactive", NOW)
    yield queue
    queue.close()


def run_one(queue: Queue, ending: str, now_ms: int = NOW, error: str | None = None) -> str:
    job_id = decode(queue.take("interactive", "w/1", TASKS, now_ms)).job_id
    queue.end(job_id, "w/1", ending, error=error, now_ms=now_ms)
    return job_id


def listed(queue: Queue, now_ms: int = NOW, **asked: object) -> list[dict[str, object]]:
    return jobs.list_jobs(queue, JobFilter(**asked), now_ms)["jobs"]


def many_jobs(queue: Queue, count: int, state: str, **fields: object) -> None:
    """Ended jobs of the past, a second apart, the newest at NOW."""
    mark = "f" if state == "failed" else "0"
    rows = [
        (f"{NOW - n * 1000:012x}{mark}{n:07x}", state, NOW - n * 1000, f"ada-{n % 50}", f"s{n}", fields.get("error")) for n in range(count)
    ]
    with queue.transaction() as conn:
        conn.executemany(
            "INSERT INTO jobs (id, state, task, queue, queued_at_ms, started_at_ms, ended_at_ms, agent_id, session_key, error, attempts)"
            " VALUES (?1, ?2, 'reconcile', 'bulk', ?3, ?3 + 40, ?3 + 100, ?4, ?5, ?6, 1)",
            rows,
        )


def test_a_job_is_told_with_every_field_of_the_contract(queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    job_id = run_one(queue, "failed", NOW + 500, "the event at position 3 cannot be read")

    (job,) = listed(queue)

    assert job == {
        "id": job_id,
        "state": "failed",
        "task": "reconcile",
        "agentId": "ada",
        "sessionKey": "a",
        "batchId": None,
        "attempts": 1,
        "error": "the event at position 3 cannot be read",
        "queuedAt": "2027-01-15T08:00:00.000Z",
        "startedAt": "2027-01-15T08:00:00.500Z",
        "endedAt": "2027-01-15T08:00:00.500Z",
        "worker": "w/1",
    }


def test_filters_combine_and_the_text_of_an_error_is_found_whatever_its_case(queue):
    queue.enqueue_reconcile([("ada", "a"), ("ada", "b"), ("bob", "c")], NOW)
    run_one(queue, "failed", error="The Disk is full")
    run_one(queue, "failed", error="an event cannot be read")
    run_one(queue, "done")

    assert [job["sessionKey"] for job in listed(queue, q="disk")] == ["a"]
    assert [job["sessionKey"] for job in listed(queue, state="failed", agent_id="ada", session_key="b")] == ["b"]
    assert [job["sessionKey"] for job in listed(queue, state="done")] == ["c"]
    assert listed(queue, state="failed", agent_id="bob") == []
    assert len(listed(queue, task="reconcile", since_ms=NOW, until_ms=NOW + 1)) == 3
    assert listed(queue, since_ms=NOW + 1) == []
    assert [job["sessionKey"] for job in listed(queue, q=str(listed(queue, q="disk")[0]["id"]))] == ["a"]


def test_pages_neither_repeat_nor_lose_a_job(queue):
    many_jobs(queue, 25, "done")

    pages, cursor = [], None
    while True:
        answer = jobs.list_jobs(queue, JobFilter(), NOW, cursor=cursor, limit=10)
        pages.append([job["id"] for job in answer["jobs"]])
        cursor = answer["nextCursor"]
        if cursor is None:
            break

    seen = [job_id for page in pages for job_id in page]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == 25


def test_a_bad_filter_limit_or_cursor_is_refused_by_name(queue):
    with pytest.raises(BadRequest, match="state must be one of queued, running"):
        listed(queue, state="sleeping")
    with pytest.raises(BadRequest, match="limit"):
        jobs.list_jobs(queue, JobFilter(), NOW, limit=0)
    with pytest.raises(BadCursor):
        jobs.list_jobs(queue, JobFilter(), NOW, cursor="' OR 1")
    with pytest.raises(NotFound):
        jobs.job_detail(queue, "nothing", NOW)


def test_the_timeline_tells_what_became_of_a_job(queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    job_id = decode(queue.take("interactive", "w/1", TASKS, NOW + 1)).job_id
    queue.try_again(job_id, "w/1", "a database is busy", pause_ms=lambda _: 1000, at_last="failed", now_ms=NOW + 2)
    queue.bring_due(NOW + 1002)
    run_one(queue, "done", NOW + 1003)

    timeline = jobs.job_detail(queue, job_id, NOW + 2000)["timeline"]

    assert [event["event"] for event in timeline] == ["queued", "put off", "started, run 2", "done"]
    assert timeline[1]["note"] == "a database is busy"


def test_the_overview_counts_states_waits_and_runs(queue):
    queue.enqueue_reconcile([("ada", "a"), ("ada", "b"), ("ada", "c")], NOW)
    run_one(queue, "done", NOW + 100)
    run_one(queue, "failed", NOW + 300, "no")

    told = jobs.queue_overview(queue, NOW + 1000)

    assert told["depth"] == {"queued": 1, "running": 0, "done": 1, "retrying": 0, "failed": 1, "cancelled": 0}
    assert (told["oldestWaitMs"], told["paused"], told["throughput"]) == (1000, False, 0.1)
    assert told["waitMs"] == {"p50": 300, "p95": 300}
    assert told["runMs"] == {"p50": 0, "p95": 0}
    assert list(told["workers"][0]) == ["id", "state", "heartbeatAt", "progressAt", "job"]


def test_a_worker_is_stale_without_heartbeat_and_stuck_without_progress(queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    queue.take("interactive", "w/1", TASKS, NOW)
    later = NOW + 10 * 60_000

    def state(now_ms: int) -> str:
        return jobs.queue_overview(queue, now_ms)["workers"][0]["state"]

    assert state(NOW) == "healthy"
    assert state(NOW + LOST_AFTER_MS + 1) == "stale"
    queue.beat({"w/1": NOW}, later)
    assert state(later) == "stuck"
    queue.beat({"w/1": later}, later)
    assert state(later) == "healthy"


def test_ready_means_that_nothing_waits_or_somebody_makes_progress(queue):
    assert jobs.readiness(queue, NOW).ready
    queue.enqueue_reconcile([("ada", "a")], NOW)
    later = NOW + 5 * 60_000

    fresh, late = jobs.readiness(queue, NOW + 1000), jobs.readiness(queue, later)
    queue.beat({"w/1": later}, later)

    assert fresh.ready
    assert not late.ready
    assert "waited 300 s" in late.reasons[0]
    assert jobs.readiness(queue, later).ready


def test_a_failed_job_retried_is_queued_as_if_it_were_new(store, queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    job_id = run_one(queue, "failed", NOW, "no")

    told = jobs.retry_job(store, queue, job_id, NOW + 1000)

    assert (told["state"], told["attempts"], told["error"], told["endedAt"]) == ("queued", 0, None, None)
    assert run_one(queue, "done", NOW + 2000) == job_id
    with pytest.raises(Conflict, match="a job that is done"):
        jobs.retry_job(store, queue, job_id, NOW + 3000)


def test_a_job_whose_work_another_job_does_is_not_retried(store, queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    job_id = run_one(queue, "failed", NOW, "no")
    queue.enqueue_reconcile([("ada", "a")], NOW + 1)

    with pytest.raises(Conflict, match="another job"):
        jobs.retry_job(store, queue, job_id, NOW + 2)


def test_a_cancelled_job_does_not_run(queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    (job,) = listed(queue)

    told = jobs.cancel_job(queue, job["id"], NOW)

    assert told["state"] == "cancelled"
    assert queue.take("interactive", "w/1", TASKS, NOW) is None
    with pytest.raises(Conflict):
        jobs.cancel_job(queue, job["id"], NOW)


def test_a_running_job_is_asked_to_stop(queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    job_id = decode(queue.take("interactive", "w/1", TASKS, NOW)).job_id

    told = jobs.cancel_job(queue, job_id, NOW)

    assert told["state"] == "running"
    assert queue.beat({"w/1": NOW}, NOW) == {"w/1"}


def test_all_that_a_filter_selects_is_retried_or_cancelled(store, queue):
    many_jobs(queue, 1200, "failed", error="no")
    many = listed(queue, state="failed", agent_id="ada-7")

    retried = jobs.retry_jobs(store, queue, JobFilter(state="failed", agent_id="ada-7"), NOW + 1)
    cancelled = jobs.cancel_jobs(queue, JobFilter(state="queued"), NOW + 2)
    rest = jobs.retry_jobs(store, queue, JobFilter(state="failed"), NOW + 3)

    assert (retried, cancelled, rest) == (len(many), 24, 1176)
    assert jobs.queue_overview(queue, NOW)["depth"]["queued"] == 1176


def test_a_batch_ends_with_its_last_job_and_joins_jobs_that_are_there(queue):
    queue.enqueue_reconcile([("ada", "a")], NOW)
    with queue.transaction() as conn:
        batches.add_batch(conn, "b1", "agent ada", NOW)
    queue.enqueue_reconcile([("ada", "a"), ("ada", "b")], NOW, batch_id="b1", bulk=True)
    with queue.transaction() as conn:
        batches.all_ordered(conn, "b1", NOW)

    before = jobs.batch(queue, "b1")
    run_one(queue, "done", NOW + 1)
    with queue.transaction() as conn:
        workers.add_worker(conn, "w/2", "bulk", NOW)
    job_id = decode(queue.take("bulk", "w/2", TASKS, NOW + 2)).job_id
    queue.end(job_id, "w/2", "failed", error="no", now_ms=NOW + 3)

    after = jobs.batch(queue, "b1")
    assert (before["state"], before["sessions"], before["open"]) == ("running", 2, 2)
    assert (after["state"], after["open"], after["done"], after["failed"]) == ("failed", 0, 1, 1)
    assert len(listed(queue, batch_id="b1")) == 2
    assert jobs.list_batches(queue) == [after]
    with pytest.raises(NotFound):
        jobs.batch(queue, "b2")


def test_a_chart_counts_what_ended_in_each_stretch(queue):
    many_jobs(queue, 120, "done")  # one a second

    series = jobs.queue_series(queue, NOW + 101, window_ms=HOUR, buckets=60)

    assert len(series) == 60
    assert sum(bucket["done"] for bucket in series) == 120
    assert [bucket["done"] for bucket in series[-3:]] == [0, 60, 60]
    assert (series[-1]["waitP50"], series[-1]["runP95"]) == (40, 60)
    assert series[0]["waitP50"] is None


def test_metrics_count_outcomes_for_ever_and_timings_in_buckets(queue):
    queue.enqueue_reconcile([("ada", "a"), ("ada", "b")], NOW)
    run_one(queue, "done", NOW + 200)
    run_one(queue, "failed", NOW + 200, "no")
    prune(queue, NOW + 400 * DAY)

    told = jobs.metrics_snapshot(queue, NOW + 400 * DAY)

    assert listed(queue) == []
    assert told.outcomes == {("reconcile", "done"): 1, ("reconcile", "failed"): 1}
    assert ("wait", 250, 2, 400) in told.timings


def test_pruning_forgets_by_age_and_number_and_keeps_failed_jobs_longer(queue, monkeypatch):
    many_jobs(queue, 700, "failed", error="no")
    with queue.transaction() as conn:
        conn.execute("UPDATE jobs SET state = 'done', error = NULL WHERE agent_id = 'ada-1'")

    after_ten_days = prune(queue, NOW + 10 * DAY)
    monkeypatch.setitem(__import__("worker.maintenance", fromlist=["KEPT"]).KEPT, "failed", (30 * DAY, 100))
    by_number = prune(queue, NOW + 10 * DAY)

    assert (after_ten_days, by_number) == ("14 jobs forgotten", "586 jobs forgotten")
    left = jobs.list_jobs(queue, JobFilter(), NOW, limit=200)["jobs"]
    assert len(left) == 100
    assert left[0]["id"] > left[-1]["id"]


def test_a_job_shows_no_text_of_a_transcript(store, queue):
    append_events(store, "ada", "a", [{"type": "message", "message": {"role": "user", "content": "a plain secret marmalade"}}], NOW)
    queue.enqueue_reconcile([("ada", "a")], NOW)
    job_id = run_one(queue, "done")

    told = json.dumps([listed(queue), jobs.job_detail(queue, job_id, NOW), jobs.queue_overview(queue, NOW)])

    assert "marmalade" not in told


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """A ledger of 100,000 jobs, of which 20,000 failed; the tests only read it."""
    queue = Queue(Settings(data=tmp_path_factory.mktemp("crowded")))
    many_jobs(queue, 80_000, "done")
    many_jobs(queue, 20_000, "failed", error="the event at position 7 cannot be read")
    yield queue
    queue.close()


def steps(queue: Queue, ask: Callable[[], object]) -> int:
    """Steps of SQLite's machine that a question takes, to the hundred: about eight million are a second, and no load changes their number."""
    hundreds = [0]

    def count() -> None:
        hundreds[0] += 1

    with queue.reading() as conn:
        conn.set_progress_handler(count, 100)
        ask()
        conn.set_progress_handler(None, 0)
    return hundreds[0] * 100


def plan(queue: Queue, ask: Callable[[], object]) -> list[str]:
    """How SQLite goes about every statement of a question."""
    statements: list[str] = []
    with queue.reading() as conn:
        conn.set_trace_callback(statements.append)
        ask()
        conn.set_trace_callback(None)
        return [row[3] for statement in statements for row in conn.execute(f"EXPLAIN QUERY PLAN {statement}")]


A_PAGE, EVERY_ERROR = 5_000, 400_000  # a page of fifty; a look at each of 20,000 errors
FILTERS: list[tuple[dict[str, object], int]] = [
    ({}, A_PAGE),
    ({"state": "failed"}, A_PAGE),
    ({"state": "running"}, A_PAGE),
    ({"state": "retrying"}, A_PAGE),
    ({"agent_id": "ada-3"}, A_PAGE),
    ({"agent_id": "ada-3", "session_key": "s53"}, A_PAGE),
    ({"task": "reconcile", "state": "failed", "agent_id": "ada-9"}, A_PAGE),
    ({"q": "position 7"}, A_PAGE),
    ({"q": "no such text"}, EVERY_ERROR),
    ({"state": "failed", "q": "no such text"}, EVERY_ERROR),
    ({"since_ms": NOW - HOUR, "state": "failed"}, A_PAGE),
    ({"agent_id": "nobody"}, A_PAGE),
]


@pytest.mark.parametrize(("asked", "most"), FILTERS, ids=[" ".join(map(str, asked.values())) or "no filter" for asked, _ in FILTERS])
def test_a_filter_over_a_hundred_thousand_jobs_costs_what_it_shows(crowded, asked, most):
    def ask() -> object:
        return jobs.list_jobs(crowded, JobFilter(**asked), NOW)

    assert steps(crowded, ask) < most
    how = plan(crowded, ask)
    if asked.get("state") != "retrying":  # that is two states of the ledger, of which few jobs are at a time: those are sorted
        assert not any("TEMP B-TREE" in line for line in how), how  # the index has the order
    assert not any(line == "SCAN jobs" for line in how) or not asked, how


def test_the_overview_the_charts_and_the_metrics_of_a_hundred_thousand_jobs_count_in_indexes_and_read_no_job(crowded):
    def overview() -> object:
        return jobs.queue_overview(crowded, NOW)

    def day() -> object:
        return jobs.queue_series(crowded, NOW, window_ms=DAY, buckets=96)

    def metrics() -> object:
        return jobs.metrics_snapshot(crowded, NOW)

    assert steps(crowded, overview) < 1_000_000
    assert steps(crowded, day) < 2_000_000
    assert steps(crowded, metrics) < 1_000
    for ask in (overview, day, metrics):
        read = [line for line in plan(crowded, ask) if line.startswith("SCAN jobs") and "COVERING INDEX" not in line]
        assert read == [], read
