"""An agent's tool called: the arguments checked, the verb of the same operation run, its answer given as structure and as text.

There is no second way in: fields, limits, visibility, masks and what is enqueued are those of the operation.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from shared.errors import NotFound, SessionSearchError
from shared.tokens import Credential
from shared.tools import NOTICE, Tool
from web import errors, quoting
from web.call import Call
from web.operations import OPERATIONS
from web.reading import convert
from web.services import Services

Text = Callable[[dict[str, Any], int, str | None], str]

_OPERATIONS = {operation.name: operation for operation in OPERATIONS}
_TEXTS: dict[str, Text] = {"search": quoting.found, "history": quoting.page, "list": quoting.sessions}


def call_tool(here: Services, credential: Credential, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool's result; what went wrong with it is one, too, in words that say what to do."""
    operation, now_ms = _OPERATIONS[tool.verb], here.now_ms()
    try:
        asked = convert(arguments, tool.body)
        body = operation.body(**msgspec.structs.asdict(asked))
        reply = operation.verb(Call(here, credential, body, now_ms))
    except SessionSearchError as e:
        return {"content": [_text(_told(errors.met(here.settings, e), e, tool))], "isError": True}
    text = _TEXTS[tool.verb](reply.body, now_ms, reply.headers.get("Retry-After"))
    return {"content": [_text(text)], "structuredContent": {"notice": NOTICE, **reply.body}, "isError": False}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _told(kind: errors.Kind, error: SessionSearchError, tool: Tool) -> str:
    """What an agent is told of an error, and what it can do."""
    told = f"{kind.title}: {errors.detail_of(kind, error)}"
    if isinstance(error, NotFound):
        return f"{told} sessions_list shows what there is."
    if kind.status >= 500:
        return f"{told} Wait {errors.RETRY_AFTER_S} s first; if it stays so, tell the operator."
    return f"{told}. Nothing was done; call {tool.name} again with that put right."
