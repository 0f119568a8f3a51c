"""Goose's messages in v3 shape: content blocks, tool requests and responses, and what only the model or only the person was shown."""

from typing import Any

from worker.importers import shapes
from worker.importers.base import Event

_CALLS = ("toolRequest", "frontendToolRequest")


def event_of(event_id: str, role: object, content: object, created: object, metadata: object) -> Event:
    """A message as an event. What the person was never shown is a compaction's summary, or a word to the model: kept, never found.

    Whether the model still sees a message changes with every compaction, so that flag is no part of the event.
    """
    time = shapes.time_ms(created)
    if role not in ("user", "assistant"):
        return shapes.aside(event_id, "goose:unknown-role", content, time)
    blocks = [_block(block) for block in shapes.sequence(content)]
    if shapes.mapping(metadata).get("userVisible") is False:
        return shapes.compaction(event_id, blocks, time)
    return shapes.message(event_id, str(role), blocks, time)


def _block(found: object) -> shapes.Block:
    block = shapes.mapping(found)
    kind = block.get("type")
    if kind == "text" and _is_for_the_model(block):
        return shapes.context(block.get("text"))
    if kind in _CALLS:
        request = _value(block.get("toolCall"))
        return shapes.call(block.get("id"), shapes.mapping(request).get("name"), shapes.mapping(request).get("arguments"))
    if kind == "toolResponse":
        answer = _value(block.get("toolResult"))
        return shapes.result(None, answer.get("content") if isinstance(answer, dict) else answer, block.get("id"))
    if kind == "image":
        return shapes.image(block.get("mimeType"))
    return block if isinstance(kind, str) else {"type": "unknown", "value": found}


def _is_for_the_model(block: dict[str, Any]) -> bool:
    audience = shapes.mapping(block.get("annotations")).get("audience", block.get("audience"))
    return isinstance(audience, list) and "user" not in audience


def _value(found: object) -> object:
    """Goose wraps calls and answers: {"status": "success", "value": ...} or {"status": "error", "error": ...}."""
    if isinstance(found, dict) and "status" in found:
        return found.get("value", found.get("error"))
    return found
