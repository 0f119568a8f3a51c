"""Sessions as callers see them in lists."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shared.shown import shown
from shared.store.lists import in_texts
from shared.store.registry import Catalogue
from shared.store.sessions import SESSION_COLUMNS, Session, session_of_row
from shared.transcript import iso

_ROW = f"""
    SELECT {SESSION_COLUMNS},
           (SELECT e.said FROM transcripts AS t JOIN events AS e ON e.transcript_no = t.transcript_no AND e.event_id = t.leaf_id
            WHERE t.session_id = s.session_id) AS messages,
           EXISTS (SELECT 1 FROM index_state AS i WHERE i.session_no = s.session_no AND i.pending_reason IS NOT NULL) AS pending
    FROM sessions AS s
"""
ONE = _ROW + " WHERE s.session_no = ?"
PAGE = (
    _ROW
    + """
    WHERE s.incognito = 0
      AND (:whole OR s.session_key {named})
      AND (:after_ms IS NULL OR s.updated_at_ms < :after_ms OR (s.updated_at_ms = :after_ms AND s.session_key > :after_key))
    ORDER BY s.updated_at_ms DESC, s.session_key
    LIMIT :limit
"""
)


@dataclass(frozen=True, slots=True)
class ListedSession:
    session: Session
    messages: int
    pending: bool


def row_of(conn: sqlite3.Connection, session: Session) -> ListedSession:
    """One session as lists show it."""
    return _listed(conn.execute(ONE, (session.session_no,)).fetchone())


def page(
    conn: sqlite3.Connection, keys: Iterable[str] | None, after: tuple[int, str] | None, limit: int
) -> list[ListedSession]:
    """Sessions that are not incognito, most recently used first.

    keys: only these; None: all. after: (updated_at_ms, key) of the last one seen.
    """
    named, texts = in_texts(keys or ())
    values = {
        **texts,
        "whole": keys is None,
        "after_ms": after[0] if after else None,
        "after_key": after[1] if after else None,
        "limit": limit,
    }
    return [_listed(row) for row in conn.execute(PAGE.format(named=named), values)]


def _listed(row: tuple[Any, ...]) -> ListedSession:
    return ListedSession(session_of_row(row[:12]), row[12] or 0, bool(row[13]))


def as_json(listed: ListedSession, agent_id: str, catalogue: Catalogue) -> dict[str, Any]:
    """The session as callers get it; its title is masked like any text."""
    session = listed.session
    title = shown(session.title or "", catalogue)
    return {
        "sessionKey": session.session_key,
        "sessionId": session.session_id,
        "agentId": agent_id,
        "title": title.text if session.title is not None else None,
        "redacted": title.redacted,
        "kind": session.kind,
        "spawnedBy": session.spawned_by,
        "createdAt": iso(session.created_at_ms),
        "updatedAt": iso(session.updated_at_ms),
        "messages": listed.messages,
        "pending": listed.pending,
    }
