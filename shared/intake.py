"""Importing: another program's transcript becomes events of ours, stored without index; the session is pending until it is reconciled.

Importing again adds nothing, a grown transcript adds its new part, and a session that was deleted here stays deleted.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from shared import jsontext, searchable, validate
from shared.appending import same_content
from shared.errors import BadRequest
from shared.sessions import claim_key, create, growth_of, new_session, write_growth
from shared.store import Store, events, foreign, projection
from shared.store import sessions as rows
from shared.store.connect import write_transaction
from shared.store.events import NewEvent
from shared.store.registry import Claim
from shared.store.sessions import Session, Transcript
from shared.transcript import Event, check_id, read_event

BATCH = 500  # events a transaction: the write lock is held for some milliseconds


@dataclass(frozen=True, slots=True)
class ImportHead:
    """What a transcript file says about its session. created_at_ms: the time of events before the first that names one."""

    session_id: str
    title: str | None = None
    kind: str = "main"
    spawned_by: str | None = None
    incognito: bool = False
    created_at_ms: int | None = None


@dataclass(slots=True)
class Imported:
    """What an import did. known: events that were there already; deleted: the session was deleted here and not restored."""

    added: int = 0
    known: int = 0
    deleted: bool = False
    problems: list[str] = field(default_factory=list)


def import_transcript(
    store: Store, agent_id: str, session_key: str, head: ImportHead, found: Iterable[dict[str, Any]], now_ms: int, *, restore: bool = False
) -> Imported:
    """The transcript's events are stored, those not yet known added in their order.

    found: events in the pi/OpenClaw v3 shape; read once, a batch at a time.
    raises: BadRequest for a head that cannot be a session; Conflict for a key of another agent.
    """
    validate.agent_id(agent_id)
    validate.session_key(session_key)
    check_id(head.session_id, "sessionId")
    done = Imported()
    if _buried(store, agent_id, head, restore):
        done.deleted = True
        return done
    claim = claim_key(store, agent_id, session_key, head.spawned_by, now_ms)
    work = _Import(store, agent_id, claim, head, now_ms, done)
    for batch in _batches(found):
        work.take(batch)
        if done.deleted:
            return done
    if not work.begun:
        work.take([])
    return done


def _buried(store: Store, agent_id: str, head: ImportHead, restore: bool) -> bool:
    """Whether the session was deleted here; restore forgets that it was."""
    if not store.has_agent(agent_id):
        return False
    with store.reader(agent_id) as conn:
        buried = rows.tombstoned(conn, head.session_id)
    if buried and restore:
        with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
            conn.execute("DELETE FROM tombstones WHERE session_id = ?", (head.session_id,))
        return False
    return buried


def _batches(found: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    stream = iter(found)
    while batch := list(islice(stream, BATCH)):
        yield batch


class _Import:
    """One transcript on its way in, a transaction a batch."""

    def __init__(self, store: Store, agent_id: str, claim: Claim, head: ImportHead, now_ms: int, done: Imported) -> None:
        self._store, self._agent_id, self._claim, self._head, self._now_ms = store, agent_id, claim, head, now_ms
        self._done = done
        self._time_ms = now_ms if head.created_at_ms is None else head.created_at_ms
        self.begun = False

    def take(self, batch: list[dict[str, Any]]) -> None:
        """Stores the events of one batch that are not there yet; none once the session is deleted."""
        read = [event for payload in batch if (event := self._read(payload)) is not None]
        texts = {id(event): searchable.message_text(event.payload) for event in read}
        self.begun = True
        with self._store.writer(self._agent_id) as conn, write_transaction(conn, self._store.agent_path(self._agent_id)):
            if rows.tombstoned(conn, self._head.session_id):
                self._done.deleted = True
                return
            session, transcript = self._place(conn)
            fresh = self._fresh(conn, transcript, read)
            if fresh:
                self._store_events(conn, transcript, fresh, texts)
                rows.touch_session(conn, session.session_no, self._now_ms, used_ms=self._time_ms)

    def _read(self, payload: dict[str, Any]) -> Event | None:
        try:
            return read_event(payload)
        except BadRequest as e:
            self._done.problems.append(f"an event is skipped: {e}")
            return None

    def _place(self, conn: sqlite3.Connection) -> tuple[Session, Transcript]:
        """The session and the transcript that the events belong to, made when they are not there."""
        head = self._head
        session = rows.find_session(conn, self._claim.session_key)
        if session is None:
            named = {"title": head.title, "kind": head.kind, "incognito": head.incognito}
            first_ms = self._time_ms
            session = new_session(self._claim, self._now_ms, **named, created_at_ms=first_ms, updated_at_ms=first_ms)
            session = create(conn, session, named_id=head.session_id, indexed=True)
        elif head.title is not None and head.title != session.title:
            conn.execute("UPDATE sessions SET title = ? WHERE session_no = ?", (head.title, session.session_no))
        transcript = rows.find_transcript(conn, head.session_id)
        if transcript is None:
            transcript = rows.insert_transcript(conn, session.session_no, head.session_id, indexed=True)
        elif transcript.session_no != session.session_no:
            raise BadRequest("sessionId belongs to another session", "sessionId")
        return session, foreign.take_over(conn, transcript, self._now_ms)

    def _fresh(self, conn: sqlite3.Connection, transcript: Transcript, read: list[Event]) -> list[Event]:
        ids = [event.id for event in read if event.id is not None]
        known = {event_id: payload for event_id, (_, payload) in events.known_payloads(conn, transcript.transcript_no, ids).items()}
        unnamed = self._unnamed_known(conn, transcript, read)
        fresh: list[Event] = []
        for event in read:
            if event.id is None:
                self._count_unnamed(event, unnamed, fresh)
            elif (before := known.get(event.id)) is None:
                known[event.id] = jsontext.dumps(event.payload)
                fresh.append(event)
            elif same_content(before, event.payload):
                self._done.known += 1
            else:
                self._done.problems.append(f"event {event.id!r} is there with other content; the first one stays")
        return fresh

    def _unnamed_known(self, conn: sqlite3.Connection, transcript: Transcript, read: list[Event]) -> set[str]:
        """Payloads of stored events without id, which are told apart by what they hold."""
        if all(event.id is not None for event in read):
            return set()
        found = conn.execute("SELECT payload FROM events WHERE transcript_no = ? AND event_id IS NULL", (transcript.transcript_no,))
        return {row[0] for row in found}

    def _count_unnamed(self, event: Event, known: set[str], fresh: list[Event]) -> None:
        payload = jsontext.dumps(event.payload)
        if payload in known:
            self._done.known += 1
        else:
            known.add(payload)
            fresh.append(event)

    def _store_events(self, conn: sqlite3.Connection, transcript: Transcript, fresh: list[Event], texts: dict[int, str]) -> None:
        growth = growth_of(conn, transcript)
        depth = growth.leaf.depth
        seq, new = transcript.last_seq, []
        for event in fresh:
            seq += 1
            if event.time_ms is not None:
                self._time_ms = event.time_ms
            node = growth.add(event, seq, said=bool(texts[id(event)]))
            new.append(
                NewEvent(seq, event.id, event.kind, event.role, self._time_ms, self._now_ms, node, jsontext.dumps(event.payload))
            )
        write_growth(conn, transcript, growth, seq, self._now_ms)
        events.insert_events(conn, transcript.transcript_no, new)
        if transcript.last_seq == 0:
            conn.execute("UPDATE index_state SET indexed = 0 WHERE transcript_no = ?", (transcript.transcript_no,))
        projection.owe_tail(conn, transcript.transcript_no, "imported", depth, self._now_ms)
        self._done.added += len(fresh)
