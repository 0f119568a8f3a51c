"""Ranking: which of the messages that were found come first."""

import pytest

from shared.query import parse
from shared.ranking import Told, Weights, rarity, says_little, scores_in_context
from shared.wordforms import FUNCTION_WORDS, beginning
from tests.conftest import ids


def found(agent, query, **named):
    return ids(agent.search(query, match="any", **named))


def term(word):
    return parse(word).terms[0]


@pytest.mark.parametrize(
    ("word", "shared"),
    [
        ("painted", "paint"),
        ("painting", "paint"),
        ("paints", "paint"),
        ("running", "runn"),  # "run" would be shared by too many
        ("planning", "plan"),
        ("stories", "stor"),
        ("call", "call"),
        ("calling", "call"),
        ("ferry", "ferr"),
        ("cat", None),
        ("v1", None),
        ("straße", None),
        ("渡轮", None),
    ],
)
def test_what_other_forms_of_a_word_begin_with(word, shared):
    assert beginning(word) == shared


def test_function_words_are_as_the_index_has_them():
    assert all(parse(word).terms[0].pieces[0].needle == word for word in FUNCTION_WORDS)


def test_a_word_that_stands_everywhere_is_worth_least_and_one_that_says_little_a_tenth():
    assert rarity(term("harbour"), 1, 400) > rarity(term("harbour"), 100, 400) > rarity(term("harbour"), 400, 400) > 0
    assert rarity(term("when"), 5, 400) == pytest.approx(rarity(term("harbour"), 5, 400) / 10)
    assert not says_little(term('"when"'))  # asked for as a phrase


def test_other_forms_of_a_word_rank_but_do_not_find(agent):
    agent.append("a", "a poster about the harbour")
    agent.append("b", "painting the harbour took all week")
    agent.append("c", "she paints on Sundays")

    assert found(agent, "painted harbour") == ["b", "a"]


def test_questions_are_ranked_by_the_words_that_tell_something(agent):
    for n in range(12):
        agent.append(f"x{n}", "when did we do that and what was it about")
    agent.append("kiosk", "the kiosk opens in May")

    assert found(agent, "when did we do what about the kiosk", limit=1) == ["kiosk"]


def test_an_answer_counts_the_words_of_the_question_before_it(agent):
    agent.append("lone", "noon is when the market opens")
    agent.append("far", "nothing of interest here")
    agent.append("asked", "how late is the ferry to the island")
    agent.append("answer", "it sails at noon")

    assert found(agent, "ferry island noon")[:2] == ["asked", "answer"]


def test_what_is_lent_never_lifts_a_message_above_one_that_has_all_the_words(agent):
    for n in range(20):
        agent.append(f"common{n}", "alpha and nothing else")
    agent.append("both", "alpha beside beta").append("rare", "beta and nothing else")

    assert found(agent, "alpha beta", limit=2) == ["both", "rare"]


def test_only_messages_before_it_lend_a_message_something():
    told = [Told({0: 1.0}, 0.0), Told({1: 1.0}, 0.0)]

    first, second = scores_in_context(Weights((term("a"), term("b")), (1.0, 1.0)), [("ada", 1, 4), ("ada", 1, 5)], told)

    assert first == scores_in_context(Weights((term("a"), term("b")), (1.0, 1.0)), [("ada", 1, 4)], told[:1])[0]
    assert second > first


def test_a_word_that_several_messages_lend_is_covered_once():
    """The share of the question that was covered counted each of them, and could be more than all of it."""
    near, far, own = Told({0: 0.5}, 0.0), Told({0: 2.0}, 0.0), Told({1: 1.0}, 0.0)
    places = [("ada", 1, 3), ("ada", 1, 4), ("ada", 1, 5)]

    score = scores_in_context(Weights((term("a"), term("b")), (1.0, 1.0)), places, [far, near, own])[-1]

    assert score == pytest.approx((1.0 + 0.2 * 2.0) * (1.0 + 0.2) / 2.0)  # of the two, what the far one lends is worth more


@pytest.mark.parametrize("place", [("ada", 2, 5), ("bob", 1, 5), ("ada", 1, 9)])
def test_another_conversation_and_what_is_long_past_lend_nothing(place):
    told = [Told({0: 1.0}, 0.0), Told({1: 1.0}, 0.0)]

    alone = scores_in_context(Weights((term("a"), term("b")), (1.0, 1.0)), [place], told[1:])

    assert scores_in_context(Weights((term("a"), term("b")), (1.0, 1.0)), [("ada", 1, 4), place], told)[1:] == alone


def test_pages_by_relevance_stay_in_order_while_the_newest_messages_are_rewound(agent):
    """What lends a message something is before it, so that nothing a page showed moves when the end of a session goes."""
    for n in range(30):
        agent.append(f"e{n:02}", f"ferry {'noon ' if n % 3 else 'pier '}number {n}")
    first = agent.search("ferry noon pier", match="any", limit=10)
    agent.rewind("e20")

    rest, cursor = [], first["nextCursor"]
    while cursor:
        page = agent.search("ferry noon pier", match="any", limit=10, cursor=cursor)
        rest += ids(page)
        cursor = page["nextCursor"]

    assert not set(ids(first)) & set(rest)
    assert set(ids(first)) | set(rest) >= {f"e{n:02}" for n in range(21)}
