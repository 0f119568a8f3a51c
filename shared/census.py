"""How all agents stand together, at a cost that does not grow with the agents that nobody writes to.

A look asks the file system for every database's size and times, and opens only those that changed since they were last read: a bounded
number, the others are left to the next look and told as uncounted. Transcripts are checked page by page where a file changed and is not
large; what is larger is left to `verify`, and to whoever meets damage there (suspects.py).
"""

import os
import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path

from shared.errors import StoreUnavailable
from shared.store import Store, census
from shared.store.census import Standing
from shared.suspects import clear_suspect, suspects

FRESH_MS = 2_000  # a look so young is not repeated
SETTLED_MS = 2_000  # a file written later than this may be written again without its time telling
READ_AT_ONCE = 100  # databases a look opens; 3 ms each the first time, a tenth of that afterwards
CHECK_AT_ONCE = 64 << 20  # bytes a look checks; 1.2 ms a MiB
CHECK_SUSPECT = 1 << 30  # a suspect is checked up to this size
CHECK_EVERY_MS = 60_000  # a file that is written all the time is checked so often


@dataclass(frozen=True, slots=True)
class _Files:
    """An agent's database and its log as the file system has them."""

    signature: tuple[int, ...] = ()
    newest_ms: int = 0  # when one of them was last written
    database_bytes: int = 0
    log_bytes: int = 0


@dataclass(slots=True)
class _Known:
    """What is known of one database."""

    path: Path
    read: _Files | None = None  # the files when the sessions were last counted; None: they are to be counted again
    checked: _Files | None = None  # the files when the transcripts were last checked, and found sound or damaged
    checked_ms: int = 0
    damaged: bool = False
    counted: bool = False
    standing: Standing = field(default_factory=Standing)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """All agents at one look. unreadable: what is wrong, by the database's path; bytes are those of the files as they are."""

    agents: int
    uncounted: int
    standing: Standing
    unreadable: dict[str, str]
    database_bytes: int
    log_bytes: int


class Census:
    """One process's memory of all databases. Safe to use from several threads, which look one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._last: tuple[int, Seen] | None = None

    def look(self, store: Store, now_ms: int) -> Seen:
        """How the agents stand. raises: StoreUnavailable when the data folder cannot be read."""
        with self._lock:
            if self._last is None or self._last[1].uncounted or not 0 <= now_ms - self._last[0] < FRESH_MS:
                self._last = now_ms, self._look(store, now_ms)
            return self._last[1]

    def _look(self, store: Store, now_ms: int) -> Seen:
        agents = store.agent_ids()
        self._known = {agent_id: self._known.get(agent_id) or _Known(store.agent_path(agent_id)) for agent_id in agents}
        files = {agent_id: _files(str(known.path)) for agent_id, known in self._known.items()}
        noted = suspects(store.settings)
        suspected = {agent_id for agent_id, known in self._known.items() if noted and known.path.name in noted}
        reads, check_bytes = READ_AT_ONCE, CHECK_AT_ONCE
        for agent_id in sorted(files, key=lambda one: (one not in suspected, self._known[one].checked_ms)):
            known, found, suspect = self._known[agent_id], files[agent_id], agent_id in suspected
            check = _wants_check(known, found, now_ms, suspect=suspect)
            if reads and (check or suspect or known.read != found):
                check = check and (suspect or found.database_bytes <= check_bytes)
                reads, check_bytes = reads - 1, check_bytes - (found.database_bytes if check else 0)
                _read(store, agent_id, known, found, now_ms, check=check)
                _judge(store, known, found, suspect=suspect)
        return self._sum(list(files.values()))

    def _sum(self, files: list[_Files]) -> Seen:
        standings = [known.standing for known in self._known.values()]
        return Seen(
            agents=len(files),
            uncounted=sum(not known.counted for known in self._known.values()),
            standing=Standing(sum(s.sessions for s in standings), sum(s.pending for s in standings), sum(s.parked for s in standings)),
            unreadable={str(known.path): known.error for known in self._known.values() if known.error},
            database_bytes=sum(found.database_bytes for found in files),
            log_bytes=sum(found.log_bytes for found in files),
        )


def _wants_check(known: _Known, found: _Files, now_ms: int, *, suspect: bool) -> bool:
    if known.checked == found or found.database_bytes > (CHECK_SUSPECT if suspect else CHECK_AT_ONCE):
        return False
    return suspect or known.damaged or not 0 <= now_ms - known.checked_ms < CHECK_EVERY_MS


def _read(store: Store, agent_id: str, known: _Known, found: _Files, now_ms: int, *, check: bool) -> None:
    """The sessions are counted, and where asked for the transcripts checked; what cannot be read is read again at the next look."""
    if known.read is not None and known.read.signature[:1] != found.signature[:1]:
        store.forget(known.path)  # another file is there: what is open of the old one would go on telling of that
    settled = found if found.newest_ms < now_ms - SETTLED_MS else None
    known.counted, known.error, known.read = True, None, settled
    try:
        with store.reader(agent_id) as conn:
            known.standing = census.standing(conn)
            if check:
                known.checked_ms, known.checked = now_ms, None
                known.damaged = not census.truth_is_sound(conn)
                known.checked = found
    except StoreUnavailable as e:
        known.standing, known.error, known.read = Standing(), str(e), None
    except sqlite3.Error:
        known.standing, known.error, known.read = Standing(), "a database has not the tables that it should have", None


def _judge(store: Store, known: _Known, found: _Files, *, suspect: bool) -> None:
    """A suspect that was checked and is sound is none; one that nobody could check is taken for damaged."""
    if known.error is None and (known.damaged or (suspect and known.checked != found)):
        known.error = "a database is damaged"
    if suspect and known.error is None:
        clear_suspect(store.settings, known.path.name)


def _files(path: str) -> _Files:
    try:
        main = os.stat(path)
    except OSError:
        return _Files()  # removed meanwhile
    own = (main.st_ino, main.st_size, main.st_mtime_ns)
    try:
        log = os.stat(f"{path}-wal")
    except OSError:
        log = None
    if log is None or not log.st_size:  # whoever reads makes an empty log, which says nothing new
        return _Files(own, main.st_mtime_ns // 1_000_000, main.st_size)
    newest_ms = max(main.st_mtime_ns, log.st_mtime_ns) // 1_000_000
    return _Files((*own, log.st_ino, log.st_size, log.st_mtime_ns), newest_ms, main.st_size, log.st_size)
