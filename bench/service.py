"""The service under measurement: `serve` and `worker` as real processes on a data folder of their own, ended by their process ids."""

import os
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from bench.client import Client

PROGRAM = Path(sysconfig.get_path("scripts")) / "session-search"
START_S = 60.0
END_S = 40.0
SYNCHRONOUS = "FULL"  # as documented: an answered append survives a power cut


class Service:
    """A data folder and the processes started on it; within a with block, which ends them."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder, self.data = folder, folder / "data"
        folder.mkdir(parents=True, exist_ok=True)
        self.port = _free_port()
        ours = {"data": self.data, "port": self.port, "synchronous": SYNCHRONOUS, "rate_limit": 0, **settings}
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("SESSION_SEARCH_")}
        self._environ |= {f"SESSION_SEARCH_{name.upper()}": str(value) for name, value in ours.items()}
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self._token = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.children):
            self.end(name)

    # -- processes

    def serve(self) -> None:
        """Web answers."""
        self._start("serve", "serve")
        self._until("serve", self._answers)

    def work(self, name: str = "worker") -> float:
        """The worker runs; the moment (time.monotonic) at which it did."""
        self._start(name, "worker")
        self._until(name, lambda: "worker started" in self._log(name).read_text("utf-8", "replace"))
        return time.monotonic()

    def end(self, name: str) -> None:
        """The process is gone, asked by TERM first."""
        child = self.children.pop(name, None)
        if child is None or child.poll() is not None:
            return
        child.terminate()
        try:
            child.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its own group: started below in a session of its own
            child.wait()

    def run(self, *arguments: object) -> str:
        """What a command printed. raises: RuntimeError when it failed."""
        command = [str(PROGRAM), *map(str, arguments)]
        done = subprocess.run(command, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"session-search {arguments[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout

    def _start(self, name: str, command: str) -> None:
        with self._log(name).open("wb") as log:
            self.children[name] = subprocess.Popen(
                [PROGRAM, command], env=self._environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _until(self, name: str, true: Any) -> None:
        end = time.monotonic() + START_S
        while not true():
            if self.children[name].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{name} is not ready: {self._log(name).read_text('utf-8', 'replace').strip()[-500:]}")
            time.sleep(0.01)

    def _answers(self) -> bool:
        with suppress(OSError), self.client() as client:
            client.post("/v1/sessions/list", {"caller": {"agentId": "nobody", "sessionKey": "nobody"}})
            return True
        return False

    # -- asking

    def client(self) -> Client:
        """A new connection with a platform's token."""
        self._token = self._token or self.run("token", "platform").strip()
        return Client(self.port, self._token)

    def import_folder(self, *folders: Path) -> float:
        """The transcripts below these folders are imported and owe their index; the seconds it took. raises: RuntimeError."""
        begun = time.monotonic()
        self.run("import", "openclaw", *folders)
        return time.monotonic() - begun

    # -- looking on

    def peak_mb(self, name: str) -> tuple[float, float]:
        """The most memory that the process, or the biggest of those it started, ever had, and what of it is not mapped files now."""
        found = [_memory(pid) for pid in _family(self.children[name].pid)]
        return max(peak for peak, _ in found), max(own for _, own in found)

    @property
    def files(self) -> dict[str, int]:
        """The size of every file of the data folder, in bytes."""
        return {str(path.relative_to(self.data)): path.stat().st_size for path in sorted(self.data.rglob("*")) if path.is_file()}


@contextmanager
def served(folder: Path, **settings: object) -> Iterator[Service]:
    """A service with web and worker up."""
    with Service(folder, **settings) as service:
        service.serve()
        service.work()
        yield service


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child in children for found in _family(int(child)))]


def _memory(pid: int) -> tuple[float, float]:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return tuple(int(lines[name].split()[0]) / 1024 for name in ("VmHWM", "RssAnon"))  # type: ignore[return-value]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
