"""Registered secrets: exact texts that a host wants masked wherever they stand. Stored readable by the service alone, never shown.

Every process uses them from its next request on; sessions indexed before become pending and are brought up to date.
"""

import re

from shared.errors import BadRequest, NotFound
from shared.store import Store
from shared.store.connect import write_transaction

MIN_CHARS = 6  # a shorter one would mask ordinary words
MAX_CHARS = 4_096
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def add_secret(store: Store, name: str, value: str) -> None:
    """The secret of this name is the value, from every process's next request on. raises: BadRequest."""
    if not _NAME.fullmatch(name):
        raise BadRequest("name must be 1 to 64 letters, digits, '.', '_' or '-'", "name")
    if not MIN_CHARS <= len(value) <= MAX_CHARS:
        raise BadRequest(f"a secret has {MIN_CHARS} to {MAX_CHARS:,} characters", "value")
    with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
        conn.execute(
            "INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
        )


def secret_names(store: Store) -> list[str]:
    """The names of the registered secrets, sorted; their values are never given out."""
    with store.registry_reader() as conn:
        return [row[0] for row in conn.execute("SELECT name FROM secrets ORDER BY name")]


def remove_secret(store: Store, name: str) -> None:
    """The secret is no longer masked. raises: NotFound."""
    with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
        if conn.execute("DELETE FROM secrets WHERE name = ?", (name,)).rowcount == 0:
            raise NotFound("no secret of this name")
