"""The worker process: it does what is owed, survives what can happen to it, and several of it get in nobody's way."""

import os
import signal
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared import jobs
from shared.appending import append_events
from shared.clock import now_ms
from shared.config import Settings
from shared.jobs import JobFilter
from shared.overview import agents_overview, owed_sessions
from shared.queue import Queue
from shared.sessions import rewind_session
from shared.store import Store, open_store
from worker.consumer import run_worker

COMMAND = str(Path(sysconfig.get_path("scripts")) / "session-search")


class House:
    """A data folder with its store and queue, and the workers that a test starts."""

    def __init__(self, data: Path) -> None:
        self.settings = Settings(data=data, sweep_s=1, synchronous="NORMAL")
        self.store: Store = open_store(self.settings)
        self.queue = Queue(self.settings)

    def rewound(self, key: str, messages: int = 20, agent: str = "ada") -> None:
        """A session that owes a reconcile: its leaf went back to the first message."""
        events = [{"id": f"e{n}", "type": "message", "message": {"role": "user", "content": f"row {n} lichen"}} for n in range(messages)]
        for start in range(0, messages, 1000):
            append_events(self.store, agent, key, events[start : start + 1000], now_ms())
        rewind_session(self.store, agent, key, "e0", now_ms())

    def ask(self, *keys: str, agent: str = "ada") -> None:
        self.queue.enqueue_reconcile([(agent, key) for key in keys], now_ms())

    def jobs(self, **asked: str) -> list[dict[str, object]]:
        return jobs.list_jobs(self.queue, JobFilter(**asked), now_ms(), limit=200)["jobs"]

    def owed(self, agent: str = "ada") -> list[str]:
        return owed_sessions(self.store, agent, limit=1000, now_ms=1 << 60)

    def idle(self) -> bool:
        depth = jobs.queue_overview(self.queue, now_ms())["depth"]
        return not depth["queued"] and not depth["running"] and not any(self.owed(agent) for agent in self.store.agent_ids())

    @contextmanager
    def worker(self) -> Iterator[None]:
        """A worker in this process."""
        stop = threading.Event()
        thread = threading.Thread(target=run_worker, args=(self.settings,), kwargs={"stop": stop})
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(10)
        assert not thread.is_alive()

    def process(self, *arguments: str) -> "subprocess.Popen[bytes]":
        environ = {**os.environ, "SESSION_SEARCH_DATA": str(self.settings.data), "SESSION_SEARCH_SWEEP_S": "1"}
        log = (self.settings.data.parent / "worker.log").open("ab")
        try:
            return subprocess.Popen([COMMAND, *arguments], env=environ, stdout=log, stderr=log, start_new_session=True)
        finally:
            log.close()

    @property
    def log(self) -> str:
        return (self.settings.data.parent / "worker.log").read_text()

    def close(self) -> None:
        self.queue.close()
        self.store.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "data")
    yield house
    house.close()


def eventually(holds: Callable[[], object], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def end(process: "subprocess.Popen[bytes]", how: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(how)
    return process.wait(10)


def test_a_worker_does_what_was_asked_for_and_says_so_in_the_ledger(house):
    house.rewound("a")
    house.ask("a")

    with house.worker():
        assert eventually(house.idle)

    (job,) = house.jobs()
    assert (job["state"], job["attempts"], job["error"]) == ("done", 1, None)
    assert jobs.queue_overview(house.queue, now_ms())["workers"] == []


def test_the_sweep_finds_what_nobody_asked_for(house):
    house.rewound("a")
    house.rewound("b", agent="bob")

    with house.worker():
        assert eventually(house.idle)

    assert {job["sessionKey"] for job in house.jobs(state="done")} == {"a", "b"}


def test_a_drain_enqueues_all_that_an_agent_owes(house):
    for n in range(30):
        house.rewound(f"s{n}", messages=2)
    house.settings = Settings(data=house.settings.data, sweep_s=3600)
    house.queue.enqueue_drain("ada", now_ms())
    house.queue.enqueue_drain("nobody", now_ms())

    with house.worker():
        assert eventually(house.idle)

    assert len(house.jobs(task="reconcile")) == 30
    assert {job["state"] for job in house.jobs(task="drain")} == {"done"}


def test_an_event_that_cannot_be_read_fails_its_job_once_and_holds_up_no_other(house):
    house.rewound("bad")
    house.rewound("good")
    with house.store.writer("ada") as conn:
        conn.execute(
            'UPDATE events SET payload = \'{"v":99,"spoiled\' WHERE seq = 1 AND transcript_no ='
            " (SELECT transcript_no FROM transcripts JOIN sessions USING (session_no) WHERE session_key = 'bad')"
        )
    house.ask("bad", "good")

    with house.worker():
        assert eventually(lambda: house.jobs(state="failed") and house.jobs(state="done"))
        time.sleep(2.5)  # two sweeps more

    (failed,) = house.jobs(session_key="bad")
    assert "spoiled" not in str(failed["error"])
    assert "position 1" in str(failed["error"])
    assert [row["failed"] for row in agents_overview(house.store)] == [1]


def test_a_database_that_cannot_be_read_is_tried_again_later_and_other_agents_go_on(house):
    house.rewound("a")
    house.rewound("b", agent="bob")
    house.store.close()
    path = house.store.agent_path("ada")
    whole = path.read_bytes()
    path.write_bytes(b"no database at all" * 1000)
    house.ask("a")
    house.ask("b", agent="bob")

    with house.worker():
        assert eventually(lambda: house.jobs(state="done", agent_id="bob"))
        assert eventually(lambda: house.jobs(state="retrying", agent_id="ada"))
        (job,) = house.jobs(agent_id="ada")

    assert "damaged" in str(job["error"])
    assert whole != path.read_bytes()


def test_a_killed_workers_job_is_run_again_by_the_next_one(house):
    house.rewound("a", messages=3000)
    house.ask("a")
    first = house.process("worker")
    assert eventually(lambda: house.jobs(state="running") or house.jobs(state="done"))
    end(first, signal.SIGKILL)
    with house.queue.transaction() as conn:  # as if 20 s had passed
        conn.execute("UPDATE workers SET heartbeat_at_ms = heartbeat_at_ms - 30000")
    with house.store.writer("ada") as conn:
        conn.execute("UPDATE index_state SET lease_until_ms = 0")
    shown = {job["state"] for job in house.jobs()}

    second = house.process("worker")

    assert "running" not in shown
    assert eventually(house.idle)
    assert end(second) == 0
    assert [job["state"] for job in house.jobs(session_key="a")][-1] == "done"


def test_a_worker_asked_to_end_gives_back_what_it_cannot_finish(house):
    for n in range(6):
        house.rewound(f"s{n}", messages=1500)
    house.ask(*(f"s{n}" for n in range(6)))
    process = house.process("worker")
    assert eventually(lambda: house.jobs(state="running"))

    begun = time.monotonic()
    code = end(process)

    assert code == 0
    assert time.monotonic() - begun < 8
    assert house.jobs(state="running") == []
    assert jobs.queue_overview(house.queue, now_ms())["workers"] == []
    assert {job["state"] for job in house.jobs()} <= {"queued", "done"}
    assert "Traceback" not in house.log


def test_two_workers_share_the_work_and_do_each_job_once(house):
    keys = [f"s{n}" for n in range(60)]
    for key in keys:
        house.rewound(key, messages=3)
    processes = [house.process("worker"), house.process("bulk")]
    assert eventually(lambda: len(jobs.queue_overview(house.queue, now_ms())["workers"]) == 5)

    house.ask(*keys[:30])
    house.queue.enqueue_reconcile([("ada", key) for key in keys[30:]], now_ms(), bulk=True)

    assert eventually(house.idle)
    assert [end(process) for process in processes] == [0, 0]
    done = house.jobs(state="done")
    assert sorted(str(job["sessionKey"]) for job in done) == sorted(keys)
    assert {job["attempts"] for job in done} == {1}
    assert "database is locked" not in house.log


def test_bulk_work_never_holds_up_a_searchs_job(house):
    for n in range(150):
        house.rewound(f"s{n}", messages=30)
    house.queue.enqueue_reconcile([("ada", f"s{n}") for n in range(150)], now_ms(), bulk=True)
    house.rewound("urgent", messages=2)

    with house.worker():
        house.ask("urgent")
        assert eventually(lambda: house.jobs(state="done", session_key="urgent"))
        waiting = jobs.queue_overview(house.queue, now_ms())["depth"]["queued"]

    assert waiting > 0


def test_a_running_job_that_is_cancelled_stops_at_its_next_beat(house):
    house.rewound("a", messages=4000)
    with house.store.writer("ada") as conn:
        conn.execute("UPDATE index_state SET whole_to = 0, recheck = 1")
    rewind_session(house.store, "ada", "a", "e3999", now_ms())
    house.ask("a")

    with house.worker():
        assert eventually(lambda: house.jobs(state="running") or house.jobs(state="done"))
        (job,) = house.jobs(session_key="a")
        if job["state"] == "running":
            jobs.cancel_job(house.queue, str(job["id"]), now_ms())
        assert eventually(lambda: house.jobs(session_key="a")[0]["state"] in ("cancelled", "done"))


def test_messages_that_nobody_can_run_do_not_end_the_worker(house):
    house.rewound("a")
    with house.queue.transaction() as conn:
        for name in ("huey", "interactive", "bulk"):
            for blob in (b"\x80\x04\x95garbage", b'{"task": "old_reindex_v0"}'):
                conn.execute("INSERT INTO task (queue, data) VALUES (?, ?)", (name, blob))
    house.ask("a")

    with house.worker():
        assert eventually(lambda: len(house.jobs(state="failed")) == 6 and house.idle())

    assert len(house.jobs(state="done")) == 1
