"""Claude Code's session files: what is a rewind, what only looks like one, and whose words a record holds."""

import json
from pathlib import Path

import pytest

from shared.searchable import message_text
from shared.transcript import NODE_KINDS
from worker.importers import claude_code
from worker.importers.base import Problems

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts" / "claude-code" / "ferry"
SESSION = "5b1f0a52-0000-4000-8000-00000000000a"


def record(uuid, parent, kind="user", content=None, **fields):
    message = {"role": kind, "content": uuid if content is None else content}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": "2026-01-01T00:00:00Z", "message": message, **fields}


def result(uuid, parent):
    return record(uuid, parent, content=[{"type": "tool_result", "tool_use_id": "t", "content": "rope"}], toolUseResult="rope")


def call(uuid, parent, **fields):
    return record(uuid, parent, "assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}], **fields)


def read(path):
    problems = Problems()
    return [(source, list(source.events)) for source in claude_code.read(path, problems)], problems


def read_lines(tmp_path, *lines, name="a.jsonl"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read(path)


def branch(events):
    """The ids on the path from the root to the last event that stands in the tree."""
    by_id = {event["id"]: event for event in events}
    path, at = [], next(event["id"] for event in reversed(events) if event["type"] in NODE_KINDS)
    while at is not None:
        path.append(at)
        at = by_id[at].get("parentId")
    return path[::-1]


def words(events):
    by_id = {event["id"]: event for event in events}
    return [text for event_id in branch(events) if (text := message_text(by_id[event_id]))]


def test_a_whole_session_reads_as_its_active_branch():
    [(source, events)], problems = read(FIXTURES / f"{SESSION}.jsonl")

    assert (source.session_id, source.title, source.kind, source.parent_id) == (SESSION, "Timetable of the ferry", "main", None)
    assert words(events) == [
        "When does the ferry leave?",
        "Let me read both boards.",
        "At noon from the north, at dusk from the south.",
        "Book the dusk one for a wheelchair.",
        "Booked for a wheelchair.",
        "Thank you.",
        "And print the ticket.",
    ]
    assert {"r1", "r2", "a3"} <= set(branch(events))
    assert problems.found == []


def test_two_prompts_on_one_record_are_a_rewind_and_the_later_is_active(tmp_path):
    [(_, events)], _ = read_lines(tmp_path, record("u1", None), record("a1", "u1", "assistant"), record("u2", "a1"), record("a2", "u2", "assistant"), record("u3", "a1"))

    assert branch(events) == ["u1", "a1", "u3"]


def test_a_rewind_to_the_first_prompt_starts_a_new_root(tmp_path):
    [(_, events)], _ = read_lines(tmp_path, record("u1", None), record("a1", "u1", "assistant"), record("u2", None))

    assert branch(events) == ["u2"]


def test_going_back_twice_and_then_to_the_older_branch_is_followed(tmp_path):
    lines = [record("u1", None), record("a1", "u1", "assistant"), record("u2", "a1"), record("a2", "u2", "assistant"), record("u3", "a1"), record("u4", "a2")]

    [(_, events)], _ = read_lines(tmp_path, *lines)

    assert branch(events) == ["u1", "a1", "u2", "a2", "u4"]


def test_parallel_calls_and_their_results_are_one_turn(tmp_path):
    lines = [record("u1", None), call("a1", "u1"), call("a2", "a1"), call("a3", "a2"), result("r1", "a1"), result("r3", "a3"), result("r2", "a2"), record("a4", "r1", "assistant"), record("u2", "a4")]

    [(_, events)], problems = read_lines(tmp_path, *lines)

    assert branch(events) == [line["uuid"] for line in lines]
    assert problems.found == []


def test_a_prompt_on_an_earlier_part_of_the_running_turn_takes_nothing_back(tmp_path):
    [(_, events)], _ = read_lines(tmp_path, record("u1", None), call("a1", "u1"), record("a2", "a1", "assistant"), result("r1", "a1"), record("u2", "r1"))

    assert branch(events) == ["u1", "a1", "a2", "r1", "u2"]


def test_a_result_that_comes_a_turn_late_takes_nothing_back(tmp_path):
    [(_, events)], _ = read_lines(tmp_path, record("u1", None), call("a1", "u1"), record("u2", "a1"), record("a2", "u2", "assistant"), result("r1", "a1"))

    assert branch(events) == ["u1", "a1", "u2", "a2", "r1"]


def test_hook_and_progress_records_make_no_forks(tmp_path):
    hook = {"type": "progress", "uuid": "p1", "parentUuid": "a1", "sessionId": "s1", "data": {"type": "hook_progress"}}

    [(_, events)], _ = read_lines(tmp_path, record("u1", None), call("a1", "u1"), hook, result("r1", "a1"), record("a2", "p1", "assistant"))

    assert branch(events) == ["u1", "a1", "p1", "r1", "a2"]


def test_a_compact_boundary_is_bridged_and_its_summary_is_nobodys_words(tmp_path):
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1", "sessionId": "s1", "content": "compacted"}
    lines = [record("u1", None), record("a1", "u1", "assistant"), boundary, record("k", "b", content="summary", isCompactSummary=True), record("u2", "k")]

    [(_, events)], problems = read_lines(tmp_path, *lines)

    assert words(events) == ["u1", "a1", "u2"]
    assert [event["type"] for event in events] == ["message", "message", "compaction", "custom", "message"]
    assert problems.found == []


def test_messages_preserved_by_a_compaction_stand_once(tmp_path):
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1", "sessionId": "s1"}
    lines = [record("u1", None), record("a1", "u1", "assistant"), boundary, record("k", "b", isCompactSummary=True), record("a1", "k", "assistant"), record("u2", "a1")]

    [(_, events)], problems = read_lines(tmp_path, *lines)

    assert words(events) == ["u1", "a1", "u2"]
    assert [problem.reason for problem in problems.found] == ["id 'a1' repeated with the same content; the first one is kept"]


def test_a_missing_parent_hangs_on_the_leaf_and_is_told(tmp_path):
    [(_, events)], problems = read_lines(tmp_path, record("u1", None), record("a1", "u1", "assistant"), record("u9", "ghost"), record("a9", "u9", "assistant"))

    assert branch(events) == ["u1", "a1", "u9", "a9"]
    assert [event.get("missingParentId") for event in events] == [None, None, "ghost", None]
    assert [problem.text("c.jsonl") for problem in problems.found] == ["c.jsonl:3: parent 'ghost' not found before this line; the event hangs on the leaf"]


@pytest.mark.parametrize("odd", ["", 7, ["u1"], False])
def test_a_parent_that_can_be_nobodys_id_is_missing_and_begins_nothing_anew(odd, tmp_path):
    """It was taken for no parent at all: the prompt began a new conversation and everything before it was off the branch."""
    [(_, events)], problems = read_lines(tmp_path, record("u1", None), record("a1", "u1", "assistant"), record("u2", odd))

    assert branch(events) == ["u1", "a1", "u2"]
    assert [problem.line for problem in problems.found] == [3]


def test_cycles_end_and_lose_nothing(tmp_path):
    [(_, events)], problems = read_lines(tmp_path, record("x", "z"), record("y", "x"), record("z", "y"), record("s", "s"))

    assert branch(events) == ["x", "y", "z", "s"]
    assert len(problems.found) == 2


def test_a_file_whose_parents_are_all_null_tells_no_tree_and_is_wholly_active(tmp_path):
    [(_, events)], _ = read_lines(tmp_path, record("u1", None), record("a1", None, "assistant"), record("u2", None), record("a2", None, "assistant"))

    assert branch(events) == ["u1", "a1", "u2", "a2"]


def test_records_without_uuids_are_named_by_their_lines(tmp_path):
    lines = [{"type": kind, "sessionId": "s1", "message": {"role": kind, "content": "ping"}} for kind in ("user", "assistant", "user")]

    [(_, events)], _ = read_lines(tmp_path, *lines)

    assert branch(events) == ["l000001", "l000002", "l000003"]
    assert words(events) == ["ping"] * 3


@pytest.mark.parametrize(
    "line",
    [
        record("k", "u1", isMeta=True),
        record("k", "u1", isCompactSummary=True),
        record("k", "u1", isVisibleInTranscriptOnly=True),
        record("k", "u1", "assistant", isApiErrorMessage=True),
        record("k", "u1", content="Caveat: The messages below were generated by the user while running local commands. DO NOT respond"),
        record("k", "u1", content=[{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        record("k", "u1", content="<local-command-stdout>42</local-command-stdout>"),
        {"type": "system", "subtype": "turn_duration", "uuid": "k", "parentUuid": "u1", "sessionId": "s1", "content": "3 s"},
        {"type": "attachment", "uuid": "k", "parentUuid": "u1", "sessionId": "s1", "attachment": {"type": "todo", "content": "x"}},
        {"type": "attachment", "uuid": "k", "parentUuid": "u1", "sessionId": "s1", "attachment": {"type": "queued_command", "prompt": "x", "commandMode": "task-notification"}},
        {"type": "attachment", "uuid": "k", "parentUuid": "u1", "sessionId": "s1", "attachment": {"type": "queued_command", "prompt": "x", "commandMode": "prompt", "origin": {"kind": "peer"}}},
    ],
)
def test_what_claude_code_made_up_is_on_the_path_but_nobodys_words(line, tmp_path):
    [(_, events)], _ = read_lines(tmp_path, record("u1", None), line, record("a1", "k", "assistant"))

    assert branch(events) == ["u1", "k", "a1"]
    assert words(events) == ["u1", "a1"]


@pytest.mark.parametrize("origin", [{}, {"origin": {"kind": "human"}}])
def test_a_prompt_typed_while_the_model_worked_is_a_users_words(origin, tmp_path):
    queued = {"type": "attachment", "uuid": "q", "parentUuid": "a1", "sessionId": "s1", "attachment": {"type": "queued_command", "prompt": "hurry", "commandMode": "prompt", **origin}}

    [(_, events)], _ = read_lines(tmp_path, record("u1", None), call("a1", "u1"), queued, record("a2", "q", "assistant"))

    assert words(events) == ["u1", "hurry", "a2"]


def test_records_outside_the_tree_pass_through_once_and_are_no_parents(tmp_path):
    snapshot = {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}}

    [(_, events)], problems = read_lines(tmp_path, snapshot, record("u1", None), snapshot, {"type": "queue-operation", "operation": "enqueue"}, record("a1", "u1", "assistant"))

    assert [event["type"] for event in events] == ["file-history-snapshot", "message", "queue-operation", "message"]
    assert branch(events) == ["u1", "a1"]
    assert problems.found == []


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([{"type": "summary", "summary": "of another", "leafUuid": "x"}], "of another"),
        ([{"type": "summary", "summary": "own", "leafUuid": "u1"}, {"type": "summary", "summary": "of another", "leafUuid": "x"}], "own"),
        ([{"type": "ai-title", "aiTitle": "first"}, {"type": "ai-title", "aiTitle": "second"}, {"type": "summary", "summary": "x"}], "second"),
        ([{"type": "custom-title", "customTitle": "named"}, {"type": "ai-title", "aiTitle": "x"}], "named"),
        ([{"type": "summary", "summary": 5}, {"type": "summary", "summary": "  "}], None),
    ],
)
def test_the_title_is_the_persons_the_models_or_a_summary(lines, title, tmp_path):
    [(source, _)], _ = read_lines(tmp_path, *lines, record("u1", None))

    assert source.title == title


def test_a_file_of_titles_and_snapshots_alone_holds_no_session_and_is_no_failure(tmp_path):
    sessions, problems = read_lines(tmp_path, {"type": "summary", "summary": "x", "leafUuid": "y"}, {"type": "file-history-snapshot", "messageId": "y"})

    assert sessions == []
    assert problems.found == []


# -- subagents


def test_a_subagents_file_is_a_session_spawned_by_the_one_whose_folder_holds_it():
    [(source, events)], _ = read(FIXTURES / SESSION / "subagents" / "agent-a1b2c3.jsonl")

    assert (source.session_id, source.kind, source.parent_id) == (f"{SESSION}:agent-a1b2c3", "subagent", SESSION)
    assert words(events) == ["List every pier on the estuary.", "Five piers on the estuary."]


def test_a_subagents_parent_is_what_the_file_beside_the_folder_calls_itself(tmp_path):
    read_lines(tmp_path, record("u1", None), name="p/folder.jsonl")

    [(source, _)], _ = read_lines(tmp_path, record("u1", None, sessionId="sub"), name="p/folder/subagents/agent-1.jsonl")

    assert (source.session_id, source.parent_id) == ("sub", "s1")


def test_a_subagents_file_beside_its_parents_names_it_in_its_records(tmp_path):
    [(source, _)], _ = read_lines(tmp_path, record("u1", None, isSidechain=True), name="agent-77.jsonl")

    assert (source.session_id, source.parent_id) == ("s1:agent-77", "s1")


def test_sidechains_inside_a_file_are_sessions_of_their_own(tmp_path):
    side = {"isSidechain": True}
    lines = [
        record("u1", None),
        call("a1", "u1"),
        record("x1", None, **side),
        record("y1", None, **side),
        record("x2", "x1", "assistant", **side),
        record("y2", "y1", "assistant", **side),
        result("r1", "a1"),
        record("x3", "x2", **side),
        record("a2", "r1", "assistant"),
    ]

    [(main, events), (x, x_events), (y, y_events)], problems = read_lines(tmp_path, *lines)

    assert branch(events) == ["u1", "a1", "r1", "a2"]
    assert (x.session_id, x.parent_id, x.kind) == ("s1:sidechain:x1", main.session_id, "subagent")
    assert branch(x_events) == ["x1", "x2", "x3"]
    assert (y.session_id, branch(y_events)) == ("s1:sidechain:y1", ["y1", "y2"])
    assert problems.found == []


def test_sidechains_are_read_although_their_main_session_is_not_taken(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [record("u1", None), record("x1", None, isSidechain=True)]))

    ids = [source.session_id for source in claude_code.read(path, Problems())]

    assert ids == ["s1", "s1:sidechain:x1"]


# -- copies


def test_a_resumed_file_is_the_session_its_name_says(tmp_path):
    [(source, events)], _ = read_lines(tmp_path, record("u1", None), record("u2", "u1", sessionId="s2"), name="s2.jsonl")

    assert (source.session_id, source.copied_from) == ("s2", "s1")
    assert [claude_code.trace(event) for event in events] == ["u1", "u2"]


def test_a_fork_names_its_origin_and_the_record_each_copy_was_made_from(tmp_path):
    copied = record("n1", None, forkedFrom={"sessionId": "s0", "messageUuid": "u1"})

    [(source, events)], _ = read_lines(tmp_path, copied, record("n2", "n1"))

    assert source.copied_from == "s0"
    assert [claude_code.trace(event) for event in events] == ["u1", "n2"]
