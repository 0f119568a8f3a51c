"""The data folder and its open connections.

Connections are lent for one use and kept for the next; how many stay open is bounded, so that thousands of agents do not exhaust
the process's file handles.
"""

import logging
import os
import re
import resource
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from shared.config import AGENT_ID, Settings
from shared.errors import BadRequest, StoreUnavailable
from shared.store import lineage, projection, registry
from shared.store.connect import (
    FileId,
    check_sqlite,
    drop_strange_log,
    failures_named,
    file_id,
    open_reader,
    open_writer,
    write_transaction,
)
from shared.store.creating import create_agent, drop_unfinished, refuse_empty
from shared.store.migrate import migrate, newest_version
from shared.store.registry import Catalogue, Claim
from shared.store.trees import Trees

log = logging.getLogger(__name__)

MAX_IDLE = 1_500  # connections kept for reuse; each holds up to three file handles
_FILE = re.compile(r"(?:[a-z0-9._-]|\+[a-z])+\.sqlite", re.ASCII)


def open_store(settings: Settings) -> "Store":
    """The store of a data folder, which is made when it is not there.

    raises: BadSettings for an unfit SQLite; StoreUnavailable when the folder cannot be made or read.
    """
    check_sqlite()
    with failures_named(settings.data):
        (settings.data / "agents").mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (settings.data, settings.data / "agents"):
            with suppress(PermissionError, OSError):
                folder.chmod(0o700)
        drop_unfinished(settings.data / "agents")
    return Store(settings)


class Store:
    """A data folder. Safe to use from several threads; after a fork, open a new one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._idle: OrderedDict[tuple[str, bool], list[tuple[sqlite3.Connection, FileId]]] = OrderedDict()
        self._idle_count = 0
        self._lock = threading.Lock()
        self._ready: dict[Path, FileId] = {}
        self._cursor_key: bytes | None = None
        self.trees = Trees()
        limit = _file_limit()
        self._max_idle = min(MAX_IDLE, max(8, limit // 8))
        self.held_at_once = max(2, limit // 64)  # databases that a request may keep open, so that those of all threads together fit

    # ------------------------------------------------------------------------------------------------ files

    @property
    def registry_path(self) -> Path:
        return self.settings.data / "registry.sqlite"

    def agent_path(self, agent_id: str) -> Path:
        """The agent's file. Capitals are written +a, +b, so that two ids never share a file, whatever the file system folds."""
        return _agent_path(self.settings.data, agent_id)

    def agent_ids(self) -> list[str]:
        """Every agent that has a database, sorted."""
        with failures_named(self.settings.data):
            names = os.listdir(self.settings.data / "agents")
        found = [n.removesuffix(".sqlite") for n in names if _FILE.fullmatch(n)]
        return sorted(re.sub(r"\+(.)", lambda m: m[1].upper(), name) for name in found)

    def has_agent(self, agent_id: str) -> bool:
        return self.agent_path(agent_id).exists()

    # ------------------------------------------------------------------------------------------ connections

    @contextmanager
    def reader(self, agent_id: str) -> Iterator[sqlite3.Connection]:
        """A connection that reads the agent's database. raises: StoreUnavailable when the agent has none."""
        path = self.agent_path(agent_id)
        self._make_ready(path, "agent")
        with self._lent(path, writing=False) as conn, failures_named(path):
            yield conn

    @contextmanager
    def writer(self, agent_id: str) -> Iterator[sqlite3.Connection]:
        """A connection that writes the agent's database, which is made when it is not there."""
        path = self.agent_path(agent_id)
        self._make_ready(path, "agent", create=True)
        with self._lent(path, writing=True) as conn, failures_named(path):
            yield conn

    @contextmanager
    def registry_reader(self) -> Iterator[sqlite3.Connection]:
        self._make_ready(self.registry_path, "registry", create=True)
        with self._lent(self.registry_path, writing=False) as conn, failures_named(self.registry_path):
            yield conn

    @contextmanager
    def registry_writer(self) -> Iterator[sqlite3.Connection]:
        self._make_ready(self.registry_path, "registry", create=True)
        with self._lent(self.registry_path, writing=True) as conn, failures_named(self.registry_path):
            yield conn

    def catalogue(self) -> Catalogue:
        """What is masked now: the policy, the rules' version and the registered secrets, read afresh."""
        with self.registry_reader() as conn:
            return registry.read_catalogue(conn, self.settings.redaction)

    def adopt(self, reader: sqlite3.Connection, agent_id: str, catalogue: Catalogue, now_ms: int) -> None:
        """What an older analyser or catalogue indexed in this agent's database is owed; nearly always nothing is.

        reader: one of that database, outside any transaction.
        """
        now_maker = projection.maker(catalogue.version, catalogue.policy)
        if projection.made_by(reader) == now_maker:
            return
        with self.writer(agent_id) as conn, write_transaction(conn, self.agent_path(agent_id)):
            projection.adopt(conn, now_maker, now_ms)

    def cursor_key(self) -> bytes:
        """The key that signs this folder's cursors."""
        if self._cursor_key is None:
            with self.registry_reader() as conn:
                self._cursor_key = registry.cursor_key(conn)
        if self._cursor_key is None:
            with self.registry_writer() as conn, write_transaction(conn, self.registry_path):
                self._cursor_key = registry.make_cursor_key(conn)
        return self._cursor_key

    def forget(self, path: Path) -> None:
        """Closes what is open of a file that was replaced or removed."""
        with self._lock:
            self._ready.pop(path, None)
            if path == self.registry_path:
                self._cursor_key = None
            for writing in (False, True):
                for conn, _ in self._idle.pop((str(path), writing), []):
                    self._idle_count -= 1
                    conn.close()

    def close(self) -> None:
        """Readers first: the last connection to a file empties its log, and only a writer can."""
        with self._lock:
            for _, conns in sorted(self._idle.items()):
                for conn, _ in conns:
                    conn.close()
            self._idle.clear()
            self._idle_count = 0

    @contextmanager
    def _lent(self, path: Path, *, writing: bool) -> Iterator[sqlite3.Connection]:
        conn, file = self._take(path, writing)
        try:
            yield conn
        except BaseException:
            conn.close()  # its state is not known
            raise
        self._give_back(path, writing, conn, file)

    def _take(self, path: Path, writing: bool) -> tuple[sqlite3.Connection, FileId]:
        now = file_id(path)
        with self._lock:
            key = (str(path), writing)
            idle = self._idle.get(key, [])
            while idle:
                self._idle_count -= 1
                conn, file = idle.pop()
                if file == now:
                    self._idle.move_to_end(key)
                    return conn, file
                conn.close()  # of a file that is no longer there: what it writes would be lost
        conn = open_writer(path, self.settings.synchronous) if writing else open_reader(path)
        return conn, now or file_id(path)

    def _give_back(self, path: Path, writing: bool, conn: sqlite3.Connection, file: FileId) -> None:
        with self._lock:
            self._idle.setdefault((str(path), writing), []).append((conn, file))
            self._idle_count += 1
            while self._idle_count > self._max_idle:
                key, conns = next(iter(self._idle.items()))
                if conns:
                    conns.pop()[0].close()
                    self._idle_count -= 1
                if not conns:
                    del self._idle[key]

    def _make_ready(self, path: Path, kind: str, *, create: bool = False) -> None:
        """Once a process and file: the schema is the newest, the index is there. A file that took its place is another file."""
        known = self._ready.get(path)
        if known is not None:
            if known == file_id(path):
                return
            log.warning("a database was replaced or removed", extra={"path": str(path)})
            drop_strange_log(path)
            self.forget(path)
        self._be_there(path, kind, create)
        if not self._is_newest(path, kind):
            with self._lent(path, writing=True) as conn, failures_named(path):
                migrate(conn, kind, path)
                if kind == "agent":
                    projection.ensure_index(conn, path)
        self._ready[path] = file_id(path)
        if kind == "registry":
            self._complete_registry()

    def _be_there(self, path: Path, kind: str, create: bool) -> None:
        """There is a file; an agent's is made whole or not at all, so that one without content was cut off."""
        if not path.exists():
            if not create:
                raise StoreUnavailable("a database is not there", str(path))
            if kind == "agent":
                create_agent(path, self.settings.synchronous)
        elif kind == "agent":
            refuse_empty(path)

    def _complete_registry(self) -> None:
        """A registry that was lost is filled from the agent databases; one that cannot be read is left to the sweep."""
        with self._lent(self.registry_path, writing=False) as conn:
            if lineage.is_complete(conn):
                return
        claims: list[Claim] = []
        for agent_id in self.agent_ids():
            with suppress(StoreUnavailable), self.reader(agent_id) as conn:
                claims += lineage.claims_of(conn, agent_id)
        with self._lent(self.registry_path, writing=True) as conn, write_transaction(conn, self.registry_path):
            lineage.write_claims(conn, claims, int(time.time() * 1000))
            lineage.note_complete(conn)

    def _is_newest(self, path: Path, kind: str) -> bool:
        if not path.exists():
            return False
        with self._lent(path, writing=False) as conn, failures_named(path):
            version = conn.execute("PRAGMA user_version").fetchone()[0]
            return bool(version == newest_version(kind) and (kind != "agent" or projection.has_index(conn)))


@lru_cache(maxsize=8_192)  # a request over a thousand agents asks for each path four times
def _agent_path(data: Path, agent_id: str) -> Path:
    if not AGENT_ID.fullmatch(agent_id):
        raise BadRequest("agentId must be 1 to 64 letters, digits, '.', '_' or '-'", "agentId")
    name = "".join("+" + c.lower() if c.isupper() else c for c in agent_id)
    return data / "agents" / f"{name}.sqlite"


def _file_limit() -> int:
    """The soft limit on open files, raised as far as the hard one lets us (at most 65,536)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return soft
