"""OpenClaw's database of an agent, agents/ID/agent/openclaw-agent.sqlite: the events of every transcript, and the index of the sessions.

An event stands there as the line it was in a transcript file; a long one is packed with zstd, in a column of its own. Two layouts are
known: the first with tables sessions and session_entries, and the present one with session_windows and session_nodes.
source: OpenClaw, src/state/openclaw-agent-schema.sql and openclaw-agent-db.paths.ts.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.config import AGENT_ID
from shared.errors import UnknownFormat, UnreadableSource
from shared.store.connect import open_foreign
from worker.importers import shapes
from worker.importers.base import MAX_LINE_BYTES, Entry, Problems
from worker.importers.openclaw_index import Index, told
from worker.importers.packed import unpacked
from worker.importers.tables import Tables, text_of

FILE = "openclaw-agent.sqlite"


@dataclass(frozen=True)
class Stored:
    """One transcript of a database; its entries are read while they are iterated. mark: another one after every change of them."""

    session_id: str
    agent_id: str | None
    index: Index
    entries: Generator[Entry, None, None]
    mark: str | None = None


def sessions_in(path: Path, problems: Problems) -> Iterator[Stored]:
    """Every transcript of the database. raises: UnknownFormat before anything is yielded."""
    problems.unit = "row"
    with open_foreign(path) as conn:
        tables = Tables(conn)
        if not tables.has("transcript_events", "session_id", "seq", "event_json"):
            raise UnknownFormat(f"not an openclaw database: {path.name} has no table of transcript events like its")
        index, agent_id = _index(tables), _agent(path, tables)
        for session_id, mark in _transcripts(tables):
            yield Stored(session_id, agent_id, index, _entries(tables, session_id, problems), mark)


def _transcripts(tables: Tables) -> list[tuple[str, str | None]]:
    """Every transcript, oldest first, with its mark: OpenClaw raises transcript_updated_at with every change of a transcript's rows."""
    windows = {}
    if tables.has("session_windows", "session_id", "created_at", "transcript_updated_at"):
        for row in tables.rows("session_windows", "session_id, created_at, transcript_updated_at"):
            windows[row["session_id"]] = (row["created_at"], row["transcript_updated_at"])
    found = []
    for session_id, events, last, first_row in tables.grouped("transcript_events", "session_id", "count(*), max(seq), min(rowid)"):
        if (name := text_of(session_id)) is not None:
            created, changed = windows.get(session_id, (None, None))
            mark = None if changed is None else f"{changed} {events} {last}"
            found.append((created if isinstance(created, int) else 0, first_row, name, mark))
    return [(name, mark) for _, _, name, mark in sorted(found, key=lambda one: one[:2])]


def index_in(path: Path) -> Index:
    """The index in a database; an empty one where there is none that can be read."""
    with suppress(UnreadableSource, OSError), open_foreign(path) as conn:
        return _index(Tables(conn))
    return Index()


def _index(tables: Tables) -> Index:
    nodes, current = (
        ("session_nodes", "current_session_id") if tables.has("session_nodes", "session_key") else ("session_entries", "session_id")
    )
    entries: dict[str, dict[str, Any]] = {}
    if tables.has(nodes, "session_key", "entry_json"):
        for row in tables.rows(nodes, f"session_key, {current}, entry_json, label, display_name, spawned_by, parent_session_key"):
            columns = {"label": "label", "displayName": "display_name", "spawnedBy": "spawned_by", "parentSessionKey": "parent_session_key"}
            known = {name: row[column] for name, column in columns.items() if row[column] is not None}
            entries[str(row["session_key"])] = {
                **known,
                **told(shapes.mapping(shapes.opened(row["entry_json"]))),
                "sessionId": row[current],
            }
    windows = "session_windows" if tables.has("session_windows", "session_id", "session_key") else "sessions"
    if tables.has(windows, "session_id", "session_key"):
        for row in tables.rows(windows, "session_id, session_key, chat_type, spawned_by, display_name"):
            entry = entries.setdefault(
                str(row["session_key"]),
                {
                    "chatType": row["chat_type"],
                    "spawnedBy": row["spawned_by"],
                    "displayName": row["display_name"],
                    "sessionId": row["session_id"],
                },
            )
            entry["usageFamilySessionIds"] = [*shapes.sequence(entry.get("usageFamilySessionIds")), row["session_id"]]
    return Index(entries)


def _agent(path: Path, tables: Tables) -> str | None:
    """The agent whose folder the file lies in, or whom the database names."""
    parts = path.resolve().parts
    if len(parts) >= 4 and parts[-2] == "agent" and parts[-4] == "agents" and AGENT_ID.fullmatch(parts[-3]):
        return parts[-3]
    rows = tables.rows("schema_meta", "agent_id") if tables.has("schema_meta", "agent_id") else iter(())
    named = next((row["agent_id"] for row in rows if isinstance(row["agent_id"], str)), None)
    return named if named and AGENT_ID.fullmatch(named) else None


def _entries(tables: Tables, session_id: str, problems: Problems) -> Generator[Entry, None, None]:
    wanted = "seq, event_json, event_zstd"
    for row in tables.rows("transcript_events", wanted, where="session_id = ?", values=(session_id,), order="seq"):
        number = row["seq"] if isinstance(row["seq"], int) else 0
        try:
            value = jsontext.loads(_line(row))
            reason = "not a JSON object"
        except jsontext.BadJson as e:
            value, reason = None, f"not valid JSON ({e})"
        except UnreadableSource as e:
            value, reason = None, str(e)
        if isinstance(value, dict):
            yield Entry(number, 0, value)
        else:
            problems.skip(number, f"event {number} of session {session_id}: {reason}")


def _line(row: dict[str, Any]) -> str | bytes:
    """The event's line. raises: UnreadableSource for a packed one that cannot be unpacked."""
    packed = row["event_zstd"]
    if row["event_json"] is None and isinstance(packed, bytes):
        return unpacked(packed, MAX_LINE_BYTES)
    return text_of(row["event_json"]) or ""
