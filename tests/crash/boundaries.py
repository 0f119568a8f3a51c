"""The scenario once for every commit of it: a process goes through it and is killed there, another takes over without any repair.

The first process reports each step that was answered. The second, a minute later by its clock, imports again and works until nothing is
owed; then every session shows what was answered, with the step that was under way whole or not at all, and the index equals it.
"""

import json
import logging
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import jobs
from shared.broker import huey_for
from shared.clock import now_ms
from shared.config import Settings
from shared.errors import NotFound
from shared.jobs import JobFilter
from shared.queue import Queue, QueueName
from shared.store import open_store
from shared.tokens import issue_token
from tests.conftest import World, ids, memory_folder
from tests.crash.killing import Side, count_commits, counter
from tests.crash.scenario import KEYS, STEPS, Shown, Step, expected, write_source
from web import create_app
from worker.cli import run as run_command
from worker.maintenance import mend, sweep
from worker.runtime import Runtime
from worker.tasks import register

LATER_NS = 60 * 10**9  # the process that takes over comes so much later: leases and heartbeats have run out
TEXT = "mark"  # in every message


@dataclass(frozen=True)
class Outcome:
    """One way through the scenario. answered: steps; commits: until the end; faults: what was found wrong afterwards."""

    answered: int
    commits: int
    killed: bool
    faults: list[str]


def boundaries(every: int = 1, first: int = 0) -> Iterator[tuple[str, Outcome]]:
    """Kills at every commit in turn, before and after it, until the scenario ends by itself; every: only each so manieth of them."""
    with memory_folder() as folder:
        whole = kill_at(folder / "whole", 0, "before")
        yield "none", whole
        points: list[tuple[int, Side]] = [(n, side) for n in range(1, whole.commits + 1) for side in ("before", "after")]
        for n, side in points[first::every]:
            yield f"{side} commit {n}", kill_at(folder / f"{n}-{side}", n, side)


def kill_at(folder: Path, commit: int, side: Side) -> Outcome:
    """Goes through the scenario until that commit, takes over, and compares."""
    folder.mkdir()
    settings = Settings(data=folder / "data", synchronous="NORMAL")
    store = open_store(settings)
    token = issue_token(store, "platform", now_ms()).text
    store.close()
    told, status = in_child(lambda tell: go_through(folder, token, commit, side, tell))
    answered = [line for line in told if "step" in line]
    commits = next((line["commits"] for line in told if "commits" in line), 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if not killed and os.waitstatus_to_exitcode(status):
        return Outcome(len(answered), commits, False, [f"the scenario broke: {told[-1:]}"])
    found, status = in_child(lambda tell: tell(take_over(folder)))
    if status:
        return Outcome(len(answered), commits, killed, [f"taking over broke: {found[-1:]}"])
    return Outcome(len(answered), commits, killed, list(differences(len(answered), found[0])))


def in_child(work: Callable[[Callable[[dict[str, Any]], None]], None]) -> tuple[list[dict[str, Any]], int]:
    """What a forked process told, line by line, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def tell(what: dict[str, Any]) -> None:
            os.write(writing, json.dumps(what).encode() + b"\n")

        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the commands print
            logging.disable(logging.WARNING)  # a job that lost its worker is what is wanted here
            work(tell)
        except BaseException:
            tell({"broke": traceback.format_exc()[-2000:]})
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = [json.loads(line) for line in pipe]
    return told, os.waitpid(child, 0)[1]


# ---- the process that is killed


def go_through(folder: Path, token: str, commit: int, side: Side, tell: Callable[[dict[str, Any]], None]) -> None:
    """Every step in turn, through the doors; tells each that was answered."""
    count_commits(commit, side)
    settings = Settings(data=folder / "data", synchronous="NORMAL")
    client = create_app(settings).test_client()
    for number, step in enumerate(STEPS):
        do(folder, settings, client, token, step)
        tell({"step": number})
    tell({"commits": counter.commits})


def do(folder: Path, settings: Settings, client: Any, token: str, step: Step) -> None:
    verb, key, argument = step
    if verb == "work":
        work(settings)
    elif verb == "write":
        (folder / "source").mkdir(exist_ok=True)
        write_source(folder / "source", argument)
    elif verb == "import":
        command(settings, "import", "openclaw", str(folder / "source"), "--agent", "imp")
    elif verb == "reindex":
        command(settings, "reindex", "--all", "--force")
    else:
        body = {"agentId": key.split(":")[1], "sessionKey": key, **arguments(verb, argument)}
        if verb == "search":
            body = {"query": TEXT, "caller": body}
        answer = client.post(f"/v1/sessions/{verb}", json=body, headers={"Authorization": f"Bearer {token}"})
        if answer.status_code != 200:
            raise AssertionError(f"{step}: {answer.text}")


def arguments(verb: str, argument: Any) -> dict[str, Any]:
    if verb == "append":
        return {"events": [{"type": "message", "id": one, "message": {"role": "user", "content": f"{TEXT} {one}"}} for one in argument]}
    return {"toEventId": argument} if verb == "rewind" else {}


def command(settings: Settings, *words: str) -> None:
    os.environ.update(SESSION_SEARCH_DATA=str(settings.data), SESSION_SEARCH_SYNCHRONOUS="NORMAL")
    if (code := run_command(list(words))) != 0:
        raise AssertionError(f"{words} ended with {code}")


def work(settings: Settings) -> None:
    """Everything that is owed or due is done, as by a worker process."""
    store, queue = open_store(settings), Queue(settings)
    runtime = Runtime(settings, store, queue)
    names: tuple[QueueName, ...] = ("interactive", "bulk")
    runtime.progress_at_ms = {runtime.worker_id(name): now_ms() for name in names}
    runtime.pulse()
    queue.bring_due(now_ms())
    mend(store, queue)
    sweep(store, queue)
    for name in names:
        huey = huey_for(queue, name, "worker.tasks", lambda name=name: runtime.worker_id(name), now_ms)  # type: ignore[misc]
        register(huey, runtime, name)
        while (task := huey.dequeue()) is not None:
            huey.execute(task)
    runtime.depart()
    queue.close()
    store.close()


# ---- the process that takes over


def take_over(folder: Path) -> dict[str, Any]:
    """What is there when another process has done what was owed."""
    real = time.time_ns
    time.time_ns = lambda: real() + LATER_NS  # type: ignore[assignment]
    settings = Settings(data=folder / "data", synchronous="NORMAL")
    work(settings)
    world = World(folder / "data")
    world.now.ms = now_ms()
    before = {key: _shown(world, key) for key in KEYS}
    if (folder / "source").exists():
        command(settings, "import", "openclaw", str(folder / "source"), "--agent", "imp")
    work(settings)
    queue = Queue(settings)
    live = [job for state in ("running", "queued") for job in jobs.list_jobs(queue, JobFilter(state=state), now_ms())["jobs"]]
    after = {key: _shown(world, key) for key in KEYS}
    different = {agent: [str(one) for one in world.verify(agent)] for agent in world.store.agent_ids()}
    return {"before": before, "after": after, "live": live, "different": different, "leased": _leased(world)}


def _shown(world: World, key: str) -> dict[str, Any]:
    session = world.session(key.split(":")[1], key)
    try:
        history = ids(session.history())
    except NotFound:
        return {"branch": None, "found": [], "pending": False}
    return {"branch": history, "found": sorted(session.found(TEXT)), "pending": session.listed()["pending"]}


def _leased(world: World) -> list[str]:
    leased = []
    for agent in world.store.agent_ids():
        with world.plain_sqlite(agent) as conn:
            leased += [agent for _ in conn.execute("SELECT 1 FROM index_state WHERE lease_owner IS NOT NULL OR pending_reason IS NOT NULL")]
    return leased


def differences(answered: int, found: dict[str, Any]) -> Iterator[str]:
    """What is not as it must be after so many answered steps; the step that was under way is whole or not there."""
    states = expected(answered), expected(min(answered + 1, len(STEPS)))
    for key in KEYS:
        yield from _wrong(key, found["before"][key], states, "at once")
        yield from _wrong(key, found["after"][key], tuple(state.once_imported() for state in states), "after an import")
        if found["after"][key]["pending"]:
            yield f"{key} is pending for ever"
    if found["live"]:
        yield f"jobs that never end: {found['live']}"
    if any(found["different"].values()):
        yield f"the index differs: {found['different']}"
    if found["leased"]:
        yield f"sessions leased or pending for ever: {found['leased']}"


def _wrong(key: str, now: dict[str, Any], states: tuple[Shown, ...], when: str) -> Iterator[str]:
    if now["branch"] not in [state.branch[key] for state in states]:
        yield f"{key} shows {now['branch']} {when}, answered was {states[0].branch[key]}"
    if set(now["found"]) not in [state.found(key) for state in states]:
        yield f"{key} finds {now['found']} {when}, answered was {sorted(states[0].found(key))}"
