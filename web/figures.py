"""What the web processes of one server count, in memory that they share, so that each of them can tell the sum.

Each process writes into a seat of its own: no two write one cell, and nothing is lost or counted twice. A process that has ended leaves
its seat with all it counted to the next one. Labels and their values are fixed from the start, so the memory is of one size.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from shared.errors import SessionSearchError
from web.errors import kind_of

STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
OTHERS = ("page", "static", "unknown")  # what is answered besides the operations for programs
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Family:
    """Figures of one name: a counter for each set of label values, or with buckets a histogram."""

    name: str
    about: str
    labels: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ((),)
    buckets: tuple[float, ...] = ()  # upper bounds, in seconds

    @property
    def width(self) -> int:
        """Cells for one set of label values: one count, or a count a bucket, one for all above, and the sum."""
        return len(self.buckets) + 2 if self.buckets else 1


def _each(*words: str) -> tuple[tuple[str, ...], ...]:
    return tuple((word,) for word in words)


_SEARCHED, _WRITTEN = _each("found", "nothing", "refused", "failed"), _each("stored", "refused", "failed")
SEARCHES = Family("session_search_search_seconds", "Time of a search, by its outcome.", ("outcome",), _SEARCHED, SECONDS)
APPENDS = Family("session_search_append_seconds", "Time of an append, by its outcome.", ("outcome",), _WRITTEN, SECONDS)
APPENDED = Family("session_search_appended_events", "Events that were new, by the answers to appends.")
INCOMPLETE = Family("session_search_incomplete_answers", "Searches answered while a session in question was pending.")
REDACTIONS = Family("session_search_redactions", "Masks in answers.", ("operation",), _each("search", "history", "list"))
LIMITED = Family("session_search_limited", "Requests refused with 429, by the limit they met.", ("limit",), _each("token", "failures"))
FAMILIES = (LIMITED, SEARCHES, INCOMPLETE, REDACTIONS, APPENDS, APPENDED)


def requests(operations: Sequence[str]) -> Family:
    """Requests by operation and class of status."""
    values = tuple((name, status) for name in (*operations, *OTHERS) for status in STATUSES)
    return Family("session_search_requests", "Requests answered, by operation and class of status.", ("operation", "status"), values)


class Timing:
    """What is being timed; outcome is said by who does it."""

    outcome = "failed"


class Figures:
    """The figures of all processes, of which this one writes one seat's."""

    def __init__(self, memory: memoryview, seats: int, families: Sequence[Family]) -> None:
        """memory: at least size_of(seats, families) bytes, zero at first."""
        self._families = families
        self._seat_cells = _cells(families)
        self._cells = memory[: size_of(seats, families)].cast("d")
        self._lock = threading.Lock()
        self._seat = 0
        self._at: dict[tuple[str, tuple[str, ...]], int] = {}
        at = 0
        for family in families:
            for values in family.values:
                self._at[family.name, values] = at
                at += family.width

    def sit(self, seat: int) -> None:
        """From now on this process writes there."""
        self._seat = seat

    def add(self, family: Family, *values: str, amount: int = 1) -> None:
        """The counter has grown."""
        with self._lock:
            self._cells[self._seat * self._seat_cells + self._at[family.name, values]] += amount

    def observe(self, family: Family, *values: str, seconds: float) -> None:
        """The histogram holds one more."""
        first = self._seat * self._seat_cells + self._at[family.name, values]
        with self._lock:
            self._cells[first + bisect_left(family.buckets, seconds)] += 1
            self._cells[first + family.width - 1] += seconds

    @contextmanager
    def timed(self, family: Family) -> Iterator[Timing]:
        """What runs inside is observed; an error that is the caller's counts as refused, any other as failed."""
        timing, began = Timing(), time.perf_counter()
        try:
            yield timing
        except SessionSearchError as e:
            timing.outcome = "refused" if kind_of(e).status < 500 else "failed"
            raise
        finally:
            self.observe(family, timing.outcome, seconds=time.perf_counter() - began)

    def collect(self) -> list[Metric]:
        """The sums over all seats, every name and label value that there is."""
        return [(_histogram if family.buckets else _counter)(family, self._sums(family)) for family in self._families]

    def _sums(self, family: Family) -> list[list[float]]:
        starts = [self._at[family.name, values] for values in family.values]
        return [[sum(self._cells[cell :: self._seat_cells]) for cell in range(at, at + family.width)] for at in starts]


def size_of(seats: int, families: Sequence[Family]) -> int:
    """Bytes that so many seats take."""
    return seats * _cells(families) * 8


def _cells(families: Sequence[Family]) -> int:
    return sum(family.width * len(family.values) for family in families)


def _counter(family: Family, sums: list[list[float]]) -> Metric:
    made = CounterMetricFamily(family.name, family.about, labels=family.labels)
    for values, (count,) in zip(family.values, sums, strict=True):
        made.add_metric(values, count)
    return made


def _histogram(family: Family, sums: list[list[float]]) -> Metric:
    made = HistogramMetricFamily(family.name, family.about, labels=family.labels)
    bounds = [*map(str, family.buckets), "+Inf"]
    for values, (*counts, seconds) in zip(family.values, sums, strict=True):
        made.add_metric(values, list(zip(bounds, accumulate(counts), strict=True)), seconds)
    return made
