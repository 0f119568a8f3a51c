"""Appending: all events of a call or none, each id once, searchable when the answer arrives, at the same cost in a session of any length."""

import pytest

from shared import jsontext
from shared.appending import IDEMPOTENCY_MS, MAX_EVENTS
from shared.errors import BadRequest, Conflict
from tests.conftest import ids, message

# --------------------------------------------------------------------------------------------------- what is stored


def test_the_first_append_makes_the_session(agent):
    answer = agent.send(message("a", "alpha"), message("b", "beta"))

    assert answer == {"sessionId": agent.listed()["sessionId"], "appended": 2, "leafId": "b", "seq": 2}
    assert agent.found("alpha") == ["a"]
    assert agent.listed()["messages"] == 2


def test_an_event_without_an_id_gets_one_and_answers_with_it(agent):
    leaf_id = agent.send(message(None, "alpha"))["leafId"]

    assert agent.found("alpha") == [leaf_id]
    assert agent.send(message("b", "beta", parentId=leaf_id))["leafId"] == "b"
    assert ids(agent.history()) == [leaf_id, "b"]


def test_an_event_without_a_type_is_a_message(agent):
    """It was stored as one and could not be found."""
    event = {"id": "a", "message": {"role": "user", "content": "alpha"}}
    agent.send(event)

    assert agent.send(event)["appended"] == 0
    assert agent.found("alpha") == ids(agent.history()) == ["a"]


@pytest.mark.parametrize("role", ["tool", "toolResult", "system", "developer"])
def test_only_what_users_and_assistants_say_is_found(agent, role):
    agent.append("a", "alpha", "user").append("b", "alpha", "assistant").append("c", "alpha", role)
    agent.send({"type": "compaction", "id": "d", "summary": "alpha", "message": {"role": "user", "content": "alpha"}})

    assert sorted(agent.found("alpha")) == ["a", "b"]
    assert agent.listed()["messages"] == 2


def test_unknown_fields_of_an_event_are_kept(agent):
    event = message("a", "alpha", mood={"deep": [1, None, 1.5, "x"]}, big=2**80)

    agent.send(event)

    with agent.world.plain_sqlite() as conn:
        assert jsontext.loads(conn.execute("SELECT payload FROM events").fetchone()[0]) == event


def test_a_nul_separates_words_and_is_shown_as_a_replacement_character(agent):
    agent.append("a", "alpha\0beta")

    assert agent.found("alpha") == agent.found("beta") == ["a"]
    assert agent.found('"alpha beta"') == ["a"]
    assert agent.search("alpha")["results"][0]["excerpt"] == "alpha\ufffdbeta"
    assert agent.history()["messages"][0]["text"] == "alpha\ufffdbeta"


def test_half_an_emoji_is_stored_as_a_replacement_character(agent):
    sent = jsontext.loads(rb'{"type": "message", "id": "a\ud83d", "message": {"role": "user", "content": "alpha \ud83d beta"}}')

    agent.send(sent)

    assert agent.history()["messages"][0]["text"] == "alpha \ufffd beta"
    assert agent.found("beta") == ["a\ufffd"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        (-1_000, "1969-12-31T23:59:59.000Z"),
        ("2999-12-31T23:59:59.999Z", "2999-12-31T23:59:59.999Z"),
        (1_796_033_700_000, "2026-11-30T10:15:00.000Z"),
        ("2026-11-30T11:15:00+01:00", "2026-11-30T10:15:00.000Z"),
        (10**17, "3084-12-12T12:41:28.831Z"),
    ],
)
def test_a_message_of_any_time_is_stored_found_and_shown(agent, given, shown):
    agent.append("a", "alpha", timestamp=given)

    assert agent.search("alpha")["results"][0]["timestamp"] == shown
    assert agent.history()["messages"][0]["timestamp"] == shown
    assert agent.world.verify() == []


def test_an_event_without_a_time_gets_the_time_it_was_stored(agent):
    agent.append("a", "alpha")

    assert agent.search("alpha")["results"][0]["timestamp"] == "2025-10-09T08:53:20.001Z"


def test_many_messages_of_one_millisecond_are_all_found(agent):
    agent.send(*(message(f"e{n:03}", "alpha", timestamp=5) for n in range(300)))

    assert agent.found("alpha") == [f"e{n:03}" for n in range(300)]


# ------------------------------------------------------------------------------------------------ all of it or none


def test_a_thousand_events_are_one_call(agent):
    answer = agent.send(*(message(f"e{n}", "alpha") for n in range(MAX_EVENTS)))

    assert (answer["appended"], answer["seq"]) == (1_000, 1_000)
    assert len(agent.found("alpha")) == 1_000


@pytest.mark.parametrize("events", [[], [message(f"e{n}", "x") for n in range(MAX_EVENTS + 1)]], ids=["none", "too many"])
def test_no_events_or_too_many_are_refused(agent, events):
    with pytest.raises(BadRequest, match="1 to 1,000") as refused:
        agent.send(*events)

    assert refused.value.field == "events"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        pytest.param("no object", BadRequest, id="no object"),
        pytest.param(message("", "x"), BadRequest, id="empty id"),
        pytest.param(message("b", "x", timestamp="soon"), BadRequest, id="bad time"),
        pytest.param({"type": "message", "id": "b"}, BadRequest, id="no message"),
        pytest.param(message("known", "other words"), Conflict, id="an id with other content"),
        pytest.param(message("first", "other words"), Conflict, id="an id of this call with other content"),
    ],
)
def test_a_bad_event_in_the_middle_leaves_nothing_stored(agent, bad, error):
    agent.append("known", "alpha")
    before = agent.history()

    with pytest.raises(error):
        agent.send(message("first", "beta"), bad, message("last", "beta"))

    assert agent.found("beta") == []
    assert agent.history() == before
    assert agent.send(message("next", "gamma"))["seq"] == 2
    assert agent.world.verify() == []


def test_a_bad_first_append_makes_no_session(agent):
    with pytest.raises(BadRequest):
        agent.send(message("a", "alpha"), message("", "beta"))

    assert not agent.world.store.has_agent("ada")


# ----------------------------------------------------------------------------------------------------- repeated ids


def test_a_repeated_id_with_the_same_content_is_stored_once_and_never_moves_the_leaf(agent):
    agent.append("a", "alpha").append("b", "beta")
    agent.rewind("a")
    agent.append("c", "gamma")

    answer = agent.send(message("b", "beta"))

    assert (answer["appended"], answer["leafId"], answer["seq"]) == (0, "c", 2)
    assert ids(agent.history()) == ["a", "c"]


def test_the_order_of_fields_does_not_make_other_content(agent):
    agent.send({"type": "message", "id": "a", "message": {"role": "user", "content": "alpha"}})

    assert agent.send({"message": {"content": "alpha", "role": "user"}, "id": "a", "type": "message"})["appended"] == 0


def test_an_id_repeated_within_a_call_is_stored_once(agent):
    answer = agent.send(message("a", "alpha"), message("b", "beta"), message("a", "alpha"))

    assert (answer["appended"], answer["leafId"]) == (2, "b")


@pytest.mark.parametrize(
    "again",
    [
        message("a", "alpha!"),
        message("a", "alpha", role="assistant"),
        message("a", "alpha", parentId=None),
        message("a", "alpha", timestamp=1),
        {"type": "compaction", "id": "a"},
    ],
)
def test_a_known_id_with_other_content_is_a_conflict(agent, again):
    agent.append("a", "alpha")

    with pytest.raises(Conflict, match="other content"):
        agent.send(again)


def test_event_ids_are_unique_within_a_transcript_only(world):
    one, two = world.session("ada", "agent:ada:one"), world.session("ada", "agent:ada:two")
    one.append("a", "alpha")
    two.append("a", "beta")
    two.reset()
    two.append("a", "gamma")

    assert (one.found("alpha"), two.found("beta"), two.found("gamma")) == (["a"], ["a"], ["a"])


# ------------------------------------------------------------------------------------------------- Idempotency-Key


def test_a_retried_append_is_stored_once_and_gets_the_first_answer(agent):
    first = agent.send(message(None, "alpha"), idempotency_key="once")

    assert agent.send(message(None, "alpha"), idempotency_key="once") == first
    assert len(agent.found("alpha")) == 1
    agent.send(message(None, "alpha"), idempotency_key="twice")
    assert len(agent.found("alpha")) == 2


def test_the_same_idempotency_key_with_another_body_is_a_conflict_and_stores_nothing(agent):
    agent.send(message("a", "alpha"), idempotency_key="once")

    with pytest.raises(Conflict, match="another body"):
        agent.send(message("b", "beta"), idempotency_key="once")

    assert agent.found("beta") == []


def test_an_idempotency_key_holds_for_24_hours(agent):
    agent.send(message(None, "alpha"), idempotency_key="once")
    agent.world.now.pass_ms(IDEMPOTENCY_MS - 10)
    agent.send(message(None, "alpha"), idempotency_key="once")
    assert len(agent.found("alpha")) == 1

    agent.world.now.pass_ms(10)
    agent.send(message(None, "beta"), idempotency_key="once")

    assert len(agent.found("beta")) == 1


def test_an_idempotency_key_holds_per_session(world):
    for key in ("agent:ada:one", "agent:ada:two"):
        world.session("ada", key).send(message("a", "alpha"), idempotency_key="once")
        assert world.session("ada", key).found("alpha") == ["a"]


def test_an_idempotency_key_of_a_refused_call_may_be_used_again(agent):
    agent.append("a", "alpha")
    with pytest.raises(Conflict):
        agent.send(message("a", "other"), idempotency_key="once")

    assert agent.send(message("b", "beta"), idempotency_key="once")["appended"] == 1


@pytest.mark.parametrize("key", ["", "x" * 129, "é" * 65])
def test_an_idempotency_key_has_1_to_128_bytes(agent, key):
    with pytest.raises(BadRequest) as refused:
        agent.send(message("a", "alpha"), idempotency_key=key)

    assert refused.value.field == "Idempotency-Key"


# -------------------------------------------------------------------------------------------------- what it costs


def statements_of(agent, act):
    """What an act does in the agent's database, statement by statement."""
    seen = []
    with agent.world.store.writer("ada") as conn:
        conn.set_trace_callback(seen.append)
    act()
    with agent.world.store.writer("ada") as conn:
        conn.set_trace_callback(None)
    return seen


def test_an_append_costs_the_same_statements_in_a_session_of_any_length(agent):
    agent.send(*(message(f"s{n}", "alpha") for n in range(10)))
    short = statements_of(agent, lambda: agent.append("a1", "beta"))
    for start in range(0, 5_000, 1_000):
        agent.send(*(message(f"e{start + n}", "alpha") for n in range(1_000)))

    long = statements_of(agent, lambda: agent.append("a2", "beta"))

    assert short
    assert abs(len(long) - len(short)) <= 2  # where the jump of the new event goes differs by a step
    assert len(long) < 40


def test_a_rewind_by_two_in_a_long_session_reads_few_events(agent):
    for start in range(0, 6_000, 1_000):
        agent.send(*(message(f"e{start + n}", "alpha") for n in range(1_000)))

    read = [s for s in statements_of(agent, lambda: agent.rewind("e5997")) if "FROM events" in s]

    assert 0 < len(read) < 30
    assert all("seq =" in s or "event_id" in s for s in read)
    assert agent.reconcile().removed == 2
