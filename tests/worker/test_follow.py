"""session-search follow as a real process, beside programs that write: what they hold is what search finds, whatever happens to it."""

import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.config import Settings
from shared.errors import BadRequest
from shared.search import SearchRequest, search_sessions
from shared.store import open_store
from shared.visibility import Caller
from tests.worker.test_consumer import COMMAND, end, eventually
from tests.worker.writers import ClaudeCode, Codex, OpenClaw, Writer
from worker.places import PROGRAMS, watched

NOW_MS = 1_790_000_000_000
OWNER = Caller("", "", owner=True)


class Watch:
    """A data folder, the processes over it, and what is found in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = open_store(Settings(data=folder / "data", synchronous="NORMAL"))
        self._started: list[subprocess.Popen[str]] = []

    def process(self, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        named = {"SESSION_SEARCH_DATA": str(self.folder / "data"), "SESSION_SEARCH_SWEEP_S": "1", "SESSION_SEARCH_SYNCHRONOUS": "NORMAL"}
        with (self.folder / "out").open("a") as out, (self.folder / "err").open("a") as err:
            started = subprocess.Popen([COMMAND, *arguments], env={**os.environ, **named, **environ}, stdout=out, stderr=err, text=True)
        self._started.append(started)
        return started

    def follow(self, *words: str, **environ: str) -> "subprocess.Popen[str]":
        return self.process("follow", "--interval", "0.05", "--json", *words, **environ)

    def found(self, agent: str, session_id: str, query: str = "mark") -> set[str]:
        """The texts of a session that search finds; nothing while it says that it is not whole."""
        if not self.store.has_agent(agent):
            return set()
        texts: set[str] = set()
        cursor = None
        while True:
            asked = SearchRequest(query=query, session_key=f"agent:{agent}:{session_id}", match="all", limit=50, cursor=cursor)
            body = search_sessions(self.store, OWNER, asked, NOW_MS).body
            if body["indexing"]:
                return {"indexing"}
            texts |= {hit["excerpt"] for hit in body["results"]}
            cursor = body["nextCursor"]
            if cursor is None:
                return texts

    def events(self, agent: str, session_id: str) -> int:
        if not self.store.has_agent(agent):
            return 0
        with self.store.reader(agent) as conn:
            asked = "SELECT count(*) FROM events JOIN transcripts USING (transcript_no) WHERE session_id = ? AND kind = 'message'"
            return conn.execute(asked, (session_id,)).fetchone()[0]

    @property
    def told(self) -> list[dict]:
        """What the followers printed."""
        return [json.loads(line) for line in (self.folder / "out").read_text().splitlines() if line.startswith("{")]

    @property
    def logged(self) -> list[dict]:
        return [json.loads(line) for line in (self.folder / "err").read_text().splitlines()]

    def close(self) -> None:
        for started in self._started:
            if started.poll() is None:
                started.kill()
            started.wait()
        self.store.close()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    watch = Watch(tmp_path)
    yield watch
    watch.close()


@contextmanager
def writing(writer: Writer, messages: int) -> Iterator[threading.Thread]:
    """The writer says so many messages meanwhile, in a thread of its own."""
    thread = threading.Thread(target=lambda: [writer.say("user") for _ in range(messages)])
    thread.start()
    yield thread
    thread.join(60)


def test_search_finds_what_is_active_beside_agents_that_write_rewind_and_compact(watch, tmp_path):
    projects, sessions, agents = tmp_path / "projects", tmp_path / "sessions", tmp_path / "agents"
    watch.process("worker")
    watch.follow("claude-code", str(projects), "codex", str(sessions), "openclaw", str(agents))
    chance = random.Random(20)
    writers = {
        "claude-code": ClaudeCode(projects / "deck" / "cc.jsonl", "cc"),
        "codex": Codex(sessions / "2026" / "03" / "04" / "rollout-cx.jsonl", "cx"),
        "skipper": OpenClaw(agents / "skipper" / "sessions" / "oc.jsonl", "oc"),
    }

    for step in range(15):
        threads = [threading.Thread(target=writer.turn, args=(chance,)) for writer in writers.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        for agent, writer in writers.items():
            assert eventually(lambda: watch.found(agent, writer.session_id) == writer.active), (  # noqa: B023
                step, agent, watch.found(agent, writer.session_id) ^ writer.active,
            )  # fmt: skip
    assert all(writer.said > len(writer.branch) > 0 for writer in writers.values())  # each took something back


def test_a_follower_that_is_killed_again_and_again_loses_nothing_and_adds_nothing_twice(watch, tmp_path):
    writer = OpenClaw(tmp_path / "agents" / "skipper" / "sessions" / "oc.jsonl", "oc")

    with writing(writer, 150) as thread:
        while thread.is_alive():
            follower = watch.follow("openclaw", str(tmp_path / "agents"))
            time.sleep(random.Random().uniform(0.3, 1.0))
            follower.kill()
            follower.wait()
    watch.process("worker")
    watch.follow("openclaw", str(tmp_path / "agents"))

    assert eventually(lambda: watch.found("skipper", "oc") == writer.active)
    assert watch.events("skipper", "oc") == 150


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_follower_that_is_asked_to_end_ends_in_the_middle_of_a_file_and_the_next_one_goes_on(watch, tmp_path, how):
    path = tmp_path / "long.jsonl"
    lines = [{"type": "session", "version": 3, "id": "long", "timestamp": "2026-03-04T10:00:00Z"}]
    lines += [{"type": "message", "id": f"m{n}", "message": {"role": "user", "content": f"mark {n}"}} for n in range(60_000)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    follower = watch.follow("openclaw", str(path))
    assert eventually(lambda: watch.events("openclaw", "long") > 0)

    begun = time.monotonic()
    assert end(follower, how) == 0

    assert time.monotonic() - begun < 5
    assert watch.events("openclaw", "long") < 60_000
    assert watch.told[-1]["failed"] == 0
    watch.follow("openclaw", str(path))
    assert eventually(lambda: watch.events("openclaw", "long") == 60_000, 60)


def test_a_folder_that_is_not_there_yet_is_waited_for(watch, tmp_path):
    watch.follow("claude-code", str(tmp_path / "later"))
    assert eventually(lambda: any(line["message"] == "waits for a path that is not there" for line in watch.logged))

    writer = ClaudeCode(tmp_path / "later" / "deck" / "cc.jsonl", "cc")
    writer.talk()

    assert eventually(lambda: watch.events("claude-code", "cc") == 2)


def test_two_followers_of_one_folder_do_no_harm(watch, tmp_path):
    writer = Codex(tmp_path / "sessions" / "rollout-cx.jsonl", "cx")
    watch.process("worker")
    followers = [watch.follow("codex", str(tmp_path / "sessions")) for _ in range(2)]

    for _ in range(6):
        writer.turn(random.Random(writer.lines))
        assert eventually(lambda: watch.found("codex", "cx") == writer.active)

    assert [end(follower) for follower in followers] == [0, 0]
    assert watch.events("codex", "cx") == writer.said


def test_a_file_that_does_not_change_is_not_read_again(watch, tmp_path):
    path = tmp_path / "long.jsonl"
    lines = [{"type": "session", "version": 3, "id": "long", "timestamp": "2026-03-04T10:00:00Z"}]
    lines += [{"type": "message", "id": f"m{n}", "message": {"role": "user", "content": f"mark {n} " + "filler " * 1_000}} for n in range(1_000)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"type": "mess')  # and one that is being written
    follower = watch.follow("openclaw", str(path))
    assert eventually(lambda: watch.events("openclaw", "long") == 1_000, 30)
    time.sleep(1.0)

    before = characters_read(follower)
    time.sleep(1.5)

    assert characters_read(follower) - before < path.stat().st_size / 10
    end(follower)
    again = watch.follow("--once", "openclaw", str(path))
    assert again.wait(30) == 0


def test_after_a_restart_a_whole_file_is_not_read_again(watch, tmp_path):
    writer = ClaudeCode(tmp_path / "projects" / "cc.jsonl", "cc")
    writer.talk()
    time.sleep(0.1)
    assert watch.follow("--once", "claude-code", str(tmp_path / "projects")).wait(30) == 0
    assert watch.follow("--once", "claude-code", str(tmp_path / "projects")).wait(30) == 0

    first, second = [told for told in watch.told if "files" in told]

    assert first == {"files": 1, "added": 2, "failed": 0}
    assert second == {"files": 0, "added": 0, "failed": 0}


def test_a_file_that_is_replaced_or_cut_short_does_not_end_the_follower_and_what_comes_then_is_found(watch, tmp_path):
    writer = OpenClaw(tmp_path / "in" / "oc.jsonl", "oc")
    writer.talk()
    watch.process("worker")
    follower = watch.follow("openclaw", str(tmp_path / "in"))
    assert eventually(lambda: watch.found("openclaw", "oc") == writer.active)

    whole = writer.path.read_bytes()
    writer.path.write_bytes(whole[: len(whole) // 2])
    time.sleep(0.2)
    writer.path.write_bytes(whole)
    shutil.copy(writer.path, tmp_path / "copy")
    (tmp_path / "copy").replace(writer.path)
    writer.path.unlink()
    time.sleep(0.2)
    writer.path.write_bytes(whole)
    writer.talk()

    assert eventually(lambda: watch.found("openclaw", "oc") == writer.active)
    assert follower.poll() is None


def test_a_foreign_file_is_told_once_and_holds_up_no_other(watch, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"nothing": "of ours"}\n')
    writer = OpenClaw(folder / "oc.jsonl", "oc")
    writer.talk()

    follower = watch.follow("openclaw", str(folder))

    assert eventually(lambda: watch.events("openclaw", "oc") == 2)
    time.sleep(0.5)
    assert end(follower) == 0
    [error] = [told for told in watch.told if "error" in told]
    assert "not an openclaw transcript" in error["error"]
    assert [line["path"] for line in watch.logged if line["level"] == "warning"] == [str(folder / "a.jsonl")]
    assert watch.follow("--once", "openclaw", str(folder)).wait(30) == 1


def test_programs_are_watched_where_they_keep_their_transcripts(watch, tmp_path):
    home = {"HOME": str(tmp_path / "home")}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR"):
        home[name] = ""
    ClaudeCode(tmp_path / "home/.claude/projects/deck/cc.jsonl", "cc").talk()
    Codex(tmp_path / "home/.codex/sessions/2026/03/04/rollout-cx.jsonl", "cx").talk()
    OpenClaw(tmp_path / "home/.openclaw/agents/skipper/sessions/oc.jsonl", "oc").talk()
    OpenClaw(tmp_path / "home/.pi/agent/sessions/--deck--/2026-03-04T10-00-00-000Z_pi.jsonl", "pi").talk()

    assert watch.follow("--once", **home).wait(60) == 0

    assert [watch.events(*session) for session in (("claude-code", "cc"), ("codex", "cx"), ("skipper", "oc"), ("pi", "pi"))] == [2, 2, 2, 2]
    assert watch.told[-1]["added"] == 8


def test_a_programs_own_variable_names_another_place():
    [group] = watched(["claude-code"], environ={"CLAUDE_CONFIG_DIR": "/elsewhere"})

    assert group.paths == (Path("/elsewhere/projects"),)
    assert set(PROGRAMS) == {"claude-code", "codex", "openclaw", "pi"}


def test_several_formats_each_with_its_paths_are_one_command_line():
    groups = watched(["codex", "/a", "/b", "pi", "hermes", "/c"], "ada", {"PI_CODING_AGENT_DIR": "/pi"})

    assert [(group.name, group.format.name, group.agent, [str(path) for path in group.paths]) for group in groups] == [
        ("codex", "codex", "ada", ["/a", "/b"]),
        ("pi", "openclaw", "ada", ["/pi/sessions"]),
        ("hermes", "hermes", "ada", ["/c"]),
    ]


@pytest.mark.parametrize("words", [["/a", "codex"], ["hermes"], ["no-such"]])
def test_paths_without_a_format_and_a_format_without_a_place_are_refused(words, watch):
    with pytest.raises(BadRequest):
        watched(words, environ={})
    assert watch.follow("--once", *words).wait(30) == 2


def characters_read(process: "subprocess.Popen[str]") -> int:
    """What a process has read so far, from the disk or not."""
    return int(dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())["rchar"])
