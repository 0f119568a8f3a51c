"""How an agent's database comes to be: made whole under another name, then put in its place.

So a file in its place that holds nothing was cut off, and is not taken for a new one.
"""

import os
import threading
from contextlib import closing, suppress
from pathlib import Path

from shared.errors import StoreDamaged
from shared.store import projection
from shared.store.connect import failures_named, open_writer
from shared.store.migrate import migrate

LEAST_BYTES = 512  # SQLite's smallest page; it takes a shorter file for a database that has nothing in it yet
_MARK = ".new-"


def create_agent(path: Path, synchronous: str) -> None:
    """The agent's database is there with the newest schema; another process may have been faster."""
    new = path.with_name(f"{path.name}{_MARK}{os.getpid()}-{threading.get_ident()}")
    try:
        with failures_named(new), closing(open_writer(new, synchronous)) as conn:
            migrate(conn, "agent", new)
            projection.ensure_index(conn, new)
        with failures_named(path), suppress(FileExistsError):
            os.link(new, path)
    finally:
        for ending in ("", "-wal", "-shm"):
            new.with_name(new.name + ending).unlink(missing_ok=True)


def refuse_empty(path: Path) -> None:
    """raises: StoreDamaged for a database that was cut off to nothing."""
    with failures_named(path):
        if path.stat().st_size < LEAST_BYTES:
            raise StoreDamaged("a database has lost its content", str(path))


def drop_unfinished(folder: Path) -> None:
    """What killed processes left of databases they were making is gone."""
    for path in folder.glob(f"*{_MARK}*"):
        process = path.name.rpartition(_MARK)[2].partition("-")[0]
        if process.isdigit() and not _alive(int(process)):
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
