"""Proof that words are in none of the data folder's files: not in a page, not in the write-ahead log, not in the index.

The files' bytes are read before any database is opened, for closing a file that SQLite has open would drop its locks. Then each index
is asked for its own list of terms, since FTS5 writes a term as what it does not share with the one before it.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shared import analysis
from shared.config import Settings
from shared.errors import BadRequest
from shared.store import Store, open_store

_CHUNK = 4 << 20
MIN_BYTES = 4  # of UTF-8; a shorter word stands in any file by chance


@dataclass(frozen=True, slots=True)
class Trace:
    """A word that is still there. line: its line in the file of words, for the word itself is not repeated."""

    line: int
    path: str
    where: str


def find_traces(settings: Settings, words: Sequence[str]) -> list[Trace]:
    """Every place where one of the words is found; none when they are erased. Empty lines are passed over.

    raises: BadRequest for a word of under MIN_BYTES bytes, or when there is no word: nothing would be proven.
    """
    sought = {line: _forms(word) for line, word in enumerate(words, 1) if word.strip()}
    if not sought:
        raise BadRequest("the file holds no words", "erased")
    for line in sought:
        if len(words[line - 1].strip().encode()) < MIN_BYTES:
            raise BadRequest(f"word {line} is shorter than {MIN_BYTES} bytes and stands in any file by chance", "erased")
    found = [trace for path in _files(settings.data) for trace in _in_bytes(path, sought)]
    store = open_store(settings)
    try:
        for agent_id in store.agent_ids():
            found += _in_index(store, agent_id, sought)
    finally:
        store.close()
    return found


def _forms(word: str) -> set[str]:
    """The word as it was written and as it is indexed."""
    document = analysis.document(word.strip())
    return {word.strip(), *(token for token in document.text.split() if len(token.encode()) >= MIN_BYTES)}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


def _in_bytes(path: Path, sought: dict[int, set[str]]) -> list[Trace]:
    needles = {line: [form.encode() for form in forms] for line, forms in sought.items()}
    longest = max((len(n) for group in needles.values() for n in group), default=1)
    hits: set[int] = set()
    tail = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            block = tail + chunk
            hits |= {line for line, group in needles.items() if line not in hits and any(n in block for n in group)}
            tail = block[-longest:]
    return [Trace(line, str(path), "bytes of the file") for line in sorted(hits)]


def _in_index(store: Store, agent_id: str, sought: dict[int, set[str]]) -> list[Trace]:
    """Words that the index still lists as terms."""
    path = store.agent_path(agent_id)
    with store.writer(agent_id) as conn:  # a temporary table needs a connection that may write; nothing of the file is changed
        conn.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.indexed_terms USING fts5vocab (main, message_index, row)")
        return [Trace(line, str(path), "the index") for line, forms in sought.items() if any(_lists(conn, form) for form in forms)]


def _lists(conn: sqlite3.Connection, term: str) -> bool:
    return conn.execute("SELECT 1 FROM temp.indexed_terms WHERE term = ?", (term,)).fetchone() is not None
