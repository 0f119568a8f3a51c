"""The search page for people: the box, and under it the hits of ?query= or the sessions used last.

The page asks through the verbs that programs use, so that the rules for a query, a caller and what it sees are one set. Its address
has the names of the search verb's fields, with two differences: without `group` it shows each session's best hit, and a day in
`before` is meant with that day. The parts that htmx asks for under /search/ are made by the same templates as the whole page.
"""

import hashlib
import re
from contextlib import suppress
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import Response, render_template

from shared.errors import BadRequest
from shared.forms import ListSessions, SearchSessions
from shared.redaction import labels
from web.address import call_of, credential, filled, link
from web.errors import kind_of
from web.listing import listing
from web.reading import parameters_of, read_query
from web.search import search as find

CALLER_FIELDS = ("callerAgent", "callerSession", "sandboxed")
NARROWING = ("match", "order", "group", "role", "scope", "agentId", "sessionKey", "after", "before")
FOR_PROGRAMS = ("compat", "sessionKeys")  # fields of a search that the page does not take
RECENT_SESSIONS = 12
OFFERED_SESSIONS = 100  # that the fields for an agent and a session suggest
AT_LEAST = 1000  # sessions that are being indexed; beyond it the search verb stops counting

Row = dict[str, Any]
Asked = dict[str, str]


def search_page() -> Response:
    """The whole page. What is wrong with a query is said on it."""
    asked = filled()
    seen, status, headers = _seen(asked)
    page = render_template("search.html", **seen, kind=credential().kind, offered=_offered(asked))
    return Response(page, status, headers)


def search_part(part: str) -> Response:
    """What changes while somebody types (live); the next hits (more); all hits of one session (within)."""
    asked = filled()
    if part == "live" and not asked.get("query", "").strip():
        asked.pop("query", None)
    seen, status, headers = _seen(asked)
    return Response(render_template(f"search/{part}.html", **seen, live=True), status, headers)


def _seen(asked: Asked) -> tuple[Row, int, dict[str, str]]:
    """What the templates show of a search, the answer's status and its headers."""
    seen: Row = {
        "asked": asked,
        "found": None,
        "message": "",
        "recent": None,
        "narrowed": any(name in asked for name in NARROWING),
        "address": link("/", asked, cursor=None),
        "cleared": link("/", {name: value for name, value in asked.items() if name not in (*NARROWING, "cursor")}),
        "polled": None,
        "AT_LEAST": AT_LEAST,
    }
    if "query" not in asked:
        return {**seen, "recent": _sessions(asked, RECENT_SESSIONS)}, 200, {}
    try:
        reply = find(call_of(read_query(SearchSessions, _meant(asked).items())))
    except BadRequest as e:
        return {**seen, "message": str(e)}, kind_of(e).status, {}
    found = {**reply.body, "results": [_hit(row, asked) for row in reply.body["results"]]}
    seen["by_session"] = asked.get("group", "session") == "session"
    if found["nextCursor"]:
        onward = {**asked, "cursor": found["nextCursor"]}
        seen["more"] = {part: link(path, onward) for part, path in (("page", "/"), ("more", "/search/more"), ("within", "/search/within"))}
    if "Retry-After" in reply.headers and "cursor" not in asked:
        seen["polled"] = link("/search/live", asked)
    return {**seen, "found": found}, 200, reply.headers


def _meant(asked: Asked) -> Asked:
    """The address as the verb takes it."""
    meant = {"group": "session", **{name: value for name, value in asked.items() if name not in FOR_PROGRAMS}}
    if re.fullmatch(r"\d{4}-\d\d-\d\d", asked.get("before", ""), re.ASCII):
        with suppress(ValueError, OverflowError):  # what is no day stays as it is, and the verb says so
            meant["before"] = (date.fromisoformat(asked["before"]) + timedelta(days=1)).isoformat()
    return meant


def _hit(row: Row, asked: Asked) -> Row:
    """A hit with its id on the page, the address of the messages around it, and that of all hits of its session."""
    place = {"sessionKey": row["sessionKey"], "sessionId": row["sessionId"], "messageId": row["messageId"]}
    caller = {name: asked[name] for name in CALLER_FIELDS if name in asked}
    within = {**asked, "sessionKey": row["sessionKey"], "group": "message", "cursor": None}
    return {
        **row,
        "id": hit_id(row["sessionId"], row["messageId"]),
        "masks": labels(row["excerpt"]) if row["redacted"] else [],
        "link": link("/history", {**place, **caller, "found": remembered(asked)}),
        "within": {"page": link("/", {}, **within), "part": link("/search/within", {}, **within)},
    }


def hit_id(session_id: str, message_id: str) -> str:
    """The id of a hit's element: the same on every page that shows it."""
    return "hit-" + hashlib.sha256(f"{session_id}\0{message_id}".encode()).hexdigest()[:12]


def remembered(asked: Asked) -> str:
    """A search as one parameter of another page's address."""
    return urlencode({name: value for name, value in asked.items() if name not in (*CALLER_FIELDS, "cursor")})


def recalled(found: str) -> Asked:
    """The search that `remembered` wrote; what is no field of a search is left out."""
    known = parameters_of(SearchSessions)
    try:
        pairs = parse_qsl(found, max_num_fields=len(known))
    except ValueError:
        return {}
    return {name: value for name, value in pairs if name in known and name not in (*CALLER_FIELDS, "cursor")}


def _sessions(asked: Asked, limit: int) -> list[Row] | None:
    """The sessions used last, each with its address; None while nobody is chosen in whose name to look."""
    caller = {name: asked[name] for name in CALLER_FIELDS if name in asked}
    named = {**caller, **({"scope": asked["scope"]} if "scope" in asked else {}), "limit": str(limit)}
    try:
        page = listing(call_of(read_query(ListSessions, named.items()))).body
    except BadRequest:
        return None
    return [{**row, "link": link("/history", {"sessionKey": row["sessionKey"], **caller})} for row in page["sessions"]]


def _offered(asked: Asked) -> Row:
    """What the fields for an agent and a session suggest."""
    sessions = _sessions(asked, OFFERED_SESSIONS) or []
    return {"agents": sorted({row["agentId"] for row in sessions}), "sessions": sessions}
