"""Codex rollouts: one of the two copies of each text, rollbacks, and what Codex itself wrote as the user."""

import json
from pathlib import Path

import pytest

from shared.searchable import Item, message_items, message_text
from worker.importers import codex
from worker.importers.base import Problems

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts" / "codex"
META = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s1", "cwd": "/deck"}}


def line(kind, **payload):
    return {"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": payload}


def item(role, text, **fields):
    block = "input_text" if role == "user" else "output_text"
    return line("response_item", type="message", role=role, content=[{"type": block, "text": text}], **fields)


def event(role, text):
    return line("event_msg", type="user_message" if role == "user" else "agent_message", message=text)


def read_lines(tmp_path, *lines):
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    problems = Problems()
    [(source, events)] = [(source, list(source.events)) for source in codex.read(path, problems)]
    return source, events, problems


def words(events):
    """The words on the branch that ends at the leaf."""
    by_id, leaf = {event["id"]: event for event in events}, None
    for one in events:
        leaf = one["targetId"] if one["type"] == "leaf" else one["id"]
    said = []
    while leaf is not None:
        said.append(message_text(by_id[leaf]))
        leaf = by_id[leaf].get("parentId")
    return [text for text in reversed(said) if text]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([item("user", "a"), event("user", "a"), item("assistant", "b"), event("assistant", "b")], ["a", "b"]),
        ([event("user", "a"), item("user", "a"), event("assistant", "b"), item("assistant", "b")], ["a", "b"]),
        ([item("user", "a"), event("user", "a"), item("assistant", "b"), item("user", "a"), event("user", "a")], ["a", "b", "a"]),
        ([event("user", "a"), item("user", "a"), item("assistant", "b"), event("user", "a"), item("user", "a")], ["a", "b", "a"]),
        ([event("user", "a"), event("assistant", "b"), event("user", "a"), event("assistant", "b")], ["a", "b", "a", "b"]),
        ([item("user", "a"), item("assistant", "b"), item("user", "a"), item("assistant", "b")], ["a", "b", "a", "b"]),
        ([item("user", "a"), item("assistant", "b"), event("user", "c"), event("assistant", "d")], ["a", "b", "c", "d"]),
        ([item("user", "a"), item("assistant", "b"), event("assistant", "b"), item("assistant", "b"), event("assistant", "b")], ["a", "b", "b"]),
        ([item("user", "a\n<image name=x>"), event("user", "a"), item("assistant", "b")], ["a\n<image name=x>", "b"]),
        ([event("user", "a"), line("event_msg", type="task_complete"), item("user", "a")], ["a", "a"]),
        ([item("user", "a"), line("turn_context", cwd="/"), event("user", "a"), item("assistant", "b")], ["a", "b"]),
        ([item("user", "a"), item("assistant", "b"), event("user", "a"), event("assistant", "b")], ["a", "b", "a", "b"]),
        ([event("user", "a"), line("turn_context", cwd="/"), item("assistant", "b")], ["a", "b"]),
        ([event("assistant", "b"), line("response_item", type="reasoning", summary=[]), item("assistant", "b")], ["b"]),
    ],
)
def test_each_text_is_taken_once_and_a_repeat_twice(lines, expected, tmp_path):
    _, events, problems = read_lines(tmp_path, META, *lines)

    assert words(events) == expected
    assert problems.found == []


def test_a_text_that_waits_for_its_item_keeps_its_place(tmp_path):
    call = line("response_item", type="function_call", name="ls", arguments="{}", call_id="c")

    _, events, _ = read_lines(tmp_path, META, event("user", "a"), call, event("user", "b"))

    assert [event["id"] for event in events] == ["l000002", "l000003", "l000004"]


@pytest.mark.parametrize("count", [1, 500])
def test_what_waits_behind_a_text_is_bounded(count, tmp_path):
    calls = [line("response_item", type="function_call", name="ls", arguments="{}", call_id=str(n)) for n in range(count)]

    _, events, _ = read_lines(tmp_path, META, event("user", "a"), *calls)

    assert len(events) == count + 1
    assert message_text(events[0]) == "a"


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
        "<user_instructions>be brief</user_instructions>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>",
        "  <turn_aborted>\nby the user\n</turn_aborted>\n",
        "<skill>\n<name>x</name>\n</skill>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "<additional_context>x</additional_context>",
        "<subagent_notification>x</subagent_notification>",
    ],
)
def test_what_codex_wrote_as_the_user_is_nobodys_words(text, tmp_path):
    _, events, _ = read_lines(tmp_path, META, item("user", text), item("user", "go"))

    assert [event["type"] for event in events] == ["custom", "message"]
    assert words(events) == ["go"]


def test_a_person_may_talk_about_codexs_tags(tmp_path):
    _, events, _ = read_lines(tmp_path, META, item("user", "what is <skill> for?"), item("developer", "be brief"))

    assert words(events) == ["what is <skill> for?"]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [(1, ["a", "A", "b", "B", "d"]), (2, ["a", "A", "d"]), (3, ["d"]), (99, ["d"])],
)
def test_a_rollback_takes_back_that_many_turns(turns, expected, tmp_path):
    talk = [line for letter in "abc" for line in (item("user", letter), event("user", letter), item("assistant", letter.upper()))]

    _, events, _ = read_lines(tmp_path, META, *talk, line("event_msg", type="thread_rolled_back", num_turns=turns), item("user", "d"))

    assert words(events) == expected


def test_a_rollback_at_the_end_moves_the_leaf_and_two_add_up(tmp_path):
    back = line("event_msg", type="thread_rolled_back", num_turns=1)

    _, events, _ = read_lines(tmp_path, META, item("user", "a"), item("user", "b"), item("user", "c"), back, back)

    assert words(events) == ["a"]


@pytest.mark.parametrize("turns", [0, -1, "1", True, None, 1.5])
def test_a_rollback_of_no_number_of_turns_is_told(turns, tmp_path):
    _, events, problems = read_lines(tmp_path, META, item("user", "a"), line("event_msg", type="thread_rolled_back", num_turns=turns))

    assert words(events) == ["a"]
    assert problems.skipped == 1


def test_tools_and_reasoning_become_pieces_that_history_can_show(tmp_path):
    lines = [
        line("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="zzz"),
        line("response_item", type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        line("response_item", type="function_call_output", call_id="c1", output="deck"),
        line("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        line("response_item", type="custom_tool_call_output", call_id="c2", output={"content": "done", "success": True}),
        line("response_item", type="local_shell_call", action={"command": ["ls"]}, call_id="c3"),
        line("response_item", type="function_call_output", call_id="c3", output=[{"type": "input_text", "text": "deck"}]),
    ]

    _, events, _ = read_lines(tmp_path, META, *lines)

    shown = [message_items(event) for event in events]
    assert shown[0].omitted == 1
    assert [item for items in shown for item in items.items] == [
        Item("toolCall", '{"command":["ls"]}', "shell"),
        Item("toolResult", "deck", "shell"),
        Item("toolCall", "*** Begin Patch", "apply_patch"),
        Item("toolResult", "done", "apply_patch"),
        Item("toolCall", '{"command":["ls"]}', "local_shell"),
        Item("toolResult", "deck", "local_shell"),
    ]
    assert words(events) == []


def test_an_item_keeps_its_id_and_one_without_is_named_by_its_line(tmp_path):
    _, events, _ = read_lines(tmp_path, META, item("user", "a", id="msg_1"), item("user", "b"), item("user", "c", id="msg_1"))

    assert [event["id"] for event in events] == ["msg_1", "l000003", "l000004"]


def test_a_compaction_stays_on_the_path(tmp_path):
    _, events, _ = read_lines(tmp_path, META, item("user", "a"), line("compacted", message="they talked"), item("user", "b"))

    assert [event["type"] for event in events] == ["message", "compaction", "message"]
    assert words(events) == ["a", "b"]


def test_items_from_before_the_envelope_are_read(tmp_path):
    old = {"id": "s0", "timestamp": "2025-06-01T00:00:00Z", "instructions": None, "git": {}}
    said = {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "a"}]}

    source, events, _ = read_lines(tmp_path, old, {"record_type": "state"}, said)

    assert source.session_id == "s0"
    assert words(events) == ["a"]


@pytest.mark.parametrize(
    ("meta", "kind", "parent", "origin"),
    [
        ({"id": "c"}, "main", None, None),
        ({"id": "c", "forked_from_id": "p"}, "main", None, "p"),
        ({"id": "c", "session_id": "p", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}, "subagent", "p", "p"),
        ({"id": "c", "parent_thread_id": "p", "forked_from_id": "q"}, "subagent", "p", "q"),
        ({"id": "c", "source": "cli"}, "main", None, None),
        ({"session_id": "c", "source": {"subagent": "review"}}, "main", None, None),
    ],
)
def test_the_first_meta_names_the_session_and_its_origin(meta, kind, parent, origin, tmp_path):
    source, _, _ = read_lines(tmp_path, line("session_meta", **meta), line("session_meta", id="p"), item("user", "a"))

    assert (source.session_id, source.kind, source.parent_id, source.copied_from) == ("c", kind, parent, origin)


def test_a_whole_rollout_reads_as_its_active_branch():
    path = next(FIXTURES.rglob("*0a.jsonl"))
    problems = Problems()

    [(source, events)] = [(source, list(source.events)) for source in codex.read(path, problems)]

    assert words(events) == ["Oil the winch.", "The winch is oiled.", "Now paint it grey.", "It is grey."]
    assert source.created_at_ms == 1772618400000
    assert problems.found == []
