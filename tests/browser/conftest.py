"""A real Chromium before real processes: `serve` and `worker` on a data folder of their own."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shared.clock import now_ms
from shared.config import Settings
from shared.store import open_store
from shared.tokens import issue_token
from tests.browser.window import Window

PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}  # programs, and the Debian packages that hold them
PROGRAM = Path(sysconfig.get_path("scripts")) / "session-search"
START_S = 30.0


class Site:
    """One data folder with its processes and tokens."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.address = f"http://127.0.0.1:{free_port()}"
        self._folder = folder
        self._children: list[subprocess.Popen[bytes]] = []
        with closing(open_store(Settings(data=self.data))) as store:
            self.operator, self.platform = (issue_token(store, kind, now_ms()).text for kind in ("operator", "platform"))
            self.onlooker = issue_token(store, "operator", now_ms(), read_only=True).text
            self.agent = issue_token(store, "agent", now_ms(), agent_id="ada", session_key="agent:ada:main").text

    def environment(self) -> dict[str, str]:
        ours = {
            "DATA": str(self.data),
            "PORT": self.address.rpartition(":")[2],
            "SYNCHRONOUS": "NORMAL",
            "REINDEX_CRON": "30 3 * * *",
            "TIMEZONE": "Europe/Lisbon",
        }
        return {**os.environ, **{f"SESSION_SEARCH_{name}": value for name, value in ours.items()}}

    def start(self) -> None:
        for command in ("serve", "worker"):
            with open(self._folder / f"{command}.log", "wb") as log:
                self._children.append(subprocess.Popen([PROGRAM, command], env=self.environment(), stdout=log, stderr=log))
        until(self._answers, "the site answers")

    def stop(self) -> None:
        for child in reversed(self._children):
            child.terminate()
        for child in self._children:
            child.wait(30)

    def _answers(self) -> bool:
        try:
            return bool(self.get("/v1/ops/queue")["workers"])
        except OSError:
            return False

    def get(self, path: str) -> Any:
        return self._ask(path, None, self.operator)

    def post(self, path: str, body: Any = None) -> Any:
        return self._ask(path, body or {}, self.operator if path.startswith("/v1/ops") else self.platform)

    def _ask(self, path: str, body: Any, token: str) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + path, data, {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def say(self, agent: str, sessions: int = 1, messages: int = 3, text: str = "the ferry leaves at noon") -> list[str]:
        """Sessions of an agent with messages in each; their keys."""
        keys = [f"agent:{agent}:{'main' if n == 0 else f'topic-{n}'}" for n in range(sessions)]
        for key in keys:
            self.append(agent, key, *(f"{text} {n}" for n in range(messages)))
        return keys

    def append(self, agent: str, key: str, *texts: str) -> None:
        events = [{"type": "message", "message": {"role": "user", "content": text}} for text in texts]
        self.post("/v1/sessions/append", {"agentId": agent, "sessionKey": key, "events": events})

    def spoil(self, agent: str, key: str) -> Callable[[], None]:
        """An event of the session cannot be read any more; returns what mends it."""

        def write(payload: str, instead_of: str | None = None) -> str:
            conn = sqlite3.connect(self.data / "agents" / f"{agent}.sqlite", timeout=10)
            with conn:
                number, old = conn.execute(SPOILED, (key,)).fetchone()
                conn.execute("UPDATE events SET payload = ? WHERE event_no = ?", (payload, number))
            conn.close()
            return str(old)

        good = write("{spoiled")
        return lambda: write(good) and None

    def idle(self) -> None:
        """Nothing is queued, running or about to be tried again."""
        until(
            lambda: not any(self.get("/v1/ops/queue")["depth"][state] for state in ("queued", "running", "retrying")), "the queue is empty"
        )


SPOILED = """
    SELECT e.event_no, e.payload
    FROM events AS e JOIN transcripts AS t USING (transcript_no) JOIN sessions AS s USING (session_no)
    WHERE s.session_key = ? AND e.seq = 1
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(holds: Callable[[], object], what: str, seconds: float = START_S) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not within {seconds} s: {what}"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def chromium() -> dict[str, str]:
    """Where the programs are."""
    found = {name: shutil.which(name) for name in PACKAGES}
    missing = [PACKAGES[name] for name, path in found.items() if path is None]
    if missing:
        pytest.skip(f"needs the Debian packages {' and '.join(missing)}: apt-get install {' '.join(missing)}")
    return {name: str(path) for name, path in found.items()}


@pytest.fixture(scope="module")
def site(chromium: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for every file of tests: what one says does not stand in another's counts."""
    site = Site(tmp_path_factory.mktemp("site"))
    try:
        site.start()
        yield site
    finally:
        site.stop()


@pytest.fixture(scope="session")
def one_window(chromium: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    window = Window(chromium, tmp_path_factory.mktemp("profile"))
    yield window
    window.close()


@pytest.fixture
def window(one_window: Window, site: Site) -> Iterator[Window]:
    """The browser as somebody who comes for the first time, 1280 pixels wide; what it complained of fails the test."""
    one_window.begin(site.address)
    yield one_window
    site.post("/v1/ops/queue/resume")
    assert one_window.complaints() == []
