"""The write verbs for platforms: each is one transaction of the kernel, done when the answer leaves."""

from msgspec import UNSET

from shared.appending import append_events
from shared.sessions import delete_session, put_session, reset_session, rewind_session
from web.bodies import AppendEvents, DeleteSession, PutSession, ResetSession, RewindSession
from web.call import Call, Reply
from web.figures import APPENDED, APPENDS

_CHANGES = {"session_id": "sessionId", "spawned_by": "spawnedBy", "title": "title", "kind": "kind", "incognito": "incognito"}


def put(call: Call[PutSession]) -> Reply:
    """The session as `list` shows it; only what the body names is changed, and null is a value."""
    body = call.body
    changes = {field: value for name, field in _CHANGES.items() if (value := getattr(body, name)) is not UNSET}
    return Reply(put_session(call.store, body.agent_id, body.session_key, changes, call.now_ms))


def append(call: Call[AppendEvents]) -> Reply:
    """The events are stored and searchable, or none of them is."""
    body, figures = call.body, call.services.together.figures
    with figures.timed(APPENDS) as timing:
        stored = append_events(call.store, body.agent_id, body.session_key, body.events, call.now_ms, call.idempotency_key)
        timing.outcome = "stored"
    figures.add(APPENDED, amount=stored["appended"])
    return Reply(stored)


def rewind(call: Call[RewindSession]) -> Reply:
    """What left the active branch is no longer found."""
    body = call.body
    return Reply(rewind_session(call.store, body.agent_id, body.session_key, body.to_event_id, call.now_ms))


def reset(call: Call[ResetSession]) -> Reply:
    """A new transcript stands under the key; the old one stays searchable."""
    body = call.body
    return Reply(reset_session(call.store, body.agent_id, body.session_key, body.new_session_id, call.now_ms))


def delete(call: Call[DeleteSession]) -> Reply:
    """Events and index rows are gone; the words leave the database's files with the erase job."""
    body = call.body
    reply = Reply(delete_session(call.store, body.agent_id, body.session_key, call.now_ms))
    call.queue.enqueue_erase(body.agent_id, call.now_ms)
    return reply
