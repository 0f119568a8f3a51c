"""Readiness: red with reasons, at a cost that does not grow with the agents nobody writes to."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from shared import census
from shared.census import Census
from shared.config import Settings
from shared.message import decode
from shared.queue import TASKS
from shared.store import Store, open_store, workers
from shared.store.connect import PAGE_BYTES
from shared.suspects import note_suspect, suspects
from tests.conftest import World
from tests.web.conftest import ADA, Visitor, message, say, services_of
from web import create_app

HOUR = 3_600_000
LEAF = 13


def reasons(who: Visitor) -> list[str]:
    """What /readyz says; its status says the same."""
    answer = who.get("/readyz")
    told: list[str] = answer.get_json()["reasons"]
    assert answer.status_code == (503 if told else 200)
    assert answer.get_json()["ready"] is not bool(told)
    return told


def look_anew(app: Flask) -> None:
    """The next look at the databases is not a young one's repetition."""
    services_of(app).census = Census()


def pages_of(path: Path, table: str) -> list[int]:
    """The leaf pages of a table (SQLite manual, "B-tree Pages"); its log is written back before."""
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    root = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    size = conn.execute("PRAGMA page_size").fetchone()[0]
    conn.close()
    page = path.read_bytes()[(root - 1) * size : root * size]
    if page[0] == LEAF:
        return [root]
    cells = [int.from_bytes(page[at : at + 2], "big") for at in range(12, 12 + 2 * int.from_bytes(page[3:5], "big"), 2)]
    return [int.from_bytes(page[cell : cell + 4], "big") for cell in cells]


def damage(app: Flask, agent_id: str, table: str, *, which: int = 0) -> Path:
    """One page of the table is overwritten while nobody has the file open."""
    path = services_of(app).store.agent_path(agent_id)
    services_of(app).close()
    page = pages_of(path, table)[which]
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(b"\xa5" * PAGE_BYTES)
    return path


def fill(platform: Visitor, agent: str = "ada", key: str = "agent:ada:main", count: int = 60) -> None:
    say(platform, *(message(f"e{n}", f"ferry number {n} " + "rope " * 200) for n in range(count)), agent=agent, key=key)


def test_ready_when_nothing_is_owed(platform: Visitor):
    assert reasons(platform) == []


def test_a_damaged_transcript_turns_it_red_before_anybody_reads_it(app: Flask, platform: Visitor):
    fill(platform)
    assert reasons(platform) == []

    path = damage(app, "ada", "events", which=5)
    look_anew(app)

    assert reasons(platform) == [f"a database is damaged: {path}"]


def test_what_a_request_meets_in_a_file_too_large_to_be_checked_turns_every_process_red(
    app: Flask, platform: Visitor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(census, "CHECK_AT_ONCE", 0)
    monkeypatch.setattr(census, "CHECK_SUSPECT", 0)
    fill(platform)
    path = damage(app, "ada", "events", which=5)
    look_anew(app)
    assert reasons(platform) == []

    read = platform.post("/v1/sessions/history", {"sessionKey": ADA["sessionKey"], "caller": ADA, "limit": 200})
    other = create_app(services_of(app).settings)
    told = [reasons(platform)]
    services_of(app).census._last = None
    told += [reasons(platform), reasons(Visitor(other.test_client(use_cookies=False), platform.token))]
    services_of(other).close()

    assert read.status_code == 503
    assert told[1:] == [[f"a database is damaged: {path}"]] * 2


def test_it_is_green_again_when_the_file_was_replaced(app: Flask, platform: Visitor, tmp_path: Path):
    fill(platform)
    path = services_of(app).store.agent_path("ada")
    services_of(app).close()
    pages_of(path, "events")
    (tmp_path / "copy").write_bytes(path.read_bytes())
    damage(app, "ada", "events", which=5)
    assert reasons(platform) != []
    note_suspect(services_of(app).settings, str(path))

    for log in path.parent.glob(path.name + "-*"):
        log.unlink()
    (tmp_path / "copy").rename(path)
    services_of(app).census._last = None  # as after two seconds

    assert reasons(platform) == []
    assert suspects(services_of(app).settings) == frozenset()


def test_a_damaged_index_is_no_reason_for_it_is_built_anew(app: Flask, platform: Visitor):
    fill(platform)
    damage(app, "ada", "message_index_data")
    look_anew(app)

    platform.post("/v1/sessions/search", {"query": "ferry", "caller": ADA})
    look_anew(app)

    assert reasons(platform) == []


def test_what_a_job_met_turns_it_red(app: Flask, platform: Visitor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(census, "CHECK_SUSPECT", 0)
    fill(platform)
    here = services_of(app)
    with here.queue.transaction() as conn:
        workers.add_worker(conn, "w/1", "interactive", here.now_ms())
    here.queue.enqueue_reconcile([("ada", "agent:ada:main"), ("nobody", "k"), ("../x", "k")], here.now_ms())
    for job in [here.queue.take("interactive", "w/1", TASKS, here.now_ms()) for _ in range(3)]:
        here.queue.end(decode(job or b"").job_id, "w/1", "failed", error="a database is damaged", now_ms=here.now_ms())

    assert reasons(platform) == [f"a database is damaged: {here.store.agent_path('ada')}"]


def test_work_that_waits_without_progress_turns_it_red(app: Flask, platform: Visitor):
    here = services_of(app)
    here.queue.enqueue_reconcile([("ada", "k")], here.now_ms() - 300_000)

    (reason,) = reasons(platform)

    assert reason.startswith("a job has waited 300 s and no worker made progress")


def test_many_damaged_databases_are_not_all_named(app: Flask, platform: Visitor):
    folder = services_of(app).store.settings.data / "agents"
    for n in range(30):
        (folder / f"a{n:02}.sqlite").write_bytes(b"this was a database " * 300)

    told = reasons(platform)

    assert len(told) == 21 and told[-1] == "and 10 more databases"


# -- what a look costs


class Counted(Store):
    """A store that says whose database was opened for a look."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.opened: list[str] = []

    def reader(self, agent_id: str):  # type: ignore[no-untyped-def]
        self.opened.append(agent_id)
        return super().reader(agent_id)

    def counted(self) -> list[str]:
        opened, self.opened = self.opened, []
        return opened


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Counted]:
    """Twelve agents whose files were written an hour before the clock of the test."""
    world = World(tmp_path / "data")
    for n in range(12):
        world.session(f"a{n:02}").append("a", "alpha")
    world.store.close()
    open_store(world.store.settings).close()
    store = Counted(world.store.settings)
    yield store
    store.close()


def now_ms() -> int:
    return int(time.time() * 1000) + HOUR


def test_a_look_opens_what_changed_and_nothing_else(many: Counted):
    looks, at_ms = Census(), now_ms()
    first, opened = looks.look(many, at_ms), many.counted()

    again, opened_again = looks.look(many, at_ms + 10_000), many.counted()
    with many.writer("a07") as conn:
        conn.execute("UPDATE index_state SET pending_reason = 'edited'")
    changed, opened_then = looks.look(many, at_ms + 20_000), many.counted()

    assert (first.agents, first.uncounted, first.standing.sessions) == (12, 0, 12)
    assert sorted(set(opened)) == sorted(many.agent_ids())
    assert (again, opened_again) == (first, [])
    assert (changed.standing.pending, opened_then) == (1, ["a07"])


def test_a_young_look_is_not_repeated(many: Counted):
    looks, at_ms = Census(), now_ms()
    looks.look(many, at_ms)
    many.counted()
    with many.writer("a07") as conn:
        conn.execute("UPDATE index_state SET pending_reason = 'edited'")

    assert looks.look(many, at_ms + 1_000).standing.pending == 0
    assert looks.look(many, at_ms + 2_000).standing.pending == 1


def test_a_file_written_a_moment_ago_is_read_again_for_its_time_may_not_tell_of_the_next_write(many: Counted):
    looks, at_ms = Census(), int(time.time() * 1000)
    looks.look(many, at_ms)
    many.counted()

    looks.look(many, at_ms + 3_000)

    assert len(set(many.counted())) == 12


def test_a_look_opens_a_bounded_number_and_the_next_goes_on(many: Counted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(census, "READ_AT_ONCE", 5)
    looks, at_ms = Census(), now_ms()

    seen = [looks.look(many, at_ms + n) for n in range(3)]

    assert [one.uncounted for one in seen] == [7, 2, 0]
    assert seen[-1].standing.sessions == 12


def test_a_look_checks_a_bounded_number_of_bytes_and_the_next_goes_on(many: Counted, monkeypatch: pytest.MonkeyPatch):
    size = many.agent_path("a00").stat().st_size
    monkeypatch.setattr(census, "CHECK_AT_ONCE", 5 * size)
    looks, at_ms, opened = Census(), now_ms(), []

    for n in range(4):
        looks.look(many, at_ms + n * 3_000)
        opened.append(len(many.counted()))

    assert opened == [12, 7, 2, 0]


def test_agents_that_were_removed_are_no_longer_counted(many: Counted):
    looks, at_ms = Census(), now_ms()
    looks.look(many, at_ms)
    for file in (many.settings.data / "agents").glob("a1*"):
        file.unlink()

    assert looks.look(many, at_ms + 3_000).agents == 10


def test_a_file_that_is_no_database_of_ours_is_told_and_the_others_are_counted(many: Counted):
    many.agent_path("a03").write_bytes(b"no database" * 1000)
    empty = many.settings.data / "agents" / "b.sqlite"
    empty.write_bytes(b"")

    seen = Census().look(many, now_ms())

    assert seen.unreadable == {str(many.agent_path("a03")): "a database is damaged", str(empty): "a database has lost its content"}
    assert seen.standing.sessions == 11


def test_only_files_of_agents_are_suspects(tmp_path: Path):
    settings = Settings(data=tmp_path)

    for path in ("/etc/passwd", str(tmp_path / "registry.sqlite"), str(tmp_path / "agents" / ".." / "x"), ""):
        note_suspect(settings, path)
    note_suspect(settings, str(tmp_path / "agents" / "ada.sqlite"))

    assert suspects(settings) == {"ada.sqlite"}
    assert (tmp_path / "run" / "damaged").stat().st_mode & 0o077 == 0
