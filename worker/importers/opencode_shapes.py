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
        role = shapes.word(info.get("role"))
        return shapes.aside(event_id, f"opencode:{role or 'unknown-role'}", blocks, time)
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


def parts_of(kind: str | None, data: dict[str, Any]) -> list[dict[str, Any]]:
    """What a row of version 2 holds, as parts of an older version's message."""
    if kind == "assistant":
        return [_part(shapes.mapping(part)) for part in shapes.sequence(data.get("content"))]
    text = data.get("summary") if kind == "compaction" else data.get("text")
    if kind not in ("user", "compaction"):
        return [{"type": kind or "unknown", **{name: value for name, value in data.items() if name not in ("type", "time")}}]
    files = [{"type": "file", "filename": shapes.mapping(file).get("name")} for file in shapes.sequence(data.get("files"))]
    return [*([{"type": "text", "text": text}] if isinstance(text, str) else []), *files]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if kind_of(part) != "tool":
        return {name: value for name, value in part.items() if name not in ("native", "state", "time")}
    state = shapes.mapping(part.get("state"))
    content = [shapes.mapping(one) for one in shapes.sequence(state.get("content"))]
    texts = [one["text"] for one in content if isinstance(one.get("text"), str)]
    answer = {"output": "\n".join(texts)} if content and len(texts) == len(content) else {"output": content} if content else {}
    told = {name: state[name] for name in ("output", "error") if name in state}
    return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": {"input": state.get("input"), **told, **answer}}


_IDS = ("id", "sessionID", "messageID", "type")


def _tool(part: dict[str, Any]) -> list[shapes.Block]:
    state = shapes.mapping(part.get("state"))
    blocks = [shapes.call(part.get("callID"), part.get("tool"), state.get("input"))]
    answer = state.get("output", state.get("error"))
    return blocks if answer is None else [*blocks, shapes.result(part.get("tool"), answer, part.get("callID"))]
