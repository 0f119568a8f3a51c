"""Real processes under load, killed at random and started again; then everything that was answered must be there.

Callers write and read, an importer takes in a program's transcripts as they grow, an operator orders everything anew. A third of the
processes are started so that they kill themselves at a commit; the others are killed from outside, asked to end (TERM, HUP), or stopped
for a while, once for longer than a lease lasts. At the end they are started once more, and get a bounded time to come to rest.
"""

import json
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.callers import Caller, Counts, shown
from tests.crash.rig import Line, Rig
from tests.worker.writers import OpenClaw

REST_S = 90.0  # a killed worker's job is taken up after 20 s, a job that failed meanwhile pauses for some seconds more
LONG_STOP_S = 26.0  # a lease lasts 20
SOURCES = 3


@dataclass
class Kills:
    """What was done to the processes, by command and signal."""

    done: dict[str, int] = field(default_factory=dict)

    def count(self, name: str, how: str) -> None:
        self.done[f"{name} {how}"] = self.done.get(f"{name} {how}", 0) + 1

    @property
    def killed(self) -> int:
        return sum(count for what, count in self.done.items() if "KILL" in what or "commit" in what)


class Storm:
    """One run. seed: of every choice that is made here; when a process meets its end is the machine's."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rig, self.seed = Rig(folder), seed
        self.chance = random.Random(seed)
        self.counts, self.kills = Counts(), Kills()
        self.stop = threading.Event()
        self.callers = [Caller(self.rig, self.counts, number, seed, self.stop) for number in range(4)]
        self.writers = [Talk(folder / "source" / f"imp{n}.jsonl", f"imp{n}") for n in range(SOURCES)]
        self.deleted: set[str] = set()

    def run(self, seconds: float) -> None:
        """The storm blows so long, then everything is looked at; what is wrong stands in counts.faults."""
        try:
            for name in ("serve", "worker", "bulk"):
                self._begin(name)
            importer = threading.Thread(target=self._import, name="importer")
            long_stop = threading.Thread(target=self._stop_for_long, args=(seconds,), name="long stop")
            for thread in (*self.callers, importer, long_stop):
                thread.start()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                self._strike()
            self.stop.set()
            for name in ("serve", "worker", "bulk"):  # callers wait for answers that somebody has to give
                self._restart(name, calm=True)
            for thread in (*self.callers, importer, long_stop):
                thread.join()
            for name, count in self.rig.killed_themselves().items():
                self.kills.done[f"{name} at a commit"] = count
            self.counts.faults += self._look()
        finally:
            self.stop.set()
            self.rig.close()

    # ---- what is done to the processes

    def _begin(self, name: str, calm: bool = False) -> None:
        at_commit = not calm and self.chance.random() < 0.34
        commit = self.chance.randrange(5, 120) if at_commit else 0
        self.rig.start(name, commit=commit, side=self.chance.choice(("before", "after")))

    def _restart(self, name: str, *, calm: bool = False) -> None:
        if self.rig.running[name].poll() is None:
            self.rig.end(name)
        self._begin(name, calm)

    def _strike(self) -> None:
        time.sleep(self.chance.uniform(0.2, 1.2))
        for name in ("serve", "worker", "bulk"):
            if self.rig.running[name].poll() is not None and name != self._held:
                self._begin(name)
        name = self.chance.choice(("serve", "serve", "worker", "worker", "bulk"))
        if name == self._held:
            return
        how = self.chance.choices(("KILL", "TERM", "HUP", "STOP"), (12, 1, 1, 1))[0]
        self.kills.count(name, how)
        if how == "KILL":
            self._restart(name)
        elif how == "TERM":
            if (code := self.rig.end(name, signal.SIGTERM)) not in (0, -signal.SIGKILL, -signal.SIGTERM):  # TERM ends it while it starts
                self.counts.faults.append(f"{name} ended with {code} after TERM")
            self._begin(name)
        elif how == "STOP":
            self.rig.send(name, signal.SIGSTOP)
            time.sleep(self.chance.uniform(0.2, 2))
            self.rig.send(name, signal.SIGCONT)
        elif name == "serve":
            self.rig.send(name, signal.SIGHUP)

    _held = ""  # the process that stands still for long and is left alone meanwhile

    def _stop_for_long(self, seconds: float) -> None:
        """A worker stands still until its leases are others', and then goes on."""
        if seconds < LONG_STOP_S + 10:
            return
        self.stop.wait(5)
        self._held = "worker"
        self.kills.count("worker", "STOP past its lease")
        self.rig.send("worker", signal.SIGSTOP)
        self.stop.wait(LONG_STOP_S)
        self.rig.send("worker", signal.SIGCONT)
        self._held = ""

    # ---- the importer and the operator

    def _import(self) -> None:
        chance, line = random.Random(f"{self.seed} importer"), Line(self.rig)
        while not self.stop.is_set():
            writer = chance.choice(self.writers)
            writer.turn(chance)
            child = self._importer(commit=chance.randrange(1, 8) if chance.random() < 0.3 else 0)
            try:
                code = child.wait(chance.uniform(0.3, 1.5) if chance.random() < 0.4 else 60)
                if code not in (0, -signal.SIGKILL):
                    self.counts.faults.append(f"import ended with {code}")
            except subprocess.TimeoutExpired:
                self.kills.count("import", "KILL")
                self.rig.end("import")
            if chance.random() < 0.2:
                line.ask("reindex", kind="operator", path="/v1/ops/", all=True, force=True)
            if not self.deleted and chance.random() < 0.1:
                key = f"agent:imp:{writer.session_id}"
                answer = line.ask("delete", agentId="imp", sessionKey=key)
                if answer is not None and answer.status == 200:
                    self.deleted.add(key)

    def _importer(self, commit: int = 0) -> "subprocess.Popen[bytes]":
        return self.rig.start("import", "openclaw", str(self.rig.folder / "source"), "--agent", "imp", commit=commit)

    # ---- what has to be there in the end

    def _look(self) -> Iterator[str]:
        line = Line(self.rig)
        if (code := self._importer().wait(60)) != 0:
            yield f"the last import ended with {code}"
        yield from self._come_to_rest(line)
        for caller in self.callers:
            for key, branch in caller.sessions.items():
                if (found := caller.shown(key)) != branch:
                    yield f"{key} shows {found}, answered was {branch}"
                if not caller.look(key, branch):
                    yield f"{key} is pending for ever"
        for writer in self.writers:
            key = f"agent:imp:{writer.session_id}"
            said = [] if key in self.deleted else [own for own, _, _ in writer.branch]
            if (found := shown(line, "imp", key)) != said:
                yield f"{key} shows {found}, its program said {said}" + (" and was deleted" if key in self.deleted else "")
        for name in ("serve", "worker", "bulk"):
            if (code := self.rig.end(name, signal.SIGTERM)) != 0:
                yield f"{name} ended with {code}"
        if (code := self.rig.start("verify").wait(120)) != 0:
            yield f"verify ended with {code}: {(self.rig.folder / 'verify.log').read_text()[-2000:]}"
        yield from self._left_behind()

    def _come_to_rest(self, line: Line) -> Iterator[str]:
        """Until nothing is owed and no job but an erase waits."""
        begun = time.monotonic()
        while True:
            for caller in self.callers:
                for key, branch in caller.sessions.items():
                    caller.look(key, branch)  # as its agent would: what is pending is asked for
            agents = line.insist("agents", kind="operator", path="/v1/ops/").body["agents"]
            owed = [agent for agent in agents if agent["pending"] or agent["failed"]]
            live = []
            for state in ("queued", "running", "retrying"):
                found = line.insist(f"jobs?state={state}", kind="operator", path="/v1/ops/").body["jobs"]
                live += [job for job in found if job["task"] != "erase" or state == "running"]
            if not owed and not live:
                return
            if time.monotonic() > begun + REST_S:
                yield f"not at rest after {REST_S:.0f} s: {json.dumps(owed)} {json.dumps(live)[:2000]}"
                return
            time.sleep(0.5)

    def _left_behind(self) -> Iterator[str]:
        for path in sorted((self.rig.settings.data / "agents").glob("*.sqlite")):
            with closing(sqlite3.connect(path)) as conn:
                (leased,) = conn.execute("SELECT count(*) FROM index_state WHERE lease_owner IS NOT NULL OR pending_reason IS NOT NULL").fetchone()
            if leased:
                yield f"{path.name}: {leased} sessions leased or pending"
        with closing(sqlite3.connect(self.rig.settings.data / "queue.sqlite")) as conn:
            (running,) = conn.execute("SELECT count(*) FROM jobs WHERE state = 'running'").fetchone()
        if running:
            yield f"{running} jobs run for ever"


class Talk(OpenClaw):
    """A program that talks and rewinds."""

    def compact(self) -> None:
        self.talk()
