"""The append verb: 1 to 1,000 events stored and indexed in one transaction, searchable when the answer arrives.

Its cost does not depend on the session's length: what is read is the leaf, the named parents and the ids that are sent.
"""

import hashlib
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from shared import jsontext, searchable, shown, validate
from shared.analysis import Document
from shared.damage import despite_damage
from shared.errors import BadRequest, Conflict
from shared.growth import Growth
from shared.sessions import claim_key, create, current_transcript, follow, growth_of, new_session, write_growth
from shared.store import Store, events, projection
from shared.store import sessions as rows
from shared.store.connect import write_transaction
from shared.store.events import NewEvent
from shared.store.projection import NewMessage
from shared.store.registry import Catalogue
from shared.store.sessions import Session, Transcript
from shared.transcript import Event, read_event

MAX_EVENTS = 1_000
IDEMPOTENCY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Prepared:
    """An event with everything that is computed outside the transaction. document: None when it has no searchable text."""

    event: Event
    payload: str
    text: str
    document: Document | None


def append_events(
    store: Store, agent_id: str, session_key: str, sent: Sequence[Any], now_ms: int, idempotency_key: str | None = None
) -> dict[str, Any]:
    """All events of the call are stored, or none; a session not yet there is made. A repeated id with the same content is stored once.

    returns: sessionId; appended, how many were new; leafId; seq, the position of the last event sent.
    raises: BadRequest naming the field; Conflict for an id or idempotency key with other content, or a key of another agent.
    """
    validate.agent_id(agent_id)
    validate.session_key(session_key)
    _check_count(sent)
    catalogue = store.catalogue()
    prepared = [_prepare(payload, f"events[{i}]", catalogue) for i, payload in enumerate(sent)]
    retried = _Retry.of(idempotency_key, sent) if idempotency_key is not None else None
    call = _Append(store, agent_id, session_key, prepared, now_ms, retried, catalogue)
    return despite_damage(store, agent_id, now_ms, call.run)


def _check_count(sent: Sequence[Any]) -> None:
    if not isinstance(sent, list | tuple) or not 1 <= len(sent) <= MAX_EVENTS:
        raise BadRequest(f"events must be a list of 1 to {MAX_EVENTS:,} events", "events")


def _prepare(payload: Any, where: str, catalogue: Catalogue) -> Prepared:
    if not isinstance(payload, dict):
        raise BadRequest(f"{where} must be an object", where)
    payload = payload if "type" in payload else {"type": "message", **payload}
    event = read_event(payload, where)
    if event.id is None:
        made = uuid.uuid4().hex
        event = replace(event, id=made, payload={"id": made, **{k: v for k, v in payload.items() if k != "id"}})
    return prepare(event, catalogue)


def prepare(event: Event, catalogue: Catalogue) -> Prepared:
    """The event with what storing and indexing it need; the slow part, done outside the transaction."""
    text = searchable.message_text(event.payload) if event.role in searchable.SEARCHED_ROLES else ""
    return Prepared(event, jsontext.dumps(event.payload), text, shown.indexed(text, catalogue) if text else None)


def same_content(stored: str, sent: dict[str, Any]) -> bool:
    """Whether a stored payload and a sent event say the same, whatever the order of their fields."""
    return _canonical(jsontext.loads(stored, max_levels=1_000)) == _canonical(sent)


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


@dataclass(frozen=True, slots=True)
class _Retry:
    """An Idempotency-Key and what it stands for."""

    key: str
    body_hash: bytes

    @staticmethod
    def of(key: str, sent: Sequence[Any]) -> "_Retry":
        return _Retry(validate.idempotency_key(key), hashlib.sha256(_canonical(list(sent))).digest())


class _Append:
    """One append call. The session is looked up first, for nearly always it is there; only a new key asks the registry."""

    def __init__(
        self, store: Store, agent_id: str, session_key: str, prepared: Sequence[Prepared], now_ms: int, retried: _Retry | None,
        catalogue: Catalogue,
    ) -> None:  # fmt: skip
        self._store, self._agent_id, self._session_key = store, agent_id, session_key
        self._prepared, self._now_ms, self._retried = prepared, now_ms, retried
        self._maker = projection.maker(catalogue.version, catalogue.policy)

    def run(self) -> dict[str, Any]:
        if self._store.has_agent(self._agent_id) and (answer := self._to_existing()) is not None:
            return answer
        claim = claim_key(self._store, self._agent_id, self._session_key, None, self._now_ms)
        path = self._store.agent_path(self._agent_id)
        with self._store.writer(self._agent_id) as conn, write_transaction(conn, path):
            session = rows.find_session(conn, self._session_key)  # another request may have made it meanwhile
            if session is None:
                session = create(conn, new_session(claim, self._now_ms), named_id=None)
            answer = self._into(conn, session)
        if session.incarnation != claim.incarnation:
            follow(self._store, self._agent_id, session)
        return answer

    def _to_existing(self) -> dict[str, Any] | None:
        path = self._store.agent_path(self._agent_id)
        with self._store.writer(self._agent_id) as conn, write_transaction(conn, path):
            session = rows.find_session(conn, self._session_key)
            return None if session is None else self._into(conn, session)

    def _into(self, conn: sqlite3.Connection, session: Session) -> dict[str, Any]:
        if self._retried and (answer := self._answered(conn, session)) is not None:
            return answer
        projection.adopt(conn, self._maker, self._now_ms)
        transcript = current_transcript(conn, session, self._now_ms)
        answer = store_events(conn, transcript, self._prepared, self._now_ms)
        rows.touch_session(conn, session.session_no, self._now_ms)
        if self._retried:
            self._remember(conn, session, answer)
        return answer

    def _answered(self, conn: sqlite3.Connection, session: Session) -> dict[str, Any] | None:
        """What the first call with this Idempotency-Key answered."""
        if self._retried is None:
            return None
        row = conn.execute(
            "SELECT body_hash, answer FROM idempotency WHERE session_no = ? AND key = ? AND stored_ms > ?",
            (session.session_no, self._retried.key, self._now_ms - IDEMPOTENCY_MS),
        ).fetchone()
        if row is None:
            return None
        if row[0] != self._retried.body_hash:
            raise Conflict("Idempotency-Key was used with another body")
        answer: dict[str, Any] = jsontext.loads(row[1])
        return answer

    def _remember(self, conn: sqlite3.Connection, session: Session, answer: dict[str, Any]) -> None:
        if self._retried is None:
            return
        conn.execute("DELETE FROM idempotency WHERE session_no = ? AND stored_ms <= ?", (session.session_no, self._now_ms - IDEMPOTENCY_MS))
        conn.execute(
            "INSERT INTO idempotency (session_no, key, body_hash, answer, stored_ms) VALUES (?, ?, ?, ?, ?)",
            (session.session_no, self._retried.key, self._retried.body_hash, jsontext.dumps(answer), self._now_ms),
        )


def store_events(conn: sqlite3.Connection, transcript: Transcript, prepared: Sequence[Prepared], now_ms: int) -> dict[str, Any]:
    """Stores the new ones of these events and indexes them where the transcript is indexed; inside a write transaction."""
    fresh, known_seq = _fresh(conn, transcript, prepared)
    growth = growth_of(conn, transcript)
    state = projection.read_state(conn, transcript.transcript_no)
    stored = _Batch(growth, transcript.last_seq, now_ms)
    for item in fresh:
        stored.add(item)
    if fresh:
        write_growth(conn, transcript, growth, stored.last_seq, now_ms)
        events.insert_events(conn, transcript.transcript_no, stored.events)
        if state is not None and state.indexed:
            stored.index(conn, transcript)
    last_id = prepared[-1].event.id
    seq = known_seq.get(last_id or "", stored.last_seq)
    return {"sessionId": transcript.session_id, "appended": len(fresh), "leafId": growth.leaf_id, "seq": seq}


def _fresh(conn: sqlite3.Connection, transcript: Transcript, prepared: Sequence[Prepared]) -> tuple[list[Prepared], dict[str, int]]:
    """The events whose ids are new, and the seq of those whose ids are known with the same content."""
    known = events.known_payloads(conn, transcript.transcript_no, [p.event.id for p in prepared if p.event.id])
    in_call: dict[str, Prepared] = {}
    fresh: list[Prepared] = []
    for item in prepared:
        event_id = item.event.id or ""
        before = known[event_id][1] if event_id in known else in_call[event_id].payload if event_id in in_call else None
        if before is None:
            in_call[event_id] = item
            fresh.append(item)
        elif not _same(before, item):
            raise Conflict("an event of this id is stored with other content")
    return fresh, {event_id: seq for event_id, (seq, _) in known.items()}


def _same(stored: str, item: Prepared) -> bool:
    return stored == item.payload or same_content(stored, item.event.payload)


class _Batch:
    """Events of one call on their way into the tables."""

    def __init__(self, growth: Growth, last_seq: int, now_ms: int) -> None:
        self._growth, self._now_ms = growth, now_ms
        self.last_seq = last_seq
        self.events: list[NewEvent] = []
        self._messages: list[tuple[int, NewMessage]] = []

    def add(self, item: Prepared) -> None:
        self.last_seq += 1
        event = item.event
        said = bool(item.text)
        node = self._growth.add(event, self.last_seq, said=said)
        time_ms = self._now_ms if event.time_ms is None else event.time_ms
        self.events.append(
            NewEvent(self.last_seq, event.id, event.kind, event.role, time_ms, self._now_ms, node, item.payload)
        )
        if node is not None and said and not event.side and item.document is not None and event.role is not None:
            message = NewMessage(self.last_seq, node.depth, time_ms, self._now_ms, event.role, item.document)
            self._messages.append((self._growth.generation, message))

    def index(self, conn: sqlite3.Connection, transcript: Transcript) -> None:
        for generation in sorted({generation for generation, _ in self._messages}):
            new = [message for g, message in self._messages if g == generation]
            projection.add_messages(conn, transcript.transcript_no, transcript.session_no, generation, new)
