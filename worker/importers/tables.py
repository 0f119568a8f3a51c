"""Another program's SQLite tables, read row by row: only real tables, only columns that are there, no value of a size that hurts."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from shared.errors import UnknownFormat, UnreadableSource
from shared.store.connect import open_foreign
from worker.importers.base import MAX_LINE_BYTES

_MAGIC = b"SQLite format 3\0"


class Tables:
    """The tables of one database and their columns."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        names = [row[0] for row in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        self._columns = {
            name: [row[1] for row in conn.execute(f"PRAGMA table_info({_quoted(name)})")] for name in names if name.isidentifier()
        }

    def has(self, table: str, *columns: str) -> bool:
        """Whether the table is there and has these columns."""
        return set(columns) <= set(self._columns.get(table, ())) if table in self._columns else False

    def rows(self, table: str, columns: str, where: str = "", values: tuple[object, ...] = (), order: str = "") -> Iterator[dict[str, Any]]:
        """Rows as objects; columns the table has not are None, and so is a value too long to read (its name is then in `too_long`).

        columns: names, comma-separated; where, order: SQL over columns that `has` was asked about.
        """
        names = columns.replace(" ", "").split(",")
        there = [name for name in names if name in self._columns[table]]
        shown = ", ".join(
            f"CASE WHEN length({name}) <= {MAX_LINE_BYTES} OR {name} IS NULL THEN {name} END, length({name})" for name in there
        )
        statement = f"SELECT {shown} FROM {_quoted(table)}{' WHERE ' + where if where else ''}{' ORDER BY ' + order if order else ''}"
        for row in self._read(statement, values):
            value = dict.fromkeys(names) | dict(zip(there, row[::2], strict=True))
            value["too_long"] = [name for name, length in zip(there, row[1::2], strict=True) if value[name] is None and length is not None]
            yield value

    def grouped(self, table: str, by: str, counts: str) -> Iterator[tuple[Any, ...]]:
        """Every value of a column, with what is counted over its rows. counts: SQL over columns that `has` was asked about."""
        return self._read(f"SELECT {by}, {counts} FROM {_quoted(table)} GROUP BY {by}", ())

    def _read(self, statement: str, values: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
        """Rows are read while other code runs, so the file's damage is met here."""
        try:
            yield from self._conn.execute(statement, values)
        except sqlite3.Error as e:
            raise UnreadableSource(f"the database cannot be read further ({e})") from e
        except UnicodeDecodeError as e:  # SQLite's message quotes what is damaged
            raise UnreadableSource("the database cannot be read further") from e


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_sqlite(path: Path) -> bool:
    """Whether the file begins like a SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def check_sqlite_file(path: Path, name: str) -> None:
    """raises: UnknownFormat for a file that is no database."""
    if not is_sqlite(path):
        raise UnknownFormat(f"not a {name} database: {path.name} is not a SQLite file")


def ids_in(path: Path, table: str) -> set[str]:
    """The ids of a table; none where the file cannot be read, which is reported when it is imported."""
    with suppress(UnreadableSource, OSError), open_foreign(path) as conn:
        tables = Tables(conn)
        return {str(row["id"]) for row in tables.rows(table, "id")} if tables.has(table, "id") else set()
    return set()


def text_of(value: object) -> str | None:
    """A value as text: SQLite columns may hold a blob or a number whatever their type says."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None
