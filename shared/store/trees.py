"""Callers' trees as they were last read, each with the marks of the databases it was read from.

A mark is a text in a database that changes, by triggers, with every change of a row that a tree depends on: who spawned whom, which
sessions there are, which are incognito. What was read under marks that are all as they were is what reading it again would give.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_KEYS = 100_000  # sessions in the trees remembered together, and as many in the lists of numbers

MARK = "SELECT value FROM meta WHERE name = 'lineage mark'"


def lineage_mark(conn: sqlite3.Connection) -> str | None:
    """The mark of an agent's or the registry's rows about who spawned whom."""
    row = conn.execute(MARK).fetchone()
    return str(row[0]) if row else None


@dataclass(frozen=True, slots=True)
class Tree:
    """Session keys by agent; marks: by agent id, the registry's under None."""

    keys: Mapping[str, frozenset[str]]
    marks: Mapping[str | None, str | None]

    @property
    def size(self) -> int:
        return 1 + sum(map(len, self.keys.values()))


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of the sessions of some keys that are there and not incognito, ascending; None: all that are. mark: the agent's."""

    numbers: tuple[int, ...] | None
    mark: str | None

    @property
    def size(self) -> int:
        return 1 + len(self.numbers or ())


K = TypeVar("K")
V = TypeVar("V", Tree, Numbers)


class Remembered(Generic[K, V]):
    """Values up to a size in all; those not asked for longest go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._size = 0

    def find(self, place: K) -> V | None:
        with self._lock:
            if place in self._kept:
                self._kept.move_to_end(place)
            return self._kept.get(place)

    def keep(self, place: K, value: V) -> None:
        with self._lock:
            before = self._kept.pop(place, None)
            self._size += value.size - (before.size if before else 0)
            self._kept[place] = value
            while self._size > MAX_KEYS:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size


class Trees:
    """What is remembered of one data folder."""

    def __init__(self) -> None:
        self.of_callers: Remembered[tuple[str, str], Tree] = Remembered()  # by the caller's agent id and session key
        self.numbers: Remembered[tuple[str, frozenset[str]], Numbers] = Remembered()  # by agent id and keys
