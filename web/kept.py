"""What is costly to look at, kept for a while that its cost decides."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

SHARE = 20  # what took a second to make serves for so many


class Kept(Generic[T]):
    """One thing as it was a moment ago, made anew for a twentieth of the time at most, whatever the number of those who ask."""

    def __init__(self, least_s: float = 0.0) -> None:
        """least_s: how long it serves, however cheap it was."""
        self._lock = threading.Lock()
        self._least_s = least_s
        self._until_s = 0.0
        self._made: list[T] = []

    def get(self, make: Callable[[], T], *, fresh: bool = False) -> T:
        """The thing; fresh: made now."""
        with self._lock:
            begun_s = time.monotonic()
            if fresh or not self._made or begun_s >= self._until_s:
                self._made = [make()]
                ended_s = time.monotonic()
                self._until_s = ended_s + max(self._least_s, (ended_s - begun_s) * SHARE)
            return self._made[0]
