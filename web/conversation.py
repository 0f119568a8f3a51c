"""A conversation for people: the messages of one session, around a hit with its matches marked, older and newer ones at hand."""

from typing import Any

from flask import Response, render_template

from shared.errors import BadQuery
from shared.excerpt import places
from shared.forms import ReadHistory
from shared.listing import listed_session
from shared.matching import matcher, parse_query
from shared.redaction import labels
from shared.terms import Term
from web.address import call_of, filled, link
from web.auth import caller_of
from web.finding import CALLER_FIELDS, hit_id, recalled
from web.history import history as read_history
from web.reading import read_query

Row = dict[str, Any]
PLACE = ("before", "after", "messageId")


def history_page() -> Response:
    """Messages of one session, oldest first; around a hit when the address names one, and marked when it remembers a search."""
    asked = filled()
    search = recalled(asked.get("found", ""))
    body = read_query(ReadHistory, ((name, value) for name, value in asked.items() if name != "found"))
    call = call_of(body)
    page = read_history(call).body
    listed = listed_session(call.store, caller_of(call.credential, body.caller), body.session_key)
    caller = {name: asked[name] for name in CALLER_FIELDS if name in asked}
    shown = {name: value for name, value in asked.items() if name not in PLACE}
    hit = f"#{hit_id(page['sessionId'], body.message_id)}" if body.message_id else ""
    links = {
        "older": link("/history", shown, sessionId=page["sessionId"], before=page["before"]) if page["before"] else None,
        "newer": link("/history", shown, sessionId=page["sessionId"], after=page["after"]) if page["after"] else None,
        "tools": link("/history", asked, includeTools=None if body.include_tools else "true") + ("#around" if body.message_id else ""),
        "back": link("/", {**search, **caller}) + hit if search else None,
        "search": link("/", {**caller, "sessionKey": page["sessionKey"]}),
    }
    messages = marked(page["messages"], search.get("query", ""), body.message_id)
    return Response(
        render_template(
            "history.html",
            page=page,
            title=listed and listed["title"],
            messages=messages,
            links=links,
            around=body.message_id,
            tools=body.include_tools,
        )
    )


def marked(messages: list[Row], query: str, around: str | None) -> list[Row]:
    """The messages with the places of the query's words in each. A text is masked already, so that a mark tells of no secret.

    Where the hit has not all the words in the form they were asked for, the search was relaxed, and so are the marks.
    """
    for terms in _terms(query):
        found = [{**row, "masks": _masks(row), "marks": places(row["text"], terms, _masks(row))} for row in messages]
        if any(row["marks"] for row in found if around in (None, row["id"])):
            return found
    return [{**row, "masks": _masks(row), "marks": []} for row in messages]


def _masks(row: Row) -> list[tuple[int, int]]:
    return labels(row["text"]) if row["redacted"] else []


def _terms(query: str) -> list[tuple[Term, ...]]:
    """What to mark: the words as they were asked for, and then loosely."""
    try:
        parsed = parse_query(query)
    except BadQuery:
        return []
    return [matcher(parsed, "all").terms, matcher(parsed, "any").terms]
