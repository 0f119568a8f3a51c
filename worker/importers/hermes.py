"""Hermes Agent's state.db: a row a message, whose flags say whether it is live, summed up, or taken back.

Live and summed-up rows are the branch; a row that was taken back (neither) hangs beside it. A compaction writes the newest rows once
more: the copies say the same at the same time as the first, which stands for them. Order is that of the row ids, for clocks go back.
source: hermes_state_common.py (the schema), hermes_state_messages.py (archive_and_compact, replace_messages, display generations).
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from shared import jsontext
from shared.errors import UnknownFormat
from shared.store.connect import open_foreign
from worker.importers import shapes
from worker.importers.base import Branch, Event, Problems, Source, said_alike
from worker.importers.chain import Chain
from worker.importers.tables import Tables, check_sqlite_file, text_of

FORMAT = "hermes"
_BLOCKS = "\0json:"  # before content that is blocks and not text
_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")  # what a compaction's row begins with in versions without a flag for it
_SUMMARY_END = re.compile(r"--- END OF CONTEXT SUMMARY[^\n]*---")  # behind it, a person's words that the compaction put into one row
_WORDS_END = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"  # before it, words that were said
_WORDS_START = "[PRIOR CONTEXT — for reference only; not a new message]"
_RESETS = ("session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired")
_SAYS = "role, content, timestamp, tool_call_id, tool_calls, tool_name"  # alike in a row and in its later copies
_ELSE = ("role", "timestamp", "tool_call_id", "tool_calls", "tool_name")
_ROW = f"id, {_SAYS}, reasoning, display_kind, _compressed_summary, active, compacted"


def files(folder: Path) -> Iterator[Path]:
    """Every state.db below a folder."""
    yield from folder.rglob("state.db")


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The sessions of the database, oldest first. raises: UnknownFormat before anything is yielded."""
    check_sqlite_file(path, FORMAT)
    problems.unit = "row"
    with open_foreign(path) as conn:
        tables = Tables(conn)
        if not (tables.has("sessions", "id", "source") and tables.has("messages", "id", "session_id", "role", "content")):
            raise UnknownFormat(f"not a {FORMAT} database: {path.name} has no tables of sessions and messages like its")
        columns = "id, source, session_key, title, parent_session_id, started_at, chat_type, model_config, end_reason"
        parents: dict[str, dict[str, Any]] = {}
        for row in tables.rows("sessions", columns, order="started_at, id" if tables.has("sessions", "started_at") else "id"):
            if (session_id := text_of(row["id"])) is None:
                continue
            parents[session_id] = row
            yield _source(tables, session_id, row, parents, problems)


def trace(event: Event) -> str:
    """A copied row has a new id, and says the same."""
    return said_alike(event)


def _source(tables: Tables, session_id: str, row: dict[str, Any], sessions: dict[str, dict[str, Any]], problems: Problems) -> Source:
    parent = text_of(row["parent_session_id"]) or None
    started = shapes.time_ms(row["started_at"])
    branch = Branch()
    return Source(
        session_id=session_id,
        events=_events(tables, session_id, Chain(problems, branch, started)),
        title=shapes.word(row["title"]),
        kind=_kind(row, sessions.get(parent or "")),
        parent_id=parent,
        copied_from=parent,
        created_at_ms=started if isinstance(started, int) else None,
        branch=branch,
    )


def _kind(row: dict[str, Any], parent: dict[str, Any] | None) -> str:
    """A session below another is a subagent's, unless it is a branch of it, goes on after a compaction, or begins anew after a reset."""
    if row["source"] == "cron":
        return "cron"
    config = shapes.mapping(shapes.opened(row["model_config"]))
    if row["parent_session_id"] and not (config.get("_branched_from") or config.get("_reset_from") or _goes_on(row, parent)):
        return "subagent"
    return "group" if row["chat_type"] in ("group", "channel") else "main"


def _goes_on(row: dict[str, Any], parent: dict[str, Any] | None) -> bool:
    """Whether the session above ended in this one."""
    reason = parent["end_reason"] if parent else None
    same_key = parent is not None and bool(row["session_key"]) and row["session_key"] == parent["session_key"]
    return reason in ("compression", "branched") or (reason in _RESETS and same_key)


def _events(tables: Tables, session_id: str, chain: Chain) -> Iterator[Event]:
    first, live = _first_rows(tables, session_id)
    above: str | None = None
    for row in _rows(tables, session_id, _ROW):
        if row["id"] not in first:
            continue
        if row["too_long"]:
            chain.skip(0, f"message {row['id']} is longer than may be read")
            continue
        if not text_of(row["role"]):
            chain.skip(0, f"message {row['id']} has no role")
            continue
        event = _event(row)
        finished = chain.follow(0, event) if row["id"] in live else chain.add(0, event, above)
        if finished is not None:
            above = finished["id"]
            yield finished


def _rows(tables: Tables, session_id: str, columns: str) -> Iterator[dict[str, Any]]:
    return tables.rows("messages", columns, where="session_id = ?", values=(session_id,), order="id")


def _first_rows(tables: Tables, session_id: str) -> tuple[set[int], set[int]]:
    """Of each message the first row, and those of them whose message is on the branch."""
    first: dict[int, int] = {}
    live: set[int] = set()
    for row in _rows(tables, session_id, f"id, {_SAYS}, active, compacted"):
        said = hash((_live_part(row["content"])[1] or row["content"], *(row[name] for name in _ELSE)))
        own = first.setdefault(said, row["id"])
        if row["active"] in (1, None) or row["compacted"] == 1:
            live.add(own)
    return set(first.values()), live


def _event(row: dict[str, Any]) -> Event:
    event_id, role, time = str(row["id"]), text_of(row["role"]), shapes.time_ms(row["timestamp"])
    content = _content(row["content"])
    summary, live = _live_part(row["content"])
    if not live and (summary or row["_compressed_summary"] == 1):
        return shapes.compaction(event_id, content, time)
    if role == "tool":
        return _answer(event_id, row, content, time)
    if role not in ("user", "assistant") or row["display_kind"] == "hidden":
        return shapes.aside(event_id, f"{FORMAT}:{role or 'unknown'}", content, time)
    calls = [_call(found) for found in shapes.sequence(_opened(row["tool_calls"]))]
    thoughts = [shapes.thinking(row["reasoning"])] if row["reasoning"] else []
    said = [shapes.context(summary)] if summary else []
    said += [shapes.text(live or content)] if isinstance(content, str) and content else shapes.sequence(content)
    return shapes.message(event_id, role, [*thoughts, *said, *calls], time)


def _answer(event_id: str, row: dict[str, Any], content: object, time: object) -> Event:
    event = shapes.message(event_id, "toolResult", shapes.answer(content), time)
    event["message"] |= {"toolCallId": text_of(row["tool_call_id"]), "toolName": text_of(row["tool_name"])}
    return event


def _call(found: object) -> shapes.Block:
    call = shapes.mapping(found)
    function = shapes.mapping(call.get("function")) or call
    return shapes.call(call.get("id"), function.get("name"), function.get("arguments"))


def _live_part(value: object) -> tuple[str, str]:
    """The summary in a row that a compaction wrote, and what was said by somebody; ("", "") for any other row."""
    text = text_of(value) or ""
    words, end, summary = text.partition(_WORDS_END)
    if end:
        return summary, words.strip().removeprefix(_WORDS_START).strip()
    if not text.lstrip().startswith(_SUMMARIES):
        return "", ""
    found = _SUMMARY_END.search(text)
    return (text[: found.end()], text[found.end() :].strip()) if found else (text, "")


def _content(value: object) -> object:
    """A message's content: text, or blocks behind their mark."""
    text = text_of(value)
    if text is not None and text.startswith(_BLOCKS):
        return _opened(text.removeprefix(_BLOCKS))
    return text


def _opened(value: object) -> object:
    text = text_of(value)
    if text is None:
        return None
    try:
        return jsontext.loads(text)
    except jsontext.BadJson:
        return text
