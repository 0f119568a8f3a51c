"""The lineage as an agent's own database tells it, which is the truth; from it the registry's can be mended or made anew."""

import sqlite3
from collections.abc import Iterator

from shared.store import registry
from shared.store.registry import Claim

LIVE = "SELECT session_key, incarnation, spawned_by, spawned_incarnation FROM sessions"
DEAD = """
    SELECT session_key, incarnation, min(spawned_by), min(spawned_incarnation) FROM tombstones
    GROUP BY session_key, incarnation
"""
OF_AGENT = """
    SELECT session_key, incarnation, agent_id, spawned_by, spawned_incarnation, deleted FROM lineage WHERE agent_id = ?
"""


def claims_of(conn: sqlite3.Connection, agent_id: str) -> Iterator[Claim]:
    """What an agent's database says of its session keys, deleted ones included."""
    for row in conn.execute(LIVE):
        yield Claim(row[0], row[1], agent_id, row[2], row[3], deleted=False)
    for row in conn.execute(DEAD):
        yield Claim(row[0], row[1], agent_id, row[2], row[3], deleted=True)


def known_claims(conn: sqlite3.Connection, agent_id: str) -> set[Claim]:
    """What the registry says of an agent's session keys."""
    return {registry.claim_of_row(row) for row in conn.execute(OF_AGENT, (agent_id,))}


def write_claims(conn: sqlite3.Connection, claims: list[Claim], now_ms: int) -> None:
    """The registry's rows are as given; inside a write transaction on the registry."""
    for claim in claims:
        registry.add_agent(conn, claim.agent_id, now_ms)
        registry.write_claim(conn, claim)


def is_complete(conn: sqlite3.Connection) -> bool:
    """Whether the registry was once filled from the agent databases, or was there before them."""
    return conn.execute("SELECT 1 FROM meta WHERE name = 'complete'").fetchone() is not None


def note_complete(conn: sqlite3.Connection) -> None:
    conn.execute("INSERT INTO meta (name, value) VALUES ('complete', x'01') ON CONFLICT DO NOTHING")
