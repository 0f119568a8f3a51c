"""What search may see of an event, and what history may show: tables of cases, and the promises that hold for any input."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.searchable import Item, Items, message_items, message_text, strip_scaffolding


def said(content: Any, role: str = "user", **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": "e1", "message": {"role": role, "content": content, **message}}


# -- which text


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (said("the ferry leaves at noon"), "the ferry leaves at noon"),
        (said([{"type": "text", "text": "one"}, {"type": "input_text", "text": "two"}, {"type": "output_text", "text": "three"}]), "one\ntwo\nthree"),
        (said([{"type": "text", "text": "aye"}], role="assistant"), "aye"),
        (said([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "aye"}], role="assistant"), "aye"),
        (said([{"type": "toolCall", "id": "c", "name": "ls", "arguments": {"path": "deck"}}], role="assistant"), ""),
        (said([{"type": "tool_result", "tool_use_id": "c", "content": "rope"}]), ""),
        (said([{"type": "image", "data": "AAAA"}, {"type": "text", "text": "a chart"}]), "a chart"),
        (said("rope", role="toolResult"), ""),
        (said("be brief", role="system"), ""),
        ({"type": "custom", "id": "e1", "message": {"role": "user", "content": "x"}}, ""),
        ({"type": "compaction", "id": "e1", "summary": "a long voyage"}, ""),
        ({"role": "user", "content": "no envelope"}, ""),
        (said("a\0b"), "a\ufffdb"),
        (said([{"type": "text", "text": "  indented, kept  "}]), "  indented, kept  "),
        (said([{"type": "text", "text": "<think>x</think>"}, {"type": "text", "text": "y"}]), "y"),
    ],
)
def test_only_words_of_user_and_assistant_are_text(payload, text):
    assert message_text(payload) == text


@pytest.mark.parametrize("content", [None, 7, True, {}, {"type": "text", "text": "x"}, [None, 1, "x", ["y"]], [{"type": 3, "text": "x"}], [{"type": "text", "text": 5}]])
def test_content_of_a_wrong_type_is_no_text(content):
    assert message_text(said(content)) == ""


@pytest.mark.parametrize("payload", [None, 1, "x", [], {}, {"type": "message"}, {"type": "message", "message": []}, {"type": "message", "message": {"role": ["user"]}}])
def test_what_is_no_message_has_no_text_and_no_pieces(payload):
    assert message_text(payload) == ""
    assert message_items(payload) == Items()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "role", "content", "message", "input", "output", "name"]), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "tool"]))
def test_no_payload_makes_it_fail(value, role):
    payload = {"type": "message", "message": {"role": role, "content": value, "command": value, "output": value, "toolName": value}}

    assert isinstance(message_text(payload), str)
    assert all(isinstance(item.text, str) for item in message_items(payload).items)
    message_text(value)
    message_items(value)


# -- scaffolding


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>cold today</think>Reef the sail.", "Reef the sail."),
        ("Before <thinking>hm</thinking> after.", "Before after."),
        ("left<think>x</think>right", "left right"),
        ("<THINK foo='1'>x</THINK>\nReef.", "Reef."),
        ("<thinking>x</thinking>Reef.", "Reef."),
        ("<reasoning>x</reasoning>Reef.", "Reef."),
        ("<think>x</thinking>Reef.", "Reef."),
        ("Reef.\n<think>cut off in the mid", "Reef."),
        ("</think>\nReef.", "Reef."),
        ("<think/>Reef.", "Reef."),
        ("<final>Reef.</final>", "Reef."),
        ("<think>open fence\n```py\nx = 1\n</think>\nReef.", "Reef."),
        ("<think>one</think>Reef.<think>two</think> Now.", "Reef. Now."),
        ('Aye.\n<tool_call>{"name": "ls"}</tool_call>', "Aye."),
        ('<function_calls><invoke name="ls"><parameter name="p">x</parameter></invoke></function_calls>Aye.', "Aye."),
        ('<invoke name="ls"><parameter name="p">x</parameter></invoke>Aye.', "Aye."),
        ('<minimax:tool_call>{"x": 1}</minimax:tool_call>Aye.', "Aye."),
        ('[TOOL_CALL]{tool => "ls"}[/TOOL_CALL] Aye.', "Aye."),
        ("<relevant-memories>\nthe mast is pine\n</relevant-memories>\nWhich mast?", "Which mast?"),
        ("<relevant_memories>x</relevant_memories>Which mast?", "Which mast?"),
        ("<recalled_memory>x</recalled_memory>Which mast?", "Which mast?"),
        ("<memory>\nx\n</memory>\nWhich mast?", "Which mast?"),
        ("Which mast?\n<system-reminder>\nbe brief\n</system-reminder>\nThe pine one?", "Which mast?\nThe pine one?"),
        ("<command-message>loop</command-message>\n<command-name>/loop</command-name>\n<command-args>watch the tide</command-args>", "watch the tide"),
        ("<local-command-stdout>42 files</local-command-stdout>", ""),
        ("<local-command-caveat>x</local-command-caveat>", ""),
        ("<environment_context>cwd</environment_context>", ""),
        ("<user_instructions>be brief</user_instructions>Go.", "Go."),
        ("<think>`</think>` closes it</think>Reef.", "Reef."),
    ],
)
def test_scaffolding_is_taken_out(text, left):
    assert strip_scaffolding(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "a < b and c > d, [1] and [TOOL]",
        "an <unknown>tag</unknown> stays",
        "the `<think>` tag, closed by `</think>`",
        "``<think>x</think>`` in two ticks",
        "```\n<think>x</think>\n```",
        "~~~xml\n<system-reminder>x</system-reminder>\n~~~\nand on",
        "````\n```\n<think>x</think>\n````",
        "```\n<think>an unclosed fence is code to its end</think>",
        "the model says <think> and then goes on",
        "a lone </think> in a sentence",
        "see [TOOL_CALL] in the log",
        "<memory unit='KiB'>4194304</memory>",
        "the <memory>x</memory> element in a line",
        "<thinkpad>not a tag of ours</thinkpad>",
        "call <invoke> by name",
        "Array<think",
        "  `<think>`  ",
    ],
)
def test_text_about_tags_stays_as_it_is(text):
    assert strip_scaffolding(text) == text


def test_a_code_span_does_not_reach_over_a_blank_line():
    assert strip_scaffolding("a stray ` here\n\n<think>hidden</think>shown `") == "a stray ` here\n\nshown `"


@given(st.lists(st.sampled_from(["<think>", "</think>", "`", "```\n", "\n", "\n\n", "word ", "<memory>", "</memory>", "[TOOL_CALL]", "<final>", "<invoke name=", ">", "<"]), max_size=30))
def test_stripping_never_invents_words(parts):
    text = "".join(parts)

    left = strip_scaffolding(text)

    assert left.count("word") <= text.count("word")
    assert len(left) <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 50_000,
        "a <think>" * 30_000,
        "</think>" * 40_000,
        "<think " * 50_000 + "<think>",
        "<" * 300_000 + "<think>",
        "".join("`" * n + " " for n in range(800)) + "<think>x</think>",
        "`" * 300_000 + "<think>x</think>",
        "```\n" * 80_000 + "<think>",
        " " * 200_000 + "<think>" * 20_000,
        "[TOOL_CALL]" * 30_000,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_hundreds_of_thousands_of_marks_take_time_in_proportion(text):
    """Each took below 0.6 s on a slow machine; what grows with the square would take minutes."""
    started = time.perf_counter()

    strip_scaffolding(text)

    assert time.perf_counter() - started < 10


# -- pieces for history


def test_pieces_of_a_message_keep_their_order_and_count_what_is_hidden():
    payload = said(
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "<think>x</think>Looking."},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "log.txt", "lines": 3}},
            {"type": "image", "data": "AAAA"},
        ],
        role="assistant",
    )

    assert message_items(payload) == Items((Item("text", "Looking."), Item("toolCall", '{"path":"log.txt","lines":3}', "read")), 2)


@pytest.mark.parametrize(
    ("payload", "items"),
    [
        (said([{"type": "text", "text": "rope\0"}], role="toolResult", toolName="read"), (Item("toolResult", "rope\ufffd", "read"),)),
        (said("rope", role="tool", name="read"), (Item("toolResult", "rope", "read"),)),
        (said(None, role="bashExecution", command="ls", output="deck"), (Item("toolCall", "ls", "bash"), Item("toolResult", "deck", "bash"))),
        (said([{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}], role="assistant"), (Item("toolCall", '{"command":"ls"}', "Bash"),)),
        (said([{"type": "tool_result", "tool_use_id": "c", "content": "deck"}]), (Item("toolResult", "deck"),)),
        (said([{"type": "tool_result", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]), (Item("toolResult", "a\nb"),)),
        (said([{"type": "function_call", "name": "ls", "arguments": '{"path": "x"}'}], role="assistant"), (Item("toolCall", '{"path": "x"}', "ls"),)),
        (said([{"type": "function_call_output", "output": {"content": "deck", "success": True}}]), (Item("toolResult", "deck"),)),
    ],
)
def test_calls_and_results_of_every_shape_are_pieces(payload, items):
    assert message_items(payload).items == items


def test_images_inside_a_result_are_counted():
    payload = said([{"type": "tool_result", "content": [{"type": "image", "source": {}}, {"type": "text", "text": "a chart"}]}])

    assert message_items(payload) == Items((Item("toolResult", "a chart"),), 1)


@given(st.lists(st.sampled_from(["plain", "<think>x</think>y", "`<think>`", "", "\0"]), max_size=5))
def test_search_and_history_see_the_same_words(texts):
    payload = said([{"type": "text", "text": text} for text in texts])

    assert message_text(payload) == "\n".join(item.text for item in message_items(payload).items)
