"""The pi/OpenClaw v3 shape, made from what other programs store: messages and their blocks, and events that nobody said."""

from typing import Any

from shared import jsontext
from worker.importers.base import Event

Block = dict[str, Any]


def message(event_id: str, role: str, content: object, timestamp: object = None, **fields: Any) -> Event:
    """An event in which somebody speaks, or a tool answers."""
    return {"type": "message", "id": event_id, "message": {"role": role, "content": content}, "timestamp": timestamp, **fields}


def aside(event_id: str, kind: str, data: object, timestamp: object = None) -> Event:
    """An event that is kept on the path and holds nobody's words; kind: `format:what`."""
    return {"type": "custom", "id": event_id, "customType": kind, "data": data, "timestamp": timestamp}


def compaction(event_id: str, summary: object, timestamp: object = None) -> Event:
    """An event that sums up earlier ones; what came before it stays on the path."""
    return {"type": "compaction", "id": event_id, "summary": summary, "timestamp": timestamp}


def text(value: str) -> Block:
    return {"type": "text", "text": value}


def context(value: object) -> Block:
    """What a program put beside a person's words: kept, never found."""
    return {"type": "context", "text": value}


def thinking(value: object) -> Block:
    return {"type": "thinking", "thinking": value}


def image(value: object) -> Block:
    return {"type": "image", "source": value}


def call(call_id: object, name: object, arguments: object) -> Block:
    """A tool's call; arguments that are JSON text are opened."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": opened(arguments)}


def result(name: object, value: object, call_id: object = None) -> Block:
    """A tool's answer as a block."""
    return {"type": "toolResult", "toolCallId": call_id, "name": name, "content": answer(value)}


def answer(value: object) -> list[Any]:
    """What a tool answered, as blocks: text as it stands, anything else as JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        return [text(value)]
    if isinstance(value, list) and all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in value):
        return value
    return [text(jsontext.dumps(value))]


def opened(value: object) -> object:
    """JSON text that is an object, as the object; anything else as it stands."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return jsontext.loads(value)
        except jsontext.BadJson:
            return value
    return value


# -- reading what may be anything


def mapping(value: object) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The value where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def word(value: object) -> str | None:
    """The value where it is a string that is not blank."""
    return value if isinstance(value, str) and value.strip() else None


def time_ms(value: object) -> object:
    """A number of seconds or of ms since 1970 as ms; anything else as it stands, for the finisher to judge.

    10^11 s is the year 5138, and 10^11 ms is 1973: what is below counts as seconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return round(value * 1000) if abs(value) < 100_000_000_000 else round(value) if abs(value) < 1e18 else value
