"""Importing files into the store: what is added, what is known, what is told, and that one bad file blocks nothing."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared import jsontext
from shared.config import Settings
from shared.errors import BadRequest, UnknownFormat
from shared.searchable import message_text
from shared.sessions import delete_session
from shared.store import copies, notes, open_store
from shared.store import sessions as rows
from worker.importing import import_paths, render_report, report_json

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
NOW_MS = 1_790_000_000_000
PARENT = "019c0000-0000-7000-8000-00000000000a"
FORK = "019c0000-0000-7000-8000-00000000000b"


@pytest.fixture
def store(tmp_path):
    store = open_store(Settings(data=tmp_path / "data"))
    yield store
    store.close()


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def session(session_id="s1", **fields):
    return {"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-01T00:00:00Z", **fields}


def message(event_id, parent, text="word", **fields):
    return {"type": "message", "id": event_id, "parentId": parent, "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "user", "content": text}, **fields}


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def imported(store, format_name, *paths, **options):
    return import_paths(store, format_name, paths, now_ms=NOW_MS, **options)


def stored(store, agent, session_id):
    """The stored events of a session; None when there is none."""
    with store.reader(agent) as conn:
        transcript = rows.find_transcript(conn, session_id)
        return None if transcript is None else [jsontext.loads(payload) for payload in copies.payloads(conn, transcript.transcript_no)]


def words(store, agent, session_id):
    return [text for event in stored(store, agent, session_id) or [] if (text := message_text(event))]


def row(store, agent, key):
    with store.reader(agent) as conn:
        return rows.find_session(conn, key)


# -- what is stored


@pytest.mark.parametrize(
    ("format_name", "agent", "sessions"),
    [
        ("openclaw", "skipper", {"harbour": 12}),
        ("openclaw", "openclaw", {"flat": 5}),
        ("claude-code", "claude-code", {"5b1f0a52-0000-4000-8000-00000000000a": 17}),
        ("codex", "codex", {PARENT: 15}),
    ],
)
def test_a_folder_of_transcripts_becomes_sessions_under_the_sources_agent_or_the_formats_name(format_name, agent, sessions, store):
    report = imported(store, format_name, FIXTURES / format_name)

    assert report.exit_code == 0
    for session_id in sessions:
        assert row(store, agent, f"agent:{agent}:{session_id}").session_id == session_id
        assert words(store, agent, session_id)
    assert "skipped" not in render_report(report)


def test_an_agent_can_be_named_for_files_that_name_none(store):
    imported(store, "openclaw", FIXTURES / "openclaw", agent="bosun")

    assert store.agent_ids() == ["bosun", "skipper"]


@pytest.mark.parametrize("format_name", ["openclaw", "claude-code", "codex"])
def test_importing_again_adds_nothing_and_says_so(format_name, store):
    first = imported(store, format_name, FIXTURES / format_name)

    again = imported(store, format_name, FIXTURES / format_name)

    assert (again.total("added"), again.total("known")) == (0, first.total("added"))
    assert "nothing added" in render_report(again)
    assert "already present" in render_report(again)
    assert again.exit_code == 0


@pytest.mark.parametrize("format_name", ["openclaw", "claude-code", "codex"])
def test_a_file_imported_while_it_grew_is_stored_as_if_at_once(format_name, store, files, tmp_path):
    folder = shutil.copytree(FIXTURES / format_name, files / format_name)
    whole = open_store(Settings(data=tmp_path / "whole"))
    imported(whole, format_name, folder, agent="a")
    for path in sorted(folder.rglob("*.jsonl")):
        data = path.read_bytes()
        for end in (len(data) // 3, len(data) // 2, len(data) - 20, len(data)):
            path.write_bytes(data[:end])
            report = imported(store, format_name, path, agent="a")
            assert report.exit_code == 0 or end < 400

    for agent in whole.agent_ids():
        with whole.reader(agent) as conn:
            ids = [row[0] for row in conn.execute("SELECT session_id FROM transcripts")]
        for session_id in ids:
            assert words(store, agent, session_id) == words(whole, agent, session_id)
    whole.close()


def test_a_rewritten_branch_is_added_and_the_first_content_of_an_id_stays(store, files):
    path = write(files / "f.jsonl", session(), message("A", None), message("B", "A", "old"))
    imported(store, "openclaw", path)
    write(path, session(), message("A", None), message("B", "A", "changed"), message("C", "A", "new"))

    report = imported(store, "openclaw", path)

    assert words(store, "openclaw", "s1") == ["word", "old", "new"]
    assert report.total("added") == 1
    assert "'B' is there with other content" in render_report(report)


def test_titles_kinds_and_lineage_come_with_the_session(store):
    imported(store, "claude-code", FIXTURES / "claude-code")

    main = row(store, "claude-code", "agent:claude-code:5b1f0a52-0000-4000-8000-00000000000a")
    sub = row(store, "claude-code", "agent:claude-code:5b1f0a52-0000-4000-8000-00000000000a:agent-a1b2c3")
    assert (main.title, main.kind, main.spawned_by) == ("Timetable of the ferry", "main", None)
    assert (sub.kind, sub.spawned_by) == ("subagent", main.session_key)


@pytest.mark.parametrize(("session_id", "kept"), [("x" * 300, False), ("a\nb", False), ("x" * 200, True), ("日本", True)])
def test_a_session_id_that_cannot_be_one_is_made_safe(session_id, kept, store, files):
    report = imported(store, "openclaw", write(files / "a.jsonl", session(session_id), message("A", None)))

    assert report.total("added") == 1
    assert (stored(store, "openclaw", session_id) is not None) == kept


def test_a_long_title_is_cut(store, files):
    imported(store, "openclaw", write(files / "a.jsonl", session(title="t" * 400), message("A", None)))

    assert row(store, "openclaw", "agent:openclaw:s1").title == "t" * 300


def test_events_without_a_time_get_the_files(store, files):
    path = write(files / "a.jsonl", {"type": "session", "id": "s1"}, {"type": "message", "message": {"role": "user", "content": "x"}})

    imported(store, "openclaw", path)
    with store.reader("openclaw") as conn:
        [(time_ms,)] = conn.execute("SELECT time_ms FROM events").fetchall()

    assert time_ms == path.stat().st_mtime_ns // 1_000_000


def test_a_file_that_grew_without_times_adds_its_part_without_a_word(store, files):
    talk = [{"type": "message", "message": {"role": "user", "content": text}} for text in "abc"]
    imported(store, "openclaw", write(files / "a.jsonl", {"type": "session", "id": "s1"}, *talk[:2]))

    report = imported(store, "openclaw", write(files / "a.jsonl", {"type": "session", "id": "s1"}, *talk))

    assert (report.total("added"), report.total("known")) == (1, 2)
    assert report.files[0].problems.found == []


def test_a_session_that_goes_on_in_a_second_file_hides_nothing_of_the_first(store, files):
    talk = [{"type": "user", "uuid": u, "parentUuid": None, "sessionId": "s1", "message": {"role": "user", "content": u}} for u in "ab"]
    write(files / "1.jsonl", talk[0])
    write(files / "2.jsonl", talk[1])

    imported(store, "claude-code", files)

    assert words(store, "claude-code", "s1") == ["a", "b"]
    assert ["parentId" in event for event in stored(store, "claude-code", "s1")] == [False, False]


# -- forks


def test_what_a_fork_copied_from_a_stored_session_is_not_stored_twice(store):
    report = imported(store, "codex", FIXTURES / "codex")

    assert words(store, "codex", FORK) == ["Oil the windlass instead.", "The windlass is oiled."]
    assert words(store, "codex", PARENT).count("Oil the winch.") == 1
    assert "left out as copies" in render_report(report)
    assert imported(store, "codex", FIXTURES / "codex").total("added") == 0


def test_a_fork_imported_later_still_finds_its_origin_in_the_store(store):
    imported(store, "codex", next((FIXTURES / "codex").rglob("*0a.jsonl")))

    imported(store, "codex", next((FIXTURES / "codex").rglob("*0b.jsonl")))

    assert words(store, "codex", FORK) == ["Oil the windlass instead.", "The windlass is oiled."]


def test_a_fork_whose_origin_is_nowhere_keeps_its_copies(store):
    imported(store, "codex", next((FIXTURES / "codex").rglob("*0b.jsonl")))

    assert words(store, "codex", FORK) == ["Oil the winch.", "The winch is oiled.", "Oil the windlass instead.", "The windlass is oiled."]


def test_a_forks_own_turn_that_repeats_an_old_one_stays(store, files):
    write(files / "b-parent.jsonl", session("p"), message("A", None, "go on"), message("B", "A", "done"))
    write(files / "a-child.jsonl", session("c", parentSession="b-parent.jsonl"), message("A", None, "go on"), message("C", "A", "go on"), message("D", "C", "done"))
    (files / "b-parent.jsonl").rename(files / "p.jsonl")
    write(files / "a-child.jsonl", session("c", parentSession="p.jsonl"), message("A", None, "go on"), message("C", "A", "go on"), message("D", "C", "done"))

    imported(store, "openclaw", files)

    assert words(store, "openclaw", "p") == ["go on", "done"]
    assert [(event["id"], event["parentId"]) for event in stored(store, "openclaw", "c")] == [("C", None), ("D", "C")]


def test_nothing_is_remembered_of_a_fork_that_was_deleted(store, files):
    imported(store, "openclaw", write(files / "fork.jsonl", session("fork", parentSession="gone.jsonl"), message("A", None, "one")))
    with store.reader("openclaw") as conn:
        assert [row[1] for row in notes.forks_of(conn, "gone")] == ["fork"]

    delete_session(store, "openclaw", "agent:openclaw:fork", NOW_MS)

    with store.reader("openclaw") as conn:
        assert notes.forks_of(conn, "gone") == []
        assert conn.execute("SELECT count(*) FROM meta WHERE name LIKE '%gone%' OR name LIKE 'forked%'").fetchone()[0] == 0


def test_files_that_claim_to_be_copied_from_each_other_are_both_imported(store, files):
    write(files / "a.jsonl", session("a", parentSession="b.jsonl"), message("A", None, "one"))
    write(files / "b.jsonl", session("b", parentSession="a.jsonl"), message("B", None, "two"))

    imported(store, "openclaw", files)

    assert (words(store, "openclaw", "a"), words(store, "openclaw", "b")) == (["one"], ["two"])


# -- what is told


def test_a_clean_import_speaks_of_no_bad_lines(store, files):
    report = render_report(imported(store, "openclaw", write(files / "a.jsonl", session(), message("A", None), message("B", "A"))))

    assert report == "1 file, 1 session: 2 events added"


def test_a_bad_line_is_told_with_file_and_line_and_is_no_failure(store, files):
    path = write(files / "a.jsonl", session(), message("A", None))
    path.write_bytes(path.read_bytes() + b"{broken\n" + json.dumps(message("B", "A")).encode() + b"\n")

    report = imported(store, "openclaw", path)

    assert report.exit_code == 0
    assert words(store, "openclaw", "s1") == ["word", "word"]
    assert render_report(report).splitlines()[0] == "1 file, 1 session: 2 events added, 1 line skipped"
    assert render_report(report).splitlines()[1].startswith(f"{path}:3: line skipped: not valid JSON")


def test_one_empty_and_one_broken_file_do_not_keep_the_third_from_being_imported(store, files):
    (files / "a.jsonl").write_bytes(b"")
    (files / "b.jsonl").write_bytes(b'{"type":"\xff\xfe\x80"m}\n')
    write(files / "c.jsonl", session(), message("A", None))

    report = imported(store, "openclaw", files)

    assert words(store, "openclaw", "s1") == ["word"]
    text = render_report(report)
    assert f"{files / 'a.jsonl'}: empty" in text
    assert f"{files / 'b.jsonl'}: not an openclaw transcript" in text
    assert report.exit_code == 1


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: (p / "x").mkdir(parents=True)])
def test_a_path_with_nothing_to_import_is_a_failure_that_names_it(make, store, files):
    make(files / "none.jsonl")

    report = imported(store, "openclaw", files / "none.jsonl")

    assert report.exit_code == 1
    assert str(files / "none.jsonl") in render_report(report)


def test_a_file_of_another_program_stores_nothing(store, files):
    path = files / "chat.jsonl"
    path.write_text('{"role": "user", "content": "hello"}\n')

    for name in ("openclaw", "claude-code", "codex"):
        assert imported(store, name, path).exit_code == 1
    assert store.agent_ids() == []


@pytest.mark.parametrize("name", ["aider", "", "OpenClaw", "pi"])
def test_a_format_that_is_not_ours_is_refused_by_name(name, store, files):
    with pytest.raises(UnknownFormat, match="claude-code"):
        imported(store, name, files)


@pytest.mark.parametrize("agent", ["", "a b", "../x", "x" * 65])
def test_an_agent_that_cannot_be_one_is_refused(agent, store, files):
    with pytest.raises(BadRequest, match="--agent"):
        imported(store, "openclaw", files, agent=agent)


def test_a_file_named_twice_is_imported_once(store, files):
    path = write(files / "a.jsonl", session(), message("A", None))

    assert len(imported(store, "openclaw", path, files, path).files) == 1


def test_a_session_deleted_here_stays_deleted_until_it_is_restored(store, files):
    path = write(files / "g.jsonl", session(), message("A", None))
    imported(store, "openclaw", path)
    delete_session(store, "openclaw", "agent:openclaw:s1", NOW_MS)

    again = imported(store, "openclaw", path)

    assert "deleted earlier, not restored" in render_report(again)
    assert (again.total("added"), again.total("deleted"), again.exit_code) == (0, 1, 0)
    assert stored(store, "openclaw", "s1") is None
    assert imported(store, "openclaw", path, restore=True).total("added") == 1


def test_progress_is_told_file_by_file(store, files):
    for name in "ab":
        write(files / f"{name}.jsonl", session(name), message("A", None))
    told = []

    imported(store, "openclaw", files, report=lambda done, total, file: told.append((done, total, file.path.name)))

    assert told == [(1, 2, "a.jsonl"), (2, 2, "b.jsonl")]


def test_the_report_for_machines_has_the_counts_and_every_problem(store, files):
    path = write(files / "a.jsonl", session(), message("A", None), message("B", "ghost"))
    path.write_bytes(path.read_bytes() + b"[]\n")
    (files / "b.jsonl").write_bytes(b"")

    report = report_json(imported(store, "openclaw", files, files / "none"))

    assert report == {
        "files": 3,
        "sessions": 1,
        "added": 2,
        "known": 0,
        "copied": 0,
        "deleted": 0,
        "skippedLines": 1,
        "failedFiles": [{"path": str(files / "none"), "reason": "cannot be read: No such file or directory"}],
        "emptyFiles": [str(files / "b.jsonl")],
        "problems": [
            {"path": str(path), "line": 3, "reason": "parent 'ghost' not found before this line; the event hangs on the leaf"},
            {"path": str(path), "line": 4, "reason": "line skipped: not a JSON object"},
        ],
        "moreProblems": 0,
    }
    assert json.loads(json.dumps(report)) == report


def test_a_file_full_of_problems_tells_the_first_and_counts_the_rest(store, files):
    path = write(files / "a.jsonl", session(), message("A", None))
    path.write_bytes(path.read_bytes() + b"x\n" * 1_000)

    report = imported(store, "openclaw", path)

    assert report.skipped == 1_000
    assert render_report(report).splitlines()[-1] == f"{path}: and 800 more"


# -- properties


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    links=st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 8)), min_size=1, max_size=12),
    cut=st.integers(0, 12),
)
def test_any_tree_imported_in_two_parts_is_stored_like_in_one(links, cut, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    lines = [message(f"e{own}", None if parent is None else f"e{parent}", f"text {own}") for own, parent in links]
    once, twice = (open_store(Settings(data=folder / name)) for name in ("once", "twice"))

    imported(twice, "openclaw", write(folder / "a.jsonl", session(), *lines[:cut]))
    path = write(folder / "a.jsonl", session(), *lines)
    imported(twice, "openclaw", path)
    imported(once, "openclaw", path)

    assert imported(once, "openclaw", path).total("added") == 0
    assert stored(once, "openclaw", "s1") == stored(twice, "openclaw", "s1")
    with once.reader("openclaw") as a, twice.reader("openclaw") as b:
        assert rows.find_transcript(a, "s1").leaf_id == rows.find_transcript(b, "s1").leaf_id
    once.close()
    twice.close()
