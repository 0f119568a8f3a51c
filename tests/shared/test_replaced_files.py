"""Files that are removed or replaced under a process that has them open: what is written next goes to the file that is there."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shared.config import Settings
from shared.errors import StoreUnavailable, Unauthorised
from shared.queue import Queue
from shared.store.connect import open_reader
from shared.tokens import issue_token, verify_token
from tests.conftest import START_MS, World


def take_away(path: Path) -> None:
    for name in (path.name, path.name + "-wal", path.name + "-shm"):
        path.with_name(name).unlink(missing_ok=True)


def events_in(path: Path) -> int:
    with closing(open_reader(path)) as conn:
        return int(conn.execute("SELECT count(*) FROM events").fetchone()[0])


def test_an_append_after_the_agents_file_was_removed_is_in_the_file_that_is_there_now(world: World):
    """It used to go to the removed file through a connection that was still open, and was gone with the process."""
    agent = world.session().append("a", "alpha")
    path = world.store.agent_path("ada")
    take_away(path)
    with pytest.raises(StoreUnavailable, match="not there"), world.store.reader("ada"):
        pass

    agent.append("b", "beta")

    assert events_in(path) == 1
    assert agent.found("beta") == ["b"]
    assert agent.found("alpha") == []


def test_an_agents_file_that_another_took_the_place_of_is_the_one_that_is_read_and_written(world: World, tmp_path: Path):
    agent = world.session().append("a", "alpha")
    path, copy = world.store.agent_path("ada"), tmp_path / "copy.sqlite"
    with world.plain_sqlite() as conn, closing(sqlite3.connect(copy)) as to:
        conn.backup(to)
    agent.append("b", "beta")
    take_away(path)
    shutil.move(copy, path)

    assert agent.found("alpha") == ["a"]
    assert agent.found("beta") == []
    agent.append("c", "gamma")
    assert events_in(path) == 2
    assert world.verify() == []


def test_a_log_that_belongs_to_the_file_before_is_not_applied_to_the_one_that_took_its_place(world: World, tmp_path: Path):
    """A backup that was moved over a database in use was mixed with the old one's write-ahead log."""
    agent = world.session().append("a", "alpha")
    path, copy = world.store.agent_path("ada"), tmp_path / "copy.sqlite"
    with world.plain_sqlite() as conn, closing(sqlite3.connect(copy)) as to:
        conn.backup(to)
    for n in range(30):
        agent.append(f"b{n}", "beta")
    copy.replace(path)

    before = (agent.found("alpha"), agent.found("beta"))
    agent.append("c", "gamma")

    assert before == (["a"], [])
    assert agent.found("gamma") == ["c"]
    assert events_in(path) == 2
    assert world.verify() == []


def test_a_registry_that_was_removed_is_filled_again_and_opens_nothing(world: World):
    world.session().append("a", "alpha")
    token = issue_token(world.store, "platform", START_MS).text
    take_away(world.store.registry_path)

    with pytest.raises(Unauthorised):
        verify_token(world.store, token, START_MS)
    world.session("bob").append("b", "beta")
    with closing(open_reader(world.store.registry_path)) as conn:
        keys = {row[0] for row in conn.execute("SELECT session_key FROM lineage")}

    assert keys == {"agent:ada:main", "agent:bob:main"}


def test_a_job_ordered_after_the_queues_file_was_removed_is_in_the_file_that_is_there_now(tmp_path: Path):
    queue = Queue(Settings(data=tmp_path / "data"))
    queue.enqueue_reconcile([("ada", "a")], START_MS)
    take_away(queue.path)

    made = queue.enqueue_reconcile([("ada", "a"), ("ada", "b")], START_MS)

    with closing(open_reader(queue.path)) as conn:
        assert conn.execute("SELECT count(*) FROM jobs").fetchone()[0] == made == 2
    queue.close()
