"""Search for callers: the kernel answers, then what the answer found owed is handed to the queue."""

from shared.forms import SearchSessions
from shared.search import SearchRequest, search_sessions
from web.auth import caller_of
from web.call import Call, Reply, given
from web.figures import INCOMPLETE, REDACTIONS, SEARCHES
from web.openclaw import as_openclaw
from web.times import milliseconds


def search(call: Call[SearchSessions]) -> Reply:
    """One page of hits; trouble with the queue never fails it, for the pending marks in the database stay."""
    body = call.body
    asked = SearchRequest(
        body.query,
        after_ms=milliseconds("after", body.after),
        before_ms=milliseconds("before", body.before),
        session_keys=frozenset(body.session_keys) if body.session_keys is not None else None,
        **given(body, "agent_id", "session_key", "role", "match", "order", "group", "scope", "limit", "cursor"),
    )
    caller, figures = caller_of(call.credential, body.caller), call.services.together.figures
    with figures.timed(SEARCHES) as timing:
        answer = search_sessions(call.store, caller, asked, call.now_ms)
        timing.outcome = "found" if answer.body["results"] else "nothing"
    figures.add(REDACTIONS, "search", amount=sum(hit["redacted"] for hit in answer.body["results"]))
    figures.add(INCOMPLETE, amount=int(answer.body["indexing"]))
    if answer.owed:
        call.queue.enqueue_reconcile(answer.owed, call.now_ms)
    for agent_id in answer.drain:
        call.queue.enqueue_drain(agent_id, call.now_ms)
    retry = {} if answer.retry_after_s is None else {"Retry-After": str(answer.retry_after_s)}
    return Reply(as_openclaw(answer.body) if body.compat == "openclaw" else answer.body, headers=retry)
