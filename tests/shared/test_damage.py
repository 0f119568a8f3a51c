"""A damaged full-text index is noticed by whoever meets it, said to callers, and built anew from the transcripts."""

from contextlib import suppress

import pytest

from shared.errors import IndexDamaged
from tests.conftest import Session


def damage(agent: Session, fill: str = "ff") -> None:
    """Overwrites the blocks of the index with one byte; ff is an error to SQLite, 00 reads as an empty index."""
    with agent.world.plain_sqlite() as conn:
        conn.execute(
            "UPDATE message_index_data SET block = CAST(replace(hex(zeroblob(length(block))), '00', ?) AS BLOB) WHERE id > 10",
            (bytes.fromhex(fill),),
        )


def test_a_search_that_meets_damage_is_refused_and_from_then_on_searches_say_they_are_incomplete(agent: Session) -> None:
    agent.append("a", "the gudgeon").append("b", "more of it")
    damage(agent)

    with pytest.raises(IndexDamaged):
        agent.search("gudgeon")
    later = agent.search("gudgeon")

    assert (later["results"], later["indexing"], later["pendingSessions"]) == ([], True, 1)


@pytest.mark.parametrize("harm", ["DELETE FROM message_index_content WHERE c0 LIKE '%more%'", "UPDATE message_index_content SET c0 = NULL"])
@pytest.mark.parametrize("match", ["all", "any"])
def test_words_that_are_gone_from_the_index_are_damage_and_no_hit_that_is_left_out(agent: Session, harm: str, match: str) -> None:
    """What is ranked is read from the index's own table, where a row that is not there is no error by itself."""
    agent.append("a", "the gudgeon").append("b", "more gudgeon")
    with agent.world.plain_sqlite() as conn:
        conn.execute(harm)

    with pytest.raises(IndexDamaged):
        agent.search("gudgeon here", match=match) if match == "any" else agent.search("gudgeon")
    later = agent.search("gudgeon")
    agent.reconcile()

    assert (later["results"], later["indexing"]) == ([], True)
    assert set(agent.found("gudgeon")) == {"a", "b"}


def test_an_append_is_stored_despite_damage_and_found_once_the_index_is_built_anew(agent: Session) -> None:
    agent.append("a", "the gudgeon")
    damage(agent)
    with pytest.raises(IndexDamaged):
        agent.search("gudgeon")

    agent.append("b", "the pintle")
    agent.reconcile()

    assert (agent.found("gudgeon"), agent.found("pintle")) == (["a"], ["b"])
    assert agent.world.verify() == []
    assert agent.search("gudgeon")["indexing"] is False


def test_a_delete_goes_through_despite_damage(agent: Session) -> None:
    other = agent.world.session("ada", "agent:ada:other").append("b", "the pintle")
    agent.append("a", "the gudgeon")
    damage(agent)

    agent.delete()
    with suppress(IndexDamaged):  # whichever of the two met the damage first
        other.search("pintle")
    other.reconcile()

    assert other.found("pintle") == ["b"]
    assert agent.world.verify() == []


def test_zeros_that_no_query_notices_are_found_and_mended_by_verify(agent: Session) -> None:
    agent.append("a", "the gudgeon")
    damage(agent, "00")

    found = agent.world.verify(repair=True)
    agent.reconcile()

    assert found
    assert agent.found("gudgeon") == ["a"]
    assert agent.world.verify() == []
