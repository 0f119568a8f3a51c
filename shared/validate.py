"""Checks of the names that callers give; each error names the field and the limit."""

from typing import Any

from shared.config import AGENT_ID
from shared.errors import BadRequest

MAX_KEY_BYTES = 512
MAX_TITLE_CHARS = 300
MAX_KIND_CHARS = 64
MAX_IDEMPOTENCY_KEY_BYTES = 128


def agent_id(value: Any, field: str = "agentId") -> str:
    """The value as an agent id."""
    if not isinstance(value, str) or not AGENT_ID.fullmatch(value):
        raise BadRequest(f"{field} must be 1 to 64 letters, digits, '.', '_' or '-'", field)
    return value


def session_key(value: Any, field: str = "sessionKey") -> str:
    """The value as a session key: any UTF-8 of 1 to 512 bytes, compared whole."""
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{field} must be a string of 1 to {MAX_KEY_BYTES} bytes", field)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise BadRequest(f"{field} is not valid UTF-8", field) from None
    if size > MAX_KEY_BYTES:
        raise BadRequest(f"{field} is {size} bytes long; the limit is {MAX_KEY_BYTES}", field)
    return value


def title(value: Any) -> str | None:
    """The value as a title, or None for none."""
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_TITLE_CHARS:
        raise BadRequest(f"title must be a string of at most {MAX_TITLE_CHARS} characters", "title")
    return value


def kind(value: Any) -> str:
    """The value as a session's kind, a label."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_KIND_CHARS or not value.isprintable():
        raise BadRequest(f"kind must be a printable string of 1 to {MAX_KIND_CHARS} characters", "kind")
    return value


def flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise BadRequest(f"{field} must be true or false", field)
    return value


def idempotency_key(value: str) -> str:
    if not 1 <= len(value.encode("utf-8", "surrogatepass")) <= MAX_IDEMPOTENCY_KEY_BYTES:
        raise BadRequest(f"Idempotency-Key must be 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes", "Idempotency-Key")
    return value
