"""The one place that opens SQLite: how a connection reads, writes, waits and fails.

Readers cannot write. Writers begin IMMEDIATE, for a deferred transaction that turns into a write fails at once whatever the busy
timeout (SQLite manual, "Isolation" and BEGIN). Every error of the library leaves here as one of ours.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from shared.errors import BadSettings, IndexDamaged, StoreDamaged, StoreFull, StoreUnavailable, UnreadableSource
from shared.store.turns import LONGEST_WAIT_MS, turn_to_write

SQLITE_FLOOR = (3, 40, 0)  # Debian 12's; older ones lack what the statements use
PAGE_BYTES = 8192  # 4 % less file than 4,096, as payloads fill these better; an append took 1.5 to 1.8 ms instead of 1.4
WAL_LIMIT_BYTES = 16 << 20  # the write-ahead log is cut back to this after a checkpoint
FOREIGN_VALUE_BYTES = 128 << 20  # another program's value beyond this is an error to SQLite, not memory

FileId = tuple[int, int] | None

_creating = threading.Lock()
_opened: dict[str, FileId] = {}  # the file that this process opened last at each path


def check_sqlite() -> None:
    """raises: BadSettings when Python's SQLite is older than SQLITE_FLOOR."""
    if sqlite3.sqlite_version_info < SQLITE_FLOOR:
        raise BadSettings(f"SQLite is {sqlite3.sqlite_version}; needed: {'.'.join(map(str, SQLITE_FLOOR))} or newer")


def open_writer(path: Path, synchronous: str = "FULL") -> sqlite3.Connection:
    """A connection that may write; the file is made (mode 0600) when it is not there."""
    with failures_named(path):
        _create_private(path)
        _note_opened(path)
        conn = _connect(f"file:{quote(str(path))}?mode=rw")
        conn.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a file that is still empty
        _use_log(conn)
        conn.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'NORMAL' else 'FULL'}")
        conn.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
        conn.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten, not only unlinked
        return conn


def _use_log(conn: sqlite3.Connection) -> None:
    """The file has a write-ahead log. Two processes that make one file together get SQLITE_BUSY here whatever the timeout."""
    for pause_s in (0.01, 0.05, 0.2, 1.0, 0.0):
        try:
            conn.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as e:
            if e.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or not pause_s:
                raise
            time.sleep(pause_s)


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. raises: StoreUnavailable when there is no such file."""
    with failures_named(path):
        _note_opened(path)
        return _connect(f"file:{quote(str(path))}?mode=ro")


@contextmanager
def open_foreign(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's database, which is never written and beside which no file is left; closed at the end.

    A reader of a database in WAL mode makes the log's two files where there are none, and leaves them; so it is opened as immutable
    when it has no log. What the file's own schema could run (views, triggers, functions) is not trusted, and the file is not mapped
    into memory: another program may cut it short meanwhile.
    raises: UnreadableSource for whatever keeps it from being read, now or later.
    """
    try:
        with failures_named(path):
            conn = _connect(f"file:{quote(str(path))}?mode=ro{'&immutable=1' if _is_unused_wal(path) else ''}")
            try:
                conn.execute("PRAGMA mmap_size = 0")
                conn.execute("PRAGMA query_only = ON")
                conn.execute("PRAGMA trusted_schema = OFF")
                conn.execute("PRAGMA cell_size_check = ON")
                conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, FOREIGN_VALUE_BYTES)
                conn.text_factory = _lenient
                yield conn
            finally:
                conn.close()
    except (StoreUnavailable, sqlite3.Error) as e:
        raise UnreadableSource(str(e)) from e


def _is_unused_wal(path: Path) -> bool:
    """Whether the database is in WAL mode (its header says so) and has no log beside it: nobody writes to it."""
    with path.open("rb") as file:
        header = file.read(20)
    return header[18:20] == b"\2\2" and not path.with_name(path.name + "-wal").exists()


def _lenient(data: bytes) -> str:
    """Text of another program, which may hold anything; what is not UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def _connect(uri: str) -> sqlite3.Connection:
    conn = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=LONGEST_WAIT_MS / 1000, check_same_thread=False, cached_statements=256
    )
    conn.execute("PRAGMA temp_store = MEMORY")
    conn.execute("PRAGMA cache_size = -8192")  # KiB a connection
    conn.execute("PRAGMA mmap_size = 2147418112")  # the most it takes; reads of a warm file cost no copy
    return conn


def file_id(path: Path) -> FileId:
    """Which file is at the path now (device and inode); None when there is none. Costs 2 us."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def drop_strange_log(path: Path) -> None:
    """No log stands beside the file that is still of one which stood at the path before and which this process has open.

    SQLite would apply it to the file that took its place. A log that came with the new file is another file, and stays; so does one
    that this process may have made since it opened the new file.
    """
    with _creating:
        now = file_id(path)
        if now is None or _opened.get(str(path)) in (None, now):
            return
        _opened[str(path)] = now
        if file_id(path.with_name(path.name + "-wal")) in _open_files():
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)


def _open_files() -> set[FileId]:
    """Which files this process has open, where the system tells."""
    found: set[FileId] = set()
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ():
        with suppress(OSError):
            status = os.fstat(int(name))
            found.add((status.st_dev, status.st_ino))
    return found


def _note_opened(path: Path) -> None:
    with _creating:
        _opened[str(path)] = file_id(path)


def _create_private(path: Path) -> None:
    """Makes an empty file only its owner can read. It must not be there yet: closing a second descriptor would drop SQLite's locks."""
    with _creating, suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextmanager
def write_transaction(conn: sqlite3.Connection, path: Path | None = None) -> Iterator[sqlite3.Connection]:
    """One write, committed as a whole or not at all. path names the file in errors and queues this process's threads (turns.py)."""
    with failures_named(path), turn_to_write(conn, path):
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
    except UnicodeDecodeError as e:  # SQLite's message quotes a damaged schema, and Python cannot decode it
        raise StoreDamaged("a database is damaged", name) from e
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull("the disk is full", name) from e
        raise StoreUnavailable(f"a database cannot be opened: {e.strerror}", name) from e


_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "a database is held by another program",
    sqlite3.SQLITE_LOCKED: "a database is held by another program",
    sqlite3.SQLITE_READONLY: "a database is read-only",
    sqlite3.SQLITE_CANTOPEN: "a database cannot be opened",
    sqlite3.SQLITE_IOERR: "a database cannot be read or written",
    sqlite3.SQLITE_PERM: "a database cannot be opened",
    sqlite3.SQLITE_AUTH: "a database cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "a database is held by another program",
    sqlite3.SQLITE_INTERRUPT: "a query took longer than it may",
}


def not_utf8(error: sqlite3.DatabaseError) -> bool:
    """Whether a column of text holds something else: an error of Python's own, which carries no code of SQLite's."""
    return str(error).startswith("Could not decode to UTF-8")


def _named(error: sqlite3.DatabaseError, name: str | None) -> Exception:
    """The error of ours for one of SQLite's; an error in a statement of ours stays what it is."""
    if not_utf8(error):
        return StoreDamaged("a database is damaged", name)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    primary = code & 0xFF
    if primary == sqlite3.SQLITE_FULL or code in _FULL:
        return StoreFull("the disk is full", name)
    if code == sqlite3.SQLITE_CORRUPT_VTAB:
        return IndexDamaged("a full-text index is damaged and will be built anew", name)
    if primary in _DAMAGED:
        return StoreDamaged("a database is damaged", name)
    if primary in _UNAVAILABLE:
        return StoreUnavailable(_UNAVAILABLE[primary], name)
    return error
