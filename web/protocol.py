"""The Model Context Protocol as far as tools go: one decoded message in, status and answer out. It keeps nothing between two messages.

Two eras share this. Since 2026-07-28 every request names its revision, in `_meta` and again in headers that must agree. Earlier
revisions begin with `initialize`, and later requests name the revision that was settled on in a header, which the first two did not have
yet. What is asked of tools is the same in all; what older clients do not know is left out of their answers.

source: the specification's pages "Versioning", "Streamable HTTP" and "Tools" of each revision.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from shared.tools import BY_NAME, Tool, definitions

MODERN = ("2026-07-28",)
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
REVISIONS = MODERN + HANDSHAKE
UNNAMED = "2025-03-26"  # what a request without the header is taken for
BATCHES = "2025-03-26"  # the only revision that has them
MAX_BATCH = 20

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_REVISION = -32020, -32022
_STATUS = {PARSE_ERROR: 400, INVALID_REQUEST: 400, HEADER_MISMATCH: 400, UNSUPPORTED_REVISION: 400}
_MODERN_STATUS = {METHOD_NOT_FOUND: 404, INVALID_PARAMS: 400}

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
TTL_MS = 3_600_000  # how long a client may keep the list of tools: it changes with an upgrade only
_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.ASCII)

Json = dict[str, Any]
Run = Callable[[Tool, Json], Json]  # calls a tool: its result, failures of its own included


@dataclass(frozen=True)
class Routing:
    """The headers that repeat what stands in a message."""

    version: str | None = None  # MCP-Protocol-Version
    method: str | None = None  # Mcp-Method
    name: str | None = None  # Mcp-Name


@dataclass(frozen=True)
class Out:
    """An HTTP status and the JSON beside it; None is no body."""

    status: int
    body: Any = None


class Refused(Exception):
    """A message that is not answered with a result, as JSON-RPC tells it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Protocol:
    """The protocol as this program speaks it, with what the tools do passed in."""

    def __init__(self, version: str, run: Run) -> None:
        """version: this program's."""
        self._server = {"name": "session-search", "title": "session-search", "version": version}
        self._run = run

    def answer(self, value: Any, routing: Routing) -> Out:
        """What one POST is answered."""
        if isinstance(value, list):
            return self._batch(value, routing)
        return self._one(value, routing)

    def _batch(self, values: list[Any], routing: Routing) -> Out:
        if (routing.version or UNNAMED) != BATCHES:
            return _refusal(None, Refused(INVALID_REQUEST, f"batches are of revision {BATCHES} alone; send one message"))
        if not 1 <= len(values) <= MAX_BATCH:
            return _refusal(None, Refused(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages"))
        answers = [out.body for value in values if (out := self._in_batch(value, routing)).body is not None]
        return Out(200, answers) if answers else Out(202)

    def _in_batch(self, value: Any, routing: Routing) -> Out:
        if isinstance(value, dict) and value.get("method") == "initialize":
            return _refusal(_id_of(value), Refused(INVALID_REQUEST, "initialize must not be part of a batch"))
        return self._one(value, routing)

    def _one(self, value: Any, routing: Routing) -> Out:
        message_id = _id_of(value)
        modern = False
        try:
            message = _checked(value)
            modern = _is_modern(message, routing)
            if "method" not in message and modern:
                raise Refused(INVALID_REQUEST, "answers are not taken: nothing was asked")
            if "id" not in message or "method" not in message:
                _earlier_revision(routing)
                return Out(202)
            revision = _modern_revision(message, routing) if modern else _earlier_revision(routing)
            result = self._result(message["method"], message.get("params") or {}, revision)
        except Refused as e:
            return _refusal(message_id, e, modern)
        return Out(200, {"jsonrpc": "2.0", "id": message_id, "result": result})

    def _result(self, method: str, params: Json, revision: str) -> Json:
        modern = revision in MODERN
        if method == "tools/call":
            return self._signed(_call(params, revision, self._run), modern)
        if method == "tools/list":
            return self._signed({"tools": _tools(params, revision)}, modern, kept=True)
        if modern and method == "server/discover":
            return self._signed({"supportedVersions": list(REVISIONS), "capabilities": {"tools": {}}}, modern, kept=True)
        if not modern and method == "initialize":
            return self._initialized(params)
        if not modern and method == "ping":
            return {}
        raise Refused(METHOD_NOT_FOUND, f"method not found: {method[:80]}")

    def _initialized(self, params: Json) -> Json:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise Refused(INVALID_PARAMS, "protocolVersion is missing")
        agreed = wanted if wanted in HANDSHAKE else HANDSHAKE[0]
        return {"protocolVersion": agreed, "capabilities": {"tools": {}}, "serverInfo": self._server}

    def _signed(self, result: Json, modern: bool, kept: bool = False) -> Json:
        """The result with what every result has since 2026-07-28. kept: clients may keep it for a while, whoever asked."""
        if not modern:
            return result
        keeping = {"ttlMs": TTL_MS, "cacheScope": "public"} if kept else {}
        return {"resultType": "complete", **result, **keeping, "_meta": {SERVER_KEY: self._server}}


def unreadable() -> Out:
    """The answer to a body that is no JSON."""
    return _refusal(None, Refused(PARSE_ERROR, "the body is no JSON that can be read"))


def _refusal(message_id: Any, error: Refused, modern: bool = False) -> Out:
    told: Json = {"code": error.code, "message": str(error), **({} if error.data is None else {"data": error.data})}
    status = _STATUS.get(error.code) or (_MODERN_STATUS.get(error.code, 200) if modern else 200)
    return Out(status, {"jsonrpc": "2.0", "id": message_id, "error": told})


def _id_of(value: Any) -> str | int | None:
    """A message's id, or None where it has none that can be told back."""
    found = value.get("id") if isinstance(value, dict) else None
    small = isinstance(found, int) and not isinstance(found, bool) and -(1 << 63) <= found < 1 << 63
    return found if isinstance(found, str) or small else None


def _checked(value: Any) -> Json:
    """The value as a request, a notification or an answer."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'a message is a JSON object with "jsonrpc": "2.0"')
    if "id" in value and _id_of(value) is None:
        raise Refused(INVALID_REQUEST, "id must be a string or a whole number of 64 bits")
    if "method" not in value and "id" in value and ("result" in value or "error" in value):
        return value
    if not isinstance(value.get("method"), str):
        raise Refused(INVALID_REQUEST, "method must be a string")
    if not isinstance(value.get("params", {}), dict | None):
        raise Refused(INVALID_PARAMS, "params must be an object")
    return value


def _meta(message: Json) -> Json | None:
    found = (message.get("params") or {}).get("_meta")
    return found if isinstance(found, dict) else None


def _is_modern(message: Json, routing: Routing) -> bool:
    return routing.version in MODERN or VERSION_KEY in (_meta(message) or {})


def _earlier_revision(routing: Routing) -> str:
    """The revision that the header names, if only for want of anything else."""
    if routing.version is not None and routing.version not in REVISIONS:
        raise _unsupported(routing.version)
    return routing.version or UNNAMED


def _modern_revision(message: Json, routing: Routing) -> str:
    """The revision that a request names. The order is that of what is more telling to its sender."""
    meta = _meta(message)
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in (meta or {})]
    if meta is None or missing:
        raise Refused(INVALID_PARAMS, f"params._meta must have {' and '.join(missing)}")
    for header, value, wanted in _repeated(message, meta, routing):
        if value != wanted:
            raise Refused(HEADER_MISMATCH, f"{header} does not say the same as the message, or is missing")
    if meta[VERSION_KEY] not in MODERN:
        raise _unsupported(str(meta[VERSION_KEY]))
    return str(meta[VERSION_KEY])


def _repeated(message: Json, meta: Json, routing: Routing) -> Iterator[tuple[str, Any, Any]]:
    """Each header with its value and what the message says."""
    yield "MCP-Protocol-Version", routing.version, meta[VERSION_KEY]
    yield "Mcp-Method", routing.method, message.get("method")
    if message.get("method") == "tools/call":
        yield "Mcp-Name", _decoded(routing.name), message["params"].get("name")


def _decoded(value: str | None) -> str | None:
    """A header's value as it was meant: what is not plain ASCII comes in base64. None for what is neither."""
    encoded = _ENCODED.fullmatch(value or "")
    if encoded is None:
        return value
    try:
        return base64.b64decode(encoded[1], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _unsupported(revision: str) -> Refused:
    return Refused(UNSUPPORTED_REVISION, "unsupported protocol version", {"supported": list(REVISIONS), "requested": revision[:80]})


def _tools(params: Json, revision: str) -> list[Json]:
    if params.get("cursor") is not None:
        raise Refused(INVALID_PARAMS, "cursor is not one of this list's, which has one page")
    tools = definitions("mcp")
    if _knows_structure(revision):
        return tools
    return [_older(tool) for tool in tools]


def _older(tool: Json) -> Json:
    """A tool's definition before 2025-06-18: its title among the annotations, and no word of what it answers."""
    rest = {name: part for name, part in tool.items() if name not in ("title", "outputSchema")}
    return {**rest, "annotations": {"title": tool["title"], **tool["annotations"]}}


def _call(params: Json, revision: str, run: Run) -> Json:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        raise Refused(INVALID_PARAMS, "tools/call takes name, a string, and arguments, an object")
    if name not in BY_NAME:
        raise Refused(INVALID_PARAMS, f"unknown tool: {name[:80]}")
    result = run(BY_NAME[name], arguments or {})
    if not _knows_structure(revision):
        result.pop("structuredContent", None)
    return result


def _knows_structure(revision: str) -> bool:
    """Whether titles, output schemas and structured content are known: they came with 2025-06-18."""
    return revision in REVISIONS[: REVISIONS.index("2025-06-18") + 1]
