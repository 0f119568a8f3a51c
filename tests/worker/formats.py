"""A small conversation written as each program writes it, for tests that every reader must pass."""

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.transcript import iso

START_S = 1_767_225_600  # 2026-01-01T00:00:00Z
SESSION = "5b1f0a52-0000-4000-8000-00000000000a"


@dataclass(frozen=True)
class Said:
    """A message: its id, who says it, what, and how many seconds after the start."""

    id: str
    role: str
    text: str
    after_s: int

    @property
    def seconds(self) -> int:
        return START_S + self.after_s

    @property
    def iso(self) -> str:
        return iso(self.seconds * 1000)


def talk(*texts: str) -> list[Said]:
    """Messages of these words, a person's and the model's in turn."""
    return [Said(f"e{n}", "user" if n % 2 else "assistant", text, n) for n, text in enumerate(texts, 1)]


@dataclass(frozen=True)
class Kind:
    """One way in which a format comes. write: puts the messages under a folder and gives the path to import.

    rewritten: whether the source shows the conversation as it is now, so that a message that is gone has left the branch.
    damage: makes one message of the written source unreadable.
    """

    format: str
    write: Callable[[Path, list[Said]], Path]
    damage: Callable[[Path, Said], None]
    rewritten: bool = True


def _lines(path: Path, lines: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def _cut_line(path: Path, said: Said) -> None:
    """The message's line is no JSON any more."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line.replace("{", "", 1) if json.dumps(said.text) in line else line for line in lines))


def database(path: Path, script: str, rows: dict[str, list[tuple[Any, ...]]]) -> Path:
    """A database made anew: its schema, and the rows of its tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.executescript(script)
        for table, values in rows.items():
            conn.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values) if values else None
    return path


def _spoil(statement: str) -> Callable[[Path, Said], None]:
    def spoil(path: Path, said: Said) -> None:
        with closing(sqlite3.connect(path)) as conn, conn:
            assert conn.execute(statement, {"id": said.id, "text": f"%{said.text}%"}).rowcount == 1

    return spoil


# ------------------------------------------------------------------------------------------------ line formats


def pi_lines(said: list[Said]) -> list[dict[str, Any]]:
    header = {"type": "session", "version": 3, "id": SESSION, "timestamp": "2026-01-01T00:00:00.000Z"}
    above = [None, *(s.id for s in said)]
    return [
        header,
        *(
            {"type": "message", "id": s.id, "parentId": parent, "timestamp": s.iso, "message": {"role": s.role, "content": s.text}}
            for s, parent in zip(said, above, strict=False)
        ),
    ]


def openclaw(folder: Path, said: list[Said]) -> Path:
    return _lines(folder / "a.jsonl", pi_lines(said))


def claude_code(folder: Path, said: list[Said]) -> Path:
    above = [None, *(s.id for s in said)]
    return _lines(
        folder / f"{SESSION}.jsonl",
        [
            {"type": s.role, "uuid": s.id, "parentUuid": parent, "sessionId": SESSION, "timestamp": s.iso, "message": {"role": s.role, "content": s.text}}
            for s, parent in zip(said, above, strict=False)
        ],
    )


def codex(folder: Path, said: list[Said]) -> Path:
    block = {"user": "input_text", "assistant": "output_text"}
    items = [
        {"timestamp": s.iso, "type": "response_item", "payload": {"type": "message", "role": s.role, "content": [{"type": block[s.role], "text": s.text}]}}
        for s in said
    ]
    return _lines(folder / "a.jsonl", [{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": SESSION}}, *items])


# ------------------------------------------------------------------------------------------------------ gemini


def gemini_message(s: Said) -> dict[str, Any]:
    kind = {"user": "user", "assistant": "gemini"}[s.role]
    return {"id": s.id, "timestamp": s.iso, "type": kind, "content": [{"text": s.text}]}


def gemini_head() -> dict[str, Any]:
    return {"sessionId": SESSION, "projectHash": "p", "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:00:00.000Z"}


def gemini(folder: Path, said: list[Said]) -> Path:
    path = folder / "chats" / "session-2026-01-01T00-00-5b1f0a52.json"
    return _json(path, {**gemini_head(), "messages": [gemini_message(s) for s in said]})


def gemini_log(folder: Path, said: list[Said]) -> Path:
    return _lines(folder / "chats" / "session-2026-01-01T00-00-5b1f0a52.jsonl", [gemini_head(), *map(gemini_message, said)])


def _drop_gemini_type(path: Path, said: Said) -> None:
    value = json.loads(path.read_text())
    for message in value["messages"]:
        if message["id"] == said.id:
            del message["type"]
    _json(path, value)


# ------------------------------------------------------------------------------------------------------ hermes

HERMES = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, session_key TEXT, title TEXT, parent_session_id TEXT, started_at REAL,
                           chat_type TEXT, model_config TEXT, end_reason TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT,
                           tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, reasoning TEXT, _compressed_summary INTEGER DEFAULT 0,
                           active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, display_kind TEXT);
"""


def hermes(folder: Path, said: list[Said]) -> Path:
    sessions = [(SESSION, "cli", None, None, None, START_S, None, None, None)]
    messages = [(int(s.id[1:]), SESSION, s.role, s.text, None, None, None, s.seconds, None, 0, 1, 0, None) for s in said]
    return database(folder / "state.db", HERMES, {"sessions": sessions, "messages": messages})


# ---------------------------------------------------------------------------------------------------- opencode

OPENCODE = """
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT NOT NULL, revert TEXT, time_created INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER, data TEXT NOT NULL);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, data TEXT NOT NULL);
"""


def _info(s: Said) -> dict[str, Any]:
    return {"role": s.role, "time": {"created": s.seconds * 1000}}


def opencode(folder: Path, said: list[Said], revert: dict[str, str] | None = None) -> Path:
    storage = folder / "storage"
    for old in [*storage.rglob("*.json")]:
        old.unlink()
    for s in said:
        _json(storage / "message" / SESSION / f"{s.id}.json", {"id": s.id, "sessionID": SESSION, **_info(s)})
        part = {"id": f"p{s.id}", "sessionID": SESSION, "messageID": s.id, "type": "text", "text": s.text}
        _json(storage / "part" / s.id / f"p{s.id}.json", part)
    info = {"id": SESSION, "projectID": "p", "title": "t", "time": {"created": START_S * 1000}, **({"revert": revert} if revert else {})}
    return _json(storage / "session" / "p" / f"{SESSION}.json", info)


def opencode_database(folder: Path, said: list[Said], revert: dict[str, str] | None = None) -> Path:
    session = (SESSION, None, "t", json.dumps(revert) if revert else None, START_S * 1000)
    messages = [(s.id, SESSION, s.seconds * 1000, json.dumps(_info(s))) for s in said]
    parts = [(f"p{s.id}", s.id, SESSION, json.dumps({"type": "text", "text": s.text})) for s in said]
    return database(folder / "opencode.db", OPENCODE, {"session": [session], "message": messages, "part": parts})


OPENCODE_2 = """
    CREATE TABLE session_v2 (id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, title TEXT, revert TEXT, time_created INTEGER NOT NULL);
    CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL,
                                  time_created INTEGER NOT NULL, data TEXT NOT NULL, UNIQUE (session_id, seq));
"""


def opencode_2(folder: Path, said: list[Said], revert: dict[str, str] | None = None) -> Path:
    """The tables of version 2, beside those of version 1, which stay as they were."""
    session = (SESSION, None, None, "t", json.dumps(revert) if revert else None, START_S * 1000)
    data = {"user": lambda s: {"text": s.text}, "assistant": lambda s: {"agent": "build", "content": [{"type": "text", "text": s.text}]}}
    messages = [
        (s.id, SESSION, s.role, seq, s.seconds * 1000, json.dumps({**data[s.role](s), "time": {"created": s.seconds * 1000}}))
        for seq, s in enumerate(said)
    ]
    rows = {"session_v2": [session], "session_message": messages}
    return database(folder / "opencode.db", OPENCODE + OPENCODE_2, rows)


def _cut_message_file(path: Path, said: Said) -> None:
    (path.parent.parent.parent / "message" / SESSION / f"{said.id}.json").write_text("{")


# ------------------------------------------------------------------------------------------------------- goose

GOOSE = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, created_at TIMESTAMP, parent_session_id TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL,
                           content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
"""


def goose(folder: Path, said: list[Said]) -> Path:
    head = {"description": "t", "working_dir": "/deck", "message_count": len(said)}
    messages = [{"id": s.id, "role": s.role, "created": s.seconds, "content": [{"type": "text", "text": s.text}]} for s in said]
    return _lines(folder / f"{SESSION}.jsonl", [head, *messages])


def goose_database(folder: Path, said: list[Said]) -> Path:
    sessions = [(SESSION, "t", "", "user", "2026-01-01 00:00:00", None)]
    messages = [(n, s.id, SESSION, s.role, json.dumps([{"type": "text", "text": s.text}]), s.seconds, "{}") for n, s in enumerate(said, 1)]
    return database(folder / "sessions.db", GOOSE, {"sessions": sessions, "messages": messages})


# ----------------------------------------------------------------------------------------------------- exports


def chatgpt_conversation(said: list[Said]) -> dict[str, Any]:
    nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None, "children": [s.id for s in said[:1]]}}
    above = "root"
    for s, below in zip(said, [*said[1:], None], strict=False):
        content = {"content_type": "text", "parts": [s.text]}
        message = {"id": s.id, "author": {"role": s.role}, "create_time": float(s.seconds), "content": content}
        nodes[s.id] = {"id": s.id, "parent": above, "message": message, "children": [below.id] if below else []}
        above = s.id
    return {"conversation_id": SESSION, "title": "t", "create_time": float(START_S), "current_node": above, "mapping": nodes}


def claude_conversation(said: list[Said]) -> dict[str, Any]:
    sender = {"user": "human", "assistant": "assistant"}
    messages = [
        {"uuid": s.id, "sender": sender[s.role], "text": s.text, "content": [{"type": "text", "text": s.text}], "created_at": s.iso} for s in said
    ]
    return {"uuid": SESSION, "name": "t", "created_at": "2026-01-01T00:00:00.000Z", "chat_messages": messages}


def exported(conversation: Callable[[list[Said]], dict[str, Any]]) -> Callable[[Path, list[Said]], Path]:
    return lambda folder, said: _json(folder / "conversations.json", [conversation(said)])


def zipped(conversation: Callable[[list[Said]], dict[str, Any]]) -> Callable[[Path, list[Said]], Path]:
    def write(folder: Path, said: list[Said]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("user.json", "{}")
            archive.writestr("export/conversations.json", json.dumps([conversation(said)]))
        return folder / "export.zip"

    return write


def _odd_conversation(path: Path, said: Said) -> None:
    """Before the conversation stands one that cannot be read."""
    value = json.loads(path.read_text())
    path.write_text('[{"broken": tru}, ' + json.dumps(value)[1:])


def _odd_zipped_conversation(path: Path, said: Said) -> None:
    with zipfile.ZipFile(path) as archive:
        value = archive.read("export/conversations.json").decode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", '[{"broken": tru}, ' + value[1:])


# ------------------------------------------------------------------------------------------- OpenClaw's database

OPENCLAW = """
    CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, chat_type TEXT, spawned_by TEXT, display_name TEXT);
    CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT);
    CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, PRIMARY KEY (session_id, seq));
"""


def openclaw_database(folder: Path, said: list[Said]) -> Path:
    events = [(SESSION, seq, json.dumps(line), START_S * 1000 + seq) for seq, line in enumerate(pi_lines(said))]
    rows = {
        "session_windows": [(SESSION, "agent:skipper:main", None, None, None)],
        "session_nodes": [("agent:skipper:main", SESSION, json.dumps({"sessionId": SESSION}))],
        "transcript_events": events,
    }
    return database(folder / "openclaw-agent.sqlite", OPENCLAW, rows)


KINDS = {
    "openclaw": Kind("openclaw", openclaw, _cut_line, rewritten=False),
    "openclaw database": Kind(
        "openclaw", openclaw_database, _spoil("UPDATE transcript_events SET event_json = '{' WHERE event_json LIKE :text"), rewritten=False
    ),
    "claude-code": Kind("claude-code", claude_code, _cut_line, rewritten=False),
    "codex": Kind("codex", codex, _cut_line, rewritten=False),
    "gemini": Kind("gemini", gemini, _drop_gemini_type),
    "gemini log": Kind("gemini", gemini_log, _cut_line),
    "hermes": Kind("hermes", hermes, _spoil("UPDATE messages SET role = '' WHERE content LIKE :text")),
    "opencode": Kind("opencode", opencode, _cut_message_file),
    "opencode database": Kind("opencode", opencode_database, _spoil("UPDATE message SET data = '{' WHERE id = :id")),
    "opencode 2 database": Kind("opencode", opencode_2, _spoil("UPDATE session_message SET data = '{' WHERE id = :id")),
    "goose": Kind("goose", goose, _cut_line),
    "goose database": Kind("goose", goose_database, _spoil("UPDATE messages SET content_json = '[' WHERE content_json LIKE :text")),
    "chatgpt": Kind("chatgpt", exported(chatgpt_conversation), _odd_conversation),
    "chatgpt archive": Kind("chatgpt", zipped(chatgpt_conversation), _odd_zipped_conversation),
    "claude-export": Kind("claude-export", exported(claude_conversation), _odd_conversation),
    "claude-export archive": Kind("claude-export", zipped(claude_conversation), _odd_zipped_conversation),
}
