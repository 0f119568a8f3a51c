"""The queue: what is wished for has one live job, and a job and its message are never apart."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from huey.storage import SqliteStorage

from shared import jobs
from shared.broker import huey_for
from shared.config import Settings
from shared.errors import StoreUnavailable
from shared.jobs import JobFilter
from shared.message import Message, decode, encode
from shared.queue import ERASE_AFTER_MS, LOST_AFTER_MS, MOST_ATTEMPTS, TASKS, Queue
from shared.store import workers

NOW = 1_800_000_000_000
ADA = ("ada", "agent:ada:main")


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    queue = Queue(Settings(data=tmp_path / "data"))
    yield queue
    queue.close()


def take(queue: Queue, name: str = "interactive", worker: str = "w/1", now_ms: int = NOW) -> Message | None:
    with queue.transaction() as conn:
        workers.add_worker(conn, worker, name, now_ms)
    data = queue.take(name, worker, TASKS, now_ms)
    return decode(data) if data else None


def states(queue: Queue, now_ms: int = NOW, **asked: str) -> list[str]:
    return [job["state"] for job in jobs.list_jobs(queue, JobFilter(**asked), now_ms)["jobs"]]


def messages(queue: Queue) -> list[tuple[str, bytes]]:
    with queue.reading() as conn:
        return conn.execute("SELECT queue, data FROM task ORDER BY id").fetchall()


def test_a_session_asked_for_again_and_again_has_one_job(queue):
    first = queue.enqueue_reconcile([ADA, ("ada", "b")], NOW)
    again = [queue.enqueue_reconcile([ADA], NOW + n) for n in range(5)]

    assert (first, again) == (2, [0] * 5)
    assert len(messages(queue)) == 2


def test_many_threads_that_ask_at_once_make_one_job(tmp_path):
    queues = [Queue(Settings(data=tmp_path / "data")) for _ in range(8)]
    made: list[int] = []

    threads = [threading.Thread(target=lambda q=q: made.append(q.enqueue_reconcile([ADA], NOW))) for q in queues]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(made) == 1
    assert len(messages(queues[0])) == 1
    for queue in queues:
        queue.close()


def test_a_search_brings_a_session_forward_that_waits_on_bulk(queue):
    queue.enqueue_reconcile([ADA], NOW, bulk=True)

    made = queue.enqueue_reconcile([ADA], NOW + 1)

    assert made == 0
    assert [row[0] for row in messages(queue)] == ["interactive"]
    assert take(queue, "bulk") is None
    assert take(queue, "interactive") is not None


def test_taking_a_message_marks_its_job_running_in_the_same_commit(queue):
    queue.enqueue_reconcile([ADA], NOW)

    message = take(queue)

    assert message == Message(message.job_id, "reconcile", *ADA)
    assert messages(queue) == []
    job = jobs.job_detail(queue, message.job_id, NOW)
    assert (job["state"], job["worker"], job["attempts"]) == ("running", "w/1", 1)


def test_a_job_that_was_asked_for_while_it_ran_looks_again_before_it_ends(queue):
    queue.enqueue_reconcile([ADA], NOW)
    job_id = take(queue).job_id

    queue.enqueue_reconcile([ADA], NOW + 1)

    assert queue.end(job_id, "w/1", "done", error=None, now_ms=NOW + 2) is False
    assert queue.hear_again(job_id, "w/1") is True
    assert queue.end(job_id, "w/1", "done", error=None, now_ms=NOW + 3) is True
    assert states(queue) == ["done"]


def test_a_doubled_message_starts_nothing(queue):
    queue.enqueue_reconcile([ADA], NOW)
    with queue.transaction() as conn:
        conn.execute("INSERT INTO task (queue, data) SELECT queue, data FROM task")

    first, second = take(queue, worker="w/1"), take(queue, worker="w/2")

    assert first is not None
    assert second is None
    assert messages(queue) == []


def test_what_cannot_be_run_is_shown_once_as_failed_and_the_next_job_runs(queue):
    blobs = (b"\x80\x04\x95garbage", b'{"task": "old_reindex_v0"}', encode(Message("x", "old_reindex_v0", "ada")), b"[" * 100, b"")
    with queue.transaction() as conn:
        for blob in blobs:
            conn.execute("INSERT INTO task (queue, data) VALUES ('interactive', ?)", (blob,))
    queue.enqueue_reconcile([ADA], NOW)

    taken = take(queue)

    assert taken.session_key == ADA[1]
    failed = jobs.list_jobs(queue, JobFilter(state="failed"), NOW)["jobs"]
    assert len(failed) == len(blobs)
    assert all(job["error"] for job in failed)
    assert sum("old_reindex_v0" in job["error"] for job in failed) == 2


def test_a_message_under_a_name_nobody_reads_is_shown_as_failed(queue):
    with queue.transaction() as conn:
        conn.execute("INSERT INTO task (queue, data) VALUES ('huey', ?)", (b"\x80garbage",))

    queue.bring_due(NOW)

    assert states(queue) == ["failed"]
    assert messages(queue) == []


def test_a_paused_queue_gives_out_nothing_until_it_is_resumed(queue):
    queue.enqueue_reconcile([ADA], NOW)
    jobs.pause_queue(queue, NOW)

    while_paused = take(queue)
    jobs.resume_queue(queue, NOW)

    assert while_paused is None
    assert take(queue) is not None


def test_an_answer_does_not_wait_for_a_busy_queue(queue, caplog):
    queue.enqueue_reconcile([("ada", "first")], NOW)
    with closing(sqlite3.connect(queue.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()

        made = queue.enqueue_reconcile([ADA], NOW)

        assert made == 0
        assert time.monotonic() - begun < 1
        other.execute("ROLLBACK")
    assert "queue not reached" in caplog.text
    assert queue.enqueue_reconcile([ADA], NOW) == 1


def test_a_damaged_queue_file_is_set_aside_and_everybody_uses_the_new_one(queue, tmp_path):
    other = Queue(Settings(data=tmp_path / "data"))
    queue.enqueue_reconcile([ADA], NOW)
    other.enqueue_reconcile([("ada", "b")], NOW)
    whole = queue.renew_if_damaged()
    queue.close()
    other.close()
    queue.path.write_bytes(queue.path.read_bytes()[:100] + b"\xff" * 20_000)
    lost = other.enqueue_reconcile([ADA], NOW)

    renewed = queue.renew_if_damaged()

    assert (whole, lost, renewed) == (False, 0, True)
    assert queue.enqueue_reconcile([ADA], NOW) == 1
    assert other.enqueue_reconcile([ADA], NOW) == 0
    assert len(list(queue.path.parent.glob("queue.sqlite.damaged-*"))) == 1
    other.close()


def test_a_queue_that_cannot_be_opened_costs_no_answer(tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    queue = Queue(Settings(data=tmp_path / "data"))

    assert queue.enqueue_reconcile([ADA], NOW) == 0
    assert queue.enqueue_drain("ada", NOW) is False
    with pytest.raises(StoreUnavailable):
        queue.take("bulk", "w/1", TASKS, NOW)


def test_a_failing_job_is_tried_again_after_growing_pauses_and_a_bounded_number_of_times(queue):
    queue.enqueue_reconcile([ADA], NOW)
    now, pauses = NOW, []
    while (message := take(queue, now_ms=now)) is not None:
        queue.try_again(message.job_id, "w/1", "the database is busy", pause_ms=lambda n: 1000 * 2**n, at_last="failed", now_ms=now)
        due = jobs.job_detail(queue, message.job_id, now)["dueAt"]
        queue.bring_due(now + 1)
        assert take(queue, now_ms=now + 1) is None
        pauses.append(due)
        now += 1000 * 2 ** len(pauses)
        queue.bring_due(now)

    assert len(pauses) == MOST_ATTEMPTS
    job = jobs.list_jobs(queue, JobFilter(), now)["jobs"][0]
    assert (job["state"], job["attempts"], job["error"]) == ("failed", MOST_ATTEMPTS, "the database is busy")


def test_the_job_of_a_silent_worker_is_never_shown_as_running_and_is_run_again(queue):
    queue.enqueue_reconcile([ADA], NOW)
    first = take(queue, worker="dead/1")
    later = NOW + LOST_AFTER_MS + 1

    shown = jobs.list_jobs(queue, JobFilter(), later)["jobs"][0]
    depth = jobs.queue_overview(queue, later)["depth"]
    queue.bring_due(later)
    second = take(queue, worker="alive/1", now_ms=later)

    assert (shown["state"], shown["error"]) == ("retrying", "worker lost")
    assert (depth["running"], depth["retrying"]) == (0, 1)
    assert second.job_id == first.job_id
    assert jobs.job_detail(queue, first.job_id, later)["attempts"] == 2
    assert queue.end(first.job_id, "dead/1", "done", error=None, now_ms=later) is False  # the first worker was only slow: too late


def test_a_living_workers_job_is_left_to_it(queue):
    queue.enqueue_reconcile([ADA], NOW)
    job_id = take(queue).job_id
    later = NOW + 10 * LOST_AFTER_MS

    queue.beat({"w/1": later}, later)
    queue.bring_due(later)

    assert jobs.job_detail(queue, job_id, later)["state"] == "running"


def test_a_job_that_a_living_worker_no_longer_runs_is_lost_too(queue):
    queue.enqueue_reconcile([ADA, ("ada", "b")], NOW)
    first = take(queue).job_id
    second = take(queue).job_id  # the same worker took another: the end of the first was never written

    queue.bring_due(NOW + 1)

    assert jobs.job_detail(queue, first, NOW)["state"] == "queued"
    assert jobs.job_detail(queue, second, NOW)["state"] == "running"


def test_a_job_that_kills_its_workers_is_failed_in_the_end(queue):
    queue.enqueue_reconcile([ADA], NOW)
    now = NOW
    for n in range(MOST_ATTEMPTS):
        assert take(queue, worker=f"w{n}/1", now_ms=now) is not None
        now += LOST_AFTER_MS + 1
        queue.bring_due(now)

    job = jobs.list_jobs(queue, JobFilter(), now)["jobs"][0]
    assert job["state"] == "failed"
    assert "worker lost" in job["error"]


def test_a_job_given_back_is_queued_again_and_counts_no_attempt(queue):
    queue.enqueue_reconcile([ADA], NOW)
    job_id = take(queue).job_id

    queue.depart(["w/1"], NOW)

    job = jobs.job_detail(queue, job_id, NOW)
    assert (job["state"], job["attempts"]) == ("queued", 0)
    assert jobs.queue_overview(queue, NOW)["workers"] == []
    assert take(queue, worker="w/2").job_id == job_id


def test_a_queued_job_whose_message_was_lost_has_one_again(queue):
    queue.enqueue_reconcile([ADA], NOW)
    with queue.transaction() as conn:
        conn.execute("DELETE FROM task")

    queue.mend()

    assert take(queue).session_key == ADA[1]


def test_a_drain_and_an_erase_have_one_live_job_an_agent(queue):
    asked = [queue.enqueue_drain("ada", NOW), queue.enqueue_drain("ada", NOW), queue.enqueue_drain("bob", NOW)]
    erased = [queue.enqueue_erase("ada", NOW), queue.enqueue_erase("ada", NOW)]

    assert asked == [True, False, True]
    assert erased == [True, False]
    assert take(queue, "bulk").task == "drain"


def test_an_erase_gathers_deletes_before_it_runs_and_goes_first_then(queue):
    queue.enqueue_erase("ada", NOW)
    queue.enqueue_drain("ada", NOW)
    queue.bring_due(NOW + ERASE_AFTER_MS - 1)
    early = [message for _, message in messages(queue)]

    queue.bring_due(NOW + ERASE_AFTER_MS)

    assert [decode(message).task for message in early] == ["drain"]
    assert take(queue, "bulk").task == "erase"


def test_the_table_of_messages_is_the_one_that_huey_makes_for_itself(queue, tmp_path):
    SqliteStorage("x", filename=str(tmp_path / "huey.db"), strict_fifo=True).close()

    def columns(conn: sqlite3.Connection) -> list[tuple[object, ...]]:
        return [(name, kind.lower(), *rest) for _, name, kind, *rest in conn.execute("PRAGMA table_info(task)")]

    with closing(sqlite3.connect(tmp_path / "huey.db")) as theirs, queue.reading() as ours:
        assert columns(ours) == columns(theirs)


def test_huey_writes_and_reads_the_same_messages_as_the_ledger(queue):
    huey = huey_for(queue, "interactive", __name__, lambda: "w/1", lambda: NOW)

    @huey.task(name="reconcile")
    def reconcile(job_id: str, agent_id: str, session_key: str) -> None: ...

    queue.enqueue_reconcile([ADA], NOW)
    stored = messages(queue)[0][1]

    task = huey.deserialize_task(stored)

    assert task.kwargs == {"job_id": task.id, "agent_id": ADA[0], "session_key": ADA[1]}
    assert huey.serialize_task(task) == stored


@pytest.mark.parametrize("key", ["agent:ada:main", "a\x00b", "\u2028", "日本語", "<img src=x>", "'; DROP TABLE jobs; --"])
def test_any_session_key_goes_through_a_message_unchanged(key):
    message = Message("0123", "reconcile", "ada", key)

    assert decode(encode(message)) == message
