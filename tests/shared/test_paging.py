"""Walks over pages: every match once, in the order of one big page, whatever is written in between; a cursor is good for nothing else."""

import pytest

from shared import candidates, stream
from shared.errors import BadCursor
from shared.visibility import OWNER, Caller
from tests.conftest import message


@pytest.fixture
def small_bounds(monkeypatch):
    """Bounds that a few messages go past."""
    monkeypatch.setattr(candidates, "RANKED", 7)
    monkeypatch.setattr(candidates, "RANKED_ANY", 5)
    monkeypatch.setattr(candidates, "PER_SESSION", 3)
    monkeypatch.setattr(stream, "CHUNK", 4)


def anchored(n):
    rope = " rope" if n % 3 == 0 else ""
    return message(f"m{n:02}", f"anchor{rope} {'and so on ' * (n % 4)}", "user" if n % 2 else "assistant", timestamp=1_000 * (n // 2))


@pytest.fixture
def fleet(world):
    """Five sessions of two agents, one of them a cron job's, with messages of many lengths, some of one millisecond."""
    for s in range(5):
        session = world.session("ada" if s % 2 else "bob", f"key{s}")
        session.put(kind="cron" if s == 3 else "main")
        session.send(*(anchored(n) for n in range(13)))
    return world


def places(hits):
    return [(hit["agentId"], hit["sessionKey"], hit["messageId"]) for hit in hits]


WALKS = [
    {"query": "anchor"},
    {"query": "anchor", "order": "recent"},
    {"query": "anchor rope", "match": "all"},
    {"query": "anchor rope", "match": "any"},
    {"query": "rope anchor missing", "match": "auto"},
    {"query": "anchor rope", "match": "any", "order": "recent"},
    {"query": "anchor", "group": "session"},
    {"query": "anchor", "group": "session", "order": "recent"},
    {"query": "anchor rope", "match": "any", "group": "session"},
    {"query": '"anchor rope" OR on', "role": "user"},
    {"query": "anchor", "session_key": "key3"},
    {"query": "anchor", "after_ms": 1_000, "before_ms": 5_000},
]
NAMES = [" ".join(f"{key}={value}" for key, value in walk.items()) for walk in WALKS]


def matching(walk):
    """How many of the fleet's messages, or sessions, a walk must find."""
    low, high = walk.get("after_ms", 0) // 1_000, walk.get("before_ms", 10**9) // 1_000
    inside = [n for n in range(13) if low <= n // 2 < high]
    if walk.get("match") == "all":
        inside = [n for n in inside if n % 3 == 0]
    if "OR on" in walk["query"]:
        inside = [n for n in inside if (n % 3 == 0 or n % 4) and n % 2]
    sessions = 1 if "session_key" in walk else 5
    return sessions if walk.get("group") == "session" else sessions * len(inside)


@pytest.mark.parametrize("walk", WALKS, ids=NAMES)
@pytest.mark.parametrize("limit", [1, 4, 50])
def test_a_walk_gives_every_match_once(small_bounds, fleet, walk, limit):
    hits = places(fleet.pages(OWNER, limit=limit, **walk))

    assert len(hits) == len(set(hits)) == matching(walk)
    if walk.get("group") == "session":
        assert len({key for _, key, _ in hits}) == len(hits)


@pytest.mark.parametrize("walk", WALKS, ids=NAMES)
def test_pages_of_any_size_are_in_one_order(small_bounds, fleet, walk):
    whole = places(fleet.pages(OWNER, limit=50, **walk))

    for limit in (1, 3, 7):
        assert places(fleet.pages(OWNER, limit=limit, **walk)) == whole


@pytest.mark.parametrize("walk", WALKS, ids=NAMES)
def test_what_is_written_between_two_pages_is_not_in_them(small_bounds, fleet, walk):
    whole = places(fleet.pages(OWNER, limit=50, **walk))
    more = iter(range(1_000))

    def write():
        n = next(more)
        session = fleet.session("ada", "key1" if n % 2 else f"new{n}")
        session.append(f"new{n}", "anchor rope", timestamp=1_000 * (n % 9))

    assert places(fleet.pages(OWNER, between=write, limit=3, **walk)) == whole


@pytest.mark.parametrize("walk", [walk for walk in WALKS if "group" not in walk], ids=lambda walk: " ".join(map(str, walk.values())))
def test_what_is_rewound_or_deleted_between_two_pages_drops_out_and_nothing_else_changes(small_bounds, fleet, walk):
    whole = places(fleet.pages(OWNER, limit=50, **walk))
    acts = [lambda: fleet.session("ada", "key1").rewind("m05"), lambda: fleet.session("bob", "key2").delete()]
    left = [hit for hit in whole if not (hit[1] == "key1" and hit[2] > "m05") and hit[1] != "key2"]

    hits = places(fleet.pages(OWNER, between=lambda: acts.pop()() if acts else None, limit=3, **walk))

    assert len(hits) == len(set(hits))
    assert [hit for hit in hits if hit in left] == left
    assert set(hits[6:]) <= set(left)


def test_a_reconcile_between_two_pages_changes_nothing(small_bounds, fleet):
    fleet.session("ada", "key1").rewind("m08")
    fleet.session("ada", "key1").append("n", "anchor", timestamp=3_000)
    whole = places(fleet.pages(OWNER, "anchor", limit=50))

    walked = fleet.pages(OWNER, "anchor", lambda: fleet.session("ada", "key1").reconcile(), limit=2)

    assert places(walked) == whole


def test_below_the_bound_the_order_is_that_of_the_ranking_and_beyond_it_newest_first(monkeypatch, agent):
    monkeypatch.setattr(candidates, "RANKED", 3)
    agent.append("old", "anchor anchor", timestamp=1).append("older", "anchor", timestamp=0)
    for n in range(3):
        agent.append(f"long{n}", "anchor " + "and so on " * (n * 5), timestamp=100 + n)

    assert agent.found("anchor") == ["long0", "long1", "long2", "old", "older"]


# ---------------------------------------------------------------------------------------------------------- cursors


@pytest.fixture
def cursor(agent):
    agent.send(*(message(f"e{n}", "anchor rope") for n in range(5)))
    cursor = agent.search("anchor rope", limit=2)["nextCursor"]
    assert isinstance(cursor, str)
    return cursor


@pytest.mark.parametrize(
    "changed",
    [
        {"query": "anchor"},
        {"query": "rope anchor"},
        {"query": "anchor rope "},
        {"match": "any"},
        {"match": "all"},
        {"order": "recent"},
        {"group": "session"},
        {"role": "user"},
        {"after_ms": 0},
        {"before_ms": 10**14},
        {"scope": "self"},
        {"session_key": "agent:ada:main"},
    ],
    ids=str,
)
def test_a_cursor_of_another_request_is_refused(agent, cursor, changed):
    with pytest.raises(BadCursor):
        agent.world.search(agent.caller, **{"query": "anchor rope", "cursor": cursor, **changed})


@pytest.mark.parametrize(
    "caller",
    [Caller("ada", "agent:ada:other"), Caller("bob", "agent:ada:main"), Caller("ada", "agent:ada:main", sandboxed=True), OWNER],
    ids=["another session", "another agent", "sandboxed", "owner"],
)
def test_a_cursor_in_another_callers_hands_is_refused(agent, cursor, caller):
    with pytest.raises(BadCursor):
        agent.world.search(caller, "anchor rope", cursor=cursor)


@pytest.mark.parametrize("garbled", [lambda c: c[:-1], lambda c: c + "A", lambda c: c[::-1], lambda c: "A" * len(c), lambda c: c.lower(), lambda c: c + "\n"])
def test_a_cursor_that_was_changed_is_refused(agent, cursor, garbled):
    with pytest.raises(BadCursor):
        agent.search("anchor rope", cursor=garbled(cursor))


def test_the_size_of_a_page_may_change_from_page_to_page(agent, cursor):
    assert len(agent.search("anchor rope", cursor=cursor, limit=50)["results"]) == 3


def test_a_cursor_outlives_a_restart(agent, cursor):
    agent.world.reopen()

    assert len(agent.search("anchor rope", cursor=cursor)["results"]) == 3


@pytest.mark.parametrize("match", ["any", "all"])
def test_a_cursor_is_refused_or_goes_on_when_a_word_of_the_query_became_a_secret(agent, match):
    """It ended in an error of ours: the cursor held places for a word that is no longer searched for."""
    agent.send(*(message(f"e{n}", "anchor rope") for n in range(5)))
    cursor = agent.search("anchor rope", match=match, limit=2)["nextCursor"]
    agent.world.register_secret("anchor")

    try:
        assert agent.search("anchor rope", match=match, cursor=cursor)["results"] == []
    except BadCursor:
        assert match == "any"


@pytest.mark.parametrize("order", ["recent", "relevance"])
@pytest.mark.parametrize("match", ["all", "any"])
def test_times_before_1970_order_page_and_filter_like_all_others(agent, small_bounds, order, match):
    """They all counted as 1970, so that they came in the order of their ids and could not be told apart by a filter."""
    times = [-(1 << 45), -86_400_000, -1_001, -1_000, -999, -1, 0, 1, 1_760_000_000_000]
    agent.send(*(message(f"e{n}", "alpha beta", timestamp=time_ms) for n, time_ms in enumerate(times)))

    assert agent.found("alpha beta", order=order, match=match, limit=2) == [f"e{n}" for n in reversed(range(len(times)))]
    assert agent.found("alpha", order=order, after_ms=-1_000, before_ms=0) == ["e5", "e4", "e3"]
    assert agent.found("alpha", order=order, before_ms=-1_000) == ["e2", "e1", "e0"]
    assert agent.world.verify() == []
    with agent.world.plain_sqlite() as conn:
        conn.execute("INSERT INTO message_index (message_index) VALUES ('integrity-check')")


def test_a_message_from_before_1970_that_was_stored_as_one_of_1970_is_found_by_verify_and_put_in_its_place(agent):
    agent.send(message("a", "alpha", timestamp=-5_000), message("b", "alpha", timestamp=-1_000))
    agent.write_outside("UPDATE messages SET message_no = 7 WHERE message_no < -(4000 << 18)")
    with agent.world.plain_sqlite() as conn:
        conn.execute("INSERT INTO message_index (rowid, text, parts, session) SELECT 7, text, parts, session FROM message_index WHERE rowid < -(4000 << 18)")
        conn.execute("DELETE FROM message_index WHERE rowid < -(4000 << 18)")
    assert agent.found("alpha", order="recent") == ["a", "b"]

    assert agent.world.verify(repair=True) != []
    agent.reconcile()

    assert agent.found("alpha", order="recent") == ["b", "a"]
    assert agent.world.verify() == []
