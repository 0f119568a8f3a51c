"""Raw SQLite beside us: FTS5 over the same rows in one file, the physical limit of inserts and of ORDER BY bm25.

Also what is looked up in a service's files from outside: whether anything is owed.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from bench.service import SYNCHRONOUS

BATCH = 1_000  # rows a commit
BEST = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT 10"


class Raw:
    """An FTS5 table `f` with the tokenizer that SQLite has by itself."""

    def __init__(self, path: Path) -> None:
        self.conn = sqlite3.connect(path, isolation_level=None)
        self.conn.execute("PRAGMA journal_mode = WAL")
        self.conn.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        self.conn.execute("PRAGMA mmap_size = 1073741824")
        self.conn.execute("CREATE VIRTUAL TABLE IF NOT EXISTS f USING fts5(text)")
        self.conn.execute("CREATE TABLE IF NOT EXISTS events(no INTEGER PRIMARY KEY, payload TEXT NOT NULL)")
        self.conn.execute("CREATE VIRTUAL TABLE IF NOT EXISTS v USING fts5vocab(f, 'row')")

    def close(self) -> None:
        self.conn.close()

    def load(self, texts: Iterable[str]) -> tuple[int, float]:
        """Inserts the rows, BATCH a commit; how many there were, and the seconds that SQLite took."""
        rows, seconds = 0, 0.0
        for batch in batches(texts):
            begun = time.perf_counter()
            self.conn.execute("BEGIN IMMEDIATE")
            self.conn.executemany("INSERT INTO f(text) VALUES (?)", batch)
            self.conn.execute("COMMIT")
            seconds += time.perf_counter() - begun
            rows += len(batch)
        return rows, seconds

    def append(self, events: list[tuple[str, str]]) -> float:
        """Stores payloads and indexes their texts in one commit; the milliseconds it took."""
        begun = time.perf_counter()
        self.conn.execute("BEGIN IMMEDIATE")
        self.conn.executemany("INSERT INTO events(payload) VALUES (?)", [(payload,) for payload, _ in events])
        self.conn.executemany("INSERT INTO f(text) VALUES (?)", [(text,) for _, text in events])
        self.conn.execute("COMMIT")
        return (time.perf_counter() - begun) * 1000

    def search(self, match: str) -> float:
        """The ten best by bm25; the milliseconds it took."""
        begun = time.perf_counter()
        self.conn.execute(BEST, (match,)).fetchall()
        return (time.perf_counter() - begun) * 1000

    def count(self, match: str) -> int:
        return int(self.conn.execute("SELECT count(*) FROM f WHERE f MATCH ?", (match,)).fetchone()[0])

    def rows(self) -> int:
        return int(self.conn.execute("SELECT coalesce(max(rowid), 0) FROM f").fetchone()[0])

    def frequencies(self) -> list[tuple[str, int]]:
        """Words of Latin letters and digits, each with the number of rows it stands in, in alphabetical order."""
        found = self.conn.execute("SELECT term, doc FROM v WHERE term GLOB '[a-z]*' ORDER BY term")
        return [(term, doc) for term, doc in found if term.isascii() and term.isalnum()]

    def texts(self, numbers: Iterable[int]) -> Iterator[str]:
        for number in numbers:
            yield self.conn.execute("SELECT text FROM f WHERE rowid = ?", (number,)).fetchone()[0]


def batches(rows: Iterable[str]) -> Iterator[list[tuple[str]]]:
    waiting = iter(rows)
    while batch := [(row,) for row in islice(waiting, BATCH)]:
        yield batch


class Watch:
    """Looks into a service's agent databases, read-only, for what is owed."""

    def __init__(self, data: Path) -> None:
        found = sorted((data / "agents").glob("*.sqlite"))
        self._open = [sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None) for path in found]

    def owes(self) -> bool:
        """Whether a session is pending. Those that were found settled are not asked again."""
        while self._open:
            if self._open[-1].execute("SELECT 1 FROM index_state WHERE pending_reason IS NOT NULL LIMIT 1").fetchone():
                return True
            self._open.pop().close()
        return False

    def until_settled(self, limit_s: float) -> float:
        """The moment (time.monotonic) at which nothing was owed any more. raises: TimeoutError."""
        end = time.monotonic() + limit_s
        while self.owes():
            if time.monotonic() > end:
                raise TimeoutError(f"sessions were still pending after {limit_s:.0f} s")
            time.sleep(0.02)
        return time.monotonic()

    def close(self) -> None:
        for conn in self._open:
            conn.close()


def agent_file(data: Path, agent: str) -> Path:
    return data / "agents" / f"{agent}.sqlite"


def longest_wait_ms(path: Path, stop: "Iterator[bool]") -> tuple[float, int]:
    """Asks for the write lock again and again until stopped; the longest time it was not to be had, and how often it was asked for."""
    conn = sqlite3.connect(path, isolation_level=None, timeout=0)
    longest, begun, asked = 0.0, 0.0, 0
    for over in stop:
        asked += 1
        try:
            conn.execute("BEGIN IMMEDIATE")
            conn.execute("ROLLBACK")
            if begun:
                longest, begun = max(longest, time.perf_counter() - begun), 0.0
            time.sleep(0.001)
        except sqlite3.OperationalError as e:
            if e.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            begun = begun or time.perf_counter()
            time.sleep(0.0002)
        if over:
            break
    conn.close()
    return longest * 1000, asked


def memory_index(texts: Iterable[str]) -> sqlite3.Connection:
    """FTS5 with porter over these texts, in memory; the first is row 1."""
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')")
    conn.executemany("INSERT INTO f(text) VALUES (?)", [(text,) for text in texts])
    return conn
