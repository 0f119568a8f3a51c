"""ChatGPT's export: a conversation is a tree of nodes; the way back from current_node is what the person sees.

Answers that were thrown away and questions before they were edited are branches beside it. Nodes without a message only hold others
together and are left out. What the service wrote into the conversation (instructions, hidden context) is kept and never found.
source: the export's conversations.json (mapping, current_node, author, content_type), as its readers describe it.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from shared.transcript import time_of
from worker.importers import shapes
from worker.importers.base import Branch, Event, Problems, Source, quoted, said_alike
from worker.importers.chain import Chain
from worker.importers.export import conversations, in_tree_order

FORMAT = "chatgpt"
_SPOKEN = ("text", "multimodal_text")
_THOUGHTS = ("thoughts", "reasoning_recap")


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The conversations of the export. raises: UnknownFormat before anything is yielded."""
    for conversation in conversations(path, problems, _is_one, FORMAT):
        yield _source(conversation, problems)


def trace(event: Event) -> str:
    """A message that came again under another id says the same."""
    return said_alike(event)


def _is_one(value: dict[str, Any]) -> bool:
    return isinstance(value.get("mapping"), dict) and _id(value) is not None


def _id(conversation: dict[str, Any]) -> str | None:
    return shapes.word(conversation.get("conversation_id")) or shapes.word(conversation.get("id"))


def _source(conversation: dict[str, Any], problems: Problems) -> Source:
    branch, created = Branch(), shapes.time_ms(conversation.get("create_time"))
    return Source(
        session_id=_id(conversation) or "",
        events=_Tree(conversation, problems, branch, created).events(),
        title=shapes.word(conversation.get("title")),
        created_at_ms=time_of(created),
        branch=branch,
    )


def _parent(node: object) -> str | None:
    parent = shapes.mapping(node).get("parent")
    return parent if isinstance(parent, str) else None


class _Tree:
    """One conversation's nodes that hold a message, each hung on the next such node above it."""

    def __init__(self, conversation: dict[str, Any], problems: Problems, branch: Branch, created: object) -> None:
        self._problems, self._name = problems, f"conversation {quoted(_id(conversation))}"
        self._chain = Chain(problems, branch)
        nodes = conversation["mapping"]
        self._above = {own: _parent(node) for own, node in nodes.items()}
        self._messages = {own: m for own, node in nodes.items() if own and isinstance(m := shapes.mapping(node).get("message"), dict)}
        if isinstance(shapes.mapping(nodes.get("")).get("message"), dict):
            self._chain.skip(0, f"{self._name} holds a message whose id is empty")
        self._found: dict[str, str | None] = {}
        self._parents = {own: self._message_above(own) for own in self._messages}
        self._leaf = self._current(conversation.get("current_node"))
        self._times: dict[str | None, object] = {None: created if time_of(created) is not None else None}

    def _message_above(self, own: str) -> str | None:
        """The next node above that holds a message; what was found for the nodes on the way is kept, so that each is passed once."""
        above, way = self._above[own], dict[str, None]()
        while above is not None and above not in self._messages and above not in way and above not in self._found:
            way[above] = None
            above = self._above.get(above)
        found = self._found.get(above, above if above in self._messages else None) if above is not None else None
        self._found |= dict.fromkeys(way, found)
        return found if found != own else None

    def _current(self, named: object) -> str | None:
        """The leaf: current_node, or the message above it; where there is none, the newest message."""
        if isinstance(named, str) and named in self._above:
            return named if named in self._messages else self._message_above(named)
        if self._messages:
            self._problems.note(0, f"{self._name} names no current node that is there; its newest message is taken for it")
        return max(self._messages, key=lambda own: time_of(self._messages[own].get("create_time")) or 0, default=None)

    def events(self) -> Iterator[Event]:
        for own, node in self._above.items():
            if node is not None and node not in self._above:
                self._problems.note(0, f"{self._name}: the parent {quoted(node)} of {quoted(own)} is missing; it is a beginning of its own")
        names: dict[str, str | None] = {}
        for own in in_tree_order(self._parents, self._leaf):
            parent = self._parents[own]
            if parent is not None and parent not in names:
                self._problems.note(0, f"{self._name}: {quoted(own)} hangs below itself; it is a beginning of its own")
            above = names.get(parent) if parent is not None else None
            finished = self._chain.add(0, _event(own, self._messages[own], self._time(own, parent)), above)
            names[own] = finished["id"] if finished else above
            if finished is not None:
                yield finished
        self._chain.branch.leaf = names.get(self._leaf) if self._leaf is not None else None

    def _time(self, own: str, parent: str | None) -> object:
        """A message's time, or that of the one above it: the same whatever order the branches come in."""
        time = shapes.time_ms(self._messages[own].get("create_time"))
        self._times[own] = time if time is not None else self._times.get(parent, self._times[None])
        return self._times[own]


def _event(own: str, message: dict[str, Any], time: object) -> Event:
    author, content = shapes.mapping(message.get("author")), shapes.mapping(message.get("content"))
    role, kind = author.get("role"), content.get("content_type")
    hidden = shapes.mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") is True
    if role == "tool":
        event = shapes.message(own, "toolResult", _blocks(content), time)
        event["message"] |= {"toolName": author.get("name")}
        return event
    if role not in ("user", "assistant") or hidden or kind in ("user_editable_context", "model_editable_context"):
        return shapes.aside(own, f"{FORMAT}:{role if isinstance(role, str) else 'unknown'}", content, time)
    recipient = message.get("recipient")
    if role == "assistant" and (kind == "code" or recipient not in (None, "all")):
        return shapes.message(own, role, [shapes.call(None, recipient, _plain(content))], time)
    return shapes.message(own, role, _blocks(content), time)


def _blocks(content: dict[str, Any]) -> list[shapes.Block]:
    kind, parts = content.get("content_type"), content.get("parts")
    if kind in _THOUGHTS:
        return [shapes.thinking(content.get("thoughts", content.get("content")))]
    if isinstance(parts, list) and (kind in _SPOKEN or kind is None):
        return [_part(part) for part in parts if part != ""]
    return [shapes.text(_plain(content))]


def _part(part: object) -> shapes.Block:
    if isinstance(part, str):
        return shapes.text(part)
    value = shapes.mapping(part)
    if isinstance(value.get("text"), str):  # spoken words, written down
        return shapes.text(value["text"])
    return shapes.image(value.get("asset_pointer")) if "asset_pointer" in value else {"type": "unknown", "value": part}


def _plain(content: dict[str, Any]) -> str:
    """The text of any other kind of content: code, a program's output, a page that was read."""
    parts = [part for part in shapes.sequence(content.get("parts")) if isinstance(part, str)]
    found = next((value for name in ("text", "result", "content") if isinstance(value := content.get(name), str)), "")
    return found or "\n".join(parts)
