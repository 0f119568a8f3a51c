"""What one stored event says: its id, its parent, its kind, its time. Pure; the tree it stands in is branch.py's.

An event is a JSON object in the pi/OpenClaw session shape, version 3. What is not understood is kept and passed through.
"""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from shared.errors import BadRequest

MAX_ID_BYTES = 256
MAX_TIME_MS = (1 << 45) - 1  # the year 3084; later times count as this one

# Types that are nodes of the tree: a child may name them. Anything else passes through and is nobody's parent.
NODE_KINDS = frozenset(
    [
        *("message", "compaction", "branch_summary", "reset", "custom", "custom_message"),
        *("label", "model_change", "session_info", "thinking_level_change"),
    ]
)
LEAF = "leaf"


class _Absent(Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT  # a field that was not sent, which is not the same as null
Parent = str | None | _Absent


@dataclass(frozen=True, slots=True)
class Event:
    """One event as its payload tells it. time_ms is None when it names none."""

    id: str | None
    parent_id: Parent
    kind: str
    role: str | None
    time_ms: int | None
    side: bool
    target_id: Parent
    payload: dict[str, Any]

    @property
    def node(self) -> bool:
        """Whether it stands in the tree."""
        return self.id is not None and self.kind in NODE_KINDS


def read_event(payload: dict[str, Any], where: str = "event") -> Event:
    """The event a payload describes.

    payload: as sent; where: the name of its place for error messages, e.g. `events[3]`.
    raises: BadRequest naming the field that has a wrong type or size.
    """
    kind = _text(payload, "type", where, default="message")
    event_id = payload.get("id")
    if event_id is not None:
        check_id(event_id, f"{where}.id")
    return Event(
        id=event_id,
        parent_id=_reference(payload, "parentId", where),
        kind=kind or "message",
        role=_role(payload, where) if kind == "message" else None,
        time_ms=_time(payload, where),
        side=payload.get("appendMode") == "side",
        target_id=_reference(payload, "targetId", where) if kind == LEAF else ABSENT,
        payload=payload,
    )


def check_id(value: Any, field: str) -> str:
    """The value as an id. raises: BadRequest when it is not a string of 1 to 256 bytes without control characters."""
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{field} must be a string of 1 to {MAX_ID_BYTES} bytes", field)
    if len(value.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES:
        raise BadRequest(f"{field} is longer than {MAX_ID_BYTES} bytes", field)
    return value


def _text(payload: dict[str, Any], name: str, where: str, default: str) -> str:
    value = payload.get(name, default)
    if not isinstance(value, str):
        raise BadRequest(f"{where}.{name} must be a string", f"{where}.{name}")
    return value


def _reference(payload: dict[str, Any], name: str, where: str) -> Parent:
    value = payload.get(name, ABSENT)
    if value is None or isinstance(value, (str, _Absent)):
        return value
    raise BadRequest(f"{where}.{name} must be an id or null", f"{where}.{name}")


def _role(payload: dict[str, Any], where: str) -> str:
    message = payload.get("message")
    if not isinstance(message, dict):
        raise BadRequest(f"{where}.message must be an object with role and content", f"{where}.message")
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise BadRequest(f"{where}.message.role must be a string", f"{where}.message.role")
    if "content" not in message:
        raise BadRequest(f"{where}.message.content is missing", f"{where}.message.content")
    return role


def _time(payload: dict[str, Any], where: str) -> int | None:
    value = payload.get("timestamp")
    if value is None:
        return None
    time_ms = time_of(value)
    if time_ms is None:
        raise BadRequest(f"{where}.timestamp must be milliseconds since 1970 or an ISO 8601 string", f"{where}.timestamp")
    return time_ms


_MAX_TIME_CHARS = 40
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?|\d{4}-\d\d-\d\d", re.ASCII)


def time_of(value: Any) -> int | None:
    """A time as ms since 1970 (UTC), from a number of ms or an ISO 8601 string; None when it is neither. A string without zone is UTC."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return _clamped(value)  # of any size: one of 309 digits is no float
    if isinstance(value, float):
        return _clamped(value) if math.isfinite(value) else None
    text = value.strip() if isinstance(value, str) else ""
    return _time_of_text(text) if 0 < len(text) <= _MAX_TIME_CHARS else None


@lru_cache(maxsize=256)  # an import looks at an event's time three times, one after the other
def _time_of_text(text: str) -> int | None:
    iso_text = text.upper().replace(" ", "T", 1)
    if not _ISO.fullmatch(iso_text):
        return None
    try:
        moment = datetime.fromisoformat(iso_text.replace(",", "."))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _clamped(round(moment.timestamp() * 1000))


def _clamped(value: float) -> int:
    return int(max(-(1 << 45), min(value, MAX_TIME_MS)))


def iso(time_ms: int) -> str:
    """ms since 1970 as ISO 8601 in UTC with milliseconds, e.g. 2026-11-30T10:15:00.000Z."""
    seconds, ms = divmod(time_ms, 1000)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()}.{ms:03d}Z"
    except (OverflowError, ValueError, OSError):
        return "0001-01-01T00:00:00.000Z"
