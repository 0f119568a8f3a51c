"""Whose turn it is to write a file, how long a writer waits for it, and how many may wait.

A writer that gets its turn soon is never refused. One that does not takes a place among those that wait; a server bounds the places,
so that writers of a file that is held leave threads to its readers. What waits within `waiting_once` waits a bounded time in all,
however many files it writes and however many others stood before it.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.errors import StoreUnavailable

LONGEST_WAIT_MS = 30_000  # a caller never sees a lock that another program holds for less
SOON_MS = 250  # a wait of so long takes no place

_local = threading.local()
_guard = threading.Lock()
_turns: dict[str, threading.Lock] = {}  # per file: threads of one process queue here in turn instead of sleeping in SQLite


class _Places:
    """How many writers wait, of how many that may; None: any number."""

    def __init__(self) -> None:
        self.most: int | None = None
        self.taken = 0

    @contextmanager
    def one(self, path: Path | None) -> Iterator[None]:
        with _guard:
            if self.most is not None and self.taken >= self.most:
                raise StoreUnavailable("a database is held by another program and no more writers may wait", str(path) if path else None)
            self.taken += 1
        try:
            yield
        finally:
            with _guard:
                self.taken -= 1


_places = _Places()


def let_wait(writers: int | None) -> None:
    """At most so many writers of this process wait at a time; further ones are refused after SOON_MS."""
    _places.most = writers


@contextmanager
def waiting_once() -> Iterator[None]:
    """Every turn that this thread waits for inside comes out of one LONGEST_WAIT_MS."""
    _local.until = time.monotonic() + LONGEST_WAIT_MS / 1000
    try:
        yield
    finally:
        _local.until = None


@contextmanager
def turn_to_write(conn: sqlite3.Connection, path: Path | None) -> Iterator[None]:
    """A write transaction is open on the connection, and no other thread of this process is at the file.

    raises: StoreUnavailable when there is no place to wait; SQLite's own error when the wait was in vain.
    """
    turn = _turn(path)
    begun = time.monotonic()
    until = getattr(_local, "until", None) or begun + LONGEST_WAIT_MS / 1000
    if not _begin(conn, turn, min(until, begun + SOON_MS / 1000)):
        with _places.one(path):
            if not _begin(conn, turn, until):
                raise StoreUnavailable("a database is held by another program", str(path) if path else None)
    try:
        yield
    finally:
        turn.release()


def _turn(path: Path | None) -> threading.Lock:
    if path is None:
        return threading.Lock()
    with _guard:
        return _turns.setdefault(str(path), threading.Lock())


def _begin(conn: sqlite3.Connection, turn: threading.Lock, until: float) -> bool:
    """Whether it was this thread's turn, and SQLite's, before then; the turn is taken if so."""
    if not turn.acquire(timeout=max(0.0, until - time.monotonic())):
        return False
    try:
        conn.execute(f"PRAGMA busy_timeout = {max(0, round((until - time.monotonic()) * 1000))}")
        conn.execute("BEGIN IMMEDIATE")
    except BaseException as e:
        turn.release()
        if isinstance(e, sqlite3.OperationalError) and e.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True
