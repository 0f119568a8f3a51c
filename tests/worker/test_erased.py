"""What was deleted is in no file, and the proof of it can fail."""

import pytest

from shared.errors import BadRequest
from tests.conftest import Session
from worker.erased import find_traces
from worker.maintenance import erase

WORD = "Quillonade"


def traces(agent: Session, *words: str) -> set[tuple[int, str]]:
    return {(trace.line, trace.where) for trace in find_traces(agent.world.store.settings, words)}


def test_a_word_that_is_stored_is_found_in_the_bytes_and_in_the_index(agent: Session) -> None:
    agent.append("a", f"the word {WORD} stands here")

    assert traces(agent, "nowhereword", WORD) == {(2, "bytes of the file"), (2, "the index")}


def test_a_deleted_word_is_gone_from_the_index_at_once_and_from_the_files_after_the_erase_job(agent: Session) -> None:
    agent.append("a", f"the word {WORD} stands here")
    agent.world.session("ada", "agent:ada:other").append("b", "something else")

    agent.delete()
    at_once = traces(agent, WORD)
    erase(agent.world.store, "ada", lambda: None)

    assert "the index" not in {where for _, where in at_once}
    assert traces(agent, WORD) == set()


@pytest.mark.parametrize("words", [("tar",), (WORD, "", "é1"), (), ("", " ")])
def test_what_could_not_be_proven_is_refused_and_never_reported_as_erased(agent: Session, words: tuple[str, ...]) -> None:
    agent.append("a", "tar")

    with pytest.raises(BadRequest):
        traces(agent, *words)


def test_two_chinese_characters_are_enough_of_a_word(agent: Session) -> None:
    agent.append("a", "后天去灯塔")

    assert (1, "bytes of the file") in traces(agent, "灯塔")
