"""History: the active branch, page by page or around one message, and nothing that is not on it."""

import pytest

from shared import jsontext
from shared.errors import BadCursor, BadRequest, NotFound
from shared.history import MAX_ANSWER_BYTES, MAX_LIMIT, MAX_TEXT_CHARS, HistoryRequest, cut_text, read_history
from shared.visibility import Caller
from tests.conftest import ids, message


@pytest.fixture
def line(agent):
    """Thirty messages, e00 to e29."""
    agent.send(*(message(f"e{n:02}", f"word {n}", timestamp=1_000 * n) for n in range(30)))
    return agent


def names(first, last):
    return [f"e{n:02}" for n in range(first, last + 1)]


def walk(session, direction, **named):
    """Every page from the newest, or from a place, in one direction."""
    body = session.history(**named)
    pages = [body]
    rest = {key: value for key, value in named.items() if key not in ("message_id", "before", "after")}
    while body[direction]:
        assert body["truncated"]
        body = session.history(**rest, **{direction: body[direction]})
        pages.append(body)
    return pages


# ------------------------------------------------------------------------------------------------------------ pages


def test_the_newest_messages_come_by_default_oldest_first(line):
    body = line.history(limit=20)

    assert ids(body) == names(10, 29)
    assert body["messages"][0] == {
        "id": "e10", "role": "user", "timestamp": "1970-01-01T00:00:10.000Z", "omitted": 0, "text": "word 10", "redacted": 0,
    }  # fmt: skip
    assert (body["sessionKey"], body["after"], body["truncated"]) == (line.key, None, True)
    assert body["before"]


@pytest.mark.parametrize("limit", [1, 7, 30])
def test_a_walk_to_either_end_gives_every_message_once(line, limit):
    back = walk(line, "before", limit=limit)

    assert [name for page in reversed(back) for name in ids(page)] == names(0, 29)
    assert back[-1]["before"] is None
    if back[-1]["after"]:
        forth = walk(line, "after", limit=limit, after=back[-1]["after"])
        assert [name for page in forth for name in ids(page)] == names(len(ids(back[-1])), 29)
        assert forth[-1]["after"] is None


def test_a_page_does_not_shift_when_messages_are_appended(line):
    first = line.history(limit=10)
    line.append("new", "word")

    assert ids(line.history(limit=10, before=first["before"])) == names(10, 19)


def test_the_cost_of_a_page_of_a_long_session_is_that_of_the_page(agent):
    agent.send(*(message(f"a{n:03}", "word") for n in range(1_000)))
    agent.send(*(message(f"b{n:03}", "word") for n in range(1_000)))
    seen = []
    with agent.world.store.reader("ada") as conn:
        conn.set_trace_callback(seen.append)

    body = agent.history(message_id="a500", limit=20)

    assert len(ids(body)) == 20
    assert len(seen) < 100


@pytest.mark.parametrize("limit", [0, MAX_LIMIT + 1])
def test_a_limit_out_of_bounds_is_refused(line, limit):
    with pytest.raises(BadRequest, match="1 to 200"):
        line.history(limit=limit)


@pytest.mark.parametrize("named", [{"message_id": "e01", "before": "x"}, {"before": "x", "after": "x"}])
def test_only_one_place_may_be_named(line, named):
    with pytest.raises(BadRequest, match="only one"):
        line.history(**named)


# ---------------------------------------------------------------------------------------------------- around a message


@pytest.mark.parametrize(
    ("message_id", "limit", "expected"),
    [
        ("e15", 5, names(13, 17)),
        ("e15", 4, names(13, 16)),
        ("e15", 1, ["e15"]),
        ("e00", 5, names(0, 4)),
        ("e29", 5, names(25, 29)),
        ("e01", 7, names(0, 6)),
        ("e15", 200, names(0, 29)),
    ],
)
def test_a_window_grows_evenly_around_its_message(line, message_id, limit, expected):
    body = line.history(message_id=message_id, limit=limit)

    assert ids(body) == expected
    assert (body["before"] is None, body["after"] is None) == (expected[0] == "e00", expected[-1] == "e29")


def test_a_window_goes_on_to_both_sides(line):
    body = line.history(message_id="e15", limit=5)

    older = [name for page in reversed(walk(line, "before", limit=5, before=body["before"])) for name in ids(page)]
    newer = [name for page in walk(line, "after", limit=5, after=body["after"]) for name in ids(page)]
    assert older + ids(body) + newer == names(0, 29)


@pytest.mark.parametrize("message_id", ["abandoned", "side", "summary", "nowhere", "e20"])
def test_a_message_that_is_not_on_the_branch_gives_an_empty_page_never_a_neighbour(line, message_id):
    line.append("abandoned", "word")
    line.rewind("e10")
    line.send(message("side", "word", appendMode="side"), {"type": "branch_summary", "id": "summary", "summary": "word"})

    body = line.history(message_id=message_id)

    assert (body["messages"], body["before"], body["after"], body["truncated"]) == ([], None, None, False)


def test_a_tool_result_is_a_place_of_its_own_with_include_tools_only(agent):
    agent.append("a", "word").append("t", [{"type": "text", "text": "fenders"}], "toolResult").append("b", "word")

    assert ids(agent.history(message_id="t")) == []
    assert ids(agent.history(message_id="t", include_tools=True)) == ["a", "t", "b"]


# ---------------------------------------------------------------------------------------------------------- branches


def test_only_the_active_branch_is_shown(agent):
    agent.append("a", "x").append("b", "x").append("c", "x", parent="a").append("d", "x")

    assert ids(agent.history()) == ["a", "c", "d"]
    agent.rewind("b")
    assert ids(agent.history()) == ["a", "b"]
    agent.rewind(None)
    assert agent.history()["messages"] == []


def test_after_a_rewind_a_cursor_goes_on_where_the_branches_part(line):
    """The first message of the new branch was left out."""
    page = line.history(limit=5, before=line.history(limit=10)["before"])
    assert ids(page) == names(15, 19)
    line.rewind("e09")
    line.append("n10", "word").append("n11", "word")

    assert ids(line.history(limit=5, after=page["after"])) == ["n10", "n11"]
    assert ids(line.history(limit=3, before=page["before"])) == names(7, 9)


def test_a_retained_transcript_opens_with_its_session_id(agent):
    agent.put(sessionId="s1")
    agent.append("a", "old words")
    agent.reset("s2")
    agent.append("a", "new words")

    assert [m["text"] for m in agent.history()["messages"]] == ["new words"]
    body = agent.history(session_id="s1", message_id="a")
    assert (body["sessionId"], [m["text"] for m in body["messages"]]) == ("s1", ["old words"])


def test_a_session_id_that_is_not_the_sessions_is_not_found(world):
    world.session("ada", "agent:ada:other").put(sessionId="s1")
    agent = world.session("ada")
    agent.append("a", "word")

    for session_id in ("s1", "nowhere"):
        with pytest.raises(NotFound):
            agent.history(session_id=session_id)


# ------------------------------------------------------------------------------------------------------------- items


CALL = [
    {"type": "thinking", "thinking": "hidden"},
    {"type": "text", "text": "I look"},
    {"type": "toolCall", "name": "grep", "arguments": {"of": "rope"}},
    {"type": "image", "data": "AAAA"},
]


def test_tool_calls_and_results_come_as_items_of_their_own_when_they_are_asked_for(agent):
    agent.append("a", CALL, "assistant").append("t", [{"type": "text", "text": "three ropes"}], "toolResult", toolName="grep")

    plain = agent.history()["messages"]
    assert [(m["id"], m["text"], m["omitted"]) for m in plain] == [("a", "I look", 2)]
    items = agent.history(include_tools=True)["messages"]
    assert [(m["id"], m["type"], m.get("name"), m["text"], m["omitted"]) for m in items] == [
        ("a", "text", None, "I look", 2),
        ("a", "toolCall", "grep", '{"of":"rope"}', 0),
        ("t", "toolResult", None, "three ropes", 0),
    ]
    assert "hidden" not in jsontext.dumps(items) and "AAAA" not in jsontext.dumps(items)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_page_may_end_in_the_middle_of_an_event_and_the_next_goes_on_there(agent, limit):
    for n in range(4):
        agent.append(f"e{n}", [{"type": "text", "text": f"{n}-{part}"} for part in range(3)])

    pages = walk(agent, "before", limit=limit, include_tools=True)

    expected = [f"{n}-{part}" for n in range(4) for part in range(3)]
    assert [m["text"] for page in reversed(pages) for m in page["messages"]] == expected
    forth = walk(agent, "after", limit=limit, include_tools=True, after=pages[-1]["after"])
    assert [m["text"] for page in forth for m in page["messages"]] == expected[len(pages[-1]["messages"]) :]


def test_a_message_without_text_is_no_message_of_a_page(agent):
    agent.append("a", "word").append("b", [{"type": "thinking", "thinking": "x"}], "assistant").append("c", "word")

    assert ids(agent.history()) == ["a", "c"]


# ------------------------------------------------------------------------------------------------------------- bounds


def test_an_answer_is_never_larger_than_80_kib_and_its_cursors_reach_the_rest(agent):
    agent.send(*(message(f"e{n:02}", "ж" * 4_000) for n in range(30)))

    pages = walk(agent, "before", limit=200)

    assert all(len(jsontext.dumps(page).encode()) <= MAX_ANSWER_BYTES for page in pages)
    assert [name for page in reversed(pages) for name in ids(page)] == names(0, 29)


def test_a_long_text_is_cut_and_says_so(agent):
    agent.append("a", "x" * (MAX_TEXT_CHARS + 1)).append("b", "x" * MAX_TEXT_CHARS)

    first, second = agent.history()["messages"]

    assert (len(first["text"]), first["cut"]) == (MAX_TEXT_CHARS, True)
    assert (len(second["text"]), second.get("cut")) == (MAX_TEXT_CHARS, None)
    assert agent.history()["truncated"]


@pytest.mark.parametrize(
    ("text", "limit", "masks", "cut"),
    [
        ("abc", 3, (), "abc"),
        ("abcd", 3, (), "abc"),
        ("ab\U0001f468\u200d\U0001f469\u200d\U0001f467x", 4, (), "ab"),
        ("abe\u0301x", 3, (), "ab"),
        ("ab\r\nx", 3, (), "ab"),
        ("ab[redacted:x]cd", 6, ((2, 14),), "ab"),
        ("ab[redacted:x]cd", 15, ((2, 14),), "ab[redacted:x]c"),
        ("e" + "\u0301" * 300, 100, (), "e" + "\u0301" * 99),
    ],
)
def test_a_text_is_cut_between_graphemes_and_outside_masks(text, limit, masks, cut):
    assert cut_text(text, limit, masks) == cut


def test_secrets_are_masked_before_the_text_is_cut(agent):
    agent.world.register_secret("sesame-open-wide")
    agent.append("a", "x" * (MAX_TEXT_CHARS - 8) + " sesame-open-wide")

    (shown,) = agent.history()["messages"]

    assert "sesame" not in shown["text"]
    assert (shown["redacted"], shown["cut"]) == (0, True)


# ---------------------------------------------------------------------------------------------------------- cursors


@pytest.mark.parametrize("changed", [{"session_id": "s0"}, {"include_tools": True}, {"caller": Caller("ada", "agent:ada:parent")}])
def test_a_cursor_of_another_request_or_caller_is_refused(world, changed):
    world.session("ada", "agent:ada:parent").put()
    agent = world.session("ada")
    agent.put(spawnedBy="agent:ada:parent", sessionId="s0")
    agent.append("a", "word")
    agent.reset("s1")
    agent.append("a", "word").append("b", "word")
    cursor = agent.history(limit=1)["before"]
    caller = changed.pop("caller", agent.caller)

    with pytest.raises(BadCursor):
        read_history(world.store, caller, HistoryRequest(agent.key, before=cursor, **changed))


def test_a_cursor_of_a_search_is_none_of_a_history(agent):
    agent.append("a", "word").append("b", "word")
    cursor = agent.search("word", limit=1)["nextCursor"]

    with pytest.raises(BadCursor):
        agent.history(before=cursor)
