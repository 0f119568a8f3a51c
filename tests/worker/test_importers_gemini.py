"""Gemini CLI's chats: the log's rewinds, rewritten and replaced messages, what the program wrote itself, files and folders."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.errors import UnreadableSource
from shared.searchable import message_items, message_text
from tests.conftest import memory_folder
from tests.worker.formats import gemini_head
from worker.importers import FORMATS, gemini
from worker.importers.base import Problems

FILE = "session-2026-01-01T00-00-5b1f0a52.jsonl"


def said(own, text, kind="user", **fields):
    return {"id": own, "timestamp": "2026-01-01T00:00:01Z", "type": kind, "content": text, **fields}


def reply(own, text, **fields):
    return said(own, text, "gemini", **fields)


def replaced(*messages):
    return {"$set": {"messages": list(messages), "lastUpdated": "2026-01-01T00:00:09Z"}}


def back(own):
    return {"$rewindTo": own}


def read(path: Path):
    problems = Problems()
    [(source, events)] = [(source, list(source.events)) for source in FORMATS["gemini"].read(path, problems)]
    return source, events, [problem.text("f") for problem in problems.found]


def log(tmp_path, *records, head=True):
    path = tmp_path / FILE
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in ([gemini_head()] if head else []) + list(records)))
    return read(path)


def branch(source, events):
    """The ids from the root to the leaf."""
    parents = {event["id"]: event["parentId"] for event in events}
    path, own = [], source.branch.leaf
    while own is not None:
        path.append(own)
        own = parents[own]
    return path[::-1]


def test_a_message_written_again_stands_where_it_first_stood_and_says_what_it_says_last(tmp_path):
    call = {"id": "t1", "name": "list", "args": {"dir": "."}}
    done = {**call, "status": "success", "result": [{"functionResponse": {"id": "t1", "name": "list", "response": {"output": "a.txt"}}}]}

    source, events, reasons = log(
        tmp_path, said("u1", "look"), reply("g1", "", toolCalls=[call]), said("u2", "and?"), reply("g1", "", toolCalls=[done])
    )

    assert branch(source, events) == ["u1", "g1", "u2"]
    assert [(item.kind, item.name, item.text) for item in message_items(events[1]).items] == [
        ("toolCall", "list", '{"dir":"."}'),
        ("toolResult", "list", "a.txt"),
    ]
    assert reasons == []


def test_rewinds_leave_branches_and_a_message_that_comes_again_elsewhere_has_an_id_of_its_own(tmp_path):
    source, events, _ = log(
        tmp_path, said("a", "1"), said("b", "2"), said("c", "3"), back("b"), said("d", "4"), said("c", "3"), back("d"), said("d", "5")
    )

    assert [(event["id"], event["parentId"]) for event in events] == [("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("c:2", "d")]
    assert branch(source, events) == ["a", "d"]
    assert message_text(events[3]) == "5"


def test_a_rewind_to_a_message_that_is_not_there_empties_the_branch_as_gemini_does_and_not_when_a_line_is_missing(tmp_path):
    source, events, reasons = log(tmp_path, said("a", "1"), back("ghost"), said("b", "2"))
    assert branch(source, events) == ["b"]
    assert "a rewind to a message that is not there" in reasons[0]

    source, events, _ = log(tmp_path, said("a", "1"), "{broken", back("ghost"), said("b", "2"))
    assert branch(source, events) == ["a", "b"]
    assert not source.branch.whole


def test_a_replacement_keeps_what_it_repeats_and_cuts_what_it_leaves_out(tmp_path):
    note = said("i", "Request cancelled.", "info")

    source, events, _ = log(
        tmp_path, said("a", "1"), reply("b", "2"), note, said("c", "3"), replaced(said("a", "1"), reply("b", "2")), said("d", "4")
    )

    assert branch(source, events) == ["a", "b", "d"]
    assert "c" in [event["id"] for event in events]


def test_a_replacement_that_says_the_same_changes_nothing_and_one_that_masks_changes_the_words(tmp_path):
    source, events, _ = log(
        tmp_path, said("a", "1"), said("i", "note", "info"), reply("b", "2"), replaced(said("a", "1"), reply("b", "masked")), said("c", "3")
    )

    assert branch(source, events) == ["a", "i", "b", "c"]
    assert message_text(events[2]) == "masked"


def test_a_chat_that_comes_in_replacements_alone_is_read(tmp_path):
    source, events, _ = log(
        tmp_path,
        replaced(said("x", "<session_context>today"), said("a", "1")),
        replaced(said("x", "<session_context>today"), said("a", "1"), reply("b", "2")),
    )

    assert [(event["id"], event["type"], message_text(event)) for event in events] == [
        ("x", "custom", ""),
        ("a", "message", "1"),
        ("b", "message", "2"),
    ]
    assert source.branch.leaf == "b"


def test_a_compaction_keeps_what_was_said_and_knows_its_copies_so_that_a_rewind_to_one_is_understood(tmp_path):
    copies = [
        said("x1", "<state_snapshot>lanterns</state_snapshot>"),
        reply("x2", "Got it. Thanks for the additional context!"),
        said("x3", "3"),
        reply("x4", "4"),
    ]

    source, events, _ = log(
        tmp_path,
        said("a", "1"),
        reply("b", "2"),
        said("c", "3"),
        reply("d", "4"),
        replaced(*copies),
        said("e", "5"),
        back("x3"),
        said("f", "6"),
    )

    assert branch(source, events) == ["a", "b", "f"]
    texts = {event["id"]: (event["type"], message_text(event)) for event in events}
    assert texts["x1"] == ("compaction", "")
    assert texts["x2"] == ("custom", "")
    assert "x3" not in texts


def test_what_a_person_typed_is_found_and_what_the_program_added_is_not(tmp_path):
    parts = [{"text": "explain @a.ts"}, {"text": "--- file ---"}]
    mixed = [{"text": "mine"}, {"text": "<hook_context>theirs</hook_context>"}, {"inlineData": {"mimeType": "image/png"}}, "plain"]
    thoughts = [{"text": "hm", "thought": True}, {"text": "said"}]

    _, events, _ = log(
        tmp_path,
        said("a", parts, displayContent=[{"text": "explain @a.ts"}]),
        said("b", mixed),
        reply("c", thoughts, thoughts=[{"subject": "s", "description": "d"}]),
        said("d", "careful", "warning"),
        said("e", [{"functionResponse": {"id": "t", "name": "list", "response": {"error": "none"}}}]),
        reply("f", [{"functionCall": {"id": "t", "name": "list", "args": {}}}]),
    )

    assert [message_text(event) for event in events] == ["explain @a.ts", "mine\nplain", "said", "", "", ""]
    assert [message_items(event).omitted for event in events] == [0, 1, 2, 0, 0, 0]
    assert [(item.kind, item.text) for event in events[4:] for item in message_items(event).items] == [
        ("toolResult", "none"),
        ("toolCall", "{}"),
    ]


def test_a_log_that_lost_its_header_is_named_by_its_file(tmp_path):
    source, events, reasons = log(tmp_path, said("a", "1"), head=False)

    assert (source.session_id, len(events)) == ("5b1f0a52", 1)
    assert "header is missing" in reasons[0]


def test_title_kind_and_parent_come_with_a_subagents_chat(tmp_path):
    folder = tmp_path / "chats" / "parent-id"
    folder.mkdir(parents=True)
    path = folder / "own.jsonl"
    path.write_text(
        "".join(json.dumps(r) + "\n" for r in ({**gemini_head(), "kind": "subagent"}, said("a", "1"), {"$set": {"summary": "Ropes"}}))
    )

    source, _, _ = read(path)

    assert (source.title, source.kind, source.parent_id) == ("Ropes", "subagent", "parent-id")
    assert list(FORMATS["gemini"].below(tmp_path)) == [path]


def test_an_older_file_that_a_newer_one_goes_on_from_is_not_read_from_a_folder(tmp_path):
    older, newer = tmp_path / FILE.removesuffix("l"), tmp_path / FILE
    for path in (older, newer, tmp_path / "logs.json"):
        path.write_text("{}")

    assert list(FORMATS["gemini"].below(tmp_path)) == [newer]


def test_an_older_file_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(gemini, "MAX_FILE_BYTES", 100)
    path = tmp_path / FILE.removesuffix("l")
    path.write_text(json.dumps({**gemini_head(), "messages": []}) + " " * 100)

    with pytest.raises(UnreadableSource, match="longer than"):
        read(path)


def test_a_long_log_is_read_in_little_memory(tmp_path):
    path = tmp_path / FILE
    with path.open("w") as file:
        file.write(json.dumps(gemini_head()) + "\n")
        for number in range(60):
            file.write(json.dumps(said(f"m{number}", "w " * 500_000)) + "\n")
    assert path.stat().st_size > 55 << 20
    tracemalloc.start()

    count = sum(1 for source in FORMATS["gemini"].read(path, Problems()) for _ in source.events)

    assert count == 60
    assert tracemalloc.get_traced_memory()[1] < 24 << 20
    tracemalloc.stop()


OPS = st.lists(
    st.tuples(st.just("say"), st.integers(1, 6), st.integers(0, 2)) | st.tuples(st.just("back"), st.integers(1, 6), st.just(0)), max_size=14
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ops=OPS)
def test_the_branch_is_what_gemini_itself_would_load(ops):
    """Its loader keeps a map by id: set in place, and cut from the rewind's target on, or emptied where that is unknown."""
    loaded: dict[str, str] = {}
    records = []
    for op, number, version in ops:
        own = f"m{number}"
        if op == "say":
            loaded[own] = f"text {number} {version}"
            records.append(said(own, loaded[own]))
        else:
            kept = list(loaded)[: list(loaded).index(own)] if own in loaded else []
            loaded = {name: loaded[name] for name in kept}
            records.append(back(own))
    with memory_folder() as folder:
        path = folder / FILE
        path.write_text("".join(json.dumps(r) + "\n" for r in [gemini_head(), *records]))

        source, events, _ = read(path)

    texts = {event["id"]: message_text(event) for event in events}
    assert [texts[own] for own in branch(source, events)] == list(loaded.values())
