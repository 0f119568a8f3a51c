"""Callers' trees as they were last read, each with the marks of the databases it was read from.

A mark is a text in a database that changes, by triggers, with every change of a row that a tree depends on. A tree whose marks are all as
they were is what reading it again would give.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

MAX_KEYS = 100_000  # session keys remembered in all; some ten megabytes

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


class Trees:
    """A bounded number of trees, by caller's agent and session key; those not asked for longest go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trees: OrderedDict[tuple[str, str], Tree] = OrderedDict()
        self._size = 0

    def find(self, place: tuple[str, str]) -> Tree | None:
        with self._lock:
            if place in self._trees:
                self._trees.move_to_end(place)
            return self._trees.get(place)

    def keep(self, place: tuple[str, str], tree: Tree) -> None:
        with self._lock:
            before = self._trees.pop(place, None)
            self._size += tree.size - (before.size if before else 0)
            self._trees[place] = tree
            while self._size > MAX_KEYS:
                _, oldest = self._trees.popitem(last=False)
                self._size -= oldest.size
