"""Periodic work: one process does each run, schedules keep to their clock; files are cleaned, cut and copied."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from freezegun import freeze_time

from shared import jobs
from shared.appending import append_events
from shared.clock import now_ms
from shared.config import Settings
from shared.errors import BadRequest, StoreUnavailable
from shared.jobs import JobFilter
from shared.message import decode
from shared.overview import owed_sessions
from shared.queue import LOST_AFTER_MS, MOST_ATTEMPTS, TASKS, Queue
from shared.search import SearchRequest, search_sessions
from shared.sessions import delete_session, rewind_session
from shared.store import Store, open_store, workers
from shared.visibility import OWNER
from worker.backup import backup
from worker.maintenance import Chore, Chores, checkpoint, chores, erase, sweep

NOW = 1_800_000_000_000


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", synchronous="NORMAL")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    store = open_store(settings)
    yield store
    store.close()


@pytest.fixture
def queue(settings: Settings) -> Iterator[Queue]:
    queue = Queue(settings)
    yield queue
    queue.close()


def say(store: Store, key: str, *texts: str, agent: str = "ada") -> None:
    events = [{"type": "message", "message": {"role": "user", "content": text}} for text in texts]
    append_events(store, agent, key, events, now_ms())


def counting(name: str = "count", seconds: int = 10) -> tuple[Chore, list[int]]:
    runs: list[int] = []
    chore = Chore(
        name, f"every {seconds} s", lambda at_ms: at_ms + seconds * 1000, lambda _store, _queue: runs.append(1) or f"run {len(runs)}"
    )
    return chore, runs


def test_of_several_processes_one_does_each_run(store, queue):
    chore, runs = counting()
    processes = [Chores(store, queue, f"p{n}", [chore]) for n in range(4)]
    for process in processes:
        process.announce(NOW)

    for second in range(0, 60, 2):
        threads = [threading.Thread(target=process.run_due, args=(0, NOW + second * 1000)) for process in processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(runs) == 6
    (told,) = jobs.schedules(queue, NOW)
    assert (told["lastResult"], told["rule"], told["nextRunAt"]) == ("run 6", "every 10 s", "2027-01-15T08:01:00.000Z")


def test_a_run_that_outlasts_its_interval_is_not_joined_by_another(store, queue):
    during: list[int] = []
    second, _ = counting()

    def slow(store: Store, queue: Queue) -> str:
        Chores(store, queue, "p2", [replace(second, name="slow")]).run_due(NOW, NOW + 60_000)
        during.append(len(jobs.list_jobs(queue, JobFilter(), NOW)["jobs"]))
        return "done"

    first = Chores(store, queue, "p1", [Chore("slow", "every 10 s", lambda at_ms: at_ms + 10_000, slow)])
    with queue.transaction() as conn:
        workers.add_worker(conn, "p1/bulk-1", "bulk", NOW)
    first.announce(NOW)

    first.run_due(NOW - LOST_AFTER_MS, NOW)

    assert during == [0]
    assert jobs.schedules(queue, NOW)[0]["lastResult"] == "done"


def test_the_run_of_a_killed_process_does_not_stop_the_schedule(store, queue):
    chore, runs = counting()
    Chores(store, queue, "p1", [chore]).announce(NOW)
    with queue.transaction() as conn:
        workers.add_worker(conn, "p1/bulk-1", "bulk", NOW)
        workers.claim_run(conn, "count", "p1", next_at_ms=NOW + 10_000, alive_since_ms=0, now_ms=NOW)  # and p1 is killed

    other = Chores(store, queue, "p2", [chore])
    other.run_due(NOW + 10_000 - LOST_AFTER_MS, NOW + 10_000)
    other.run_due(NOW + 1, NOW + LOST_AFTER_MS + 1)

    assert len(runs) == 1


def test_work_that_fails_is_told_and_comes_again(store, queue):
    def fail(store: Store, queue: Queue) -> str:
        raise StoreUnavailable("the disk is full")

    process = Chores(store, queue, "p1", [Chore("fail", "every 10 s", lambda at_ms: at_ms + 10_000, fail)])
    process.announce(NOW)

    process.run_due(0, NOW)

    (told,) = jobs.schedules(queue, NOW)
    assert (told["lastResult"], told["running"]) == ("failed: the disk is full", False)
    assert told["nextRunAt"] > told["lastRunAt"]


@pytest.mark.parametrize(
    ("started", "runs"),
    [
        (
            "2026-03-28T03:00:00+00:00",
            ["2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00"],
        ),  # 02:30 does not exist: 03:00 summer time
        ("2026-10-24T03:00:00+00:00", ["2026-10-25T00:30:00+00:00", "2026-10-26T01:30:00+00:00"]),  # 02:30 comes twice: the first
    ],
)
def test_the_nightly_reindex_keeps_to_the_wall_clock_across_a_clock_change(store, queue, settings, started, runs):
    nightly = replace(settings, reindex_cron="30 2 * * *", timezone="Europe/Berlin")
    found = [chore for chore in chores(nightly) if chore.name == "reindex"]
    process = Chores(store, queue, "p1", found)
    start_ms = round(datetime.fromisoformat(started).timestamp() * 1000)
    with freeze_time(started):
        process.announce(now_ms())
    seen = []

    for minute in range(0, 48 * 60, 30):
        with freeze_time(datetime.fromtimestamp(start_ms / 1000 + minute * 60)):
            before = len(jobs.list_batches(queue))
            process.run_due(0, now_ms())
            if len(jobs.list_batches(queue)) > before:
                seen.append(datetime.fromtimestamp(start_ms / 1000 + minute * 60).astimezone().isoformat())

    assert [datetime.fromisoformat(text) for text in seen] == [datetime.fromisoformat(text) for text in runs]
    assert jobs.schedules(queue, NOW)[0]["rule"] == "30 2 * * * Europe/Berlin"


def test_a_schedule_whose_rule_changed_starts_afresh_and_one_that_is_gone_is_not_listed(store, queue):
    Chores(store, queue, "p1", [counting("a", 10)[0], counting("b", 10)[0]]).announce(NOW)
    Chores(store, queue, "p1", [counting("a", 3600)[0]]).announce(NOW + 5000)

    (told,) = jobs.schedules(queue, NOW)

    assert (told["name"], told["rule"], told["nextRunAt"]) == ("a", "every 3600 s", "2027-01-15T09:00:05.000Z")


def test_the_sweep_leaves_alone_what_an_operator_cancelled_until_somebody_asks(store, queue):
    say(store, "k", "one", "two")
    rewind_session(store, "ada", "k", None, now_ms())
    sweep(store, queue)
    (job,) = jobs.list_jobs(queue, JobFilter(), now_ms())["jobs"]
    jobs.cancel_job(queue, job["id"], now_ms())

    swept = sweep(store, queue)

    assert swept == "0 sessions enqueued"
    assert queue.enqueue_reconcile([("ada", "k")], now_ms()) == 1


def test_the_sweep_does_not_repeat_for_ever_what_failed_for_good(store, queue):
    say(store, "k", "one", "two")
    rewind_session(store, "ada", "k", None, now_ms())
    sweep(store, queue)
    for _ in range(MOST_ATTEMPTS):
        job_id = decode(queue.take("bulk", "w/1", TASKS, now_ms())).job_id
        queue.try_again(job_id, "w/1", "a fault", pause_ms=lambda _: 0, at_last="failed", now_ms=now_ms())
        queue.bring_due(now_ms() + 1)

    assert sweep(store, queue) == "0 sessions enqueued"
    assert owed_sessions(store, "ada", limit=9, now_ms=now_ms()) == ["k"]


def test_a_database_that_cannot_be_read_does_not_keep_the_sweep_from_the_others(store, queue):
    for agent in ("ada", "bob"):
        say(store, f"{agent}s", "one", "two", agent=agent)
        rewind_session(store, agent, f"{agent}s", None, now_ms())
    store.close()
    store.agent_path("ada").write_bytes(b"no database" * 1000)

    swept = sweep(store, queue)

    assert swept == "1 sessions enqueued, 1 databases unavailable"


def test_erasing_leaves_no_deleted_word_in_the_agents_files(store):
    say(store, "kept", *(f"ordinary row {n} about ferries" for n in range(300)))
    for n in range(20):
        say(store, f"gone{n}", f"xanthophyll{n} quixotic", *(f"row {i} xylophonist" for i in range(50)))
        delete_session(store, "ada", f"gone{n}", now_ms())
    path = store.agent_path("ada")

    def words() -> list[bytes]:
        written = b"".join(one.read_bytes() for one in path.parent.glob(path.name + "*"))
        return [word for word in (b"xanthophyll", b"quixotic", b"xylophonist") if word in written]

    before = words()
    erase(store, "ada", lambda: None)

    assert before
    assert words() == []
    found = search_sessions(store, OWNER, SearchRequest("ferries", match="all"), now_ms())
    assert found.body["results"]


def test_a_reader_that_holds_the_log_makes_erasing_try_again(store, monkeypatch):
    say(store, "k", "one")
    monkeypatch.setattr("worker.maintenance.ERASE_TRIES", 1)
    with closing(sqlite3.connect(store.agent_path("ada"), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        say(store, "k", "two")

        with pytest.raises(StoreUnavailable):
            erase(store, "ada", lambda: None)


def test_a_long_log_is_cut_when_nobody_reads_it(store, queue):
    say(store, "k", "first")
    log = store.agent_path("ada").with_name("ada.sqlite-wal")
    with closing(sqlite3.connect(store.agent_path("ada"), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        for _ in range(12):
            say(store, "k", *("padding " * 400 for _ in range(150)))
        grown = log.stat().st_size
        held = checkpoint(store, queue)

    freed = checkpoint(store, queue)

    assert grown > 4 << 20
    assert (held, freed) == ("0 of 1 long logs cut", "1 of 1 long logs cut")
    assert log.stat().st_size == 0


def test_a_backup_is_a_data_folder_that_answers_as_the_first_did_at_one_moment(store, queue, tmp_path):
    say(store, "k", "word treenail")
    queue.enqueue_drain("ada", now_ms())
    stop = threading.Event()

    def write() -> None:
        n = 0
        while not stop.is_set():
            say(store, "k", f"running log {n}")
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copied = backup(store, tmp_path / "copy")
    finally:
        stop.set()
        writer.join()

    assert copied == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "data"]
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "copy").rglob("*.sqlite")} == {0o600}
    again = open_store(Settings(data=tmp_path / "copy"))
    found = search_sessions(again, OWNER, SearchRequest("treenail"), now_ms())
    assert len(found.body["results"]) == 1
    assert found.body["indexing"] is False
    again.close()
    with pytest.raises(BadRequest, match="there already"):
        backup(store, tmp_path / "copy")
