"""The write verbs: put, rewind, reset, delete. Each is one transaction on one agent's database.

A new session key is claimed in the registry before it is committed here; a claim without a session shows nothing and its agent may use
it again. Appending is appending.py's; what another program wrote is taken over by foreign.py before a verb looks at a transcript.
"""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from shared import validate
from shared.branch import ROOT, Node
from shared.damage import despite_damage
from shared.errors import BadRequest, Conflict, NotFound, Unprocessable
from shared.growth import Growth
from shared.store import Store, events, foreign, listing, projection, registry
from shared.store import sessions as rows
from shared.store.connect import write_transaction
from shared.store.registry import Claim
from shared.store.sessions import Session, Transcript
from shared.transcript import check_id

PUT_FIELDS = ("sessionId", "spawnedBy", "title", "kind", "incognito")


# ------------------------------------------------------------------------------------------------------------- put


@dataclass(frozen=True, slots=True)
class _Parent:
    """A session's `spawnedBy`, resolved to the incarnation it names now."""

    session_key: str | None
    incarnation: int


def put_session(store: Store, agent_id: str, session_key: str, changes: dict[str, Any], now_ms: int) -> dict[str, Any]:
    """The session exists and is as named; what is not named stays. Returns it as `list` shows it.

    changes: any of sessionId, spawnedBy (a session key or None), title, kind, incognito.
    raises: BadRequest, Unprocessable for a session that would stand above itself, Conflict for a key of another agent or a
        session id that is taken or was deleted.
    """
    validate.agent_id(agent_id)
    validate.session_key(session_key)
    checked = _checked(changes)
    claim = _claim(store, agent_id, session_key, checked, now_ms)
    with _writing(store, agent_id) as conn:
        before = rows.find_session(conn, session_key)
        session = _new_session(claim, now_ms) if before is None else before
        session = replace(session, **_named(checked, claim), updated_at_ms=now_ms, stored_at_ms=now_ms)
        if before is None:
            session = create(conn, session, named_id=checked.get("sessionId"))
        else:
            if "sessionId" in checked:
                _use_transcript(conn, before, checked["sessionId"])
            rows.update_session(conn, session)
        shown = listing.row_of(conn, rows.find_session(conn, session_key) or session)
    follow(store, agent_id, session)
    return listing.as_json(shown, agent_id, store.catalogue())


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    for name in changes:
        if name not in PUT_FIELDS:
            raise BadRequest(f"unknown field {name}", name)
    checks: dict[str, Callable[[Any], Any]] = {
        "sessionId": lambda v: check_id(v, "sessionId"),
        "spawnedBy": lambda v: None if v is None else validate.session_key(v, "spawnedBy"),
        "title": validate.title,
        "kind": validate.kind,
        "incognito": lambda v: validate.flag(v, "incognito"),
    }
    return {name: checks[name](value) for name, value in changes.items()}


def _named(checked: dict[str, Any], claim: Claim) -> dict[str, Any]:
    """The columns that the request names."""
    columns = {"sessionId": "session_id", "title": "title", "kind": "kind", "incognito": "incognito"}
    named = {columns[name]: value for name, value in checked.items() if name in columns}
    if "spawnedBy" in checked:
        named |= {"spawned_by": claim.spawned_by, "spawned_incarnation": claim.spawned_incarnation}
    return named


def _claim(store: Store, agent_id: str, session_key: str, checked: dict[str, Any], now_ms: int) -> Claim:
    """The key's row in the registry, made when there is none. A changed parent is only checked here: it follows the commit."""
    with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
        latest = registry.latest_claim(conn, session_key)
        if latest is not None and latest.agent_id != agent_id:
            raise Conflict("sessionKey belongs to another agent")
        incarnation = registry.current_incarnation(conn, session_key)
        parent = _resolved_parent(conn, session_key, incarnation, checked.get("spawnedBy"))
        claim = Claim(session_key, incarnation, agent_id, parent.session_key, parent.incarnation, deleted=False)
        if latest is None or latest.deleted:
            registry.add_agent(conn, agent_id, now_ms)
            registry.write_claim(conn, claim)
        return claim


def _resolved_parent(conn: sqlite3.Connection, session_key: str, incarnation: int, spawned_by: str | None) -> _Parent:
    if spawned_by is None:
        return _Parent(None, 0)
    parent = (spawned_by, registry.current_incarnation(conn, spawned_by))
    if spawned_by == session_key or registry.is_above(conn, (session_key, incarnation), parent):
        raise Unprocessable("spawnedBy names the session itself or one below it", "spawnedBy")
    return _Parent(*parent)


def claim_key(store: Store, agent_id: str, session_key: str, spawned_by: str | None, now_ms: int) -> Claim:
    """The key belongs to the agent; for verbs that make a session without a put."""
    return _claim(store, agent_id, session_key, {"spawnedBy": spawned_by}, now_ms)


def _new_session(claim: Claim, now_ms: int) -> Session:
    return Session(
        0, claim.session_key, claim.incarnation, "", claim.spawned_by, claim.spawned_incarnation, None, "main", False,
        now_ms, now_ms, now_ms,
    )  # fmt: skip


def new_session(claim: Claim, now_ms: int, **named: Any) -> Session:
    """A session about to be created under a claim."""
    return replace(_new_session(claim, now_ms), **named)


def create(conn: sqlite3.Connection, session: Session, *, named_id: str | None, indexed: bool = True) -> Session:
    """Stores a new session with an empty transcript; the session with its number and id."""
    session_id = named_id or uuid.uuid4().hex
    _check_free(conn, session_id)
    incarnation = max(session.incarnation, rows.next_incarnation(conn, session.session_key))  # the registry may not know of a delete yet
    session = replace(session, session_id=session_id, incarnation=incarnation)
    session = replace(session, session_no=rows.insert_session(conn, session))
    rows.insert_transcript(conn, session.session_no, session_id, indexed=indexed)
    return session


def _use_transcript(conn: sqlite3.Connection, session: Session, session_id: str) -> None:
    """The transcript under the key is the one named: one the session had before, or a new one."""
    transcript = rows.find_transcript(conn, session_id)
    if transcript is None:
        _check_free(conn, session_id)
        rows.insert_transcript(conn, session.session_no, session_id, indexed=True)
    elif transcript.session_no != session.session_no:
        raise Conflict("sessionId belongs to another session")


def _check_free(conn: sqlite3.Connection, session_id: str) -> None:
    if rows.tombstoned(conn, session_id):
        raise Conflict("sessionId is that of a deleted session")
    if rows.find_transcript(conn, session_id) is not None:
        raise Conflict("sessionId belongs to another session")


def follow(store: Store, agent_id: str, session: Session, *, deleted: bool = False) -> None:
    """The registry's lineage is as the agent's database has it, which is the truth."""
    with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
        if deleted:
            registry.mark_deleted(conn, session.session_key, session.incarnation)
            return
        latest = registry.latest_claim(conn, session.session_key)
        if latest is None or latest.incarnation <= session.incarnation:
            registry.write_claim(
                conn,
                Claim(session.session_key, session.incarnation, agent_id, session.spawned_by, session.spawned_incarnation, deleted=False),
            )


# ---------------------------------------------------------------------------------------------------------- rewind


def rewind_session(store: Store, agent_id: str, session_key: str, to_event_id: str | None, now_ms: int) -> dict[str, Any]:
    """The leaf is the named event (None: the branch is empty); what is no longer on the branch is unfindable from the commit on.

    raises: NotFound for an unknown session or event.
    """
    validate.agent_id(agent_id)
    validate.session_key(session_key)
    if to_event_id is not None:
        check_id(to_event_id, "toEventId")
    with existing(store, agent_id, session_key, now_ms) as (conn, session, transcript):
        growth = growth_of(conn, transcript)
        target = _target(conn, transcript, to_event_id)
        if target is not None:
            growth.move_to(target, to_event_id)
        write_growth(conn, transcript, growth, transcript.last_seq, now_ms)
        rows.touch_session(conn, session.session_no, now_ms)
        state = projection.read_state(conn, transcript.transcript_no)
        pending = state is not None and state.pending_reason is not None
    return {"sessionId": transcript.session_id, "leafId": growth.leaf_id, "pending": pending}


def _target(conn: sqlite3.Connection, transcript: Transcript, event_id: str | None) -> Node | None:
    """The node to move to; None for a stored event that is no node, which hangs on the leaf."""
    if event_id is None:
        return ROOT
    node = events.find_node(conn, transcript.transcript_no, event_id)
    if node is None and not events.known_payloads(conn, transcript.transcript_no, [event_id]):
        raise NotFound("no such event")
    return node


def growth_of(conn: sqlite3.Connection, transcript: Transcript) -> Growth:
    """The transcript as events are about to be added to it, or its leaf moved."""
    number = transcript.transcript_no
    return Growth(
        leaf=rows.leaf_node(conn, transcript),
        leaf_id=transcript.leaf_id,
        generation=transcript.generation,
        fetch_stored=events.node_fetcher(conn, number),
        find_stored=lambda event_id: events.find_node(conn, number, event_id),
    )


def write_growth(conn: sqlite3.Connection, transcript: Transcript, growth: Growth, last_seq: int, now_ms: int) -> None:
    """Stores where the leaf is now and, for every move, how far the rows still agree."""
    rows.grow_transcript(
        conn,
        transcript.transcript_no,
        leaf_id=growth.leaf_id,
        last_seq=last_seq,
        generation=growth.generation,
        moved=len(growth.moves),
    )
    for generation, agreed in growth.moves:
        projection.note_move(conn, transcript.transcript_no, generation, agreed)
    if growth.moves:
        projection.owe(conn, transcript.transcript_no, "rewound", now_ms)


# --------------------------------------------------------------------------------------------------- reset, delete


def reset_session(store: Store, agent_id: str, session_key: str, new_session_id: str | None, now_ms: int) -> dict[str, Any]:
    """The key has a new, empty transcript; the old one stays searchable under the same key."""
    validate.agent_id(agent_id)
    validate.session_key(session_key)
    session_id = uuid.uuid4().hex if new_session_id is None else check_id(new_session_id, "newSessionId")
    with existing(store, agent_id, session_key, now_ms) as (conn, session, _):
        _check_free(conn, session_id)
        rows.insert_transcript(conn, session.session_no, session_id, indexed=True)
        rows.update_session(conn, replace(session, session_id=session_id, updated_at_ms=now_ms, stored_at_ms=now_ms))
    return {"sessionId": session_id}


def delete_session(store: Store, agent_id: str, session_key: str, now_ms: int) -> dict[str, Any]:
    """The session, its events and its index rows are gone; a tombstone keeps it from coming back. raises: NotFound."""
    validate.agent_id(agent_id)
    validate.session_key(session_key)
    if not store.has_agent(agent_id):
        raise NotFound("no such session")

    def bury() -> Session:
        with _writing(store, agent_id) as conn:
            session = rows.find_session(conn, session_key)
            if session is None:
                raise NotFound("no such session")
            projection.remove_session(conn, session.session_no)
            rows.bury(conn, session, now_ms)
            return session

    follow(store, agent_id, despite_damage(store, agent_id, now_ms, bury), deleted=True)
    return {"deleted": True}


# ---------------------------------------------------------------------------------------------------------- shared


@contextmanager
def _writing(store: Store, agent_id: str) -> Iterator[sqlite3.Connection]:
    with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        yield conn


@contextmanager
def existing(store: Store, agent_id: str, session_key: str, now_ms: int) -> Iterator[tuple[sqlite3.Connection, Session, Transcript]]:
    """A write transaction on a session that is there, what other programs wrote to it taken over. raises: NotFound."""
    if not store.has_agent(agent_id):
        raise NotFound("no such session")
    with _writing(store, agent_id) as conn:
        session = rows.find_session(conn, session_key)
        if session is None:
            raise NotFound("no such session")
        yield conn, session, current_transcript(conn, session, now_ms)


def current_transcript(conn: sqlite3.Connection, session: Session, now_ms: int) -> Transcript:
    """The transcript under the key, in a state that a verb can build on."""
    transcript = rows.find_transcript(conn, session.session_id)
    if transcript is None:
        return rows.insert_transcript(conn, session.session_no, session.session_id, indexed=True)
    return foreign.take_over(conn, transcript, now_ms)
