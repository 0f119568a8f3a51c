"""OpenCode's messages in v3 shape: a message's parts become its blocks.

Text that the program wrote into a person's message (file contents, notices: synthetic or ignored) is no one's words.
"""

from collections.abc import Iterable
from typing import Any

from worker.importers import shapes
from worker.importers.base import Event, kind_of

_BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry"})


def event_of(event_id: str, info: dict[str, Any], parts: Iterable[dict[str, Any]]) -> Event:
    """A message and its parts as an event; the reply that sums up is a compaction."""
    time = shapes.mapping(info.get("time")).get("created")
    blocks = [block for part in parts for block in _blocks(part)]
    if info.get("summary") is True:
        return shapes.compaction(event_id, blocks, time)
    if info.get("role") not in ("user", "assistant"):
        return shapes.aside(event_id, "opencode:unknown-role", blocks, time)
    return shapes.message(event_id, info["role"], blocks, time)


def _blocks(part: dict[str, Any]) -> list[shapes.Block]:
    kind = kind_of(part)
    if kind in _BOOKKEEPING:
        return []
    if kind == "text" and isinstance(part.get("text"), str):
        made_up = part.get("synthetic") is True or part.get("ignored") is True
        return [shapes.context(part["text"]) if made_up else shapes.text(part["text"])]
    if kind == "reasoning":
        return [shapes.thinking(part.get("text"))]
    if kind == "tool":
        return _tool(part)
    if kind == "file":
        return [shapes.image(part.get("filename"))]
    return [{"type": kind or "unknown", "value": {k: v for k, v in part.items() if k not in _IDS}}]


_IDS = ("id", "sessionID", "messageID", "type")


def _tool(part: dict[str, Any]) -> list[shapes.Block]:
    state = shapes.mapping(part.get("state"))
    blocks = [shapes.call(part.get("callID"), part.get("tool"), state.get("input"))]
    answer = state.get("output", state.get("error"))
    return blocks if answer is None else [*blocks, shapes.result(part.get("tool"), answer, part.get("callID"))]
