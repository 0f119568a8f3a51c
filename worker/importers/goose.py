"""Goose's sessions: a JSONL file a session (a line of metadata, then a message a line), and later one sessions.db for all.

Both are rewritten: an edit deletes the messages from there on, a compaction writes all of them anew. What is there now is the branch.
source: crates/goose/src/session/session_manager.rs (schema, order, truncate_conversation, replace_conversation), legacy.rs (the files).
"""

from collections.abc import Generator, Iterator
from itertools import chain as joined
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.errors import UnknownFormat
from shared.store.connect import open_foreign
from shared.transcript import time_of
from worker.importers import shapes
from worker.importers.base import Branch, Entry, Event, Problems, Source, entries, line_id, lines_below, said_alike
from worker.importers.chain import Chain
from worker.importers.goose_shapes import event_of
from worker.importers.tables import Tables, ids_in, is_sqlite, text_of

FORMAT = "goose"
_KINDS = {"scheduled": "cron", "sub_agent": "subagent", "hidden": "background"}


def files(folder: Path) -> Iterator[Path]:
    """Every sessions.db below a folder, and every session file whose session was not taken over by the database beside it."""
    databases = sorted(folder.rglob("sessions.db"))
    taken = {path.parent: ids_in(path, "sessions") for path in databases}
    yield from (path for path in lines_below(folder) if path.stem not in taken.get(path.parent, ()))
    yield from databases


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The sessions of the file. raises: UnknownFormat before anything is yielded."""
    if is_sqlite(path):
        yield from _database(path, problems)
    else:
        yield _file(path, problems)


def trace(event: Event) -> str:
    """A message that was written again says the same, mostly under the same id."""
    return said_alike(event)


# -- one file a session


def _file(path: Path, problems: Problems) -> Source:
    branch = Branch()
    lines = entries(path, problems)
    head, first = _head(lines, problems, path)
    return Source(
        session_id=path.stem,
        events=_lines(joined(first, lines), Chain(problems, branch), problems),
        title=shapes.word(head.get("description")),
        branch=branch,
    )


def _head(lines: Iterator[Entry], problems: Problems, path: Path) -> tuple[dict[str, Any], list[Entry]]:
    """The metadata, and the first message where there is no metadata before it."""
    for entry in lines:
        if _is_message(entry.value):
            return {}, [entry]
        if "working_dir" in entry.value or "message_count" in entry.value:
            return entry.value, []
        problems.skip(entry.number, "neither a session's metadata nor a message")
    raise UnknownFormat(f"not a {FORMAT} session: no line of {path.name} is a session's metadata or a message")


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("role") in ("user", "assistant") and isinstance(value.get("content"), list) and "created" in value


def _lines(lines: Iterator[Entry], chain: Chain, problems: Problems) -> Iterator[Event]:
    for entry in lines:
        value = entry.value
        chain.branch.whole = chain.branch.whole and not problems.skipped
        if not _is_message(value):
            chain.skip(entry.number, "not a message with role, content and time")
            continue
        own = shapes.word(value.get("id"))
        event_id = chain.free(own) if own else line_id(entry.number)
        finished = chain.follow(entry.number, event_of(event_id, value["role"], value["content"], value["created"], value.get("metadata")))
        if finished is not None:
            yield finished
    chain.branch.whole = chain.branch.whole and not (problems.skipped or problems.waiting)


# -- one database for all


def _database(path: Path, problems: Problems) -> Iterator[Source]:
    problems.unit = "row"
    with open_foreign(path) as conn:
        tables = Tables(conn)
        if not (tables.has("sessions", "id") and tables.has("messages", "id", "session_id", "role", "content_json", "created_timestamp")):
            raise UnknownFormat(f"not a {FORMAT} database: {path.name} has no tables of sessions and messages like its")
        order = "created_at, id" if tables.has("sessions", "created_at") else "id"
        for row in tables.rows("sessions", "id, name, description, session_type, created_at, parent_session_id", order=order):
            if (session_id := text_of(row["id"])) is not None:
                yield _session(tables, session_id, row, problems)


def _session(tables: Tables, session_id: str, row: dict[str, Any], problems: Problems) -> Source:
    branch, parent = Branch(), text_of(row["parent_session_id"]) or None
    return Source(
        session_id=session_id,
        events=_rows(tables, session_id, Chain(problems, branch)),
        title=shapes.word(row["name"]) or shapes.word(row["description"]),
        kind=_KINDS.get(str(row["session_type"]), "subagent" if parent else "main"),
        parent_id=parent,
        created_at_ms=time_of(row["created_at"]),
        branch=branch,
    )


def _rows(tables: Tables, session_id: str, chain: Chain) -> Iterator[Event]:
    columns = "id, message_id, role, content_json, created_timestamp, metadata_json"
    for row in tables.rows("messages", columns, where="session_id = ?", values=(session_id,), order="created_timestamp, id"):
        try:
            content = jsontext.loads(text_of(row["content_json"]) or "")
        except jsontext.BadJson as e:
            chain.skip(0, f"message {row['id']} of session {session_id} has content that cannot be read ({e})")
            continue
        event_id = chain.free(shapes.word(row["message_id"]) or str(row["id"]))
        event = event_of(event_id, row["role"], content, row["created_timestamp"], shapes.opened(row["metadata_json"]))
        finished = chain.follow(0, event)
        if finished is not None:
            yield finished
