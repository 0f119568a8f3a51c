"""OpenClaw's and pi's session files: a header line, then an event a line; versions 1 (no ids, one line of talk) to 3 (a tree).

Events are stored as they stand. An event without an id is given its line's; it then follows the event before it, so that a version 1
file is wholly active. What OpenClaw keeps beside the transcripts (openclaw_index.py) gives title, kind, lineage and incognito; newer
versions of it keep the same events in a database an agent (openclaw_tables.py).
source: pi's docs/session.md; OpenClaw keeps the files in agents/ID/sessions/.
"""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.config import AGENT_ID
from shared.errors import UnknownFormat
from shared.searchable import SEARCHED_ROLES
from shared.transcript import time_of
from worker.importers.base import LINE_ID, Entry, Event, Problems, Source, entries, kind_of, line_id, lines_below, named_below
from worker.importers.finishing import Finisher
from worker.importers.openclaw_index import INDEX, Index, Label, index_beside
from worker.importers.openclaw_tables import FILE, index_in, sessions_in
from worker.importers.tables import is_sqlite

FORMAT = "openclaw"
_STAMPED = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)", re.ASCII)  # pi: 2025-12-09T00-53-29-825Z_ID.jsonl


def files(folder: Path) -> Iterator[Path]:
    """The transcripts below a folder, and the agents' databases."""
    yield from lines_below(folder)
    yield from named_below(folder, FILE)


def beside(path: Path) -> tuple[Path, ...]:
    """The index of the sessions of a transcript's folder; a database holds its own."""
    return (path.with_name(INDEX),) if path.suffix == ".jsonl" else ()


def told_beside(path: Path, session_id: str) -> Label:
    """What the index in a transcript's folder says of its session."""
    return index_beside(path.parent).label(session_id, _elsewhere(path.parent.parent.parent))


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The session of a transcript, or those of a database. raises: UnknownFormat before anything is yielded."""
    if is_sqlite(path):
        yield from _database(path, problems)
        return
    lines = entries(path, problems)
    first = _first_of_ours(lines, problems, path)
    header = first.value if first.value["type"] == "session" else {}
    if not header:
        problems.note(first.number, "the session's header is missing; its id is taken from the file's name")
    found = header.get("id")
    session_id = found if isinstance(found, str) and found else _id_in_name(path.stem)
    agent = _agent(path)
    label = told_beside(path, session_id) if agent else Label()
    yield _source(session_id, first, lines, label, agent, problems)


def _database(path: Path, problems: Problems) -> Iterator[Source]:
    for stored in sessions_in(path, problems):
        with closing(stored.entries):  # a transcript that has not changed is not read further
            first = next(stored.entries, None)
            if first is not None:
                label = stored.index.label(stored.session_id, _elsewhere(path.parent.parent.parent))
                yield replace(_source(stored.session_id, first, stored.entries, label, stored.agent_id, problems), mark=stored.mark)


def _elsewhere(agents: Path) -> Callable[[str], Index]:
    """How another agent's index is found: its folder stands beside this one's."""

    def index(agent_id: str) -> Index:
        found, database = index_beside(agents / agent_id / "sessions"), agents / agent_id / "agent" / FILE
        return Index({**found.entries, **index_in(database).entries}) if database.is_file() else found

    return index


def _source(session_id: str, first: Entry, lines: Iterator[Entry], label: Label, agent: str | None, problems: Problems) -> Source:
    header = first.value if first.value.get("type") == "session" else {}
    parent_agent, parent = label.spawner or (None, None)
    return Source(
        session_id=session_id,
        events=_events(first, lines, Finisher(problems, header.get("timestamp")), problems),
        title=_title(header) or label.title,
        kind=label.kind,
        parent_id=parent,
        parent_agent_id=parent_agent,
        copied_from=_parent_file(header),
        agent_id=agent,
        created_at_ms=time_of(header.get("timestamp")),
        incognito=label.incognito,
    )


def trace(event: Event) -> str:
    """A copied event keeps its id; one that has none keeps its content."""
    if LINE_ID.fullmatch(event["id"]):
        return jsontext.dumps({name: value for name, value in event.items() if name != "id"})
    return str(event["id"])


def _first_of_ours(lines: Iterator[Entry], problems: Problems, path: Path) -> Entry:
    """The header, or in a file that lost it the first message; what stands before it is reported."""
    for entry in lines:
        kind = entry.value.get("type")
        if kind == "session" or (kind == "message" and isinstance(entry.value.get("message"), dict)):
            return entry
        problems.skip(entry.number, "stands before the session's header")
    raise UnknownFormat(f"not an {FORMAT} transcript: {path.name} has no session header and no message that could be understood")


def _events(first: Entry, lines: Iterator[Entry], finisher: Finisher, problems: Problems) -> Iterator[Event]:
    if first.value.get("type") != "session":
        yield from _event(first, finisher, problems)
    for entry in lines:
        yield from _event(entry, finisher, problems)


def _event(entry: Entry, finisher: Finisher, problems: Problems) -> Iterator[Event]:
    event = entry.value
    kind = kind_of(event)
    if not kind:
        problems.skip(entry.number, "an event without a type")
        return
    if kind == "session":
        problems.skip(entry.number, "a second session header")
        return
    finished = finisher.finish(entry.number, _with_id(entry, problems))
    if finished:
        yield finished


def _with_id(entry: Entry, problems: Problems) -> dict[str, Any]:
    event = entry.value
    message = event.get("message")
    if isinstance(message, dict) and message.get("role") not in SEARCHED_ROLES:
        message.setdefault("content", [])  # pi's bashExecution has a command and an output instead
    given = event.get("id")
    if isinstance(given, str) and given:
        return event
    if given is not None:
        problems.note(entry.number, f"id is not a string of one character or more; it was replaced by {line_id(entry.number)}")
        event["sourceId"] = given
    return {**event, "id": line_id(entry.number)}


def _id_in_name(stem: str) -> str:
    stamped = _STAMPED.fullmatch(stem)
    return stamped[1] if stamped else stem


def _parent_file(header: dict[str, Any]) -> str | None:
    """The session this one was forked from: pi names its file."""
    value = header.get("parentSession", header.get("branchedFrom"))
    return _id_in_name(re.split(r"[/\\]", value)[-1].removesuffix(".jsonl")) if isinstance(value, str) and value else None


def _title(header: dict[str, Any]) -> str | None:
    title = header.get("title")
    return title if isinstance(title, str) and title.strip() else None


def _agent(path: Path) -> str | None:
    """The agent whose folder the file lies in: agents/ID/sessions/x.jsonl."""
    parts = path.resolve().parts
    if len(parts) >= 4 and parts[-2] == "sessions" and parts[-4] == "agents" and AGENT_ID.fullmatch(parts[-3]):
        return parts[-3]
    return None
