"""History for callers: pages of one session's active branch."""

from shared.forms import ReadHistory
from shared.history import HistoryRequest, read_history
from web.auth import caller_of
from web.call import Call, Reply, given
from web.figures import REDACTIONS


def history(call: Call[ReadHistory]) -> Reply:
    """A page of messages, oldest first; a session that is hidden or missing is a 404 of one form."""
    body = call.body
    asked = HistoryRequest(body.session_key, **given(body, "message_id", "session_id", "limit", "before", "after", "include_tools"))
    page = read_history(call.store, caller_of(call.credential, body.caller), asked)
    call.services.together.figures.add(REDACTIONS, "history", amount=sum(shown["redacted"] for shown in page["messages"]))
    return Reply(page)
