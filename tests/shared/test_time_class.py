"""How long an answer takes does not tell a hidden session from one that does not exist: medians of many alternating tries."""

import statistics
import time
from collections.abc import Callable
from contextlib import suppress

from shared.errors import NotFound
from shared.history import HistoryRequest, read_history
from shared.visibility import Caller
from tests.conftest import World

TRIES = 150


def medians_ms(*asked: Callable[[], object]) -> list[float]:
    """The median time of each, asked in turn, so that a busy machine slows all alike."""
    took: list[list[float]] = [[] for _ in asked]
    for _ in range(TRIES):
        for ask, times in zip(asked, took, strict=True):
            begun = time.perf_counter()
            ask()
            times.append((time.perf_counter() - begun) * 1000)
    return [statistics.median(times) for times in took]


def test_a_hidden_session_with_much_in_it_takes_no_longer_than_one_that_is_not_there(world: World) -> None:
    world.session("ada").append("a", "own word")
    hidden = world.session("ben", "agent:ben:main")
    hidden.send(*({"id": f"e{n}", "type": "message", "message": {"role": "user", "content": f"secret word {n}"}} for n in range(1000)))
    caller = Caller("ada", "agent:ada:main")

    def history(key: str) -> None:
        with suppress(NotFound):
            read_history(world.store, caller, HistoryRequest(key))

    for ask in (history, lambda key: world.search(caller, "secret word", session_key=key)):
        one, other = medians_ms(lambda ask=ask: ask(hidden.key), lambda ask=ask: ask("agent:not:there"))  # type: ignore[misc]
        assert abs(one - other) < 0.5 * max(one, other)
