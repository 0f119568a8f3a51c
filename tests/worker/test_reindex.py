"""Orders to reindex: what they name, that the same one is not carried out twice at a time, and that an interrupted one is finished."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared import jobs
from shared.appending import append_events
from shared.config import Settings
from shared.errors import BadRequest, NotFound
from shared.jobs import JobFilter
from shared.message import decode
from shared.overview import owed_sessions
from shared.queue import TASKS, Queue
from shared.reindex import SILENT_MS, order_reindex
from shared.sessions import delete_session, rewind_session
from shared.store import Store, batches, open_store

NOW = 1_800_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(Settings(data=tmp_path / "data", synchronous="NORMAL"))
    for agent in ("ada", "bob"):
        for name in ("one", "two"):
            say(store, agent, f"{agent}:{name}", NOW - 10_000)
    yield store
    store.close()


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    queue = Queue(Settings(data=tmp_path / "data"))
    yield queue
    queue.close()


def say(store: Store, agent: str, key: str, now_ms: int = NOW) -> None:
    append_events(store, agent, key, [{"type": "message", "message": {"role": "user", "content": "hello"}}], now_ms)


def named(queue: Queue) -> list[str]:
    return sorted(job["sessionKey"] for job in jobs.list_jobs(queue, JobFilter(), NOW)["jobs"])


def do_all(queue: Queue) -> None:
    while (data := queue.take("bulk", "w/1", TASKS, NOW)) is not None:
        queue.end(decode(data).job_id, "w/1", "done", error=None, now_ms=NOW)


def test_without_force_only_what_is_owed_is_ordered(store, queue):
    rewind_session(store, "ada", "ada:one", None, NOW)

    order = order_reindex(store, queue, all_agents=True, now_ms=NOW)

    assert (order.sessions, order.joined) == (1, False)
    assert named(queue) == ["ada:one"]


def test_force_names_everything_of_an_agent_or_of_all(store, queue):
    one = order_reindex(store, queue, agent_id="ada", force=True, now_ms=NOW)
    every = order_reindex(store, queue, all_agents=True, force=True, now_ms=NOW)

    assert (one.sessions, every.sessions) == (2, 4)
    assert named(queue) == ["ada:one", "ada:two", "bob:one", "bob:two"]  # what was there already was joined


def test_one_session_is_found_by_its_key_alone(store, queue):
    order = order_reindex(store, queue, session_key="bob:two", force=True, now_ms=NOW)

    assert order.sessions == 1
    assert named(queue) == ["bob:two"]
    assert owed_sessions(store, "bob", limit=9, now_ms=NOW) == ["bob:two"]


def test_only_sessions_used_since_a_time_are_named(store, queue):
    say(store, "ada", "ada:two", NOW)

    order = order_reindex(store, queue, all_agents=True, since_ms=NOW - 5_000, force=True, now_ms=NOW + 1)

    assert order.sessions == 1
    assert named(queue) == ["ada:two"]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({}, BadRequest),
        ({"all_agents": True, "agent_id": "ada"}, BadRequest),
        ({"agent_id": "nobody"}, NotFound),
        ({"session_key": "nothing"}, NotFound),
        ({"session_key": "ada:one", "agent_id": "bob"}, NotFound),
    ],
)
def test_an_order_that_names_nothing_known_is_refused(store, queue, asked, error):
    with pytest.raises(error):
        order_reindex(store, queue, now_ms=NOW, **asked)

    assert named(queue) == []


def test_a_deleted_session_cannot_be_ordered(store, queue):
    delete_session(store, "ada", "ada:one", NOW)

    with pytest.raises(NotFound):
        order_reindex(store, queue, session_key="ada:one", force=True, now_ms=NOW)


def test_the_same_order_at_the_same_time_is_one_batch_with_one_job_a_session(store, queue, tmp_path):
    queues = [Queue(Settings(data=tmp_path / "data")) for _ in range(4)]
    orders = []
    threads = [
        threading.Thread(target=lambda q=q: orders.append(order_reindex(store, q, agent_id="ada", force=True, now_ms=NOW))) for q in queues
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({order.batch_id for order in orders}) == 1
    assert sorted(order.joined for order in orders) == [False, True, True, True]
    assert named(queue) == ["ada:one", "ada:two"]
    for one in queues:
        one.close()


def test_when_a_batch_has_ended_the_same_order_is_a_new_one(store, queue):
    first = order_reindex(store, queue, agent_id="ada", force=True, now_ms=NOW)
    do_all(queue)

    second = order_reindex(store, queue, agent_id="ada", force=True, now_ms=NOW + 1)

    assert jobs.batch(queue, first.batch_id)["state"] == "done"
    assert second.joined is False
    assert second.batch_id != first.batch_id


def test_an_order_with_nothing_to_do_ends_at_once(store, queue):
    order = order_reindex(store, queue, all_agents=True, now_ms=NOW)

    told = jobs.batch(queue, order.batch_id)
    assert (told["state"], told["sessions"], told["endedAt"]) == ("done", 0, "2027-01-15T08:00:00.000Z")


def test_an_ordering_that_was_killed_half_way_is_finished_by_the_next_one(store, queue):
    with queue.transaction() as conn:
        batches.add_batch(conn, "killed", "agent ada forced", NOW)

    early = order_reindex(store, queue, agent_id="ada", force=True, now_ms=NOW + 1)
    late = order_reindex(store, queue, agent_id="ada", force=True, now_ms=NOW + SILENT_MS + 1)

    assert (early.batch_id, early.joined, early.sessions) == ("killed", True, 0)
    assert (late.batch_id, late.joined, late.sessions) == ("killed", False, 2)
    do_all(queue)
    assert jobs.batch(queue, "killed")["state"] == "done"
