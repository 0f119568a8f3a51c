"""Turns to write: everybody waits a bounded time, and only so many wait."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from shared.errors import StoreUnavailable
from shared.store import turns
from tests.conftest import Session


@pytest.fixture(autouse=True)
def short_waits(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(turns, "LONGEST_WAIT_MS", 600)
    monkeypatch.setattr(turns, "SOON_MS", 50)
    yield
    turns.let_wait(None)


def seconds_until_refused(write: Callable[[], object]) -> float:
    begun = time.monotonic()
    with pytest.raises(StoreUnavailable, match="held by another program"):
        write()
    return time.monotonic() - begun


def together(count: int, work: Callable[[int], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_writers_behind_a_held_file_are_refused_together_and_not_one_after_the_other(agent: Session):
    """Each used to begin its own wait when the one before it gave up: the tenth was refused after ten times as long."""
    agent.append("a", "alpha")
    took: list[float] = []

    with agent.world.plain_sqlite() as other:
        other.execute("BEGIN IMMEDIATE")
        for thread in together(6, lambda n: took.append(seconds_until_refused(lambda: agent.append(f"b{n}", "beta")))):
            thread.join()

    assert len(took) == 6
    assert max(took) < 1.5
    assert min(took) > 0.5


def test_a_request_that_writes_twice_waits_once(agent: Session):
    agent.append("a", "alpha")

    with agent.world.plain_sqlite() as other:
        other.execute("BEGIN IMMEDIATE")
        with turns.waiting_once():
            seconds_until_refused(lambda: agent.append("b", "beta"))
            assert seconds_until_refused(lambda: agent.append("b", "beta")) < 0.3
        assert seconds_until_refused(lambda: agent.append("b", "beta")) > 0.5


def test_a_writer_without_a_place_to_wait_is_refused_soon_and_one_with_a_place_gets_its_turn(agent: Session):
    agent.append("a", "alpha")
    turns.let_wait(1)

    with agent.world.plain_sqlite() as other:
        other.execute("BEGIN IMMEDIATE")
        (waiting,) = together(1, lambda _: agent.append("b", "beta"))
        time.sleep(0.2)
        assert seconds_until_refused(lambda: agent.append("c", "gamma")) < 0.3
    waiting.join()

    assert agent.found("beta") == ["b"]
    agent.append("c", "gamma")
    assert agent.found("gamma") == ["c"]
