"""The command line: what it prints, its exit codes, and that it says in one line what is wrong."""

import json
import os
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shared.appending import append_events
from shared.clock import now_ms
from shared.config import Settings
from shared.sessions import put_session, rewind_session
from shared.store import Store, open_store
from shared.tokens import verify_token
from worker.cli import COMMANDS, run
from worker.commands.common import plain
from worker.consumer import run_worker

COMMAND = str(Path(sysconfig.get_path("scripts")) / "session-search")
KEY = "agent:ada:main"


@dataclass
class Ended:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ended]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SESSION_SEARCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SESSION_SEARCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SESSION_SEARCH_SWEEP_S", "1")
    return tmp_path / "data"


@pytest.fixture
def cli(data: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*arguments: str) -> Ended:
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return call


@pytest.fixture
def store(data: Path) -> Iterator[Store]:
    store = open_store(Settings(data=data))
    yield store
    store.close()


def say(store: Store, *texts: str, key: str = KEY, agent: str = "ada") -> None:
    events = [{"id": f"e{n}", "type": "message", "message": {"role": "user", "content": text}} for n, text in enumerate(texts)]
    append_events(store, agent, key, events, now_ms())


def spoil(store: Store) -> None:
    """The index holds other words than the transcript, and no query can tell."""
    with store.writer("ada") as conn:
        conn.execute("UPDATE message_index SET text = 'otherwise'")


class Worker:
    """A worker in this process while a command runs."""

    def __init__(self, data: Path) -> None:
        self.stop = threading.Event()
        settings = Settings(data=data, sweep_s=1)
        self.thread = threading.Thread(target=run_worker, args=(settings,), kwargs={"stop": self.stop})

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join(10)


def test_every_command_explains_itself_and_takes_json(cli):
    told = cli("--help")

    assert told.code == 0
    for name in COMMANDS:
        assert name in told.out
        shown = cli(name, "--help")
        assert shown.code == 0
        inner = shown.out if name not in ("token", "secret") else cli(name, "list", "--help").out
        assert "--json" in inner or name == "mcp"  # which writes JSON and nothing else


def test_a_token_is_one_line_that_opens_the_door(cli, store):
    told = [
        cli("token", "platform"),
        cli("token", "agent", "--agent", "ada", "--session", KEY, "--sandboxed", "--ttl", "1h"),
        cli("token", "operator", "--read-only"),
    ]

    assert [(one.code, len(one.out.splitlines()), one.err) for one in told] == [(0, 1, "")] * 3
    found = [verify_token(store, one.out.strip(), now_ms()) for one in told]
    assert [one.kind for one in found] == ["platform", "agent", "operator"]
    assert found[1].caller.sandboxed
    assert found[2].read_only


def test_a_token_is_listed_without_itself_and_revoked(cli, store):
    made = cli("token", "platform", "--label", "gateway", "--json").json

    listed = cli("token", "list")
    revoked = cli("token", "revoke", made["id"])

    assert made["id"] in listed.out
    assert "gateway" in listed.out
    assert made["token"] not in listed.out
    assert revoked.code == 0
    assert cli("token", "list", "--json").json["tokens"][0]["revokedAt"]
    assert cli("token", "revoke", "nobody").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("token", "root"),
        ("token", "agent"),
        ("token", "platform", "--ttl", "soon"),
        ("search",),
        ("search", ""),
        ("search", "x", "--match", "most"),
        ("search", "x", "--limit", "0"),
        ("search", "x", "--after", "yesterday"),
        ("search", "x", "--as", "nobody"),
        ("jobs", "--state", "sleeping"),
        ("jobs", "--pause", "--resume"),
        ("import", "nothing", "x"),
        ("reindex", "--all", "--agent", "ada"),
        ("worker", "--fast"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(cli, store, arguments):
    told = cli(*arguments)

    assert (told.code, told.out) == (2, "")
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [(), ("token",), ("secret",)])
def test_a_command_that_says_too_little_is_answered_with_help_and_exit_2(cli, arguments):
    told = cli(*arguments)

    assert (told.code, told.out) == (2, "")
    assert "Usage: session-search" in told.err


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SESSION_SEARCH_PORT", "many"), ("SESSION_SEARCH_REDACTION", "some"), ("SESSION_SEARCH_REINDEX_CRON", "0 0 31 2 *")],
)
def test_a_bad_setting_stops_the_process_with_its_name_and_value(cli, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)

    told = cli("worker")

    assert told.code == 2
    assert variable in told.err
    assert value in told.err
    assert len(told.err.splitlines()) == 1


def test_search_history_and_list_read_as_the_owner_or_as_a_caller(cli, store):
    say(store, "the ferry leaves at noon", "and returns at dusk")
    say(store, "the ferry is blue", key="agent:bob:main", agent="bob")

    as_owner = cli("search", "ferry", "--json").json
    as_ada = cli("search", "ferry", "--as", KEY, "--json").json
    shown = cli("search", "ferry", "--as", KEY)

    assert {hit["agentId"] for hit in as_owner["results"]} == {"ada", "bob"}
    assert [hit["messageId"] for hit in as_ada["results"]] == ["e0"]
    assert "the ferry leaves at noon" in shown.out
    assert [message["text"] for message in cli("history", KEY, "--json").json["messages"]] == [
        "the ferry leaves at noon",
        "and returns at dusk",
    ]
    assert cli("history", KEY, "--message", "e1", "--limit", "1", "--json").json["messages"][0]["id"] == "e1"
    assert len(cli("list", "--json").json["sessions"]) == 2
    assert len(cli("list", "--as", KEY, "--json").json["sessions"]) == 1
    assert cli("history", "agent:bob:main", "--as", KEY).code == 1


def test_text_cannot_command_the_terminal(cli, store):
    say(store, "red \x1b[31malert\x07 \u202egnp.exe")

    told = cli("search", "alert")

    assert "\x1b" not in told.out
    assert "\x07" not in told.out
    assert "\u202e" not in told.out
    assert plain("a\tb\x00\x9b\ud800é") == "a\tb\\x00\\x9b\ufffdé"


def test_explain_says_why_a_session_is_seen_or_not(cli, store):
    say(store, "one")
    say(store, "two", key="agent:ada:other")
    put_session(store, "ada", "agent:ada:child", {"spawnedBy": KEY}, now_ms())
    put_session(store, "ada", "agent:ada:hidden", {"incognito": True}, now_ms())

    told = {key: cli("explain", f"agent:ada:{key}", "--as", KEY, "--json").json for key in ("main", "child", "other", "hidden", "nothing")}

    assert [told[key]["seen"] for key in told] == [True, True, False, False, False]
    assert "own session" in told["main"]["why"]
    assert "spawned it" in told["child"]["why"]
    assert "tree" in told["other"]["why"]
    assert "incognito" in told["hidden"]["why"]
    assert "no such session" in told["nothing"]["why"]
    assert cli("explain", "agent:ada:other", "--as", KEY).out.startswith("not seen: ")


def test_reindex_says_what_it_enqueued_and_a_second_run_at_the_same_time_ends_with_75(cli, store):
    say(store, "one")

    first = cli("reindex", "--agent", "ada", "--force")
    second = cli("reindex", "--agent", "ada", "--force")
    other = cli("reindex", "--json")

    assert (first.code, second.code, other.code) == (0, 75, 0)
    assert "1 sessions enqueued" in first.out
    assert "already runs" in second.out
    assert other.json["joined"] is False
    assert len(cli("jobs", "--json").json["jobs"]) == 1
    assert cli("reindex", "--agent", "nobody").code == 1


def test_reindex_waits_for_the_end_and_joins_a_run_that_is_going_on(cli, store, data):
    say(store, "one", "two")
    held = cli("reindex", "--force", "--json").json

    with Worker(data):
        told = cli("reindex", "--force", "--wait")

    assert told.code == 0
    assert f"batch {held['batchId']}: 1 done" in told.out


def test_reindex_that_waited_for_a_job_that_failed_ends_with_1(cli, store, data):
    say(store, "one", "two")
    rewind_session(store, "ada", KEY, "e0", now_ms())
    with store.writer("ada") as conn:
        conn.execute('UPDATE events SET payload = \'{"v":99,"spoiled\' WHERE seq = 1')

    with Worker(data):
        told = cli("reindex", "--wait", "--json")

    assert told.code == 1
    assert told.json["failed"] == 1
    job = cli("jobs", "--state", "failed", "--json").json["jobs"][0]
    assert "position 1" in job["error"]
    assert "spoiled" not in cli("jobs", job["id"]).out
    assert cli("jobs", job["id"], "--retry", "--json").json["state"] == "queued"
    assert cli("jobs", job["id"], "--cancel", "--json").json["state"] == "cancelled"
    assert cli("jobs", job["id"], "--cancel").code == 1


def test_status_tells_the_queue_the_workers_and_the_agents(cli, store):
    say(store, "one", "two")
    rewind_session(store, "ada", KEY, None, now_ms())
    cli("reindex")

    told, plain_told = cli("status", "--json").json, cli("status")

    assert told["ready"] is True
    assert told["queue"]["depth"]["queued"] == 1
    assert told["agents"][0]["pending"] == 1
    assert "no worker runs" in plain_told.out
    assert "agent ada: 1 sessions, 0 indexed, 1 pending" in plain_told.out


def test_the_queue_is_paused_and_resumed(cli, store):
    assert cli("jobs", "--pause", "--json").json == {"paused": True}
    assert cli("status", "--json").json["queue"]["paused"] is True
    assert cli("jobs", "--resume", "--json").json == {"paused": False}


def test_verify_finds_a_difference_and_repair_mends_it(cli, store, data):
    say(store, "word gudgeon")
    clean = cli("verify")
    spoil(store)

    found, repaired = cli("verify", "--json"), cli("verify", "--repair")
    with Worker(data):
        cli("reindex", "--wait")

    assert clean.code == 0
    assert found.code == 1
    assert found.json["differences"][0]["sessionKey"] == KEY
    assert repaired.code == 1
    assert cli("verify").code == 0


def test_a_damaged_database_is_named_by_verify_and_the_others_are_still_verified(cli, store):
    say(store, "one")
    say(store, "two", key="agent:bob:main", agent="bob")
    store.close()
    store.agent_path("ada").write_bytes(b"no database at all" * 1000)

    told = cli("verify")

    assert told.code == 1
    assert cli("verify", "--agent", "nobody").code == 1
    assert str(store.agent_path("ada")) in told.out
    assert "agent:bob:main" not in told.out


def test_backup_copies_to_a_new_folder_and_refuses_one_that_is_there(cli, store, tmp_path):
    say(store, "word treenail")

    told, again = cli("backup", str(tmp_path / "copy")), cli("backup", str(tmp_path / "copy"))

    assert told.code == 0
    assert again.code == 2
    assert (tmp_path / "copy" / "agents" / "ada.sqlite").exists()


def test_secrets_are_added_from_standard_input_and_never_shown(cli, store, data):
    environ = {**os.environ, "SESSION_SEARCH_DATA": str(data)}

    added = subprocess.run([COMMAND, "secret", "add", "gateway"], input=b"hunter2-hunter2\n", env=environ, capture_output=True, check=True)
    listed = cli("secret", "list")

    assert added.stdout == b"gateway added\n"
    assert listed.out == "gateway\n"
    assert store.catalogue().secrets == ("hunter2-hunter2",)
    assert cli("secret", "remove", "gateway").code == 0
    assert cli("secret", "remove", "gateway").code == 1


def test_import_reports_and_ends_with_1_when_a_file_was_skipped(cli, tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(
        '{"type":"session","version":3,"id":"s1","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}\n'
        '{"type":"message","id":"m1","parentId":null,"timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"word petrel"}}\n'
    )
    bad.write_text("no transcript at all\n")

    fine, partly = cli("import", "openclaw", str(good), "--agent", "ada"), cli("import", "openclaw", str(good), str(bad), "--json")

    assert fine.code == 0
    assert "1 event added" in fine.out
    assert partly.code == 1
    assert [str(bad)] == [one["path"] for one in partly.json["failedFiles"]]


def test_nothing_is_left_of_a_broken_pipe_or_a_missing_folder(data):
    environ = {**os.environ, "SESSION_SEARCH_DATA": str(data)}
    listing = subprocess.run(f"{COMMAND} token list | true", shell=True, env=environ, capture_output=True, text=True, check=False)
    (data.parent / "file").write_text("x")
    environ["SESSION_SEARCH_DATA"] = str(data.parent / "file")

    told = subprocess.run([COMMAND, "list"], env=environ, capture_output=True, text=True, check=False)

    assert listing.stderr == ""
    assert told.returncode == 1
    assert len(told.stderr.splitlines()) == 1
    assert "Traceback" not in told.stderr
