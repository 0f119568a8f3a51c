"""A small kit for tests of the kernel: a real store in a folder of its own, a clock that is passed in, short words for the verbs."""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.appending import append_events
from shared.config import Settings
from shared.history import HistoryRequest, read_history
from shared.intake import Imported, ImportHead, import_transcript
from shared.listing import ListRequest, list_sessions
from shared.search import SearchAnswer, SearchRequest, search_sessions
from shared.sessions import delete_session, put_session, reset_session, rewind_session
from shared.store import open_store
from shared.visibility import Caller
from worker.reconcile import Reconciled, reconcile_session
from worker.verify import Difference, verify_agent

START_MS = 1_760_000_000_000
_UNSET: Any = object()


class Clock:
    """Passed in wherever a verb wants the time; each look at it is a millisecond later."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self.ms = start_ms

    def __call__(self) -> int:
        self.ms += 1
        return self.ms

    def pass_ms(self, ms: int) -> None:
        self.ms += ms


def message(event_id: str | None, text: Any, role: str = "user", **fields: Any) -> dict[str, Any]:
    """A message as a platform sends it; fields such as parentId or timestamp stand beside it."""
    named = {} if event_id is None else {"id": event_id}
    return {"type": "message", **named, **fields, "message": {"role": role, "content": text}}


def ids(body: dict[str, Any]) -> list[str]:
    """The message ids of a search's or a history's answer, in their order."""
    return [hit["messageId"] for hit in body["results"]] if "results" in body else [shown["id"] for shown in body["messages"]]


class World:
    """One data folder and what is done to it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.now = Clock()
        self.store = open_store(Settings(data=folder, **{"synchronous": "NORMAL", **settings}))

    def reopen(self, **settings: Any) -> "World":
        """The same folder in another process, under other settings if any are named."""
        self.store.close()
        self.store = open_store(replace(self.store.settings, **settings))
        return self

    def session(self, agent_id: str = "ada", session_key: str | None = None) -> "Session":
        return Session(self, agent_id, session_key or f"agent:{agent_id}:main")

    def search(self, caller: Caller, query: str, **named: Any) -> dict[str, Any]:
        return self.ask(caller, query, **named).body

    def ask(self, caller: Caller, query: str, **named: Any) -> SearchAnswer:
        return search_sessions(self.store, caller, SearchRequest(query=query, **named), self.now())

    def pages(self, caller: Caller, query: str, between: Callable[[], object] = lambda: None, **named: Any) -> list[dict[str, Any]]:
        """Every hit from the first page to the last; `between` is called between two pages."""
        hits: list[dict[str, Any]] = []
        cursor = None
        while True:
            body = self.search(caller, query, cursor=cursor, **named)
            hits += body["results"]
            cursor = body["nextCursor"]
            assert body["truncated"] == (cursor is not None)
            if cursor is None:
                return hits
            between()

    def listing(self, caller: Caller, **named: Any) -> dict[str, Any]:
        return list_sessions(self.store, caller, ListRequest(**named))

    @contextmanager
    def plain_sqlite(self, agent_id: str = "ada") -> Iterator[sqlite3.Connection]:
        """The agent's database as another program opens it, committed at the end."""
        conn = sqlite3.connect(self.store.agent_path(agent_id))
        try:
            yield conn
            conn.commit()
        finally:
            conn.close()

    def ruin(self, agent_id: str) -> Path:
        """The agent's file holds something else; its path."""
        path = self.store.agent_path(agent_id)
        self.store.close()
        with self.plain_sqlite(agent_id) as conn:
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(b"no database at all" * 1_000)
        self.reopen()
        return path

    def register_secret(self, value: str) -> None:
        """An exact secret of the host, as it stands in the registry."""
        with self.store.registry_writer() as conn:
            conn.execute("INSERT INTO secrets (name, value) VALUES (?, ?)", (value[:4], value))

    def reconcile_all(self, agent_id: str = "ada") -> None:
        for listed in self.listing(Caller("", "", owner=True), limit=200)["sessions"]:
            if listed["agentId"] == agent_id:
                self.session(agent_id, listed["sessionKey"]).reconcile()

    def verify(self, agent_id: str = "ada", *, repair: bool = False) -> list[Difference]:
        return verify_agent(self.store, agent_id, repair=repair, now_ms=self.now())


LEASED = """
    SELECT 1 FROM index_state AS i JOIN sessions AS s ON s.session_no = i.session_no
    WHERE s.session_key = ? AND i.lease_owner IS NOT NULL
"""


class Session:
    """One session, seen by its own caller."""

    def __init__(self, world: World, agent_id: str, session_key: str) -> None:
        self.world, self.agent_id, self.key = world, agent_id, session_key
        self.caller = Caller(agent_id, session_key)

    # ------------------------------------------------------------------------------------------------ writing

    def append(self, event_id: str, text: Any, role: str = "user", parent: Any = _UNSET, **fields: Any) -> "Session":
        """One message; parent: None starts a new root, left out the message follows the leaf."""
        if parent is not _UNSET:
            fields["parentId"] = parent
        self.send(message(event_id, text, role, **fields))
        return self

    def send(self, *events: Any, idempotency_key: str | None = None) -> dict[str, Any]:
        return append_events(self.world.store, self.agent_id, self.key, list(events), self.world.now(), idempotency_key)

    def put(self, **changes: Any) -> dict[str, Any]:
        return put_session(self.world.store, self.agent_id, self.key, changes, self.world.now())

    def rewind(self, to_event_id: str | None) -> dict[str, Any]:
        return rewind_session(self.world.store, self.agent_id, self.key, to_event_id, self.world.now())

    def reset(self, new_session_id: str | None = None) -> dict[str, Any]:
        return reset_session(self.world.store, self.agent_id, self.key, new_session_id, self.world.now())

    def delete(self) -> dict[str, Any]:
        return delete_session(self.world.store, self.agent_id, self.key, self.world.now())

    def take_in(self, session_id: str, events: Any, *, restore: bool = False, **head: Any) -> Imported:
        """Imports a transcript under the session's key."""
        named = ImportHead(session_id, **head)
        return import_transcript(self.world.store, self.agent_id, self.key, named, events, self.world.now(), restore=restore)

    def reconcile(self, worker: str = "w1", beat: Callable[[], None] = lambda: None) -> Reconciled:
        return reconcile_session(self.world.store, self.agent_id, self.key, worker, self.world.now, beat)

    def leased(self) -> bool:
        """Whether a worker holds a transcript of the session."""
        with self.world.store.reader(self.agent_id) as conn:
            held = conn.execute(LEASED, (self.key,))
            return held.fetchone() is not None

    # ------------------------------------------------------------------------------------------------ reading

    def search(self, query: str, **named: Any) -> dict[str, Any]:
        return self.world.search(self.caller, query, **named)

    def found(self, query: str, **named: Any) -> list[str]:
        """Ids of every message with all the words, in order."""
        return [hit["messageId"] for hit in self.world.pages(self.caller, query, **{"match": "all", "limit": 50, **named})]

    def history(self, **named: Any) -> dict[str, Any]:
        return read_history(self.world.store, self.caller, HistoryRequest(self.key, **{"limit": 200, **named}))

    def listed(self) -> dict[str, Any]:
        """The session as its own caller's list shows it."""
        (shown,) = [s for s in self.world.listing(self.caller, limit=200, scope="self")["sessions"] if s["sessionKey"] == self.key]
        return dict(shown)

    # ----------------------------------------------------------------------------------- writing from outside

    @property
    def transcript_no(self) -> int:
        """The number of the transcript now under the key."""
        with self.world.plain_sqlite(self.agent_id) as conn:
            found = "SELECT t.transcript_no FROM sessions AS s JOIN transcripts AS t USING (session_id) WHERE s.session_key = ?"
            return int(conn.execute(found, (self.key,)).fetchone()[0])

    def write_outside(self, statement: str, *values: Any) -> int:
        """A statement of another program, with :t for the transcript; how many rows it changed."""
        number = self.transcript_no
        with self.world.plain_sqlite(self.agent_id) as conn:
            return conn.execute(statement.replace(":t", str(number)), values).rowcount

    def edit_outside(self, event_id: str, payload: dict[str, Any] | str) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        assert self.write_outside("UPDATE events SET payload = ? WHERE transcript_no = :t AND event_id = ?", text, event_id) == 1

    def add_outside(self, payload: dict[str, Any] | str) -> None:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        self.write_outside(
            "INSERT INTO events (transcript_no, seq, payload) SELECT :t, coalesce(max(seq), 0) + 1, ? FROM events WHERE transcript_no = :t", text
        )

    def delete_outside(self, event_id: str) -> None:
        assert self.write_outside("DELETE FROM events WHERE transcript_no = :t AND event_id = ?", event_id) == 1

    def move_leaf_outside(self, event_id: str | None) -> None:
        self.write_outside("UPDATE transcripts SET leaf_id = ? WHERE transcript_no = :t", event_id)

    # ------------------------------------------------------------------------------------------- state of the index

    def state(self) -> dict[str, Any]:
        """The row of index_state of the transcript now under the key."""
        number = self.transcript_no
        with self.world.plain_sqlite(self.agent_id) as conn:
            conn.row_factory = sqlite3.Row
            return dict(conn.execute("SELECT * FROM index_state WHERE transcript_no = ?", (number,)).fetchone())


class Killed(BaseException):
    """Stands for a process that ends at this point: nothing of the program may catch it."""


def dies_after(steps: int) -> Callable[[], None]:
    """A beat that kills the worker after so many steps."""
    left = [steps]

    def beat() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return beat


@contextmanager
def memory_folder() -> Iterator[Path]:
    """An empty folder, in memory where the system has such: runs of many examples would otherwise wait for the disk."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes worlds under the test's folder, closed at its end."""
    made: list[World] = []

    def make(name: str = "data", **settings: Any) -> World:
        made.append(World(tmp_path / name, **settings))
        return made[-1]

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


@pytest.fixture
def agent(world: World) -> Session:
    """The main session of agent ada."""
    return world.session("ada")


@pytest.fixture
def search(agent: Session) -> Callable[..., dict[str, Any]]:
    return agent.search
