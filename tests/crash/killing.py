"""Counts the commits of write transactions in this process, and ends it by SIGKILL just before or just after one of them.

The product is not touched: `sqlite3.connect`, which one module of it calls, makes connections of a class that counts.
"""

import functools
import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any, Literal

Side = Literal["before", "after"]


class _Counter:
    """The commits of this process so far, and the one at which it ends (0: at none)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.commits, self.last = 0, 0
        self.side: Side = "before"
        self.mark: tuple[Path, str] | None = None

    def commit(self) -> bool:
        """Counts one; whether it is the last."""
        with self.lock:
            self.commits += 1
            return self.commits == self.last

    def die(self) -> None:
        """The process is gone, with a word of its own left in the file of marks."""
        if self.mark:
            path, word = self.mark
            mark = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(mark, word.encode() + b" ")
        os.kill(os.getpid(), signal.SIGKILL)


counter = _Counter()


class Counting(sqlite3.Connection):
    """A connection whose write transactions are counted as they commit."""

    writing = False

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            self.writing = True
        elif sql == "ROLLBACK":
            self.writing = False
        elif sql == "COMMIT" and self.writing:
            self.writing = False
            return self._commit()
        return super().execute(sql, *values)

    def _commit(self) -> sqlite3.Cursor:
        last = counter.commit()
        if last and counter.side == "before":
            counter.die()
        cursor = super().execute("COMMIT")
        if last:
            counter.die()
        return cursor


def count_commits(last: int = 0, side: Side = "before", mark: tuple[Path, str] | None = None) -> None:
    """From here on the commits of this process are counted; it is killed at the one that is named.

    mark: a file, and the word that is left in it then.
    """
    counter.commits, counter.last, counter.side, counter.mark = 0, last, side, mark
    sqlite3.connect = functools.partial(_connect, factory=Counting)  # type: ignore[assignment]


_connect = sqlite3.connect
