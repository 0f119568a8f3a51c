"""What the web processes of one server know together: figures and limits, in memory that the processes forked later share.

Nothing of it is on disk: a request that is counted writes no file, and a server that starts begins anew, as Prometheus expects of
counters. It takes 200 KiB and some for each process, however many callers there are.
"""

import mmap
from collections.abc import Sequence

from shared.config import Settings
from web import figures
from web.figures import Figures
from web.ratelimit import BYTES, Limiter


class Together:
    """Made once by the server's first process, and known to its children."""

    def __init__(self, settings: Settings, operations: Sequence[str]) -> None:
        """operations: the names under which requests are counted."""
        self.operations = frozenset(operations)
        self.requests = figures.requests(operations)
        families = (self.requests, *figures.FAMILIES)
        seats = 2 * settings.web_processes + 2  # a reload starts the new processes before the old ones have ended
        memory = memoryview(mmap.mmap(-1, 3 * BYTES + figures.size_of(seats, families)))
        self.tokens = Limiter(memory[:BYTES], settings.rate_limit)  # by token id
        self.failures = Limiter(memory[BYTES : 2 * BYTES], settings.failure_limit)  # wrong credentials by the peer's address
        self.good = Limiter(memory[2 * BYTES : 3 * BYTES], 0)  # credentials that were right lately
        self.figures = Figures(memory[3 * BYTES :], seats, families)
        self._free = list(range(seats - 1, 0, -1))

    def take_seat(self) -> int:
        """A seat for a process about to be forked; called by the server's first process alone."""
        return self._free.pop() if self._free else 0

    def leave_seat(self, seat: int) -> None:
        """Its process has ended; the next one counts on where it stopped."""
        if seat:
            self._free.append(seat)
