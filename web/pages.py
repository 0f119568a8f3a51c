"""Pages for people: the search box with its hits, history around a hit, the reference. The operators' are in watching.py and acting.py.

Pages ask through the same verbs as programs do, so that the rules for a query, a caller and a credential are one set.
"""

from collections.abc import Callable
from typing import Any

from flask import Flask, Response, render_template

from shared.errors import BadRequest
from web import acting, bodies, documents, signin, watching
from web.address import call_of, credential, filled, link
from web.auth import check_kind
from web.errors import kind_of
from web.history import history as read_history
from web.operations import ANYBODY, OPERATORS, READERS
from web.reading import read_query
from web.search import search as find

View = Callable[..., Response]

CALLER_FIELDS = ("callerAgent", "callerSession", "sandboxed")
NARROWING = ("match", "order", "group", "role", "scope", "sessionKey", "after", "before")


def install(app: Flask) -> None:
    """The pages' routes; each names the kinds of credential that it takes."""
    signin.install(app)
    watching.install(app)
    for rule, kinds, view in (
        ("/", READERS, search_page),
        ("/history", READERS, history_page),
        ("/ops", OPERATORS, watching.ops_page),
        ("/ops/live", OPERATORS, watching.live_parts),
        ("/ops/charts", OPERATORS, watching.charts_part),
        ("/ops/jobs/<id:job_id>", OPERATORS, watching.job_page),
        ("/docs", ANYBODY, docs_page),
    ):
        _add(app, rule, view, kinds, ("GET",))
    _add(app, "/ops/do/<name>", acting.act_page, OPERATORS, ("GET", "POST"), acts=True)


def _add(app: Flask, rule: str, view: View, kinds: frozenset[str], methods: tuple[str, ...], acts: bool = False) -> None:
    app.add_url_rule(rule, view.__name__, _admitted(view, kinds, acts), methods=methods, provide_automatic_options=False)


def _admitted(view: View, kinds: frozenset[str], acts: bool) -> View:
    def admitted(**path: str) -> Response:
        check_kind(credential(), kinds, acts)
        return view(**path)

    return admitted


def search_page() -> Response:
    """The box, and under it the hits of ?query=. What is wrong with a query is said on the page."""
    asked = filled()
    found: dict[str, Any] | None = None
    message, more, status = "", None, 200
    headers: dict[str, str] = {}
    if "query" in asked:
        try:
            reply = find(call_of(read_query(bodies.SearchSessions, asked.items())))
        except BadRequest as e:
            message, status = str(e), kind_of(e).status
        else:
            headers = reply.headers
            found = {**reply.body, "results": [_hit(row, asked) for row in reply.body["results"]]}
            more = link("/", asked, cursor=found["nextCursor"]) if found["nextCursor"] else None
    kind = credential().kind
    narrowed = any(name in asked for name in NARROWING)
    page = render_template("search.html", asked=asked, kind=kind, narrowed=narrowed, found=found, message=message, more=more)
    return Response(page, status, headers)


def history_page() -> Response:
    """Messages of one session, oldest first; around a hit when the address names one."""
    asked = filled()
    body = read_query(bodies.ReadHistory, asked.items())
    page = read_history(call_of(body)).body
    shown = {name: value for name, value in asked.items() if name not in ("before", "after", "messageId")}
    links = {
        "older": link("/history", shown, sessionId=page["sessionId"], before=page["before"]) if page["before"] else None,
        "newer": link("/history", shown, sessionId=page["sessionId"], after=page["after"]) if page["after"] else None,
        "tools": link("/history", asked, includeTools=None if body.include_tools else "true"),
        "search": link("/", {name: asked[name] for name in CALLER_FIELDS if name in asked}),
    }
    return Response(render_template("history.html", page=page, links=links, around=body.message_id, tools=body.include_tools))


def docs_page() -> Response:
    """The reference: every operation of the table, in words."""
    return Response(render_template("docs.html", operations=documents.reference(), version=documents.program_version()))


def _hit(row: dict[str, Any], asked: dict[str, str]) -> dict[str, Any]:
    """A hit with the address of the messages around it."""
    caller = {name: asked[name] for name in CALLER_FIELDS if name in asked}
    where = {"sessionKey": row["sessionKey"], "sessionId": row["sessionId"], "messageId": row["messageId"], **caller}
    return {**row, "link": link("/history", where)}
