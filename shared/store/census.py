"""What is asked of every agent's database in turn: how its sessions stand, and whether its transcripts can be read."""

import sqlite3
from dataclasses import dataclass

from shared.store.sums import PENDING_BY_SESSION

TRUTH = ("sessions", "transcripts", "events", "index_state")  # the rest is derived and is built anew when it is damaged


@dataclass(frozen=True, slots=True)
class Standing:
    """An agent's sessions; parked ones are not counted as pending."""

    sessions: int = 0
    pending: int = 0
    parked: int = 0


def standing(conn: sqlite3.Connection) -> Standing:
    """How the sessions stand; the cost is that of an index's pages and of what is owed."""
    sessions = int(conn.execute("SELECT count(*) FROM sessions").fetchone()[0])
    owing, parked = conn.execute(PENDING_BY_SESSION).fetchone()
    return Standing(sessions, owing - parked, parked)


def truth_is_sound(conn: sqlite3.Connection) -> bool:
    """Whether every row that cannot be derived can be read; reads all its pages (1.2 ms a MiB)."""
    conn.execute("PRAGMA schema_version").fetchone()
    return all(conn.execute(f"PRAGMA quick_check({table})").fetchone()[0] == "ok" for table in TRUTH)
