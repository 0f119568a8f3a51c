"""A full-text table as the store makes one, for texts alone: what SQLite really finds."""

import sqlite3
from collections.abc import Sequence

from shared.analysis import document
from shared.tokenizer import TOKENIZE


class TextIndex:
    """Texts by number, found by match expression."""

    def __init__(self) -> None:
        self._conn = sqlite3.connect(":memory:")
        self._conn.execute(f"CREATE VIRTUAL TABLE texts USING fts5 (text, parts, {TOKENIZE}, prefix = '2 3')")
        self._conn.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab (texts, instance)")

    def add(self, text: str, masks: Sequence[tuple[int, int]] = ()) -> None:
        found = document(text, masks)
        self._conn.execute("INSERT INTO texts (text, parts) VALUES (?, ?)", (found.text, found.parts))

    def only(self, text: str, masks: Sequence[tuple[int, int]] = ()) -> None:
        """The index holds this text and no other."""
        self._conn.execute("DELETE FROM texts")
        self.add(text, masks)

    def found(self, match: str) -> list[int]:
        return [number for (number,) in self._conn.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid", (match,))]

    def tokens(self, column: str) -> list[str]:
        """The tokens SQLite made of a column, in order."""
        return [term for (term,) in self._conn.execute("SELECT term FROM tokens WHERE col = ? ORDER BY doc, offset", (column,))]
