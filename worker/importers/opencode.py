"""OpenCode's sessions: folders of small JSON files (a session's, its messages', their parts'), in newer versions one opencode.db.

A pending revert hides its message, or what follows one of the message's parts, and everything after: the leaf stands before it. Version 2
writes tables of its own into the same database, a row a message, and leaves the older ones as they are: a session is read where it goes on.
source: packages/opencode/src/session/session.sql.ts, revert.ts, message-v2.ts, and storage/storage.ts for the older layout of folders;
for version 2 packages/core/src/session/sql.ts and projector.ts, packages/schema/src/session-message.ts.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.errors import UnknownFormat
from shared.store.connect import open_foreign
from shared.transcript import time_of
from worker.importers import shapes
from worker.importers.base import MAX_LINE_BYTES, Branch, Event, Problems, Source, said_alike
from worker.importers.chain import Chain
from worker.importers.opencode_shapes import event_of, parts_of
from worker.importers.tables import Tables, ids_in, is_sqlite, text_of

FORMAT = "opencode"
Message = tuple[str, dict[str, Any], list[dict[str, Any]]]  # id, what it says of itself, its parts in order


def files(folder: Path) -> Iterator[Path]:
    """Every opencode.db below a folder, those of other channels too, and every session's file whose session no such database took over."""
    databases = sorted(folder.rglob("opencode*.db"))
    taken = set[str]().union(*(ids_in(path, table) for path in databases for table in ("session", "session_v2")))
    yield from (
        path for path in sorted(folder.rglob("session/*/*.json")) if path.parent.name not in ("message", "part") and path.stem not in taken
    )
    yield from databases


def tells(path: Path) -> bool:
    """Whether all of a session stands in the file itself; in folders its messages are files of their own."""
    return path.suffix != ".json"


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The sessions of the file. raises: UnknownFormat before anything is yielded."""
    if is_sqlite(path):
        yield from _database(path, problems)
    else:
        yield _file(path, problems)


def trace(event: Event) -> str:
    """A message that was written again says the same."""
    return said_alike(event)


def _source(session_id: str, info: dict[str, Any], messages: Iterator[Message], problems: Problems) -> Source:
    branch, parent = Branch(), shapes.word(info.get("parentID"))
    created = shapes.mapping(info.get("time")).get("created")
    return Source(
        session_id=session_id,
        events=_events(messages, shapes.mapping(info.get("revert")), Chain(problems, branch, created), problems),
        title=shapes.word(info.get("title")),
        kind="subagent" if parent else "main",
        parent_id=parent,
        copied_from=shapes.word(info.get("forkedFrom")),
        created_at_ms=time_of(created),
        branch=branch,
    )


def _events(messages: Iterator[Message], revert: dict[str, Any], chain: Chain, problems: Problems) -> Iterator[Event]:
    hidden_from, part_id = revert.get("messageID"), revert.get("partID")
    shown: tuple[str | None] | None = None  # the leaf, once the revert's message has come
    before = problems.skipped
    for event_id, info, parts in messages:
        if event_id == hidden_from:
            left = _before(parts, part_id)
            shown = None if left else (chain.branch.leaf,)
            parts = left or parts  # noqa: PLW2901
        finished = chain.follow(0, event_of(chain.free(event_id), info, parts))
        if event_id == hidden_from and shown is None:
            shown = (chain.branch.leaf,)
        if finished is not None:
            yield finished
    chain.branch.whole = chain.branch.whole and problems.skipped == before
    if shown is not None:
        chain.branch.leaf = shown[0]


def _before(parts: list[dict[str, Any]], part_id: object) -> list[dict[str, Any]]:
    """The parts of a message that stay when it is reverted from one of them on."""
    places = [place for place, part in enumerate(parts) if part.get("id") == part_id] if part_id is not None else []
    return parts[: places[0]] if places else []


# -- folders


def _file(path: Path, problems: Problems) -> Source:
    problems.unit = "file"
    info = _json(path)
    if isinstance(info, str):
        raise UnknownFormat(f"not an {FORMAT} session: {path.name} {info}")
    if not isinstance(info.get("id"), str) or not ({"title", "time"} & set(info)) or "messages" in info:
        raise UnknownFormat(f"not an {FORMAT} session: {path.name} has no id with a title or a time")
    return _source(path.stem, info, _messages(path, problems), problems)


def _messages(path: Path, problems: Problems) -> Iterator[Message]:
    older = path.parent.name == "info"
    base = path.parent.parent if older else path.parent.parent.parent
    for file in sorted((base / "message" / path.stem).glob("*.json")):
        info = _part_of(file, problems)
        if info is not None:
            folder = base / "part" / path.stem / file.stem if older else base / "part" / file.stem
            parts = (_part_of(part, problems) for part in sorted(folder.glob("*.json")))
            yield file.stem, info, [part for part in parts if part is not None]


def _part_of(path: Path, problems: Problems) -> dict[str, Any] | None:
    """A file of a message or a part; None with the reason reported."""
    value = _json(path)
    if isinstance(value, str):
        problems.skip(0, f"{path.parent.name}/{path.name} {value}")
        return None
    return value


def _json(path: Path) -> dict[str, Any] | str:
    """The object in a file, or why there is none."""
    try:
        if path.stat().st_size > MAX_LINE_BYTES:
            return f"is longer than {MAX_LINE_BYTES >> 20} MiB"
        value = jsontext.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as e:
        return f"cannot be read ({e.strerror})"
    except jsontext.BadJson as e:
        return f"is not valid JSON ({e})"
    return value if isinstance(value, dict) else "is not a JSON object"


# -- one database for all


def _database(path: Path, problems: Problems) -> Iterator[Source]:
    problems.unit = "row"
    with open_foreign(path) as conn:
        tables = Tables(conn)
        older = tables.has("session", "id") and tables.has("message", "id", "session_id", "data")
        older = older and tables.has("part", "id", "message_id", "data")
        newer = tables.has("session_v2", "id") and tables.has("session_message", "id", "session_id", "type", "seq", "data")
        if not (older or newer):
            raise UnknownFormat(f"not an {FORMAT} database: {path.name} has no tables of sessions and messages like its")
        begun = {text_of(row[0]) for row in tables.grouped("session_message", "session_id", "count(*)")} if newer else set[str | None]()
        known: set[str] = set()
        for session_id, info in _sessions(tables, "session") if older else ():
            if session_id not in begun:
                known.add(session_id)
                yield _source(session_id, info, _rows(tables, session_id, problems), problems)
        for session_id, info in _sessions(tables, "session_v2") if newer else ():
            if session_id not in known:
                yield _source(session_id, info, _rows_2(tables, session_id, problems), problems)


def _sessions(tables: Tables, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The sessions of a table in the order in which they began, so that a fork comes after what it was forked from."""
    for row in tables.rows(table, "id, parent_id, fork_session_id, title, revert, time_created", order=_order(tables, table)):
        if (session_id := text_of(row["id"])) is not None:
            yield session_id, {
                "title": row["title"],
                "parentID": text_of(row["parent_id"]),
                "forkedFrom": text_of(row["fork_session_id"]) if table == "session_v2" else None,
                "revert": shapes.opened(row["revert"]),
                "time": {"created": row["time_created"]},
            }


def _order(tables: Tables, table: str) -> str:
    return "time_created, id" if tables.has(table, "time_created") else "id"


def _rows(tables: Tables, session_id: str, problems: Problems) -> Iterator[Message]:
    for row in tables.rows("message", "id, data", where="session_id = ?", values=(session_id,), order=_order(tables, "message")):
        message_id, info = text_of(row["id"]), _data(row, problems)
        if message_id is not None and info is not None:
            found = tables.rows("part", "id, data", where="message_id = ?", values=(message_id,), order="id")
            parts = [(part["id"], _data(part, problems)) for part in found]
            yield message_id, info, [{**data, "id": part_id} for part_id, data in parts if data is not None]


def _rows_2(tables: Tables, session_id: str, problems: Problems) -> Iterator[Message]:
    """The messages of a session of version 2, as older versions would have them."""
    for row in tables.rows("session_message", "id, type, data", where="session_id = ?", values=(session_id,), order="seq, id"):
        message_id, kind, data = text_of(row["id"]), text_of(row["type"]), _data(row, problems)
        if message_id is not None and data is not None:
            summary = kind == "compaction" and data.get("status", "completed") == "completed"
            yield message_id, {"role": kind, "summary": summary, "time": data.get("time")}, parts_of(kind, data)


def _data(row: dict[str, Any], problems: Problems) -> dict[str, Any] | None:
    try:
        value = jsontext.loads(text_of(row["data"]) or "")
        reason = "does not hold a JSON object"
    except jsontext.BadJson as e:
        value, reason = None, f"cannot be read ({e})"
    if not isinstance(value, dict):
        problems.skip(0, f"{row['id']} {reason}")
        return None
    return value
