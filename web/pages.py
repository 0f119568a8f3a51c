"""Pages for people: the search box with its hits, history around a hit, the operators' page, the reference.

Pages ask through the same handlers as programs do, so that the rules for a query, a caller and a credential are one set.
"""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import Flask, Response, g, render_template

from shared.errors import BadRequest, Unauthorised
from shared.jobs import STATES, job_detail, list_jobs, queue_overview, schedules
from shared.overview import agents_overview
from shared.tokens import Credential
from web import bodies, documents, signin
from web.auth import NEEDED, check_kind
from web.call import Call, given
from web.errors import kind_of
from web.history import history as read_history
from web.operations import ANYBODY, OPERATORS, READERS
from web.ops import filter_of
from web.reading import query_pairs, read_query
from web.search import search as find
from web.services import services
from web.views import since

B = TypeVar("B", bound=bodies.Body)
View = Callable[..., Response]

CALLER_FIELDS = ("callerAgent", "callerSession", "sandboxed")
RECENT_JOBS = 50


def install(app: Flask) -> None:
    """The pages' routes; each names the kinds of credential that it takes."""
    signin.install(app)
    for rule, kinds, view in (
        ("/", READERS, search_page),
        ("/history", READERS, history_page),
        ("/ops", OPERATORS, ops_page),
        ("/ops/jobs/<id:job_id>", OPERATORS, job_page),
        ("/docs", ANYBODY, docs_page),
    ):
        app.add_url_rule(rule, view.__name__, _admitted(view, kinds), methods=("GET",), provide_automatic_options=False)


def _admitted(view: View, kinds: frozenset[str]) -> View:
    def admitted(**path: str) -> Response:
        check_kind(_credential(), kinds)
        return view(**path)

    return admitted


def search_page() -> Response:
    """The box, and under it the hits of ?query=. What is wrong with a query is said on the page."""
    asked = _filled()
    found: dict[str, Any] | None = None
    message, more, status = "", None, 200
    headers: dict[str, str] = {}
    if "query" in asked:
        try:
            reply = find(_call(read_query(bodies.SearchSessions, asked.items())))
        except BadRequest as e:
            message, status = str(e), kind_of(e).status
        else:
            headers = reply.headers
            found = {**reply.body, "results": [_hit(row, asked) for row in reply.body["results"]]}
            more = _link("/", asked, cursor=found["nextCursor"]) if found["nextCursor"] else None
    kind = _credential().kind
    page = render_template("search.html", asked=asked, kind=kind, found=found, message=message, more=more)
    return Response(page, status, headers)


def history_page() -> Response:
    """Messages of one session, oldest first; around a hit when the address names one."""
    asked = _filled()
    body = read_query(bodies.ReadHistory, asked.items())
    page = read_history(_call(body)).body
    shown = {name: value for name, value in asked.items() if name not in ("before", "after", "messageId")}
    links = {
        "older": _link("/history", shown, sessionId=page["sessionId"], before=page["before"]) if page["before"] else None,
        "newer": _link("/history", shown, sessionId=page["sessionId"], after=page["after"]) if page["after"] else None,
        "tools": _link("/history", asked, includeTools=None if body.include_tools else "true"),
        "search": _link("/", {name: asked[name] for name in CALLER_FIELDS if name in asked}),
    }
    return Response(render_template("history.html", page=page, links=links, around=body.message_id, tools=body.include_tools))


def ops_page() -> Response:
    """What is owed, what the queue does, and the jobs that the filter in the address selects."""
    asked = _filled()
    here, now_ms = services(), services().now_ms()
    wanted = read_query(bodies.ListJobs, asked.items())
    found = list_jobs(here.queue, filter_of(wanted), now_ms, **{"limit": RECENT_JOBS, **given(wanted, "cursor")})
    return Response(
        render_template(
            "ops.html",
            asked=asked,
            queue=queue_overview(here.queue, now_ms),
            agents=agents_overview(here.store),
            jobs=found["jobs"],
            more=_link("/ops", asked, cursor=found["nextCursor"]) + "#jobs" if found["nextCursor"] else None,
            schedules=schedules(here.queue, now_ms),
            states=STATES,
            state_options=[("", "any"), *((state, state) for state in STATES)],
            since=lambda iso: since(iso, now_ms),
        )
    )


def job_page(job_id: str) -> Response:
    """One job and what happened to it."""
    here = services()
    return Response(render_template("job.html", job=job_detail(here.queue, job_id, here.now_ms())))


def docs_page() -> Response:
    """The reference: every operation of the table, in words."""
    return Response(render_template("docs.html", operations=documents.reference(), version=documents.program_version()))


def _credential() -> Credential:
    credential: Credential | None = g.get("credential")
    if credential is None:
        raise Unauthorised(NEEDED)
    return credential


def _call(body: B) -> Call[B]:
    here = services()
    return Call(here, _credential(), body, here.now_ms())


def _filled() -> dict[str, str]:
    """The address's parameters without those that a form left empty; an empty query is a query."""
    pairs = [(name, value) for name, value in query_pairs() if value or name == "query"]
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise BadRequest(f"query parameter {name} is given more than once", name)
    return dict(pairs)


def _hit(row: dict[str, Any], asked: dict[str, str]) -> dict[str, Any]:
    """A hit with the address of the messages around it."""
    caller = {name: asked[name] for name in CALLER_FIELDS if name in asked}
    where = {"sessionKey": row["sessionKey"], "sessionId": row["sessionId"], "messageId": row["messageId"], **caller}
    return {**row, "link": _link("/history", where)}


def _link(path: str, parameters: dict[str, str], **changes: str | None) -> str:
    """An address with some parameters changed; None takes one out."""
    left = {name: value for name, value in {**parameters, **changes}.items() if value is not None}
    return path + ("?" + urlencode(left) if left else "")
