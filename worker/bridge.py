"""MCP over standard input and output: each line is a message, which goes to a running service's /mcp, and its answer is a line back.

The service alone speaks the protocol. Here it is only carried: what HTTP wants in headers is taken from the message, and what fails on the
way becomes an error of the protocol, so that a client never waits for an answer that does not come. Nothing else is written to standard
output.
"""

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any, BinaryIO

from shared.client import TimedOut, Unreachable, Wire

log = logging.getLogger(__name__)

TIMEOUT_S = 120.0
MAX_LINE_BYTES = (4 << 20) + 1  # the service takes 4 MiB
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603
_META_VERSION = "io.modelcontextprotocol/protocolVersion"
Json = dict[str, Any]


class Bridge:
    """One client's connection to one service."""

    def __init__(self, address: str, token: str) -> None:
        """address: the service's, with or without /mcp."""
        self._address = address
        self._wire = Wire(address, TIMEOUT_S)
        self._path = self._wire.path if self._wire.path.endswith("/mcp") else self._wire.path + "/mcp"
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        self._revision: str | None = None  # what `initialize` settled on

    def carry(self, lines: BinaryIO, answers: BinaryIO) -> None:
        """Every message is answered, until the input ends."""
        for line in _lines(lines):
            if (answer := self.answer(line)) is not None:
                answers.write(b" ".join(answer.splitlines()) + b"\n")
                answers.flush()
        self.close()

    def close(self) -> None:
        """The connection is closed; the next message opens one."""
        self._wire.close()

    def answer(self, line: bytes) -> bytes | None:
        """The answer to one message; None where there is none to give."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, PARSE_ERROR, "the line is no JSON that can be read")
        try:
            status, _, body = self._post(line, self._headers | self._repeated(message))
        except Unreachable as e:
            return self._failed(message, f"{e}. Is `session-search serve` running at {self._address}?")
        if status == 202:
            return None
        answer = _json(body)
        if not _is_protocols(answer):
            return self._failed(message, _told(status, answer))
        self._note(message, answer)
        return body

    def _post(self, line: bytes, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        """Sent once more where the kept connection turned out to be closed: all that is asked here is reading."""
        try:
            return self._wire.post(self._path, line, headers)
        except TimedOut:
            raise
        except Unreachable:
            return self._wire.post(self._path, line, headers)

    def _repeated(self, message: Any) -> dict[str, str]:
        """The headers that repeat what the message says, or what was settled on before."""
        params = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(meta, dict) or not isinstance(meta.get(_META_VERSION), str) or not isinstance(params, dict):
            settled = isinstance(message, dict) and message.get("method") != "initialize"
            return {"MCP-Protocol-Version": self._revision} if self._revision and settled else {}
        named = {"MCP-Protocol-Version": meta[_META_VERSION], "Mcp-Method": message.get("method"), "Mcp-Name": params.get("name")}
        return {name: _header(value) for name, value in named.items() if isinstance(value, str)}

    def _note(self, message: Any, answer: Any) -> None:
        if isinstance(message, dict) and message.get("method") == "initialize" and isinstance(answer, dict):
            result = answer.get("result")
            settled = result.get("protocolVersion") if isinstance(result, dict) else None
            self._revision = settled if isinstance(settled, str) else self._revision

    def _failed(self, message: Any, reason: str) -> bytes | None:
        """An error for whoever waits: nobody does after a notification."""
        if isinstance(message, list):
            ids = [one["id"] for one in message if isinstance(one, dict) and "id" in one]
            return b"[" + b",".join(_error(one, INTERNAL_ERROR, reason) for one in ids) + b"]" if ids else None
        if isinstance(message, dict) and "id" not in message:
            log.warning("notification not delivered", extra={"reason": reason})
            return None
        return _error(message.get("id") if isinstance(message, dict) else None, INTERNAL_ERROR, reason)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines that hold something; one that is too long comes in pieces, which are no JSON and are answered so."""
    while line := stream.readline(MAX_LINE_BYTES):
        if line.strip():
            yield line.strip()


def _header(value: str) -> str:
    """The value as a header can carry it: in base64 unless it is plain ASCII."""
    plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    return value if plain else f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _json(body: bytes) -> Any:
    """What a body says; None where it is no JSON that can be read."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_protocols(answer: Any) -> bool:
    """Whether an answer is the protocol's, and not that of a refusal before it or of a proxy."""
    each = answer if isinstance(answer, list) else [answer]
    return bool(each) and all(isinstance(one, dict) and "jsonrpc" in one for one in each)


def _told(status: int, answer: Any) -> str:
    """A refusal in words: the problem document's, if it is one."""
    if isinstance(answer, dict) and {"title", "detail"} <= answer.keys():
        return f"{answer['title']} ({status}): {answer['detail']}"
    return f"the service answered {status}"


def _error(message_id: Any, code: int, text: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}).encode()
