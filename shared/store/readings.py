"""Rows about transcript files that were read, in registry.sqlite; and how a stored session stands, to be compared with such a row."""

import json
import sqlite3
from collections.abc import Iterable
from hashlib import sha256

ONE = "SELECT reading FROM readings WHERE path = :path AND format = :format AND agent_id = :agent_id"
KEEP = """
    INSERT INTO readings (path, format, agent_id, reading) VALUES (:path, :format, :agent_id, :reading)
    ON CONFLICT (path, format, agent_id) DO UPDATE SET reading = excluded.reading
"""
STANDING = """
    SELECT t.last_seq, t.moves, t.leaf_id, s.session_key, s.incarnation, s.spawned_by, s.title, s.kind, s.incognito
    FROM transcripts AS t JOIN sessions AS s USING (session_no)
    WHERE t.session_id = :session_id
"""


def reading_of(conn: sqlite3.Connection, path: bytes, format_name: str, agent_id: str) -> str | None:
    row = conn.execute(ONE, {"path": path, "format": format_name, "agent_id": agent_id}).fetchone()
    return str(row[0]) if row else None


def keep_readings(conn: sqlite3.Connection, format_name: str, agent_id: str, readings: Iterable[tuple[bytes, str]]) -> None:
    """The rows of these paths are as given; inside a write transaction on the registry."""
    named = {"format": format_name, "agent_id": agent_id}
    conn.executemany(KEEP, ({"path": path, "reading": reading, **named} for path, reading in readings))


def standing(conn: sqlite3.Connection, session_id: str) -> str | None:
    """A digest of a transcript's extent and leaf and of its session's label: another one after every write. None: there is none."""
    row = conn.execute(STANDING, {"session_id": session_id}).fetchone()
    return sha256(json.dumps(row).encode()).hexdigest()[:24] if row else None
