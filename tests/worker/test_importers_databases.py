"""Other programs' databases: how they are opened and never written, and what Hermes, OpenCode, Goose and OpenClaw keep in theirs."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from shared.errors import UnreadableSource
from shared.searchable import message_items, message_text
from shared.store import sessions as rows
from shared.store.connect import open_foreign
from shared.visibility import Caller
from tests.worker.formats import (
    GOOSE,
    HERMES,
    OPENCLAW,
    OPENCODE,
    OPENCODE_2,
    SESSION,
    START_S,
    database,
    goose,
    goose_database,
    hermes,
    opencode,
    opencode_2,
    opencode_database,
    pi_lines,
    talk,
)
from worker.importers import FORMATS
from worker.importers.base import MAX_LINE_BYTES, Problems
from worker.importing import import_paths, render_report

NOW_MS = 1_790_000_000_000


def read(name: str, path: Path):
    problems = Problems()
    sessions = [(source, list(source.events)) for source in FORMATS[name].read(path, problems)]
    return sessions, [problem.reason for problem in problems.found]


def take(world, name: str, *paths: Path, **options):
    return import_paths(world.store, name, paths, now_ms=NOW_MS, **options)


def row(world, agent: str, session_id: str):
    with world.store.reader(agent) as conn:
        return rows.find_session(conn, f"agent:{agent}:{session_id}")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- opening


def wal_database(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("CREATE TABLE t (x)")
    conn.execute("INSERT INTO t VALUES (1)")
    conn.commit()
    return conn


def test_a_database_at_rest_is_read_and_no_file_is_left_beside_it(tmp_path):
    wal_database(tmp_path / "a.db").close()
    (tmp_path / "a.db").chmod(0o400)

    with open_foreign(tmp_path / "a.db") as conn:
        assert conn.execute("SELECT x FROM t").fetchall() == [(1,)]
        assert files(tmp_path) == ["a.db"]

    assert files(tmp_path) == ["a.db"]


def test_what_a_running_program_has_just_written_is_seen(tmp_path):
    writer = wal_database(tmp_path / "a.db")

    with open_foreign(tmp_path / "a.db") as conn:
        assert conn.execute("SELECT x FROM t").fetchall() == [(1,)]

    writer.execute("INSERT INTO t VALUES (2)")
    writer.close()


def test_nothing_can_be_written_through_it(tmp_path):
    wal_database(tmp_path / "a.db").close()

    for statement in ("INSERT INTO t VALUES (2)", "DROP TABLE t", "PRAGMA user_version = 5; CREATE TABLE u (x)"):
        with pytest.raises(UnreadableSource), open_foreign(tmp_path / "a.db") as conn:
            conn.executescript(statement)


@pytest.mark.parametrize("spoil", [lambda data: data[:100], lambda data: data[:4096] + b"\xff" * 4096, lambda data: b"no database" * 50])
def test_a_damaged_database_is_told_as_such(spoil, tmp_path):
    wal_database(tmp_path / "a.db").close()
    path = tmp_path / "a.db"
    path.write_bytes(spoil(path.read_bytes()))

    with pytest.raises(UnreadableSource), open_foreign(path) as conn:
        conn.execute("SELECT x FROM t").fetchall()


def test_a_damaged_schema_whose_name_is_no_text_is_told_as_damage(tmp_path):
    """SQLite's message quotes the schema, and Python fails to decode the message: UnicodeDecodeError came out of PRAGMA cache_size."""
    wal_database(tmp_path / "a.db").close()
    path = tmp_path / "a.db"
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE t", b"CRE\x80TE TABL\x80 t"))

    with pytest.raises(UnreadableSource, match=r"damaged|malformed"), open_foreign(path) as conn:
        conn.execute("SELECT x FROM t").fetchall()


def test_text_that_is_not_utf_8_is_mended(tmp_path):
    with wal_database(tmp_path / "a.db") as conn:
        conn.execute("INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT))")
    conn.close()

    with open_foreign(tmp_path / "a.db") as found:
        assert found.execute("SELECT x FROM t WHERE x <> 1").fetchall() == [("a\N{REPLACEMENT CHARACTER}b",)]


def test_a_view_in_the_place_of_a_table_is_not_read(world, tmp_path):
    path = hermes(tmp_path, talk("one"))
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("ALTER TABLE messages RENAME TO hidden")
        conn.execute("CREATE VIEW messages AS SELECT * FROM hidden")

    assert "has no tables" in render_report(take(world, "hermes", path))


def test_a_database_damaged_in_one_place_gives_the_sessions_that_can_be_read_and_is_a_failure(world, tmp_path):
    sessions = [(f"s{n}", "cli", None, None, None, START_S + n, None, None, None) for n in range(12)]
    long = "word " * 600  # a page each
    messages = [(n + 1, f"s{n}", "user", f"{long} {n}", None, None, None, START_S, None, 0, 1, 0, None) for n in range(12)]
    script = HERMES + "CREATE INDEX of_session ON messages (session_id, id);"
    path = database(tmp_path / "state.db", script, {"sessions": sessions, "messages": messages})
    data = bytearray(path.read_bytes())
    place = data.rfind(b"word ")
    page = place - place % 4096
    data[page : page + 8] = b"\xff" * 8
    path.write_bytes(data)

    report = take(world, "hermes", path)

    assert report.exit_code == 1
    assert str(path) in render_report(report)
    assert report.total("sessions") == 11


# -- Hermes


def hermes_database(path: Path, *messages, sessions=(("s1", {}),)) -> Path:
    columns = ("source", "session_key", "title", "parent_session_id", "started_at", "chat_type", "model_config", "end_reason")
    defaults = {"source": "cli", "started_at": START_S}
    named = [(own, *({**defaults, **fields}.get(name) for name in columns)) for own, fields in sessions]
    return database(path / "state.db", HERMES, {"sessions": named, "messages": list(messages)})


def said(number, role, content, session_id="s1", **fields):
    names = (
        "tool_call_id",
        "tool_calls",
        "tool_name",
        "timestamp",
        "reasoning",
        "_compressed_summary",
        "active",
        "compacted",
        "display_kind",
    )
    values = {"timestamp": START_S + number, "_compressed_summary": 0, "active": 1, "compacted": 0, **fields}
    return (number, session_id, role, content, *(values.get(name) for name in names))


def test_sessions_below_others_are_subagents_branches_or_go_on(tmp_path):
    sessions = [
        ("main", {"end_reason": "compression", "session_key": "k"}),
        ("sub", {"parent_session_id": "idle", "started_at": START_S + 9}),
        ("on", {"parent_session_id": "main", "started_at": START_S + 1}),
        ("branch", {"parent_session_id": "idle", "model_config": '{"_branched_from": "idle"}', "started_at": START_S + 8}),
        ("idle", {"end_reason": "idle", "session_key": "k", "started_at": START_S + 2}),
        ("reset", {"parent_session_id": "idle", "session_key": "k", "started_at": START_S + 7}),
        ("daily", {"source": "cron", "parent_session_id": "idle", "started_at": START_S + 10}),
        ("deck", {"chat_type": "group", "title": "Deck", "started_at": START_S + 11}),
    ]

    found = [source for source, _ in read("hermes", hermes_database(tmp_path, sessions=sessions))[0]]

    kinds = {source.session_id: source.kind for source in found}
    assert kinds == {
        "main": "main",
        "on": "main",
        "idle": "main",
        "reset": "main",
        "branch": "main",
        "sub": "subagent",
        "daily": "cron",
        "deck": "group",
    }
    assert {source.session_id: source.parent_id for source in found}["sub"] == "idle"
    assert found[-1].title == "Deck"


def test_blocks_tools_reasoning_and_hidden_rows_are_told_apart(tmp_path):
    calls = json.dumps([{"id": "t1", "type": "function", "function": {"name": "sound", "arguments": '{"deep": true}'}}])
    rows = [
        said(1, "system", "be brief"),
        said(2, "user", '\0json:[{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]'),
        said(3, "assistant", None, tool_calls=calls, reasoning="hm"),
        said(4, "tool", "two feet", tool_call_id="t1", tool_name="sound"),
        said(5, "user", "continue the work", display_kind="hidden"),
        said(6, "assistant", "shallow"),
    ]

    [(_, events)], reasons = read("hermes", hermes_database(tmp_path, *rows))

    assert [(event["id"], text) for event in events if (text := message_text(event))] == [("2", "look"), ("6", "shallow")]
    assert [(item.kind, item.name, item.text) for item in message_items(events[2]).items] == [("toolCall", "sound", '{"deep":true}')]
    assert [(item.kind, item.name, item.text) for item in message_items(events[3]).items] == [("toolResult", "sound", "two feet")]
    assert reasons == []


def test_words_that_a_compaction_put_into_one_row_with_its_summary_are_found_and_the_summary_is_not(tmp_path):
    carrier = "[CONTEXT SUMMARY]: lanterns\n--- END OF CONTEXT SUMMARY — respond below ---\nMend the net."
    merged = "[PRIOR CONTEXT — for reference only; not a new message]\nMend it.\n[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]\n[CONTEXT SUMMARY]: oil"
    rows = [
        said(1, "user", "Mend the net.", active=0, compacted=1),
        said(2, "user", carrier, timestamp=START_S + 1),
        said(3, "assistant", merged),
        said(4, "user", "[CONTEXT SUMMARY]: only a summary"),
    ]

    [(source, events)], _ = read("hermes", hermes_database(tmp_path, *rows))

    assert [(event["id"], event["type"], message_text(event)) for event in events] == [
        ("1", "message", "Mend the net."),
        ("3", "message", "Mend it."),
        ("4", "compaction", ""),
    ]
    assert source.branch.leaf == "4"


def test_a_database_of_an_old_version_has_no_flags_and_is_all_live(tmp_path):
    script = """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL);
    """
    path = database(
        tmp_path / "state.db",
        script,
        {"sessions": [("s1", "cli")], "messages": [(1, "s1", "user", "one", 5.5), (2, "s1", "user", "two", None)]},
    )

    [(source, events)], _ = read("hermes", path)

    assert [(event["id"], event["timestamp"]) for event in events] == [("1", 5500), ("2", 5500)]
    assert source.branch.leaf == "2"


def test_a_later_compaction_and_a_rewind_are_followed_and_nothing_is_doubled(world, tmp_path):
    path = hermes_database(tmp_path, *(said(n, "user" if n % 2 else "assistant", f"word{n}") for n in range(1, 5)))
    take(world, "hermes", path, agent="ada")
    later = [
        *(said(n, "user" if n % 2 else "assistant", f"word{n}", active=0, compacted=1 if n < 3 else 0) for n in range(1, 5)),
        said(5, "user", "[CONTEXT SUMMARY]: lanterns", _compressed_summary=1),
        said(6, "user", "word3", timestamp=START_S + 3),
        said(7, "assistant", "word4", timestamp=START_S + 4, active=0),
        said(8, "assistant", "word8"),
    ]
    shutil.rmtree(tmp_path / "later", ignore_errors=True)

    report = take(world, "hermes", hermes_database(tmp_path / "later", *later), agent="ada")

    session = world.session("ada", "agent:ada:s1")
    session.reconcile()
    assert [message["text"] for message in session.history()["messages"]] == ["word1", "word2", "word3", "word8"]
    assert [session.found(word) for word in ("word1", "word4", "lanterns")] == [["1"], [], []]
    assert report.total("added") <= 4


# -- OpenCode


def test_the_older_layout_of_folders_is_read_alike(tmp_path):
    path = opencode(tmp_path, talk("one", "two"))
    new = read("opencode", path)[0]
    base = tmp_path / "older" / "storage" / "session"
    (base / "info").mkdir(parents=True)
    shutil.copy(path, base / "info")
    shutil.copytree(tmp_path / "storage" / "message", base / "message")
    for part in (tmp_path / "storage" / "part").iterdir():
        shutil.copytree(part, base / "part" / SESSION / part.name)

    old = read("opencode", base / "info" / path.name)[0]

    assert [events for _, events in old] == [events for _, events in new]


@pytest.mark.parametrize("write", [opencode, opencode_database, opencode_2])
def test_a_pending_revert_hides_from_its_message_on_until_it_is_undone(write, world, tmp_path):
    spoken = talk("alpha", "beta", "gamma", "delta")
    session = world.session("ada", f"agent:ada:{SESSION}")

    for revert, shown in (({"messageID": "e3"}, 2), (None, 4), ({"messageID": "e1"}, 0), ({"messageID": "nowhere"}, 4)):
        take(world, "opencode", write(tmp_path, spoken, revert), agent="ada")
        session.reconcile()
        assert [message["text"] for message in session.history()["messages"]] == [s.text for s in spoken[:shown]]
        assert take(world, "opencode", write(tmp_path, spoken, revert), agent="ada").total("added") == 0


def test_a_reply_that_was_still_being_written_is_found_whole_later(world, tmp_path):
    spoken = talk("alpha", "be")
    take(world, "opencode", opencode(tmp_path, spoken), agent="ada")

    take(world, "opencode", opencode(tmp_path, talk("alpha", "beta and more")), agent="ada")

    session = world.session("ada", f"agent:ada:{SESSION}")
    session.reconcile()
    assert [message["text"] for message in session.history()["messages"]] == ["alpha", "beta and more"]


def test_what_the_program_wrote_into_a_message_is_not_found_and_tools_are_shown(tmp_path):
    path = opencode_database(tmp_path, talk("one", "two"))
    parts = [
        {"type": "text", "text": "read this file", "synthetic": True},
        {"type": "reasoning", "text": "hm"},
        {"type": "tool", "tool": "sound", "callID": "t1", "state": {"status": "error", "input": {"a": 1}, "error": "aground"}},
        {"type": "step-finish", "cost": 1},
        {"type": "file", "mime": "image/png", "filename": "map.png", "url": "data:"},
        {"type": "subtask", "prompt": "x"},
    ]
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.executemany("INSERT INTO part VALUES (?, 'e2', ?, ?)", [(f"q{n}", SESSION, json.dumps(part)) for n, part in enumerate(parts)])

    [(_, [_, reply])], _ = read("opencode", path)

    assert message_text(reply) == "two"
    items = message_items(reply)
    assert [(item.kind, item.text) for item in items.items] == [("text", "two"), ("toolCall", '{"a":1}'), ("toolResult", "aground")]
    assert items.omitted == 2


def test_sessions_that_the_database_took_over_are_not_read_from_their_files(tmp_path):
    opencode(tmp_path, talk("one"))
    opencode_database(tmp_path, talk("one", "two"))

    assert [path.name for path in FORMATS["opencode"].below(tmp_path)] == ["opencode.db"]


def newer(sessions, messages):
    """Rows of version 2's tables: sessions as (id, what it was forked from), messages as (id, session, type, data)."""
    return {
        "session_v2": [(own, None, origin, own, None, START_S * 1000) for own, origin in sessions],
        "session_message": [
            (own, session, kind, seq, START_S * 1000, json.dumps({"time": {"created": START_S * 1000 + seq}, **data}))
            for seq, (own, session, kind, data) in enumerate(messages)
        ],
    }


def test_a_session_that_version_2_took_over_is_the_same_and_goes_on(world, tmp_path):
    """Version 2 writes other tables into the same database: what was said since was never seen."""
    said = talk("alpha", "beta")
    take(world, "opencode", opencode_database(tmp_path, said), agent="ada")

    report = take(world, "opencode", opencode_2(tmp_path, [*said, *talk("1", "2", "gamma")[2:]]), agent="ada")

    assert report.total("added") == 1
    session = world.session("ada", f"agent:ada:{SESSION}")
    session.reconcile()
    assert [message["text"] for message in session.history()["messages"]] == ["alpha", "beta", "gamma"]


def test_sessions_of_either_version_are_read_from_where_they_go_on(world, tmp_path):
    older = {
        "session": [("old", None, "old", None, START_S * 1000), ("both", None, "both", None, START_S * 1000)],
        "message": [("o1", "old", 1, '{"role": "user"}'), ("b1", "both", 1, '{"role": "user"}')],
        "part": [("p1", "o1", "old", '{"type": "text", "text": "oldest"}'), ("p2", "b1", "both", '{"type": "text", "text": "left behind"}')],
    }
    tables = newer(
        [("both", None), ("new", None), ("old", None)],
        [("b1", "both", "user", {"text": "went on"}), ("n1", "new", "user", {"text": "newest"})],
    )

    [path] = [database(tmp_path / "opencode-next.db", OPENCODE + OPENCODE_2, older | tables)]

    assert list(FORMATS["opencode"].below(tmp_path)) == [path]
    found = {source.session_id: [message_text(event) for event in events] for source, events in read("opencode", path)[0]}
    assert found == {"old": ["oldest"], "both": ["went on"], "new": ["newest"]}


def test_of_version_2s_rows_talk_is_found_tools_are_shown_and_the_rest_is_kept(tmp_path):
    tool = {"type": "tool", "id": "c1", "name": "sound", "state": {"status": "completed", "input": {"well": 1}, "content": [{"type": "text", "text": "two feet"}]}}
    content = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "reply"}, tool, {**tool, "state": {"error": {"message": "dry"}}}]
    rows = [
        ("m1", "s", "user", {"text": "asked", "files": [{"name": "a.png", "uri": "file:///a.png"}]}),
        ("m2", "s", "assistant", {"agent": "build", "content": content}),
        ("m3", "s", "synthetic", {"text": "made up"}),
        ("m4", "s", "shell", {"command": "ls", "output": "lanterns"}),
        ("m5", "s", "compaction", {"status": "completed", "summary": "in short"}),
        ("m6", "s", "compaction", {"status": "running", "summary": "in sh"}),
        ("m7", "s", "model-switched", {"model": {"id": "m"}}),
        ("m8", "s", "idle", {"outcome": "succeeded"}),
    ]
    [(_, events)], problems = read("opencode", database(tmp_path / "opencode.db", OPENCODE_2, newer([("s", None)], rows)))

    assert problems == []
    assert [message_text(event) for event in events] == ["asked", "reply", "", "", "", "", "", ""]
    assert [event["type"] for event in events] == ["message", "message", "custom", "custom", "compaction", "custom", "custom", "custom"]
    items = message_items(events[1])
    assert [(item.kind, item.text) for item in items.items][:2] == [("text", "reply"), ("toolCall", '{"well":1}')]
    assert [item.text for item in items.items if item.kind == "toolResult"] == ["two feet", '{"message":"dry"}']
    assert items.omitted == 1


def test_a_subagents_session_is_below_the_one_that_started_it(world, tmp_path):
    data = json.dumps({"role": "user", "time": {"created": 1}})
    tables = {
        "session": [("main", None, "Main", None, 1), ("sub", "main", "Sub", None, 2)],
        "message": [("m1", "main", 1, data), ("m2", "sub", 2, data)],
        "part": [("p1", "m1", "main", '{"type": "text", "text": "one"}'), ("p2", "m2", "sub", '{"type": "text", "text": "two"}')],
    }

    take(world, "opencode", database(tmp_path / "opencode.db", OPENCODE, tables))

    sub = row(world, "opencode", "sub")
    assert (sub.kind, sub.spawned_by, sub.title) == ("subagent", "agent:opencode:main", "Sub")


# -- Goose


def goose_rows(folder: Path, *messages, kind="user") -> Path:
    values = [
        (n, own, "s1", role, json.dumps(content), START_S + n, json.dumps(meta)) for n, (own, role, content, meta) in enumerate(messages, 1)
    ]
    session = ("s1", "Name", "Description", kind, "2026-01-01 00:00:00", None)
    return database(folder / "sessions.db", GOOSE, {"sessions": [session], "messages": values})


def test_tools_thoughts_and_words_for_the_model_alone_are_told_apart(tmp_path):
    answer = {"status": "success", "value": [{"type": "text", "text": "two feet"}]}
    messages = [
        (
            "m1",
            "user",
            [{"type": "text", "text": "look"}, {"type": "text", "text": "cwd /deck", "annotations": {"audience": ["assistant"]}}],
            {},
        ),
        (
            "m2",
            "assistant",
            [
                {"type": "thinking", "thinking": "hm"},
                {"type": "toolRequest", "id": "t1", "toolCall": {"status": "success", "value": {"name": "sound", "arguments": {"a": 1}}}},
            ],
            {},
        ),
        ("m3", "user", [{"type": "toolResponse", "id": "t1", "toolResult": answer}], {}),
        ("m4", "user", [{"type": "text", "text": "summary"}], {"userVisible": False, "agentVisible": True}),
        ("m4", "assistant", [{"type": "text", "text": "shallow"}], {"userVisible": True, "agentVisible": False}),
    ]

    [(source, events)], _ = read("goose", goose_rows(tmp_path, *messages))

    assert [(event["id"], event["type"], message_text(event)) for event in events] == [
        ("m1", "message", "look"),
        ("m2", "message", ""),
        ("m3", "message", ""),
        ("m4", "compaction", ""),
        ("m4:2", "message", "shallow"),
    ]
    assert [(item.kind, item.text) for item in message_items(events[2]).items] == [("toolResult", "two feet")]
    assert (source.title, source.created_at_ms) == ("Name", START_S * 1000)


@pytest.mark.parametrize(
    ("named", "kind"), [("scheduled", "cron"), ("sub_agent", "subagent"), ("hidden", "background"), ("user", "main"), (None, "main")]
)
def test_a_sessions_type_is_its_kind(named, kind, tmp_path):
    [(source, _)], _ = read("goose", goose_rows(tmp_path, ("m1", "user", [], {}), kind=named))

    assert source.kind == kind


def test_what_the_model_no_longer_sees_is_the_same_message(world, tmp_path):
    one = ("m1", "user", [{"type": "text", "text": "alpha"}])
    take(world, "goose", goose_rows(tmp_path, (*one, {"agentVisible": True})))

    assert take(world, "goose", goose_rows(tmp_path, (*one, {"agentVisible": False}))).total("added") == 0


def test_a_files_session_that_goes_on_in_the_database_is_one(world, tmp_path):
    take(world, "goose", goose(tmp_path, talk("one", "two")), agent="ada")
    goose_database(tmp_path, talk("one", "two", "three"))

    report = take(world, "goose", tmp_path, agent="ada")

    assert (len(report.files), report.total("added")) == (1, 1)


# -- OpenClaw: the index beside the transcripts, and the agents' databases


def agents(folder: Path, agent: str, entries: dict, *session_ids: str) -> Path:
    home = folder / "agents" / agent / "sessions"
    home.mkdir(parents=True, exist_ok=True)
    (home / "sessions.json").write_text(json.dumps(entries))
    for session_id in session_ids:
        lines = [{**pi_lines([])[0], "id": session_id}, *pi_lines(talk(f"word of {session_id}"))[1:]]
        (home / f"{session_id}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_titles_kinds_and_lineage_are_taken_from_the_index(world, tmp_path):
    entries = {
        "agent:skipper:main": {
            "sessionId": "m1",
            "displayName": "Bridge",
            "usageFamilySessionIds": ["m0", "m1"],
            "skillsSnapshot": {"prompt": "x"},
        },
        "agent:skipper:subagent:5": {"sessionId": "s1", "spawnedBy": "agent:skipper:main", "label": "Sounding"},
        "agent:skipper:cron:7": {"sessionId": "c1", "spawnedBy": "agent:skipper:gone"},
        "agent:skipper:telegram:group:-1": {"sessionId": "g1", "subject": "Crew"},
        "agent:skipper:main:heartbeat": {"sessionId": "h1"},
        "agent:skipper:subagent:9": {"sessionId": "b1", "spawnedBy": "agent:bosun:main"},
        "agent:skipper:dashboard:incognito-1": {"sessionId": "i1"},
        "agent:skipper:own": {"sessionId": "o1", "kind": "watch", "incognito": True},
    }
    agents(tmp_path, "bosun", {"agent:bosun:main": {"sessionId": "x1"}}, "x1")
    take(world, "openclaw", agents(tmp_path, "skipper", entries, "m0", "m1", "s1", "c1", "g1", "h1", "b1", "i1", "o1"))

    found = {own: row(world, "skipper", own) for own in ("m0", "m1", "s1", "c1", "g1", "h1", "b1", "i1", "o1")}
    assert {own: session.kind for own, session in found.items()} == {
        "m0": "main", "m1": "main", "s1": "subagent", "c1": "cron", "g1": "group", "h1": "background", "b1": "subagent", "i1": "main", "o1": "watch",
    }  # fmt: skip
    assert [found[own].title for own in ("m0", "m1", "s1", "g1")] == ["Bridge", "Bridge", "Sounding", "Crew"]
    assert [found[own].spawned_by for own in ("m1", "s1", "c1", "b1")] == [None, "agent:skipper:m1", None, "agent:bosun:x1"]
    assert [own for own, session in found.items() if session.incognito] == ["i1", "o1"]


def test_an_incognito_session_is_found_by_nobody_also_when_the_index_says_so_later(world, tmp_path):
    take(world, "openclaw", agents(tmp_path, "skipper", {}, "m1"))
    session = world.session("skipper", "agent:skipper:m1")
    session.reconcile()
    assert session.found("word")
    entries = {
        "agent:skipper:x": {"sessionId": "m1", "incognito": True, "kind": "cron", "spawnedBy": "agent:skipper:y"},
        "agent:skipper:y": {"sessionId": "y1"},
    }

    take(world, "openclaw", agents(tmp_path, "skipper", entries, "m1"))

    assert session.found("word") == []
    told = row(world, "skipper", "m1")
    assert (told.incognito, told.kind, told.spawned_by) == (True, "cron", "agent:skipper:y1")
    take(world, "openclaw", agents(tmp_path, "skipper", {}, "m1"))
    assert row(world, "skipper", "m1").incognito


def test_sessions_that_spawned_each_other_are_both_imported_and_it_is_reported(world, tmp_path):
    entries = {
        "agent:skipper:a": {"sessionId": "a1", "spawnedBy": "agent:skipper:b"},
        "agent:skipper:b": {"sessionId": "b1", "spawnedBy": "agent:skipper:a"},
    }

    report = take(world, "openclaw", agents(tmp_path, "skipper", entries, "a1", "b1"))

    assert report.exit_code == 0
    assert "without its parent" in render_report(report)
    assert report.total("sessions") == 2


@pytest.mark.parametrize(
    "index",
    ["{", "[]", '{"agent:skipper:main": 5}', '{"agent:skipper:main": {"sessionId": {}, "spawnedBy": [1], "usageFamilySessionIds": 3}}'],
)
def test_an_index_that_cannot_be_understood_is_as_none(index, world, tmp_path):
    agents(tmp_path, "skipper", {}, "m1")
    (tmp_path / "agents" / "skipper" / "sessions" / "sessions.json").write_text(index)

    assert take(world, "openclaw", tmp_path).exit_code == 0
    assert row(world, "skipper", "m1").kind == "main"


def agent_database(folder: Path, agent: str, script: str, tables: dict) -> Path:
    return database(folder / "agents" / agent / "agent" / "openclaw-agent.sqlite", script, tables)


def events(session_id: str, *texts: str) -> list[tuple]:
    lines = [{**pi_lines([])[0], "id": session_id}, *pi_lines(talk(*texts))[1:]]
    return [(session_id, seq, json.dumps(line), START_S * 1000 + seq) for seq, line in enumerate(lines)]


OLDER = """
    CREATE TABLE sessions (session_id TEXT PRIMARY KEY, session_key TEXT, created_at INTEGER, spawned_by TEXT, display_name TEXT);
    CREATE TABLE session_entries (session_key TEXT PRIMARY KEY, session_id TEXT, entry_json TEXT);
    CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER);
"""


@pytest.mark.parametrize("layout", ["present", "older"])
def test_an_agents_database_gives_its_transcripts_under_their_ids_with_what_the_index_tells(layout, world, tmp_path):
    entries = {
        "agent:skipper:main": ("m1", {"sessionId": "m1", "label": "Bridge"}),
        "agent:skipper:subagent:2": ("s1", {"spawnedBy": "agent:skipper:main"}),
    }
    nodes = [(key, session_id, json.dumps(entry)) for key, (session_id, entry) in entries.items()]
    stored = [*events("m1", "alpha", "beta"), *events("s1", "gamma"), *events("m0", "older words")]
    windows = [
        ("m0", "agent:skipper:main", None, None, None),
        ("m1", "agent:skipper:main", None, None, None),
        ("s1", "agent:skipper:subagent:2", None, None, None),
    ]
    if layout == "present":
        agent_database(tmp_path, "skipper", OPENCLAW, {"session_windows": windows, "session_nodes": nodes, "transcript_events": stored})
    else:
        agent_database(tmp_path, "skipper", OLDER, {"sessions": windows, "session_entries": nodes, "transcript_events": stored})

    report = take(world, "openclaw", tmp_path)

    assert (report.exit_code, report.total("sessions"), report.total("added")) == (0, 3, 4)
    assert [row(world, "skipper", own).title for own in ("m0", "m1", "s1")] == ["Bridge", "Bridge", None]
    assert (row(world, "skipper", "s1").kind, row(world, "skipper", "s1").spawned_by) == ("subagent", "agent:skipper:m1")
    found = world.search(Caller("skipper", "agent:skipper:m1"), "gamma", scope="tree")
    assert found["pendingSessions"] == 2


PACKING = OPENCLAW.replace("event_json TEXT,", "event_json TEXT, event_zstd BLOB, event_utf8_bytes INTEGER,")


def packed_events(pack: Callable[[bytes], bytes]) -> dict[str, list[tuple]]:
    """A present database's rows: of three messages the second is packed."""
    stored = events("m1", "alpha", "beta", "gamma")
    rows = [(own, seq, None, pack(line.encode()), len(line), at) if "beta" in line else (own, seq, line, None, None, at) for own, seq, line, at in stored]
    return {"session_windows": [("m1", "agent:skipper:main", None, None, None)], "transcript_events": rows}


def test_a_long_event_that_is_packed_in_its_row_is_read(world, tmp_path):
    agent_database(tmp_path, "skipper", PACKING, packed_events(zstandard.ZstdCompressor().compress))

    report = take(world, "openclaw", tmp_path)
    world.reconcile_all("skipper")

    assert (report.exit_code, report.total("added"), report.skipped) == (0, 3, 0)
    assert len(world.search(Caller("skipper", "agent:skipper:m1"), "beta")["results"]) == 1


@pytest.mark.parametrize(
    "pack",
    [
        lambda line: zstandard.ZstdCompressor().compress(line)[:-4],
        lambda line: b"no frame at all",
        lambda line: zstandard.ZstdCompressor().compress(b"[" * (MAX_LINE_BYTES + 1)),
        lambda line: b"",
    ],
    ids=["cut off", "no frame", "a bomb", "empty"],
)
def test_a_packed_event_that_cannot_be_unpacked_is_skipped_and_its_neighbours_come_in(world, tmp_path, pack):
    agent_database(tmp_path, "skipper", PACKING, packed_events(pack))

    report = take(world, "openclaw", tmp_path)

    assert (report.exit_code, report.total("added"), report.skipped) == (0, 2, 1)


def test_a_transcript_that_moved_from_its_file_to_the_database_is_the_same(world, tmp_path):
    agents(tmp_path, "skipper", {}, "m1")
    take(world, "openclaw", tmp_path)
    lines = (tmp_path / "agents" / "skipper" / "sessions" / "m1.jsonl").read_text().splitlines()
    stored = [("m1", seq, line, seq) for seq, line in enumerate(lines)]
    path = agent_database(tmp_path, "skipper", OPENCLAW, {"transcript_events": stored})

    report = take(world, "openclaw", path)

    assert (report.total("added"), report.total("known")) == (0, 1)
