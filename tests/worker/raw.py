"""Bytes of one's own choosing in the place of a message's text, in every format that writes it as JSON."""

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.worker.formats import KINDS, SESSION

Bytes = dict[str, bytes]  # a message's text, and what is to stand there


def _replaced(data: bytes, put: Bytes) -> bytes:
    for text, raw in put.items():
        data = data.replace(json.dumps(text).encode(), raw)
    return data


def _in_files(path: Path, put: Bytes) -> None:
    """In the file, and in those of OpenCode's parts that lie beside it."""
    for file in [path, *path.parent.parent.parent.rglob("part/**/*.json")]:
        file.write_bytes(_replaced(file.read_bytes(), put))


def _in_tables(path: Path, put: Bytes) -> None:
    """In whichever columns of the database hold them."""
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.text_factory = bytes
        for table in [row[0].decode() for row in conn.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%' AND name NOT LIKE 'sqlite_%'")]:
            for column in [row[1].decode() for row in conn.execute(f"PRAGMA table_info({table})")]:
                for rowid, value in conn.execute(f"SELECT rowid, {column} FROM {table} WHERE typeof({column}) = 'text'").fetchall():
                    if (changed := _replaced(value, put)) != value:
                        conn.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (changed, rowid))


def _beside(export: bytes, put: Bytes) -> bytes:
    """An export with the conversation as it is, and before it once more for each of the bytes, under another id."""
    conversation = export.strip()[1:-1]
    others = [
        _replaced(conversation, {text: raw}).replace(SESSION.encode(), f"{SESSION[:-4]}{number:04}".encode())
        for number, (text, raw) in enumerate(put.items())
    ]
    return b"[" + b",\n".join([*others, conversation]) + b"]"


def _in_export(path: Path, put: Bytes) -> None:
    path.write_bytes(_beside(path.read_bytes(), put))


def _in_archive(path: Path, put: Bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        export = archive.read("export/conversations.json")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", _beside(export, put))


def _way(name: str) -> Callable[[Path, Bytes], None]:
    if name.endswith("archive"):
        return _in_archive
    if name in EXPORTS:
        return _in_export
    return _in_tables if name.endswith("database") else _in_files


EXPORTS = ("chatgpt", "chatgpt archive", "claude-export", "claude-export archive")  # what cannot be read costs a conversation
RAW = {name: _way(name) for name in KINDS if name != "hermes"}  # Hermes keeps text as it stands
