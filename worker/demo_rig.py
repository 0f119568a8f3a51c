"""What the demo runs on: a folder of its own, web and worker as child processes, and a client that asks over HTTP.

Nothing is left behind: the processes that were started here are ended, and no others; then the folder is removed.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Self

from shared.clock import now_ms
from shared.config import Settings
from shared.errors import DemoFailed, NotFound
from shared.jobs import schedules
from shared.queue import Queue
from shared.store import Store, open_store
from shared.tokens import Kind, issue_token

START_S = 60.0  # how long a process may take until it answers; half a second is usual
END_S = 30.0  # how long one may take to end; gunicorn waits up to 25 s for requests in flight
LOOK_S = 0.05
PORTS = 3  # ports tried, should somebody else take one in the same moment
SWEEP_S = 60  # the sweep looks at the start and then so late that it is the search that sets off the work


class Ended(Exception):
    """Ctrl-C or TERM: the demo is asked to end."""


@dataclass(frozen=True)
class Answer:
    """What came back for one request."""

    status: int
    body: Any
    ms: float


class Rig:
    """The demo's folder, store, tokens and processes; all of it is there within a with block and gone after it."""

    folder: Path
    store: Store

    def __init__(self, settings: Settings) -> None:
        hosts = settings.hosts | {_in_address(_reachable(settings.host))}
        self.settings = replace(Settings(), host=settings.host, port=settings.port, hosts=hosts, visibility="agent", sweep_s=SWEEP_S)
        self.tokens: dict[str, str] = {}
        self._children: list[subprocess.Popen[bytes]] = []
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        with ExitStack() as begun:
            begun.enter_context(_signals(self._stop.set))
            self.folder = Path(tempfile.mkdtemp(prefix="session-search-demo-"))
            begun.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.settings = replace(self.settings, data=self.folder / "data")
            self.store = open_store(self.settings)
            begun.callback(self.store.close)
            begun.callback(self._end_children)
            self._begun = begun.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._begun.close()

    def _end_children(self) -> None:
        for child in reversed(self._children):
            _end(child)

    # -- processes

    def start(self) -> None:
        """Web answers, the worker runs and has had its first look for work. raises: DemoFailed, Ended."""
        self._serve()
        worker = self._child("worker")
        self.until(self._swept, "worker", worker)

    def _serve(self) -> None:
        for attempt in range(PORTS):
            self.settings = replace(self.settings, port=_free_port(self.settings.host, 0 if attempt else self.settings.port))
            web = self._child("serve")
            try:
                self.until(self._answers, "serve", web)
                return
            except DemoFailed:
                if attempt + 1 == PORTS or web.poll() is None:
                    raise
                self._children.remove(web)

    def _child(self, command: str) -> subprocess.Popen[bytes]:
        """A session-search process in a session of its own, so that Ctrl-C reaches the demo alone and the demo ends it in order."""
        program = Path(sysconfig.get_path("scripts")) / "session-search"
        with open(self._log(command), "wb") as log:
            child = subprocess.Popen(  # noqa: S603  # our own program, fixed arguments
                [program, command], env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._children.append(child)
        return child

    def _environment(self) -> dict[str, str]:
        ours = {
            "DATA": str(self.settings.data),
            "HOST": self.settings.host,
            "PORT": str(self.settings.port),
            "HOSTS": ",".join(sorted(self.settings.hosts)),
            "VISIBILITY": self.settings.visibility,
            "SWEEP_S": str(self.settings.sweep_s),
        }
        rest = {name: value for name, value in os.environ.items() if not name.startswith("SESSION_SEARCH_")}
        return rest | {f"SESSION_SEARCH_{name}": value for name, value in ours.items()}

    def _log(self, command: str) -> Path:
        return self.folder / f"{command}.log"

    def until(self, true: Callable[[], bool], command: str, child: subprocess.Popen[bytes] | None = None) -> None:
        """Returns when it is true. raises: DemoFailed when the process that it needs is gone or START_S are over, Ended."""
        end = time.monotonic() + START_S
        while not true():
            if self._stop.wait(LOOK_S):
                raise Ended
            if child is not None and child.poll() is not None:
                raise DemoFailed(f"session-search {command} ended with {child.returncode}: {self._last_words(command)}")
            if time.monotonic() > end:
                raise DemoFailed(f"session-search {command} was not ready within {START_S:.0f} s: {self._last_words(command)}")

    def wait_for_end(self) -> None:
        """Returns on Ctrl-C or TERM. raises: DemoFailed when a process is gone by itself."""
        while not self._stop.wait(0.5):
            for child in self._children:
                if child.poll() is not None:
                    raise DemoFailed(f"a process of the demo ended with {child.returncode}")

    def pause(self) -> None:
        """A moment passes. raises: Ended."""
        if self._stop.wait(LOOK_S):
            raise Ended

    def _last_words(self, command: str) -> str:
        lines = self._log(command).read_text("utf-8", "replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it said nothing")

    def _answers(self) -> bool:
        """Whether our own web process answers: another's on this port does not know the token."""
        try:
            return self.ask("/v1/ops/queue", kind="operator").status == 200
        except OSError:
            return False

    def _swept(self) -> bool:
        """Whether the worker has looked for work once, so that it looks again only after SWEEP_S."""
        queue = Queue(self.settings)
        try:
            return any(row["name"] == "sweep" and row["lastRunAt"] for row in schedules(queue, now_ms()))
        except NotFound:
            return False
        finally:
            queue.close()

    # -- asking

    def issue(self, kind: Kind, **sealed: Any) -> None:
        """A token of this kind is known, here under its kind's name."""
        self.tokens[kind] = issue_token(self.store, kind, now_ms(), label="demo", **sealed).text

    @property
    def address(self) -> str:
        """Where web answers, as a person would type it."""
        return f"http://{_in_address(_reachable(self.settings.host))}:{self.settings.port}"

    def ask(self, path: str, body: dict[str, Any] | None = None, *, kind: Kind = "platform") -> Answer:
        """One request with the token of this kind: POST with a body, GET without. raises: OSError when nobody answers."""
        headers = {"Authorization": f"Bearer {self.tokens[kind]}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(_reachable(self.settings.host), self.settings.port, timeout=30)
        begun = time.monotonic()
        try:
            connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read()
        except http.client.HTTPException as e:
            raise ConnectionError(str(e)) from e
        finally:
            connection.close()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return Answer(answer.status, json.loads(data) if is_json else data.decode(), (time.monotonic() - begun) * 1000)


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within, Ctrl-C, TERM and a closed terminal ask to end and do nothing else."""

    def asked(number: int, frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reachable(host: str) -> str:
    """The address by which this machine reaches what listens there."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # compared, not bound


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _free_port(host: str, port: int) -> int:
    """The port, if nobody listens there, or one that is free. raises: DemoFailed when there is no such address here."""
    for wanted in (port, 0):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, wanted))
                return int(probe.getsockname()[1])
        except OSError as e:
            failure = e
    raise DemoFailed(f"no port of {host} can be used: {failure.strerror or failure}")


def _end(child: subprocess.Popen[bytes]) -> None:
    """The process is gone, and what it started with it: asked by TERM first."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its own group: started above in a session of its own
            child.wait()
