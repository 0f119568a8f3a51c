"""Gemini CLI's messages in v3 shape: parts, tool calls with their results, and what the program put into the person's mouth."""

from typing import Any

from worker.importers import shapes
from worker.importers.base import Event

TALK = ("user", "gemini")
TYPES = (*TALK, "info", "warning", "error", "system")
_SUMMARY = "<state_snapshot>"  # what a compaction puts in the place of the turns it sums up
_MADE_UP = (_SUMMARY, "<session_context>", "<hook_context>")
_THANKS = "Got it. Thanks for the additional context!"  # the model's reply to such a message, written by the program


def is_message(record: dict[str, Any]) -> bool:
    """Whether a record is a message."""
    return isinstance(record.get("id"), str) and bool(record["id"]) and record.get("type") in TYPES


def is_summary(record: dict[str, Any]) -> bool:
    """Whether a message is what a compaction put in the place of earlier ones."""
    return record.get("type") == "user" and any(block.get("text", "").lstrip().startswith(_SUMMARY) for block in _made_up(record))


def is_talk(record: dict[str, Any]) -> bool:
    """Whether a person or the model speaks in a message, or a tool answers."""
    return bool(event_of("", record)["type"] == "message")


def said(record: dict[str, Any]) -> str:
    """The words of a message, by which its copy under another id is recognised; "" where it has none."""
    return "\n".join(block["text"] for block in _parts(record.get("content")) if block["type"] == "text")


def event_of(event_id: str, record: dict[str, Any]) -> Event:
    """A message as an event."""
    time = record.get("timestamp")
    if is_summary(record):
        return shapes.compaction(event_id, _parts(record.get("content")), time)
    if record["type"] == "user":
        blocks = _parts(_typed(record))
        if blocks and all(block["type"] == "context" for block in blocks):
            return shapes.aside(event_id, "gemini:context", blocks, time)
        return shapes.message(event_id, "user", blocks, time)
    if record["type"] == "gemini" and said(record).strip() != _THANKS:
        return shapes.message(event_id, "assistant", _reply(record), time)
    return shapes.aside(event_id, f"gemini:{record['type']}", record.get("content"), time)


def _typed(record: dict[str, Any]) -> object:
    """What the person typed: without the files that the program wrote in after an @."""
    return record.get("content") if record.get("displayContent") is None else record["displayContent"]


def _reply(record: dict[str, Any]) -> list[shapes.Block]:
    thoughts = [shapes.thinking(thought) for thought in shapes.sequence(record.get("thoughts"))]
    calls = [shapes.mapping(call) for call in shapes.sequence(record.get("toolCalls"))]
    parts = [part for part in _parts(record.get("content")) if not (calls and part["type"] in ("toolCall", "toolResult"))]
    return [*thoughts, *parts, *(block for call in calls for block in _called(call))]


def _called(call: dict[str, Any]) -> list[shapes.Block]:
    """A tool call, and its result where it has come."""
    blocks = [shapes.call(call.get("id"), call.get("name"), call.get("args"))]
    answers = [_answer(part) for part in _listed(call.get("result"))]
    shown = next((answer for answer in answers if answer is not None), call.get("resultDisplay"))
    return blocks if shown is None else [*blocks, shapes.result(call.get("name"), shown, call.get("id"))]


def _answer(part: object) -> object:
    response = shapes.mapping(shapes.mapping(part).get("functionResponse")).get("response")
    if isinstance(response, dict) and len(response) == 1:
        return response.get("output", response.get("error", response))
    return response


def _listed(content: object) -> list[Any]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _parts(content: object) -> list[shapes.Block]:
    """The parts of a message as blocks; content is a text, a part, or a list of either."""
    return [_part(part) for part in _listed(content) if part != ""]


def _part(part: object) -> shapes.Block:
    if isinstance(part, str):
        return _text(part)
    value = shapes.mapping(part)
    if isinstance(value.get("text"), str):
        return shapes.thinking(value["text"]) if value.get("thought") is True else _text(value["text"])
    if isinstance(call := value.get("functionCall"), dict):
        return shapes.call(call.get("id"), call.get("name"), call.get("args"))
    if isinstance(response := value.get("functionResponse"), dict):
        return shapes.result(response.get("name"), _answer(value), response.get("id"))
    if "inlineData" in value or "fileData" in value:
        return shapes.image(shapes.mapping(value.get("inlineData", value.get("fileData"))).get("mimeType"))
    return {"type": "unknown", "value": part}


def _text(value: str) -> shapes.Block:
    return shapes.context(value) if value.lstrip().startswith(_MADE_UP) else shapes.text(value)


def _made_up(record: dict[str, Any]) -> list[shapes.Block]:
    return [block for block in _parts(record.get("content")) if block["type"] == "context"]
