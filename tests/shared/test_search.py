"""Search: what a page holds, what narrows it, what it says about work that is owed, and what its statements cost."""

import pytest

from shared import jsontext
from shared.errors import BadQuery, BadRequest, Unprocessable, UnreadableEvent
from shared.overview import mark_pending
from shared.search import ENQUEUED, MAX_LIMIT, Owed
from shared.visibility import OWNER
from tests.conftest import ids, message

# ------------------------------------------------------------------------------------------------------------- hits


def test_a_hit_says_where_it_is_and_what_was_said(agent, search):
    agent.put(sessionId="s1", title="Ferry", kind="group")
    agent.append("a", "the ferry leaves at noon", "assistant", timestamp="2026-11-30T10:15:00Z")

    body = search('ferry "at noon"')

    assert body == {
        "results": [
            {
                "sessionKey": "agent:ada:main", "sessionId": "s1", "messageId": "a", "agentId": "ada",
                "timestamp": "2026-11-30T10:15:00.000Z", "role": "assistant", "kind": "group", "title": "Ferry",
                "excerpt": "the ferry leaves at noon", "highlights": [[4, 9], [17, 24]], "redacted": 0,
            }
        ],
        "indexing": False, "pendingSessions": 0, "truncated": False, "nextCursor": None,
        "interpreted": 'ferry AND "at noon"', "relaxed": False, "scope": "tree",
    }  # fmt: skip


def test_a_session_without_a_title_has_none_in_its_hits(agent, search):
    agent.append("a", "alpha")

    assert search("alpha")["results"][0]["title"] is None


@pytest.mark.parametrize(
    ("named", "field", "error"),
    [
        ({"limit": 0}, "limit", BadRequest),
        ({"limit": MAX_LIMIT + 1}, "limit", BadRequest),
        ({"match": "some"}, "match", Unprocessable),
        ({"order": "best"}, "order", Unprocessable),
        ({"group": "agent"}, "group", Unprocessable),
        ({"role": "tool"}, "role", Unprocessable),
        ({"scope": "wide"}, "scope", Unprocessable),
        ({"cursor": ""}, "cursor", BadRequest),
        ({"query": ""}, "query", BadQuery),
        ({"query": " \n"}, "query", BadQuery),
        ({"query": "x" * 4_097}, "query", BadQuery),
        ({"query": "?! --"}, "query", BadQuery),
    ],
)
def test_a_bad_field_is_refused_by_name(agent, named, field, error):
    with pytest.raises(error) as refused:
        agent.world.search(agent.caller, named.pop("query", "alpha"), **named)

    assert refused.value.field == field


# ---------------------------------------------------------------------------------------------------------- narrowing


@pytest.fixture
def day(agent):
    """Five messages, a second apart, of two roles."""
    for n, role in enumerate(["user", "assistant", "user", "assistant", "user"]):
        agent.append(f"e{n}", "word", role, timestamp=1_000 * n)
    return agent


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({}, "43210"),
        ({"role": "user"}, "420"),
        ({"role": "assistant"}, "31"),
        ({"after_ms": 2_000}, "432"),
        ({"before_ms": 2_000}, "10"),
        ({"after_ms": 1_000, "before_ms": 4_000}, "321"),
        ({"after_ms": 1_000, "before_ms": 4_000, "role": "user"}, "2"),
        ({"after_ms": 4_001}, ""),
        ({"before_ms": 0}, ""),
        ({"after_ms": 3_000, "before_ms": 2_000}, ""),
        ({"after_ms": -5}, "43210"),
        ({"after_ms": 10**15}, ""),
        ({"before_ms": 253_402_300_799_999}, "43210"),  # the end of the year 9999: it was past every number SQLite has, and a failure
        ({"before_ms": 10**15}, "43210"),
        ({"session_key": "agent:ada:main"}, "43210"),
        ({"session_key": "agent:ada:mai"}, ""),
        ({"session_key": "%"}, ""),
        ({"agent_id": "ada"}, "43210"),
        ({"agent_id": "ada", "session_key": "agent:ada:main", "role": "user"}, "420"),
        ({"agent_id": "ad"}, ""),
    ],
)
@pytest.mark.parametrize("order", ["relevance", "recent"])
@pytest.mark.parametrize("limit", [1, 50])
def test_filters_only_narrow(day, named, expected, order, limit):
    assert day.found("word", order=order, limit=limit, **named) == [f"e{n}" for n in expected]


# ----------------------------------------------------------------------------------------------------------- matching


def test_auto_wants_every_word_and_is_relaxed_only_where_nothing_has_them_all(agent, search):
    agent.append("a", "alpha beta").append("b", "alpha gamma")

    assert (ids(search("alpha beta")), search("alpha beta")["relaxed"]) == (["a"], False)
    assert (sorted(ids(search("alpha delta"))), search("alpha delta")["relaxed"]) == (["a", "b"], True)
    assert (ids(search("alpha delta", match="all")), search("alpha delta", match="all")["relaxed"]) == ([], False)
    assert search("alpha", match="any")["relaxed"] is False


def test_the_message_with_more_of_the_words_and_the_more_telling_ones_comes_first(agent):
    for n in range(20):
        agent.append(f"common{n}", "alpha and nothing else")
    agent.append("both", "alpha beside beta").append("rare", "beta and nothing else")

    assert ids(agent.search("alpha beta", match="any", limit=3))[:2] == ["both", "rare"]


@pytest.mark.parametrize(
    ("query", "relaxed"),
    [('"alpha gone" beta', False), ('"gone one" "gone two"', False), ("gone OR lost", False), ("gone", False), ("gone NOT lost", False),
     ("gone lost", True), ('"alpha beta" gone lost', True), ("beta gone NOT alpha", True)],
)  # fmt: skip
def test_an_answer_is_called_relaxed_only_where_a_word_that_was_asked_for_need_not_be_there(agent, search, query, relaxed):
    """Phrases were counted as words: an answer for which nothing was given up said that it was relaxed."""
    agent.append("a", "alpha beta")

    assert search(query)["relaxed"] is relaxed


def test_phrases_and_what_is_excluded_are_never_relaxed(agent, search):
    agent.append("a", "alpha beta gamma").append("b", "beta alpha")

    assert ids(search('"alpha beta" gamma epsilon')) == ["a"]
    assert ids(search("alpha delta NOT gamma")) == ["b"]


def test_a_term_that_the_index_cannot_tell_alone_excludes_only_texts_that_hold_it(agent):
    """Matching any word left out messages that held the pieces of an excluded phrase in different places."""
    agent.append("a", "foo v1.2 and v1 2 beta").append("b", "foo v1.2 beta")

    for match in ("all", "any", "auto"):
        assert ids(agent.search('foo NOT "v1.2 beta"', match=match)) == ["a"]


# ------------------------------------------------------------------------------------------------------- order, groups


def test_recent_is_newest_first_and_ties_break_on_the_message_id(agent):
    for event_id, time_ms in (("b", 5), ("a", 5), ("c", 5), ("old", 1), ("new", 9)):
        agent.append(event_id, "word", timestamp=time_ms)

    assert agent.found("word", order="recent") == ["new", "a", "b", "c", "old"]
    assert agent.found("word") == ["new", "a", "b", "c", "old"]


def test_background_and_cron_sessions_rank_after_all_others_unless_they_are_asked_for(world):
    for key, kind in (("cron", "cron"), ("back", "background"), ("chat", "main"), ("sub", "subagent")):
        session = world.session("ada", key)
        session.put(kind=kind)
        session.append("m", "word " * (5 if kind in ("cron", "background") else 1))

    hits = world.pages(OWNER, "word", limit=1)

    assert [hit["kind"] for hit in hits] == ["subagent", "main", "background", "cron"]
    assert [hit["kind"] for hit in world.pages(OWNER, "word", order="recent")] == ["subagent", "main", "background", "cron"]
    assert ids(world.search(OWNER, "word", session_key="cron")) == ["m"]


def test_grouped_by_session_each_gives_its_best_hit_and_how_many_match(world):
    for key, count in (("few", 2), ("many", 150)):
        world.session("ada", key).send(*(message(f"e{n:03}", "word and word" if n == count - 2 else "word") for n in range(count)))

    hits = world.search(OWNER, "word", group="session")["results"]

    assert [(h["sessionKey"], h["messageId"], h["matches"], h.get("matchesMore")) for h in hits] == [
        ("many", "e148", 100, True),
        ("few", "e000", 2, None),
    ]


@pytest.mark.parametrize("order", ["relevance", "recent"])
def test_a_session_whose_newest_messages_only_seem_to_match_gives_its_match(agent, order):
    """They took the places of the session's candidates, or passed for its newest match, and the session was not found."""
    agent.append("old", "it says v1.2 beta here")
    agent.send(*(message(f"n{n:03}", "v1.2 and v1 2 beta") for n in range(150)))

    hits = agent.search('"v1.2 beta"', group="session", order=order)["results"]

    assert [(hit["messageId"], hit["matches"]) for hit in hits] == [("old", 1)]


def test_a_long_session_does_not_take_the_place_of_the_others(world):
    world.session("ada", "short").append("m", "word")
    for start in (0, 1_000, 2_000):
        world.session("ada", "long").send(*(message(f"e{start + n}", "word") for n in range(1_000)))

    assert [h["sessionKey"] for h in world.search(OWNER, "word", group="session")["results"]] == ["long", "short"]


# ------------------------------------------------------------------------------------------------------------- bounds


def test_a_page_is_never_larger_than_32_kib_and_says_that_more_exists(agent):
    agent.put(title="ж" * 300)
    agent.send(*(message(f"e{n:02}" + "ж" * 120, "word " + "ж" * 500) for n in range(50)))

    body = agent.search("word", limit=50)

    assert len(jsontext.dumps(body).encode()) <= 32 * 1024
    assert 0 < len(body["results"]) < 50
    assert body["truncated"] and body["nextCursor"]
    assert len(agent.world.pages(agent.caller, "word", limit=50)) == 50


# ------------------------------------------------------------------------------------------------------- what is owed


def test_indexing_is_said_exactly_while_a_visible_session_inside_the_filters_is_pending(world):
    one, two = world.session("ada", "one"), world.session("ada", "two")
    for session in (one, two):
        session.append("a", "alpha").append("b", "beta")
    one.rewind("a")

    assert world.search(OWNER, "alpha")["indexing"]
    assert not world.search(OWNER, "alpha", session_key="two")["indexing"]
    assert not two.search("alpha")["indexing"]
    assert world.search(OWNER, "alpha", agent_id="ada")["indexing"]
    assert not world.search(OWNER, "alpha", agent_id="bob")["indexing"]
    for narrow in ({"role": "assistant"}, {"after_ms": 10**14}, {"before_ms": 1}):
        assert one.search("nothing", **narrow)["indexing"]
    one.reconcile()
    assert not one.search("alpha")["indexing"]


def test_an_answer_with_pending_sessions_counts_them_warns_and_names_what_to_enqueue(world):
    for n in range(3):
        world.session("ada", f"k{n}").append("a", "alpha").append("b", "beta")
        world.session("ada", f"k{n}").rewind("a")

    answer = world.ask(OWNER, "alpha")

    assert (answer.body["pendingSessions"], answer.retry_after_s) == (3, 1)
    assert "3 sessions are being indexed" in answer.body["warning"]
    assert answer.owed == (Owed("ada", "k2"), Owed("ada", "k1"), Owed("ada", "k0"))
    assert answer.drain == ()


def test_a_search_names_a_bounded_number_of_sessions_and_leaves_the_rest_to_a_drain(world):
    for agent_id in ("ada", "bob"):
        for n in range(ENQUEUED + 1):
            world.session(agent_id, f"{agent_id}{n}").take_in(f"s{n}", [message("a", "alpha")])

    answer = world.ask(OWNER, "alpha")

    assert len(answer.owed) == ENQUEUED
    assert set(answer.drain) == {"ada", "bob"}
    assert answer.body["pendingSessions"] == 2 * (ENQUEUED + 1)


def test_pending_sessions_beyond_a_thousand_are_at_least_a_thousand(agent):
    agent.append("a", "alpha")
    with agent.world.plain_sqlite() as conn:
        conn.executescript("""
            WITH RECURSIVE n (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM n WHERE n < 1300)
            INSERT INTO sessions SELECT n, 'k' || n, 0, 's' || n, NULL, 0, NULL, 'main', 0, n, n, n FROM n;
            INSERT INTO transcripts (transcript_no, session_id, session_no) SELECT session_no, session_id, session_no FROM sessions WHERE session_no >= 100;
            INSERT INTO index_state (transcript_no, session_no, indexed, pending_reason) SELECT transcript_no, session_no, 0, 'imported' FROM transcripts
            WHERE session_no >= 100;
        """)

    body = agent.world.search(OWNER, "alpha")

    assert body["pendingSessions"] == 1_000
    assert "at least 1,000" in body["warning"]


def test_parked_sessions_are_counted_need_an_operator_and_are_not_worth_a_retry(world):
    broken, waiting = world.session("ada", "broken"), world.session("ada", "waiting")
    for session in (broken, waiting):
        session.append("a", "alpha").append("b", "beta")
    broken.edit_outside("b", "{")
    with pytest.raises(UnreadableEvent):
        broken.reconcile()

    answer = world.ask(OWNER, "alpha")
    assert (answer.body["indexing"], answer.body["pendingSessions"], answer.retry_after_s, answer.owed) == (True, 1, None, ())
    assert "1 of them could not be indexed and needs an operator" in answer.body["warning"]
    waiting.rewind("a")
    answer = world.ask(OWNER, "alpha")
    assert (answer.body["pendingSessions"], answer.retry_after_s, answer.owed) == (2, 1, (Owed("ada", "waiting"),))


@pytest.mark.parametrize(("owing", "relaxed"), [("rewound", False), ("imported", False), ("edited", False), ("parked", True), ("forced", True), ("outdated", True)])
def test_auto_is_not_relaxed_while_a_visible_session_owes_text(agent, search, owing, relaxed):
    agent.append("a", "alpha").append("b", "beta")
    if owing == "rewound":
        agent.rewind("a")
    elif owing == "imported":
        agent.take_in("s9", [message("x", "alpha gone")])
    elif owing in ("edited", "parked"):
        agent.edit_outside("b", "{")
    elif owing == "forced":
        mark_pending(agent.world.store, "ada", None, now_ms=agent.world.now())
    else:
        agent.world.register_secret("hunter2secret")
    if owing == "parked":
        with pytest.raises(UnreadableEvent):
            agent.reconcile()

    body = search("alpha gone")

    assert (body["indexing"], body["relaxed"], ids(body)) == (True, relaxed, ["a"] if relaxed else [])


# ---------------------------------------------------------------------------------------------------------- redaction

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def test_under_strict_neither_a_hit_nor_its_absence_confirms_a_guess(agent, search):
    agent.append("a", f"deploy with {TOKEN} now")

    body = search("deploy")

    assert (body["results"][0]["excerpt"], body["results"][0]["redacted"]) == ("deploy with [redacted:github-token] now", 1)
    assert ids(search(TOKEN[:20] + "*")) == ids(search("github-token")) == ids(search("redacted")) == []
    guess, wrong = search(f"deploy {TOKEN}"), search("deploy wrongguess")
    assert (guess["results"], guess["relaxed"]) == (wrong["results"], True)
    assert TOKEN not in guess["interpreted"]
    assert search(f"deploy {TOKEN}", match="all")["results"] == search("deploy wrongguess", match="all")["results"] == []


def test_under_mask_secrets_are_found_and_masked_on_the_way_out(make_world):
    agent = make_world("data", redaction="mask").session().append("a", f"deploy {TOKEN}")

    (hit,) = agent.search(TOKEN)["results"]

    assert (hit["excerpt"], hit["redacted"]) == ("deploy [redacted:github-token]", 1)


def test_with_redaction_off_nothing_is_masked(make_world):
    agent = make_world("data", redaction="off").session().append("a", f"deploy {TOKEN}")

    assert agent.search(TOKEN)["results"][0]["excerpt"] == f"deploy {TOKEN}"


def test_titles_are_masked_and_counted(agent, search):
    agent.put(title=f"key {TOKEN}")
    agent.append("a", "alpha")

    hit = search("alpha")["results"][0]

    assert (hit["title"], hit["redacted"]) == ("key [redacted:github-token]", 1)
    assert (agent.listed()["title"], agent.listed()["redacted"]) == ("key [redacted:github-token]", 1)
