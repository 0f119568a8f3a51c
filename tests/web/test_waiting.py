"""A served process whose agent's database is held by another program."""

import json
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from tests.web.test_serving import HEADS, Served

KEY = "agent:ada:main"


class FourThreads(Served):
    environ: ClassVar[dict[str, str]] = {"SESSION_SEARCH_WEB_THREADS": "4", "SESSION_SEARCH_WEB_PROCESSES": "1"}

    def post(self, verb: str, **body: object) -> str:
        data = json.dumps(body)
        head = f"POST /v1/sessions/{verb} HTTP/1.1\r\n{HEADS}Authorization: Bearer {self.token}\r\nConnection: close\r\n"
        return self.send(f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n{data}")

    def append(self, text: str) -> str:
        events = [{"type": "message", "message": {"role": "user", "content": text}}]
        return self.post("append", agentId="ada", sessionKey=KEY, events=events)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[FourThreads]:
    served = FourThreads(tmp_path)
    served.await_start()
    yield served
    if served.process.poll() is None:
        served.end()


@contextmanager
def held(served: FourThreads) -> Iterator[None]:
    """Another program holds the agent's database."""
    with closing(sqlite3.connect(served.data / "agents" / "ada.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_request_under_way_is_answered_by_a_server_that_is_told_to_reload_or_to_end(served: FourThreads):
    served.append("alpha")
    answers: list[str] = []
    for word, number in (("beta", signal.SIGHUP), ("gamma", signal.SIGTERM)):
        writer = threading.Thread(target=lambda word=word: answers.append(served.append(word)))
        with held(served):
            writer.start()
            time.sleep(0.3)
            served.process.send_signal(number)
            time.sleep(0.7)
        writer.join()

    code = served.process.wait(30)

    assert code == 0
    assert [answer.split()[1] for answer in answers] == ["200", "200"]
    with closing(sqlite3.connect(served.data / "agents" / "ada.sqlite")) as conn:
        assert conn.execute("SELECT count(*) FROM messages").fetchone() == (3,)


def test_writers_that_wait_leave_a_thread_to_readers_and_those_without_a_place_are_told_to_come_back(served: FourThreads):
    served.append("alpha")
    answers: list[str] = []
    writers = [threading.Thread(target=lambda: answers.append(served.append("beta"))) for _ in range(6)]

    with held(served):
        for writer in writers:
            writer.start()
        time.sleep(1.5)
        begun = time.monotonic()
        found = served.post("search", query="alpha", caller={"agentId": "ada", "sessionKey": KEY})
        took = time.monotonic() - begun

    for writer in writers:
        writer.join()
    assert '"highlights"' in found
    assert took < 1
    assert sorted(answer.split()[1] for answer in answers) == ["200"] * 3 + ["503"] * 3
    assert all("Retry-After: 5" in answer for answer in answers if " 503 " in answer.splitlines()[0])
