"""How often somebody may ask: one number a caller, in a table of fixed size that all web processes of a server share.

The number is the moment at which all that the caller asked so far is paid for (the generic cell rate algorithm, ITU-T I.371): a request
moves it on by the time that one request is worth, and is refused when that would lead more than a minute's worth ahead. A number that
lies in the past says the same as none, so that a slot can be given to another caller without anything being forgotten.

Threads take turns. Processes do not: two requests of one caller in the same microsecond can count as one, which no limit notices.
"""

import threading
from hashlib import blake2b

SLOTS = 4096
WAYS = 8  # a caller's number is in one of so many neighbouring slots
BYTES = SLOTS * 16
MINUTE_US = 60_000_000


class Limiter:
    """A limit of so many requests a minute for each key, and as many at once; 0 is no limit. Times are microseconds of one clock."""

    def __init__(self, memory: memoryview, a_minute: int) -> None:
        """memory: BYTES bytes, zero at first, which other processes may share."""
        self._cells = memory.cast("q")  # (fingerprint, paid at) of each slot
        self._lock = threading.Lock()
        self._cost_us = MINUTE_US // a_minute if a_minute else 0
        self._ahead_us = self._cost_us * (a_minute - 1)

    def take(self, key: str, at_us: int) -> int:
        """One request of the key is counted, and 0 returned; or it is one too many, and the seconds until the next are."""
        mark = _mark(key)
        with self._lock:
            cell = self._find(mark)
            paid_us = self._cells[cell + 1] if cell is not None else 0
            if wait_s := self._wait_s(paid_us, at_us):
                return wait_s
            if cell is None:
                cell = self._give(mark)
            self._cells[cell + 1] = max(paid_us, at_us) + self._cost_us
        return 0

    def wait_s(self, key: str, at_us: int) -> int:
        """Seconds until the key may ask again; nothing is counted."""
        cell = self._find(_mark(key))
        return self._wait_s(self._cells[cell + 1], at_us) if cell is not None else 0

    def knows(self, key: str) -> bool:
        """Whether the key was counted lately; of very many keys, the one that was longest silent is forgotten first."""
        return self._find(_mark(key)) is not None

    def forget(self, key: str) -> None:
        """The key has never asked."""
        with self._lock:
            if (cell := self._find(_mark(key))) is not None:
                self._cells[cell] = self._cells[cell + 1] = 0

    def _wait_s(self, paid_us: int, at_us: int) -> int:
        beyond_us = paid_us - at_us - self._ahead_us
        return -(-beyond_us // 1_000_000) if self._cost_us and beyond_us > 0 else 0

    def _find(self, mark: int) -> int | None:
        first = mark % (SLOTS // WAYS) * WAYS * 2
        return next((cell for cell in range(first, first + WAYS * 2, 2) if self._cells[cell] == mark), None)

    def _give(self, mark: int) -> int:
        """The slot of the key that is soonest paid for is this key's."""
        first = mark % (SLOTS // WAYS) * WAYS * 2
        cell = min(range(first, first + WAYS * 2, 2), key=lambda cell: self._cells[cell + 1])
        self._cells[cell] = mark
        return cell


def _mark(key: str) -> int:
    """What stands for a key in the table: the key cannot be read from it. Never 0, which marks a free slot."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True) or 1
