"""Rows of registry.sqlite that are the kernel's: which agent owns a key, who spawned whom, what is masked."""

import hashlib
import os
import sqlite3
from dataclasses import dataclass
from typing import Any, NamedTuple

from shared.config import Policy
from shared.redaction_rules import CATALOGUE_VERSION


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What is masked: version names the rules, the policy and the registered secrets together, without telling them."""

    policy: Policy
    secrets: tuple[str, ...]
    version: str


class Claim(NamedTuple):
    """One incarnation of a session key. A tuple, for a request may read thousands of them."""

    session_key: str
    incarnation: int
    agent_id: str
    spawned_by: str | None
    spawned_incarnation: int
    deleted: bool


def claim_of_row(row: tuple[Any, ...]) -> Claim:
    """A claim from a row of lineage, its columns in the order of the fields."""
    return Claim(row[0], row[1], row[2], row[3], row[4], bool(row[5]))


LATEST = """
    SELECT session_key, incarnation, agent_id, spawned_by, spawned_incarnation, deleted
    FROM lineage
    WHERE session_key = :session_key
    ORDER BY incarnation DESC
    LIMIT 1
"""


def latest_claim(conn: sqlite3.Connection, session_key: str) -> Claim | None:
    """The newest incarnation of a key, deleted or not."""
    row = conn.execute(LATEST, {"session_key": session_key}).fetchone()
    return claim_of_row(row) if row else None


def current_incarnation(conn: sqlite3.Connection, session_key: str) -> int:
    """The incarnation that the key names now, or will name once somebody makes it."""
    claim = latest_claim(conn, session_key)
    return 0 if claim is None else claim.incarnation + claim.deleted


WRITE_CLAIM = """
    INSERT INTO lineage (session_key, incarnation, agent_id, spawned_by, spawned_incarnation, deleted)
    VALUES (:session_key, :incarnation, :agent_id, :spawned_by, :spawned_incarnation, :deleted)
    ON CONFLICT (session_key, incarnation) DO UPDATE
    SET agent_id = excluded.agent_id, spawned_by = excluded.spawned_by, spawned_incarnation = excluded.spawned_incarnation,
        deleted = max(lineage.deleted, excluded.deleted)   -- what was deleted stays deleted
"""


def write_claim(conn: sqlite3.Connection, claim: Claim) -> None:
    """The row of one incarnation is as given."""
    conn.execute(
        WRITE_CLAIM,
        {
            "session_key": claim.session_key,
            "incarnation": claim.incarnation,
            "agent_id": claim.agent_id,
            "spawned_by": claim.spawned_by,
            "spawned_incarnation": claim.spawned_incarnation,
            "deleted": int(claim.deleted),
        },
    )


def mark_deleted(conn: sqlite3.Connection, session_key: str, incarnation: int) -> None:
    conn.execute("UPDATE lineage SET deleted = 1 WHERE session_key = ? AND incarnation = ?", (session_key, incarnation))


def add_agent(conn: sqlite3.Connection, agent_id: str, now_ms: int) -> None:
    conn.execute("INSERT INTO agents (agent_id, created_at_ms) VALUES (?, ?) ON CONFLICT DO NOTHING", (agent_id, now_ms))


# A cycle cannot make this run for ever: UNION keeps each node once.
TREE = """
    WITH RECURSIVE tree (session_key, incarnation) AS (
        SELECT :session_key, :incarnation
        UNION
        SELECT child.session_key, child.incarnation
        FROM tree
        JOIN lineage AS child ON child.spawned_by = tree.session_key AND child.spawned_incarnation = tree.incarnation
    )
    SELECT l.session_key, l.incarnation, l.agent_id, l.spawned_by, l.spawned_incarnation, l.deleted
    FROM tree JOIN lineage AS l USING (session_key, incarnation)
"""


def spawned_tree(conn: sqlite3.Connection, session_key: str, incarnation: int) -> list[Claim]:
    """The session and everything it spawned, at any depth and across agents, deleted ones included."""
    rows = conn.execute(TREE, {"session_key": session_key, "incarnation": incarnation})
    return [claim_of_row(row) for row in rows]


ABOVE = """
    WITH RECURSIVE above (session_key, incarnation) AS (
        SELECT :session_key, :incarnation
        UNION
        SELECT l.spawned_by, l.spawned_incarnation
        FROM above JOIN lineage AS l USING (session_key, incarnation)
        WHERE l.spawned_by IS NOT NULL
    )
    SELECT 1 FROM above WHERE session_key = :sought AND incarnation = :sought_incarnation
"""


def is_above(conn: sqlite3.Connection, sought: tuple[str, int], below: tuple[str, int]) -> bool:
    """Whether `sought` is `below` or stands above it in the tree; both are (session key, incarnation)."""
    values = {"session_key": below[0], "incarnation": below[1], "sought": sought[0], "sought_incarnation": sought[1]}
    return conn.execute(ABOVE, values).fetchone() is not None


def read_catalogue(conn: sqlite3.Connection, policy: Policy) -> Catalogue:
    """The rules in force, and the registered secrets."""
    secrets = tuple(row[0] for row in conn.execute("SELECT value FROM secrets ORDER BY value"))
    digest = hashlib.sha256("\0".join(secrets).encode()).hexdigest()[:16] if secrets else "-"
    return Catalogue(policy, secrets, f"{policy}/{CATALOGUE_VERSION}/{digest}")


def cursor_key(conn: sqlite3.Connection) -> bytes | None:
    row = conn.execute("SELECT value FROM meta WHERE name = 'cursor key'").fetchone()
    return bytes(row[0]) if row else None


def make_cursor_key(conn: sqlite3.Connection) -> bytes:
    """The key that signs cursors; made once for a data folder."""
    conn.execute("INSERT INTO meta (name, value) VALUES ('cursor key', ?) ON CONFLICT DO NOTHING", (os.urandom(32),))
    key = cursor_key(conn)
    if key is None:
        raise RuntimeError("a row that was just written is not there")
    return key
