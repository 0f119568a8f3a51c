"""The product's own processes on a folder of their own: started, ended by any signal, started again; and how they are asked."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from shared.config import Settings
from shared.store import open_store
from shared.tokens import issue_token

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 60.0  # longer than the service lets anybody wait


class Rig:
    """A data folder, a port, tokens, and the processes by name. marks: a byte for every process that killed itself at a commit."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.marks = folder, folder / "marks"
        self.settings = Settings(data=folder / "data")
        store = open_store(self.settings)
        self.tokens = {kind: issue_token(store, kind, time.time_ns() // 1_000_000).text for kind in ("platform", "operator")}
        store.close()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str, commit: int = 0, side: str = "before") -> "subprocess.Popen[bytes]":
        """The command runs; commit: it kills itself there."""
        ours = {"DATA": str(self.settings.data), "PORT": str(self.port), "SWEEP_S": "1"}
        environ = {**os.environ, **{f"SESSION_SEARCH_{key}": value for key, value in ours.items()}}
        environ |= {"CRASH_COMMIT": str(commit), "CRASH_SIDE": side, "CRASH_MARKS": str(self.marks)}
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", "tests.crash.launch", name, *arguments]
            child = subprocess.Popen(command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.running[name] = child
        return child

    def send(self, name: str, number: signal.Signals) -> None:
        """Every process of the command gets the signal; TERM and HUP go to its first, as a supervisor sends them."""
        child = self.running[name]
        try:
            if number in (signal.SIGTERM, signal.SIGHUP):
                child.send_signal(number)
            else:
                os.killpg(child.pid, number)
        except ProcessLookupError:
            return

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> int:
        """The command has ended; its exit code."""
        self.send(name, number)
        code = self.running[name].wait(PATIENCE_S)
        if number == signal.SIGKILL:
            self.send(name, number)  # what its first process forked while it died
        return code

    def close(self) -> None:
        for name, child in self.running.items():
            if child.poll() is None:
                self.send(name, signal.SIGCONT)
                self.end(name)

    def killed_themselves(self) -> dict[str, int]:
        """Processes that ended at a commit, by their command."""
        words = self.marks.read_text().split() if self.marks.exists() else []
        return {word: words.count(word) for word in sorted(set(words))}


class Line:
    """One caller's connection, made anew whenever it broke. One thread's."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._conn: http.client.HTTPConnection | None = None

    def ask(self, verb: str, *, kind: str = "platform", path: str = "/v1/sessions/", key: str | None = None, **body: Any) -> "Answer | None":
        """The answer; None when the connection broke, and whether the verb was done is not known."""
        headers = {"Authorization": f"Bearer {self._rig.tokens[kind]}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        try:
            conn = self._conn = self._conn or http.client.HTTPConnection("127.0.0.1", self._rig.port, timeout=PATIENCE_S)
            conn.request("POST" if body or path != "/v1/ops/" else "GET", path + verb, json.dumps(body) if body else None, headers)
            answer = conn.getresponse()
            return Answer(answer.status, json.loads(answer.read()))
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return None

    def close(self) -> None:
        """The connection is closed; the next question opens another."""
        if self._conn:
            self._conn.close()
        self._conn = None

    def insist(self, verb: str, **named: Any) -> "Answer":
        """As ask, again and again until there is an answer that is not 503."""
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = self.ask(verb, **named)
            if answer is not None and answer.status != 503:
                return answer
            if time.monotonic() > end:
                raise AssertionError(f"{verb} is not answered: {answer}")
            time.sleep(0.05)


class Answer:
    """A status and a body."""

    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body

    def __repr__(self) -> str:
        return f"{self.status} {json.dumps(self.body)[:300]}"
