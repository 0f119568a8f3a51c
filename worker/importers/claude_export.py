"""Claude's export of web chats: a conversation is a list of messages, which name the one they answer in newer exports.

With those links it is a tree: the leaf is current_leaf_message_uuid where the export has it, else the newest message that nothing
follows, and what is not on the way back from it was edited or asked again. Without links it is one line.
source: the export's conversations.json (chat_messages, sender, content, parent_message_uuid), as its readers describe it.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from shared.transcript import time_of
from worker.importers import shapes
from worker.importers.base import Branch, Event, Problems, Source, kind_of, quoted, said_alike
from worker.importers.chain import Chain
from worker.importers.export import conversations, in_tree_order

FORMAT = "claude-export"
_ROLES = {"human": "user", "assistant": "assistant"}
_ROOT = "00000000-0000-4000-8000-000000000000"  # what a first message names as the one above it
_LINK = "parent_message_uuid"


def read(path: Path, problems: Problems) -> Generator[Source, None, None]:
    """The conversations of the export. raises: UnknownFormat before anything is yielded."""
    for conversation in conversations(path, problems, _is_one, FORMAT):
        yield _source(conversation, problems)


def trace(event: Event) -> str:
    """A message that came again under another id says the same."""
    return said_alike(event)


def _is_one(value: dict[str, Any]) -> bool:
    return isinstance(value.get("chat_messages"), list) and shapes.word(value.get("uuid")) is not None


def _source(conversation: dict[str, Any], problems: Problems) -> Source:
    branch = Branch()
    return Source(
        session_id=conversation["uuid"],
        events=_events(conversation, Chain(problems, branch), problems),
        title=shapes.word(conversation.get("name")),
        created_at_ms=time_of(conversation.get("created_at")),
        branch=branch,
    )


def _events(conversation: dict[str, Any], chain: Chain, problems: Problems) -> Iterator[Event]:
    name = f"conversation {quoted(conversation['uuid'])}"
    messages: dict[str, dict[str, Any]] = {}
    for number, message in enumerate(conversation["chat_messages"], 1):
        own = shapes.word(message.get("uuid")) if isinstance(message, dict) else None
        if own is None or kind_of(message, "sender") not in _ROLES:
            chain.skip(0, f"message {number} of {name} has no uuid, or no sender that is human or assistant")
        elif own in messages:
            problems.note(0, f"{name}: {quoted(own)} is there twice; the first one is kept")
        else:
            messages[own] = message
    parents = _parents(messages, name, problems)
    leaf = _leaf(conversation, messages, parents)
    names: dict[str | None, str | None] = {None: None}
    times: dict[str | None, object] = {None: conversation.get("created_at")}
    for own in in_tree_order(parents, leaf):
        parent = parents[own]
        if parent is not None and parent not in names:
            problems.note(0, f"{name}: {quoted(own)} hangs below itself; it is a beginning of its own")
        times[own] = messages[own].get("created_at") or times.get(parent)
        finished = chain.add(0, _event(own, messages[own], times[own]), names.get(parent))
        names[own] = finished["id"] if finished else names.get(parent)
        if finished is not None:
            yield finished
    chain.branch.leaf = names.get(leaf)


def _parents(messages: dict[str, dict[str, Any]], name: str, problems: Problems) -> dict[str, str | None]:
    """What each message hangs on: what it names, nothing where it names the root, else the message before it."""
    linked = any(isinstance(message.get(_LINK), str) for message in messages.values())
    parents: dict[str, str | None] = {}
    before: str | None = None
    for own, message in messages.items():
        link = shapes.word(message.get(_LINK))
        if linked and (link in (None, _ROOT) or link in messages):
            parents[own] = link if link in messages and link != own else None
        else:
            parents[own] = before
            if linked and before is not None:
                problems.note(0, f"{name}: the parent {quoted(link)} of {quoted(own)} is missing; it follows the message before it")
        before = own
    return parents


def _leaf(conversation: dict[str, Any], messages: dict[str, dict[str, Any]], parents: dict[str, str | None]) -> str | None:
    named = conversation.get("current_leaf_message_uuid")
    if isinstance(named, str) and named in messages:
        return named
    above = set(parents.values())
    ends = [own for own in messages if own not in above] or list(messages)  # in a cycle nothing is an end
    newest = max(enumerate(ends), key=lambda end: (time_of(messages[end[1]].get("created_at")) or 0, end[0]), default=None)
    return newest[1] if newest else None


def _event(own: str, message: dict[str, Any], time: object) -> Event:
    blocks = [_block(block) for block in shapes.sequence(message.get("content"))]
    if not any(block["type"] != "unknown" for block in blocks) and isinstance(message.get("text"), str):
        blocks = [shapes.text(message["text"])]  # exports of the first years have no content blocks
    beside = {name: message[name] for name in ("attachments", "files") if message.get(name)}
    return shapes.message(own, _ROLES[message["sender"]], blocks, time, **beside)


def _block(found: object) -> shapes.Block:
    block = shapes.mapping(found)
    if block.get("type") == "tool_use":
        return shapes.call(block.get("id"), block.get("name"), block.get("input"))
    if block.get("type") == "tool_result":
        return shapes.result(block.get("name"), block.get("content"), block.get("tool_use_id"))
    return block if isinstance(block.get("type"), str) else {"type": "unknown", "value": found}
