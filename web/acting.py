"""What operators do from their page: each act is asked first, on a page of its own, and carried out by the form there.

The question and the act have one address, so that what is confirmed is what is done; the form's body holds nothing but the proof
that it came from a page of this sign-in. Acts are closed to read-only tokens.
"""

from flask import Response, render_template, request

from shared.errors import BadRequest, Conflict, NotFound
from web.acts import ACTS
from web.address import call_of, filled, link
from web.errors import kind_of
from web.reading import read_query
from web.signin import check_form


def act_page(name: str) -> Response:
    """The question by GET; by POST the act, and then the way back to where it shows."""
    act = ACTS.get(name)
    if act is None:
        raise NotFound("there is no act of this name")
    asked = filled()
    call = call_of(read_query(act.fields, asked.items()))
    message, status = "", 200
    if request.method == "POST":
        check_form()
        try:
            there, count = act.do(call)
        except (BadRequest, Conflict, NotFound) as e:
            message, status = str(e), kind_of(e).status
        else:
            path = there.partition("#")[0]  # the word about what was done stands at the top of the page
            return Response(status=303, headers={"Location": f"{path}{'&' if '?' in path else '?'}did={name}&count={count}"})
    page = render_template("ask.html", question=act.ask(call), message=message, path=link(f"/ops/do/{name}", asked))
    return Response(page, status)


TOLD = {
    "retry": ("Queued again: {count}.", "Nothing was queued again."),
    "cancel": ("Cancelled, or asked to stop: {count}.", "Nothing was cancelled."),
    "park": ("Sessions parked: {count}.", "Nothing was parked: none of these sessions owes anything."),
    "unpark": ("No longer parked, and tried again now: {count}.", "Nothing was parked."),
    "pause": ("The queue is paused. What runs goes on to its end.", ""),
    "resume": ("The queue goes on.", ""),
    "reindex": ("Reindex ordered; sessions in it: {count}.", "Reindex ordered; nothing is owed there, so it has ended already."),
}


def told(name: str, count: str) -> str:
    """The word about an act that was done; the address names no text of its own."""
    some, none = TOLD.get(name, ("", ""))
    number = int(count) if count.isascii() and count.isdigit() and len(count) < 12 else 0
    return some.format(count=f"{number:,}") if number or not none else none
