"""Statements on the table of credentials in registry.sqlite."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class TokenRow:
    """One credential; hash is the SHA-256 of its text, which is stored nowhere."""

    id: str
    hash: bytes
    kind: str
    agent_id: str | None
    session_key: str | None
    sandboxed: bool
    read_only: bool
    label: str
    created_at_ms: int
    expires_at_ms: int | None
    revoked_at_ms: int | None


_COLUMNS = "id, hash, kind, agent_id, session_key, sandboxed, read_only, label, created_at_ms, expires_at_ms, revoked_at_ms"
ADD = f"""
    INSERT INTO tokens ({_COLUMNS})
    VALUES (:id, :hash, :kind, :agent_id, :session_key, :sandboxed, :read_only, :label, :created_at_ms, :expires_at_ms, :revoked_at_ms)
"""
BY_HASH = f"SELECT {_COLUMNS} FROM tokens WHERE hash = :hash"
BY_ID = f"SELECT {_COLUMNS} FROM tokens WHERE id = :id"
ALL = f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at_ms, id"
REVOKE = "UPDATE tokens SET revoked_at_ms = :now_ms WHERE id = :id AND revoked_at_ms IS NULL"


def add_token(conn: sqlite3.Connection, row: TokenRow) -> None:
    """The credential is stored."""
    conn.execute(ADD, {**vars(row), "sandboxed": int(row.sandboxed), "read_only": int(row.read_only)})


def token_by_hash(conn: sqlite3.Connection, digest: bytes) -> TokenRow | None:
    """The credential whose text has this SHA-256."""
    return _row(conn.execute(BY_HASH, {"hash": digest}).fetchone())


def token_by_id(conn: sqlite3.Connection, token_id: str) -> TokenRow | None:
    """The credential of this id."""
    return _row(conn.execute(BY_ID, {"id": token_id}).fetchone())


def all_tokens(conn: sqlite3.Connection) -> list[TokenRow]:
    """Every credential, oldest first, revoked and expired ones included."""
    return [found for row in conn.execute(ALL) if (found := _row(row))]


def revoke_token(conn: sqlite3.Connection, token_id: str, now_ms: int) -> bool:
    """Whether a live credential was ended now."""
    return bool(conn.execute(REVOKE, {"id": token_id, "now_ms": now_ms}).rowcount)


def _row(row: tuple[str, bytes, str, str | None, str | None, int, int, str, int, int | None, int | None] | None) -> TokenRow | None:
    return TokenRow(*row[:5], bool(row[5]), bool(row[6]), *row[7:]) if row else None
