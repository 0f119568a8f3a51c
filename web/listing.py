"""The list of sessions for callers."""

from shared.forms import ListSessions
from shared.listing import ListRequest, list_sessions
from web.auth import caller_of
from web.call import Call, Reply, given
from web.figures import REDACTIONS


def listing(call: Call[ListSessions]) -> Reply:
    """A page of the sessions that the caller sees, most recently used first."""
    asked = ListRequest(**given(call.body, "limit", "cursor", "scope"))
    page = list_sessions(call.store, caller_of(call.credential, call.body.caller), asked)
    call.services.together.figures.add(REDACTIONS, "list", amount=sum(session["redacted"] for session in page["sessions"]))
    return Reply(page)
