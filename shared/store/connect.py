"""The one place that opens SQLite: how a connection reads, writes, waits and fails.

Readers cannot write. Writers begin IMMEDIATE, for a deferred transaction that turns into a write fails at once whatever the busy
timeout (SQLite manual, "Isolation" and BEGIN). Every error of the library leaves here as one of ours.
"""

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from shared.errors import BadSettings, StoreDamaged, StoreFull, StoreUnavailable

SQLITE_FLOOR = (3, 40, 0)  # Debian 12's; older ones lack what the statements use
BUSY_TIMEOUT_MS = 30_000  # a caller never sees a lock that another program holds for less
WAL_LIMIT_BYTES = 16 << 20  # the write-ahead log is cut back to this after a checkpoint

_creating = threading.Lock()
_write_locks: dict[str, threading.Lock] = {}  # per file: threads of one process queue here in turn instead of sleeping in SQLite


def check_sqlite() -> None:
    """raises: BadSettings when Python's SQLite is older than SQLITE_FLOOR."""
    if sqlite3.sqlite_version_info < SQLITE_FLOOR:
        raise BadSettings(f"SQLite is {sqlite3.sqlite_version}; needed: {'.'.join(map(str, SQLITE_FLOOR))} or newer")


def open_writer(path: Path, synchronous: str = "FULL") -> sqlite3.Connection:
    """A connection that may write; the file is made (mode 0600) when it is not there."""
    with failures_named(path):
        _create_private(path)
        conn = _connect(f"file:{quote(str(path))}?mode=rw")
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'NORMAL' else 'FULL'}")
        conn.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
        conn.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten, not only unlinked
        return conn


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. raises: StoreUnavailable when there is no such file."""
    with failures_named(path):
        return _connect(f"file:{quote(str(path))}?mode=ro")


def _connect(uri: str) -> sqlite3.Connection:
    conn = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000, check_same_thread=False, cached_statements=256)
    conn.execute("PRAGMA temp_store = MEMORY")
    conn.execute("PRAGMA cache_size = -8192")  # KiB a connection
    conn.execute("PRAGMA mmap_size = 1073741824")  # reads of a warm file cost no copy
    return conn


def _create_private(path: Path) -> None:
    """Makes an empty file only its owner can read. It must not be there yet: closing a second descriptor would drop SQLite's locks."""
    with _creating:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def write_lock(path: Path) -> threading.Lock:
    """The lock that this process's writers of one file take before they begin."""
    with _creating:
        return _write_locks.setdefault(str(path), threading.Lock())


@contextmanager
def write_transaction(conn: sqlite3.Connection, path: Path | None = None) -> Iterator[sqlite3.Connection]:
    """One write, committed as a whole or not at all. path names the file in errors and queues this process's threads."""
    turn = write_lock(path) if path else threading.Lock()
    with turn, failures_named(path):
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield conn
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


@contextmanager
def read_transaction(conn: sqlite3.Connection, path: Path | None = None) -> Iterator[sqlite3.Connection]:
    """Every read inside sees one state of the file."""
    with failures_named(path):
        conn.execute("BEGIN")
        try:
            yield conn
        finally:
            if conn.in_transaction:
                conn.execute("COMMIT")


@contextmanager
def failures_named(path: Path | None) -> Iterator[None]:
    """SQLite's and the file system's errors as ours, with the file's name."""
    name = str(path) if path else None
    try:
        yield
    except sqlite3.DatabaseError as e:
        raise _named(e, name) from e
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull("the disk is full", name) from e
        raise StoreUnavailable(f"a database cannot be opened: {e.strerror}", name) from e


_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "a database is locked by another program",
    sqlite3.SQLITE_LOCKED: "a database is locked by another program",
    sqlite3.SQLITE_READONLY: "a database is read-only",
    sqlite3.SQLITE_CANTOPEN: "a database cannot be opened",
    sqlite3.SQLITE_IOERR: "a database cannot be read or written",
    sqlite3.SQLITE_PERM: "a database cannot be opened",
    sqlite3.SQLITE_AUTH: "a database cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "a database is locked by another program",
    sqlite3.SQLITE_INTERRUPT: "a query took longer than it may",
}


def _named(error: sqlite3.DatabaseError, name: str | None) -> Exception:
    """The error of ours for one of SQLite's; an error in a statement of ours stays what it is."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    primary = code & 0xFF
    if primary == sqlite3.SQLITE_FULL or code in _FULL:
        return StoreFull("the disk is full", name)
    if primary in _DAMAGED:
        return StoreDamaged("a database is damaged", name)
    if primary in _UNAVAILABLE:
        return StoreUnavailable(_UNAVAILABLE[primary], name)
    return error
