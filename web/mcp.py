"""/mcp: the Model Context Protocol over HTTP, for agents. A message comes by POST and its answer goes back as JSON; nothing is kept.

Agents' tokens only: the caller is sealed in them, so that no model chooses in whose name it reads. Host, Origin, credential, limits and
sizes are checked as for every other path.
"""

from functools import partial

from flask import Flask, Response, g, request
from werkzeug.exceptions import NotAcceptable

from shared import jsontext
from shared.errors import Forbidden, Unauthorised
from shared.tokens import Credential
from web import limiting
from web.auth import NEEDED
from web.call import Reply
from web.documents import program_version
from web.protocol import MAX_BATCH, Out, Protocol, Routing, unreadable
from web.reading import read_bytes, refuse_query
from web.routes import answered
from web.services import Services, services
from web.toolcalls import call_tool

NAME = "mcp"  # under which its requests are counted
AGENTS_ONLY = "MCP is open to agents' tokens: the caller is sealed in them. `session-search token agent` makes one."


def install(app: Flask) -> None:
    """The path takes POST; GET and DELETE, by which some clients open and end what is not kept here, are a 405."""
    app.add_url_rule("/mcp", endpoint=NAME, view_func=_view, methods=["POST"], provide_automatic_options=False)


def _view() -> Response:
    credential: Credential | None = g.get("credential")
    if credential is None:
        raise Unauthorised(NEEDED)
    if credential.kind != "agent":
        raise Forbidden(AGENTS_ONLY)
    if "Accept" in request.headers and not request.accept_mimetypes["application/json"]:
        raise NotAcceptable("Accept must include application/json.")
    out = _out(services(), credential)
    return Response(status=out.status) if out.body is None else answered(Reply(out.body, out.status))


def _out(here: Services, credential: Credential) -> Out:
    refuse_query()
    data = read_bytes()
    try:
        value = jsontext.loads(data or b"")
    except jsontext.BadJson:
        return unreadable()
    if isinstance(value, list):
        for _ in value[1:MAX_BATCH]:
            limiting.spend(here, credential)  # the request has paid for one message of a batch
    protocol = Protocol(program_version(), partial(call_tool, here, credential))
    return protocol.answer(value, Routing(*map(request.headers.get, ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"))))
