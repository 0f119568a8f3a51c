"""What was deleted is in no file, and the proof of it can fail."""

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


def test_a_word_too_short_to_be_told_from_chance_is_not_looked_for(agent: Session) -> None:
    agent.append("a", "tar")

    assert traces(agent, "tar") == set()
