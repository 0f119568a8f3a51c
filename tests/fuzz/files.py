"""Targets that are files of other programs: whatever the bytes, a session is read as promised, stored, found, and known again."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.errors import UnknownFormat, UnreadableSource
from shared.transcript import read_event
from tests.conftest import World, memory_folder
from tests.worker.formats import GOOSE, HERMES, OPENCLAW, OPENCODE, OPENCODE_2
from worker.importers import FORMATS
from worker.importers.base import Problems
from worker.importing import import_paths, render_report, report_json

NOW_MS = 1_790_000_000_000
Read = list[tuple[str, list[dict[str, Any]]]]
GROWING = ("openclaw", "claude-code", "codex")  # files to which lines are only added
STORED_EVERY = 8  # storing takes a hundred times as long as reading: one input in so many is stored


def file_of(format_name: str, name: str) -> Callable[[bytes], None]:
    """A target whose bytes are the whole file."""

    def target(data: bytes) -> None:
        with memory_folder() as folder:
            path = folder / name
            path.write_bytes(data)
            _check(format_name, path, data)

    return target


def rows_of(format_name: str, name: str, schema: str, table: str) -> Callable[[bytes], None]:
    """A target whose lines are JSON arrays, each the values of one row of a table: a session is there already."""

    def target(data: bytes) -> None:
        with memory_folder() as folder:
            path = folder / name
            _fill(path, schema, table, data)
            _check(format_name, path, data)

    return target


def _fill(path: Path, schema: str, table: str, data: bytes) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.executescript(schema)
        for row in map(_row, data.split(b"\n")):
            for into in (table, *_OTHERS.get(table, ())):
                width = len(conn.execute(f"PRAGMA table_info({into})").fetchall())
                if len(row) == width:
                    with suppress(sqlite3.IntegrityError):  # a value that this column cannot hold
                        conn.execute(f"INSERT OR IGNORE INTO {into} VALUES ({', '.join('?' * width)})", row)


_OTHERS = {"messages": ("sessions",), "message": ("session", "part"), "session_message": ("session_v2",), "transcript_events": ("session_windows", "session_nodes")}


def _row(line: bytes) -> list[Any]:
    try:
        values = jsontext.loads(line)
    except jsontext.BadJson:
        return []
    return [_bindable(value) for value in values] if isinstance(values, list) else []


def _bindable(value: object) -> object:
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    return value if isinstance(value, str) else jsontext.dumps(value)


def _check(format_name: str, path: Path, data: bytes) -> None:
    read = _read(format_name, path)
    assert read == _read(format_name, path)
    if read is not None and format_name in GROWING and path.suffix == ".jsonl":
        _check_growth(format_name, path, data, read)
    if sum(data) % STORED_EVERY == 0:
        _check_stored(format_name, path)


def _read(format_name: str, path: Path) -> Read | None:
    """The sessions of the file, every event fit to store; None for a file that is refused."""
    problems, found = Problems(), Read()
    try:
        for source in FORMATS[format_name].read(path, problems):
            events = []
            try:
                events += source.events
            finally:
                assert all(read_event(event).id for event in events)
                assert len({event["id"] for event in events}) == len(events)
                found.append((source.session_id, events))
    except UnknownFormat:
        return None
    except UnreadableSource as e:
        assert str(e)
    assert problems.skipped <= len(problems.found) + problems.more
    return found


def _check_growth(format_name: str, path: Path, data: bytes, whole: Read) -> None:
    """What the first lines gave is what the whole file begins with."""
    cut = data.rfind(b"\n", 0, len(data) // 2 + 1) + 1
    if not cut:
        return
    path.write_bytes(data[:cut])
    part = _read(format_name, path) or []
    path.write_bytes(data)
    for (_, before), (_, after) in zip(part[:1], whole[:1], strict=False):
        assert after[: len(before)] == before


def _check_stored(format_name: str, path: Path) -> None:
    """Its events are stored, once; the index of its sessions is right, and the report adds up."""
    with memory_folder() as folder:
        world = World(folder / "data", synchronous="OFF")
        try:
            first = import_paths(world.store, format_name, [path], agent="ada", now_ms=NOW_MS)
            again = import_paths(world.store, format_name, [path], agent="ada", now_ms=NOW_MS, again=True)
            for report in (first, again):
                assert report.exit_code in (0, 1)
                render_report(report).encode("utf-8", "surrogatepass")
                jsontext.dumps(report_json(report))
            assert again.total("added") == 0
            assert again.exit_code == first.exit_code
            for agent in world.store.agent_ids():
                world.reconcile_all(agent)
                assert world.verify(agent) == []
            assert _stored(world) == first.total("added")
        finally:
            world.store.close()


def _stored(world: World) -> int:
    total = 0
    for agent in world.store.agent_ids():
        with world.store.reader(agent) as conn:
            total += conn.execute("SELECT count(*) FROM events").fetchone()[0]
    return total


TARGETS = {
    "openclaw": file_of("openclaw", "a.jsonl"),
    "claude-code": file_of("claude-code", "a.jsonl"),
    "codex": file_of("codex", "a.jsonl"),
    "codex-packed": file_of("codex", "a.jsonl.zst"),
    "gemini": file_of("gemini", "session-2026-01-01T00-00-5b1f0a52.jsonl"),
    "gemini-file": file_of("gemini", "session-2026-01-01T00-00-5b1f0a52.json"),
    "goose": file_of("goose", "a.jsonl"),
    "chatgpt": file_of("chatgpt", "conversations.json"),
    "claude-export": file_of("claude-export", "conversations.json"),
    "hermes": rows_of("hermes", "state.db", HERMES, "messages"),
    "opencode": rows_of("opencode", "opencode.db", OPENCODE, "message"),
    "opencode-2": rows_of("opencode", "opencode.db", OPENCODE_2, "session_message"),
    "goose-database": rows_of("goose", "sessions.db", GOOSE, "messages"),
    "openclaw-database": rows_of("openclaw", "openclaw-agent.sqlite", OPENCLAW, "transcript_events"),
}
