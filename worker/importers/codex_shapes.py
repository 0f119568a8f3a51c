"""Codex's response items in v3 shape, and what of a user's item Codex wrote itself."""

from contextlib import suppress
from typing import Any

from shared import jsontext
from worker.importers.base import kind_of

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "mcp_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "mcp_tool_call_output", "tool_search_output"})
_CONTEXT = (  # what a user item holds from its first to its last character when Codex wrote it: codex-rs, contextual_user_message.rs
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
    ("<INSTRUCTIONS>", "</INSTRUCTIONS>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<additional_context>", "</additional_context>"),
)


class Shapes:
    """Turns items into events, and remembers which call had which tool's name until its result comes."""

    def __init__(self) -> None:
        self._tool_names: dict[str, str] = {}

    def event(self, payload: dict[str, Any]) -> dict[str, Any]:
        """A response item in v3 shape, without id, place and time."""
        kind = kind_of(payload)
        if kind == "message" and payload.get("role") in ("user", "assistant") and not is_context(_first_text(payload)):
            return _message(payload["role"], payload.get("content"))
        if kind == "reasoning":
            return _message("assistant", [{"type": "thinking", "thinking": payload.get("summary")}])
        if kind in _CALLS:
            return self._call(payload)
        if kind in _RESULTS:
            return self._result(payload)
        return {"type": "custom", "customType": f"codex:{kind}", "data": payload}

    def _call(self, payload: dict[str, Any]) -> dict[str, Any]:
        call_id, name = id_in(payload, "call_id"), id_in(payload, "name") or kind_of(payload).removesuffix("_call")
        if call_id:
            self._tool_names[call_id] = name
        arguments = next((payload[key] for key in ("arguments", "input", "action") if key in payload), None)
        if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
            with suppress(jsontext.BadJson):  # else it stays as the text it is
                arguments = jsontext.loads(arguments)
        return _message("assistant", [{"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}])

    def _result(self, payload: dict[str, Any]) -> dict[str, Any]:
        call_id, output = id_in(payload, "call_id"), payload.get("output")
        if isinstance(output, dict):
            output = output.get("content")
        content = [{"type": "text", "text": output}] if isinstance(output, str) else output if isinstance(output, list) else []
        name = self._tool_names.pop(call_id, None) if call_id else None
        return {"type": "message", "message": {"role": "toolResult", "toolCallId": call_id, "toolName": name, "content": content}}


def id_in(holder: object, name: str) -> str | None:
    """The value of a field where it is text that is not empty."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) and value else None


def _message(role: str, content: object) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content}}


def _first_text(payload: dict[str, Any]) -> str:
    """All text of an item as it stands, scaffolding and all; "" for an item that is not the user's."""
    content = payload.get("content")
    if payload.get("role") != "user":
        return ""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str))


def is_context(text: str) -> bool:
    """Whether Codex wrote a text from its first to its last character."""
    words = text.strip()
    return any(words.startswith(start) and words.endswith(end) for start, end in _CONTEXT)
