"""Numbered schema files, applied in order, each in a transaction of its own; PRAGMA user_version counts them."""

import sqlite3
from functools import cache
from importlib.resources import files
from pathlib import Path

from shared.errors import StoreDamaged, StoreUnavailable
from shared.store.connect import write_transaction


def migrate(conn: sqlite3.Connection, name: str, path: Path) -> None:
    """Brings a database to the newest schema of its kind ("agent", "registry", "queue").

    raises: StoreUnavailable when the file was written by a newer release.
    """
    scripts = _scripts(name)
    newest = scripts[-1][0]
    if (have := _version(conn)) == newest:
        return
    if have > newest:
        raise StoreUnavailable(f"a database has schema {have}; this release knows {newest}: install the newer release", str(path))
    with write_transaction(conn, path):
        have = _version(conn)  # another process may have been faster
        for number, script in scripts:
            if number > have:
                for statement in _statements(script):
                    conn.execute(statement)
                conn.execute(f"PRAGMA user_version = {number}")


def newest_version(name: str) -> int:
    """The schema number this release writes."""
    return _scripts(name)[-1][0]


def _version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


@cache
def _scripts(name: str) -> tuple[tuple[int, str], ...]:
    folder = files("shared.store") / "migrations" / name
    named = sorted((item.name, item.read_text("utf-8")) for item in folder.iterdir() if item.name.endswith(".sql"))
    if not named:
        raise StoreDamaged(f"no schema named {name} is installed")
    return tuple((int(file[:4]), text) for file, text in named)


def _statements(script: str) -> list[str]:
    """The statements of a script; a trigger's inner semicolons do not end one."""
    found, rest = [], ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            found.append(rest)
            rest = ""
    return found
