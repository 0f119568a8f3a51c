"""Lists: the visible sessions, most recently used first, each once."""

import pytest

from shared.errors import BadCursor, BadRequest
from shared.visibility import OWNER, Caller
from tests.conftest import message


@pytest.fixture
def fleet(world):
    """Twelve sessions of two agents; two of each time of use."""
    for n in range(12):
        world.now.ms = 1_760_000_000_000 + n // 2 * 1_000
        world.session("ada" if n % 3 else "bob", f"key{n:02}").put(title=f"no {n}")
    return world


def keys(body):
    return [session["sessionKey"] for session in body["sessions"]]


def walk(world, caller, between=lambda: None, **named):
    found, cursor = [], None
    while True:
        body = world.listing(caller, cursor=cursor, **named)
        found += keys(body)
        cursor = body["nextCursor"]
        if cursor is None:
            return found
        between()


NEWEST_FIRST = [f"key{n:02}" for n in (10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1)]


@pytest.mark.parametrize("limit", [1, 5, 12, 200])
def test_a_walk_gives_every_session_once_most_recently_used_first(fleet, limit):
    assert walk(fleet, OWNER, limit=limit) == NEWEST_FIRST


def test_the_last_page_has_no_cursor(fleet):
    assert fleet.listing(OWNER, limit=12)["nextCursor"] is None
    assert fleet.listing(OWNER, limit=11)["nextCursor"]


def test_a_session_used_between_two_pages_is_not_given_twice(fleet):
    found = walk(fleet, OWNER, lambda: fleet.session("ada", "key11").append("m", "word"), limit=5)

    assert found == NEWEST_FIRST


def test_every_write_is_a_use(world):
    one, two = world.session("ada", "one"), world.session("ada", "two")
    for act in (
        lambda: one.append("a", "word"),
        lambda: one.rewind(None),
        lambda: one.reset(),
        lambda: one.put(title="x"),
        lambda: one.append("b", "word"),
    ):
        two.put()
        act()
        assert keys(world.listing(OWNER)) == ["one", "two"]


def test_an_imported_session_was_used_when_its_newest_event_was(world):
    world.session("ada", "new").put()
    world.session("ada", "old").take_in("s1", [message("a", "word", timestamp=5_000)], created_at_ms=1_000)

    body = world.listing(OWNER)

    assert keys(body) == ["new", "old"]
    assert body["sessions"][1]["updatedAt"] == "1970-01-01T00:00:05.000Z"


def test_messages_are_those_with_text_on_the_active_branch(agent):
    agent.append("a", "x").append("b", "x").append("t", "x", "tool").append("c", "", "assistant").append("d", "x", parent="a")
    agent.send({"type": "compaction", "id": "z", "summary": "x"})

    assert agent.listed()["messages"] == 2
    agent.rewind("b")
    assert agent.listed()["messages"] == 2
    agent.rewind("a")
    assert agent.listed()["messages"] == 1
    agent.rewind(None)
    assert agent.listed()["messages"] == 0
    agent.reset()
    assert agent.listed()["messages"] == 0


def test_a_session_is_pending_while_one_of_its_transcripts_is(agent):
    agent.append("a", "x").append("b", "x")
    agent.rewind("a")
    agent.reset()

    assert agent.listed()["pending"]
    agent.reconcile()
    assert not agent.listed()["pending"]


@pytest.mark.parametrize("limit", [0, 201])
def test_a_limit_out_of_bounds_is_refused(world, limit):
    with pytest.raises(BadRequest) as refused:
        world.listing(OWNER, limit=limit)

    assert refused.value.field == "limit"


@pytest.mark.parametrize("caller", [Caller("ada", "key01"), Caller("bob", "key01")])
def test_a_cursor_in_another_callers_hands_is_refused(fleet, caller):
    cursor = fleet.listing(OWNER, limit=2)["nextCursor"]

    with pytest.raises(BadCursor):
        fleet.listing(caller, cursor=cursor)


def test_a_cursor_of_another_scope_is_refused(make_world):
    world = make_world("data", visibility="agent")
    for n in range(3):
        world.session("ada", f"k{n}").put()
    caller = Caller("ada", "k0")
    cursor = world.listing(caller, limit=1)["nextCursor"]

    with pytest.raises(BadCursor):
        world.listing(caller, limit=1, cursor=cursor, scope="tree")
