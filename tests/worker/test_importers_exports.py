"""Exports of web chats: archives and their bombs, arrays cut into conversations, and the two services' trees."""

import json
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import UnknownFormat, UnreadableSource
from shared.searchable import message_items, message_text
from tests.worker.formats import SESSION, chatgpt_conversation, claude_conversation, talk
from worker.importers import FORMATS, archives, splitting
from worker.importers.base import Problems
from worker.importers.splitting import elements, objects
from worker.importing import import_paths, render_report

NOW_MS = 1_790_000_000_000


def read(name: str, path: Path):
    problems = Problems()
    sessions = [(source, list(source.events)) for source in FORMATS[name].read(path, problems)]
    return sessions, [problem.reason for problem in problems.found]


def export(path: Path, *conversations) -> Path:
    path.write_text(json.dumps(list(conversations)))
    return path


def archive(path: Path, content: bytes = b"[]", method: int = zipfile.ZIP_DEFLATED, name: str = "conversations.json") -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr(name, content)
    return path


def patched(path: Path, signature: bytes, at: int, value: bytes) -> Path:
    data = bytearray(path.read_bytes())
    place = data.rfind(signature) + at
    data[place : place + len(value)] = value
    path.write_bytes(data)
    return path


# -- archives


def test_an_archive_gives_the_same_as_the_file_in_it(tmp_path):
    conversations = [chatgpt_conversation(talk("one", "two"))]
    plain = read("chatgpt", export(tmp_path / "conversations.json", *conversations))

    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        packed = archive(tmp_path / "export.zip", json.dumps(conversations).encode(), method, "my export/conversations.json")
        assert [events for _, events in read("chatgpt", packed)[0]] == [events for _, events in plain[0]]


def test_a_large_export_in_numbered_pieces_is_read_whole(tmp_path):
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as made:
        for number in range(3):
            conversation = {**chatgpt_conversation(talk("one")), "conversation_id": f"c{number}"}
            made.writestr(f"conversations-{number:03d}.json", json.dumps([conversation]))

    assert [source.session_id for source, _ in read("chatgpt", tmp_path / "e.zip")[0]] == ["c0", "c1", "c2"]


@pytest.mark.parametrize("claimed", [1024, 0])
def test_an_archive_that_unpacks_to_more_than_it_claims_is_refused(claimed, tmp_path):
    path = archive(tmp_path / "bomb.zip", b"[" + b" " * 5_000_000 + b"]")
    patched(path, b"PK\x01\x02", 24, struct.pack("<I", claimed))

    with pytest.raises(UnreadableSource, match=f"more than the {claimed} bytes it claims"):
        read("chatgpt", path)


@pytest.mark.parametrize("sign", [b" ", b"[", b'"'])
def test_a_bomb_that_tells_the_truth_about_its_size_is_refused_by_its_ratio_in_little_memory(sign, tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open("conversations.json", "w") as member:
        for _ in range(64):
            member.write(sign * (1 << 20))
    tracemalloc.start()

    with pytest.raises((UnreadableSource, UnknownFormat)):
        read("chatgpt", path)

    assert tracemalloc.get_traced_memory()[1] < 48 << 20
    tracemalloc.stop()


def test_the_bound_on_all_that_comes_out_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 20)

    with pytest.raises(UnreadableSource, match="unpacks to more than"):
        read("chatgpt", archive(tmp_path / "a.zip", b"[" + bytes(range(32, 127)) * 20_000))


def test_an_archive_with_too_many_members_is_refused_before_they_are_looked_at(tmp_path):
    path = archive(tmp_path / "a.zip")
    patched(path, b"PK\x05\x06", 8, struct.pack("<HHI", 60_000, 60_000, 100))

    with pytest.raises(UnreadableSource, match="more than 50000 members"):
        read("chatgpt", path)


@pytest.mark.parametrize(("offset", "told"), [(None, "more than 50000 members"), (2**64 - 1, "damaged")])
def test_an_archive_whose_large_record_tells_of_too_many_members_is_refused(offset, told, tmp_path):
    path = archive(tmp_path / "a.zip")
    data = path.read_bytes()
    place = data.rfind(b"PK\x05\x06")
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 60_000, 60_000, 100, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, place if offset is None else offset, 1)
    path.write_bytes(data[:place] + record + locator + data[place:])

    with pytest.raises(UnreadableSource, match=told):
        read("chatgpt", path)


def test_a_member_that_lies_before_the_archive_is_refused(tmp_path):
    path = archive(tmp_path / "a.zip", b"[1]")
    patched(path, b"PK\x05\x06", 16, struct.pack("<I", 5_000))

    with pytest.raises(UnreadableSource, match="outside of it"):
        read("chatgpt", path)


@pytest.mark.parametrize(
    ("signature", "at", "value", "reason"),
    [
        (b"PK\x01\x02", 8, b"\1\0", "encrypted"),
        (b"PK\x01\x02", 10, b"\x0e\0", "packed in a way"),
        (b"PK\x01\x02", 16, b"\0\0\0\0", "checksum"),
        (b"PK\x03\x04", 0, b"PK\0\0", "damaged"),
    ],
)
def test_an_archive_that_is_damaged_or_locked_is_refused_by_name(signature, at, value, reason, tmp_path):
    path = archive(tmp_path / "a.zip", json.dumps([chatgpt_conversation(talk("one"))]).encode())
    data = bytearray(path.read_bytes())
    place = data.find(signature) + at
    data[place : place + len(value)] = value
    path.write_bytes(b"PK\3\4" + bytes(data[4:]) if signature != b"PK\x03\x04" else b"PK\3\4" + bytes(40) + bytes(data))

    with pytest.raises((UnreadableSource, UnknownFormat), match=reason):
        read("chatgpt", path)


def test_what_was_read_before_the_damage_is_imported_and_the_file_is_a_failure(world, tmp_path):
    conversations = [{**chatgpt_conversation(talk(f"word {n} " * 3_000)), "conversation_id": f"c{n}"} for n in range(20)]
    path = archive(tmp_path / "a.zip", json.dumps(conversations).encode(), zipfile.ZIP_STORED)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"word 19", b"ward 19"))

    report = import_paths(world.store, "chatgpt", [path], now_ms=NOW_MS)

    assert report.exit_code == 1
    assert report.total("sessions") >= 18
    assert "checksum" in render_report(report)


def test_an_archive_without_conversations_says_what_was_looked_for(tmp_path):
    with pytest.raises(UnknownFormat, match=r"conversations\.json"):
        read("chatgpt", archive(tmp_path / "a.zip", name="photos.json"))


# -- cutting an array into its elements


def cut(data: bytes, size: int, max_bytes: int = 1 << 20):
    return list(elements((data[place : place + size] for place in range(0, len(data), size)), "x", max_bytes))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab"\\[]{},:é\u2028 \n'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('k"\\,]'), max_size=3), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(values=st.lists(JSON, max_size=5), size=st.integers(1, 40), indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
def test_an_array_is_cut_where_its_elements_end_however_its_bytes_come(values, size, indent, ascii_only):
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode()

    assert [json.loads(element.data) for element in cut(b"\xef\xbb\xbf\n " + data + b" \n", size)] == values


@settings(max_examples=100, deadline=None)
@given(
    data=st.lists(st.sampled_from([b"[", b"]", b"{", b"}", b'"', b"\\", b",", b"1", b" "]), max_size=40).map(b"".join),
    size=st.integers(1, 9),
)
def test_no_text_makes_the_cutter_fail_or_depend_on_how_it_comes(data, size):
    whole = cut(b"[" + data, 1_000)

    assert cut(b"[" + data, size) == whole


def test_one_object_alone_is_its_own_element():
    assert [element.data for element in cut(b' {"a": [1, {"b": "}"}]} ', 3)] == [b'{"a": [1, {"b": "}"}]}']


def test_an_element_that_is_too_long_or_too_deep_is_passed_over_and_the_next_is_read():
    assert [element.data for element in cut(b'["' + b"x" * 500 + b'", 1]', 7, max_bytes=100)] == [None, b" 1"]
    assert [element.data for element in cut(b"[" + b"[" * 100 + b"]" * 100 + b", 2]", 7)] == [None, b" 2"]


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("odd", "closed"),
    [('{"a": [1]]}', True), ('{"a": 1}}', True), ('{"a": [1}', True), ("]", False), ('{"a": {"b": [[}', False)],
)
def test_a_bracket_too_many_or_too_few_costs_its_element_and_not_the_next(odd, closed, size):
    """Brackets were only counted: one too many ended the array, and what followed was never looked at and not spoken of."""
    problems = Problems()
    data = f'[{{"first": 1}}, {odd}, {{"last": 1}}]'.encode()

    found = [value for _, value in objects((data[place : place + size] for place in range(0, len(data), size)), problems, "x")]

    assert found == [{"first": 1}, {"last": 1}] if closed else [{"first": 1}]
    assert problems.skipped == 1


def test_200_000_arrays_in_each_other_cost_their_conversation_and_not_the_next():
    problems = Problems()
    pieces = [b"[", b"[" * 200_000, b"]" * 200_000, b', {"last": 1}]']

    assert [value for _, value in objects(pieces, problems, "x")] == [{"last": 1}]
    assert problems.skipped == 1


def test_what_stands_behind_the_end_of_an_array_is_told():
    problems = Problems()

    assert [value for _, value in objects([b'[{"a": 1}] \n', b' {"b": 2}'], problems, "x")] == [{"a": 1}]
    assert [problem.reason for problem in problems.found] == [
        "line skipped: number 2 of x stands behind the end of the array, and so does whatever follows it"
    ]


def test_a_text_that_ends_inside_an_element_says_so():
    assert [(element.number, element.complete) for element in cut(b'[{"a": 1}, {"b": ', 4)] == [(1, True), (2, False)]


@pytest.mark.parametrize("name", ["chatgpt", "claude-export"])
def test_bad_conversations_are_reported_by_their_number_and_the_others_are_read(name, tmp_path):
    one = json.dumps({"chatgpt": chatgpt_conversation, "claude-export": claude_conversation}[name](talk("one")))
    path = tmp_path / "conversations.json"
    path.write_text(f'[{{"a": 1}}, 5, {one}, {{"b": nope}}, {{}}, {{"cut": "off')

    sessions, reasons = read(name, path)

    assert [source.session_id for source, _ in sessions] == [SESSION]
    assert [reason.split(" of ")[0].removeprefix("record skipped: ") for reason in reasons] == [f"number {n}" for n in (2, 1, 4, 5, 6)]


@pytest.mark.parametrize("name", ["chatgpt", "claude-export"])
def test_an_export_without_any_conversation_is_empty_and_no_failure(name, tmp_path):
    assert read(name, export(tmp_path / "conversations.json")) == ([], [])


def test_a_long_export_is_read_in_the_memory_of_one_conversation(tmp_path):
    path = tmp_path / "conversations.json"
    with path.open("w") as file:
        file.write("[")
        for number in range(120):
            file.write(
                ("," if number else "") + json.dumps({**chatgpt_conversation(talk("w " * 200_000)), "conversation_id": f"c{number}"})
            )
        file.write("]")
    assert path.stat().st_size > 45 << 20
    tracemalloc.start()

    count = sum(1 for source in FORMATS["chatgpt"].read(path, Problems()) for _ in source.events)

    assert count == 120
    assert tracemalloc.get_traced_memory()[1] < 12 << 20
    tracemalloc.stop()


def test_a_conversation_beyond_the_limit_is_passed_over_with_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(splitting.elements, "__defaults__", (10_000,))
    big, small = chatgpt_conversation(talk("x" * 20_000)), {**chatgpt_conversation(talk("small")), "conversation_id": "c2"}

    sessions, reasons = read("chatgpt", export(tmp_path / "conversations.json", big, small))

    assert [source.session_id for source, _ in sessions] == ["c2"]
    assert "longer than 32 MiB" in reasons[0]


# -- ChatGPT


def node(own, parent, role="user", text="word", **message):
    content = {"content_type": "text", "parts": [text]}
    return {"id": own, "parent": parent, "children": [], "message": {"id": own, "author": {"role": role}, "content": content, **message}}


def chat(tmp_path, *nodes, current=None, **fields):
    conversation = {
        "id": "c1",
        "title": "t",
        "create_time": 1_767_225_600.5,
        "current_node": current,
        "mapping": {n["id"]: n for n in nodes},
        **fields,
    }
    sessions, reasons = read("chatgpt", export(tmp_path / "conversations.json", conversation))
    [(source, events)] = sessions
    return source, events, reasons


def test_nodes_without_a_message_hold_the_tree_together_and_are_left_out(tmp_path):
    empty = [{"id": own, "parent": parent, "message": None} for own, parent in (("root", None), ("gap", "A"), ("end", "B"))]

    source, events, reasons = chat(tmp_path, empty[0], node("A", "root"), empty[1], node("B", "gap"), empty[2], current="end")

    assert [(event["id"], event["parentId"]) for event in events] == [("A", None), ("B", "A")]
    assert source.branch.leaf == "B"
    assert reasons == []


def test_the_branch_with_the_current_node_comes_last(tmp_path):
    nodes = [node("A", None), node("B", "A"), node("B1", "B"), node("C", "A"), node("D", "A")]

    source, events, _ = chat(tmp_path, *nodes, current="B1")

    assert [event["id"] for event in events] == ["A", "C", "D", "B", "B1"]
    assert source.branch.leaf == "B1"


@pytest.mark.parametrize("current", [None, "nowhere", 5])
def test_without_a_current_node_the_newest_message_is_the_leaf(current, tmp_path):
    source, _, reasons = chat(
        tmp_path, node("A", None, create_time=9), node("B", "A", create_time=50), node("C", "A", create_time=20), current=current
    )

    assert source.branch.leaf == "B"
    assert "names no current node" in reasons[0]


def test_missing_parents_and_cycles_are_mended_and_reported(tmp_path):
    _, events, reasons = chat(tmp_path, node("A", "ghost"), node("B", "C"), node("C", "B"), node("D", "D"), current="A")

    assert {event["id"]: event["parentId"] for event in events} == {"A": None, "B": None, "C": "B", "D": None}
    assert any("'ghost' of 'A' is missing" in reason for reason in reasons)
    assert any("'B' hangs below itself" in reason for reason in reasons)


def test_a_message_whose_id_is_empty_is_told_and_takes_no_others_off_the_branch(tmp_path):
    """It was left out without a word, and so was everything above it."""
    _, events, reasons = chat(tmp_path, node("A", None), node("", "A"), node("B", ""), current="B")

    assert {event["id"]: event["parentId"] for event in events} == {"A": None, "B": "A"}
    assert any("id is empty" in reason for reason in reasons)


def test_a_message_without_a_time_has_that_of_the_one_above_it_whatever_is_active(tmp_path):
    nodes = [node("A", None), node("B", "A", create_time=1_767_225_700), node("C", "B"), node("D", "A")]

    times = [{e["id"]: e["timestamp"] for e in chat(tmp_path, *nodes, current=current)[1]} for current in ("C", "D")]

    assert times[0] == times[1] == {"A": 1_767_225_600_500, "B": 1_767_225_700_000, "C": 1_767_225_700_000, "D": 1_767_225_600_500}


def test_what_the_service_wrote_is_kept_and_never_found(tmp_path):
    nodes = [
        node("A", None, "system", "instructions"),
        node("B", "A", text="profile", metadata={"is_visually_hidden_from_conversation": True}),
        node("C", "B", content={"content_type": "user_editable_context", "user_profile": "likes tar"}),
        node("D", "C", text="asked"),
        node("E", "D", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("F", "E", "assistant", content={"content_type": "code", "text": "search('x')"}, recipient="browser"),
        node("G", "F", "tool", content={"content_type": "tether_quote", "text": "page"}, author={"role": "tool", "name": "browser"}),
        node(
            "H",
            "G",
            "assistant",
            content={"content_type": "multimodal_text", "parts": ["answered", {"asset_pointer": "file:1"}, {"text": "spoken"}, ""]},
        ),
    ]

    _, events, reasons = chat(tmp_path, *nodes, current="H")

    assert [(event["id"], text) for event in events if (text := message_text(event))] == [("D", "asked"), ("H", "answered\nspoken")]
    items = {event["id"]: [(item.kind, item.name, item.text) for item in message_items(event).items] for event in events}
    assert items["F"] == [("toolCall", "browser", "search('x')")]
    assert items["G"] == [("toolResult", "browser", "page")]
    assert message_items(events[4]).omitted == 1
    assert reasons == []


# -- Claude


def turn(own, sender="human", text="word", **fields):
    return {"uuid": own, "sender": sender, "content": [{"type": "text", "text": text}], "created_at": "2026-01-01T00:00:01Z", **fields}


def claude(tmp_path, *messages, **fields):
    conversation = {"uuid": "c1", "name": "Ropes", "created_at": "2026-01-01T00:00:00Z", "chat_messages": list(messages), **fields}
    sessions, reasons = read("claude-export", export(tmp_path / "conversations.json", conversation))
    [(source, events)] = sessions
    return source, events, reasons


def test_the_newest_end_is_the_leaf_where_none_is_named(tmp_path):
    links = [("A", None, 1), ("B", "A", 2), ("C", "B", 9), ("D", "A", 5)]

    source, events, _ = claude(tmp_path, *(turn(o, parent_message_uuid=p, created_at=f"2026-01-01T00:00:0{s}Z") for o, p, s in links))

    assert (source.title, source.branch.leaf) == ("Ropes", "C")
    assert [event["id"] for event in events] == ["A", "D", "B", "C"]


def test_a_message_whose_parent_is_missing_follows_the_one_before_it_and_is_reported(tmp_path):
    _, events, reasons = claude(
        tmp_path, turn("A", parent_message_uuid=None), turn("B", parent_message_uuid="ghost"), turn("C", parent_message_uuid="C")
    )

    assert {event["id"]: event["parentId"] for event in events} == {"A": None, "B": "A", "C": None}
    assert any("'ghost' of 'B' is missing" in reason for reason in reasons)


def test_the_oldest_exports_have_a_text_and_no_blocks(tmp_path):
    first, second = turn("A", content=[]), turn("B", "assistant", content=None)

    _, events, _ = claude(tmp_path, {**first, "text": "old words"}, {**second, "text": "old answer"})

    assert [message_text(event) for event in events] == ["old words", "old answer"]


def test_tools_are_shown_as_tools_and_attachments_are_kept_beside(tmp_path):
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "t1", "name": "sound", "input": {"deep": True}},
        {"type": "tool_result", "tool_use_id": "t1", "name": "sound", "content": [{"type": "text", "text": "two feet"}]},
        {"type": "text", "text": "shallow"},
    ]

    _, events, _ = claude(
        tmp_path, turn("A", attachments=[{"file_name": "log.txt", "extracted_content": "tar"}]), turn("B", "assistant", content=blocks)
    )

    assert [(item.kind, item.name, item.text) for item in message_items(events[1]).items] == [
        ("toolCall", "sound", '{"deep":true}'),
        ("toolResult", "sound", "two feet"),
        ("text", None, "shallow"),
    ]
    assert events[0]["attachments"] == [{"file_name": "log.txt", "extracted_content": "tar"}]


def test_messages_that_are_none_are_reported_and_repeated_ones_are_kept_once(tmp_path):
    _, events, reasons = claude(tmp_path, turn("A"), turn("A", text="again"), {"uuid": "B", "sender": "robot"}, 7, turn("C", "assistant"))

    assert [event["id"] for event in events] == ["A", "C"]
    assert len(reasons) == 3
