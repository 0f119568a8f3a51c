"""The text that search may see and history may show: one function for both, so that neither finds what the other hides.

Only user and assistant messages have such text. What a program wrapped around a person's or a model's words (reasoning tags,
tool-call markup, recalled memories, reminders, command wrappers) is scaffolding and is taken out here. A tag inside a code span
or a code fence is text about tags and stays; so does a tag that is not listed. The cost is linear in the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from shared import jsontext

SEARCHED_ROLES = ("user", "assistant")
TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
CALL_BLOCKS = frozenset({"toolCall", "tool_use", "server_tool_use", "function_call", "custom_tool_call"})
RESULT_BLOCKS = frozenset({"toolResult", "tool_result", "function_call_output", "custom_tool_call_output"})
OMITTED_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "image", "input_image", "image_url", "input_audio", "audio"})
RESULT_ROLES = frozenset({"toolResult", "tool", "bashExecution"})


@dataclass(frozen=True)
class Item:
    """One piece of a message as history shows it with includeTools."""

    kind: Literal["text", "toolCall", "toolResult"]
    text: str
    name: str | None = None  # the tool's, where the transcript tells it


@dataclass(frozen=True)
class Items:
    """The pieces of one message in their order, and how many (reasoning, images) are never shown."""

    items: tuple[Item, ...] = ()
    omitted: int = 0


def message_text(payload: object) -> str:
    """The searchable text of one stored event; "" when it has none.

    Text blocks are stripped one by one and joined by a newline; NUL is shown as U+FFFD; what is not text never raises.
    """
    message = _message(payload)
    if message.get("role") not in SEARCHED_ROLES:
        return ""
    return "\n".join(text for text in map(strip_scaffolding, _texts(message.get("content"))) if text)


def message_items(payload: object) -> Items:
    """The same text, tool calls and tool results as separate pieces; reasoning and images are only counted."""
    message = _message(payload)
    role, content = message.get("role"), message.get("content")
    if role in SEARCHED_ROLES:
        return _spoken(content)
    if isinstance(role, str) and role in RESULT_ROLES:
        return _returned(message)
    return Items()


def _message(payload: object) -> dict[str, Any]:
    message = payload.get("message") if isinstance(payload, dict) and payload.get("type") == "message" else None
    return message if isinstance(message, dict) else {}


def _blocks(content: object) -> Iterator[dict[str, Any]]:
    """The blocks of a message's content; a plain string is one text block, and what is no block is passed over."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict) and isinstance(block.get("type"), str))


def _texts(content: object) -> Iterator[str]:
    for block in _blocks(content):
        if block["type"] in TEXT_BLOCKS and isinstance(block.get("text"), str):
            yield block["text"]


def _spoken(content: object) -> Items:
    items: list[Item] = []
    omitted = 0
    for block in _blocks(content):
        kind = block["type"]
        if kind in TEXT_BLOCKS and isinstance(block.get("text"), str):
            text = strip_scaffolding(block["text"])
            items += [Item("text", text)] if text else []
        elif kind in CALL_BLOCKS:
            items.append(Item("toolCall", _arguments(block), _name(block.get("name"))))
        elif kind in RESULT_BLOCKS:
            result = block.get("content", block.get("output"))
            items.append(Item("toolResult", _result_text(result), _name(block.get("name"))))
            omitted += _pictures(result)
        else:
            omitted += kind in OMITTED_BLOCKS
    return Items(tuple(items), omitted)


def _returned(message: dict[str, Any]) -> Items:
    """A message that is a tool's answer: pi's toolResult and bashExecution, OpenAI's tool."""
    if message["role"] == "bashExecution":
        command, output = message.get("command"), message.get("output")
        return Items((Item("toolCall", _shown(command), "bash"), Item("toolResult", _shown(output), "bash")))
    name = _name(message.get("toolName", message.get("name")))
    content = message.get("content")
    return Items((Item("toolResult", _result_text(content), name),), _pictures(content))


def _arguments(block: dict[str, Any]) -> str:
    value = next((block[key] for key in ("arguments", "input") if key in block), None)
    return "" if value is None else _shown(value if isinstance(value, str) else jsontext.dumps(value))


def _result_text(content: object) -> str:
    if isinstance(content, dict):  # Codex wraps some outputs: {"content": ..., "success": ...}
        content = content.get("content")
    return _shown("\n".join(_texts(content)))


def _pictures(content: object) -> int:
    return sum(block["type"] in OMITTED_BLOCKS for block in _blocks(content))


def _shown(value: object) -> str:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else ""


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


# -- scaffolding


@dataclass(frozen=True)
class _Family:
    """How one kind of tag is taken out: whether its content goes too, and when a tag is only talk about tags."""

    names: str  # alternatives of a pattern
    closes: str = ""  # any tag of this family closes any other; "" means only the same name does
    open_ended: bool = True  # an unclosed tag at the start of a line hides the rest (a reply cut off in mid-thought)
    content_stays: bool = False  # only the tags go: what stands between them is a person's or the model's own words
    line_start: bool = False  # a common word: only a bare tag at the start of a line counts


# Names as OpenClaw strips them (src/shared/text), as Claude Code writes them into user messages, and as Codex wraps its context.
_FAMILIES = (
    _Family(r"think|thinking|thought|antthinking|reasoning", closes="reasoning"),
    _Family(r"final|command-args|bash-input", open_ended=False, content_stays=True),
    _Family(r"tool_calls?|function_calls?|tool_result|tool_response|function_response|function_results|invoke(?=\s+name\s*=|\s?>)"),
    _Family(r"(?:relevant|recalled)[-_]memor(?:y|ies)|(?:memory|supermemory)[-_]context"),
    _Family(r"memory|memories", line_start=True, open_ended=False),
    _Family(r"system[-_]reminder"),
    _Family(
        r"command-name|command-message|command-contents|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)"
        r"|user-prompt-submit-hook|task-notification|ide_(?:opened_file|selection|diagnostics)"
        r"|environment_context|user_instructions|turn_aborted|subagent_notification",
        open_ended=False,
    ),
)
_NAMES = "|".join(f"(?P<f{number}>{family.names})" for number, family in enumerate(_FAMILIES))
_TAG = rf"<(?=[\s/a-z])\s?(?P<close>/?)\s?(?:[a-z]{{1,16}}:)?(?:{_NAMES})(?=[\s/>])(?P<rest>[^<>]*)>"  # [^<>] ends at the next tag: linear
_BRACKET = r"\[\s?(?P<bclose>/?)\s?(?P<bracket>TOOL_(?:CALL|RESULT))\s?\]"
_ANY_TAG = re.compile(f"{_TAG}|{_BRACKET}", re.IGNORECASE)
_MARK = re.compile(rf"(?P<fence>^ {{0,3}}(?:`{{3,}}|~{{3,}})[^\n]*$)|(?P<ticks>`+)|{_TAG}|{_BRACKET}", re.IGNORECASE | re.MULTILINE)
_RUNS = re.compile(r"(?P<ticks>`+)|\n[ \t]*(?=\n)")
_BRACKETS = _Family("TOOL_CALL|TOOL_RESULT")


def strip_scaffolding(text: str) -> str:
    """The text without scaffolding, and with NUL shown as U+FFFD; text that holds none comes back as it is."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if ("<" in text or "[" in text) and _ANY_TAG.search(text):
        return _Stripper(text).run()
    return text


class _Stripper:
    """One walk over the text from mark to mark: a code span or fence is jumped over, a scaffolding block is left out."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._kept: list[str] = []
        self._from = 0  # start of the text not yet kept or dropped
        self._spans = _code_spans(text) if "`" in text else {}
        self._closers = _closers(text)

    def run(self) -> str:
        position = 0
        while found := _MARK.search(self._text, position):
            position = self._after(found)
        if not self._kept:
            return self._text
        self._kept.append(self._text[self._from :])
        return "".join(self._kept).strip()

    def _after(self, found: re.Match[str]) -> int:
        """Where to look on after one mark."""
        if found["fence"]:
            return self._fence_end(found)
        if found["ticks"]:
            return self._spans.get(found.start(), found.end())
        family, name, closing = _read_tag(found)
        if closing or family.content_stays or (found["rest"] or "").rstrip().endswith("/"):
            return self._lone_tag(found, family)
        if family.line_start and (not self._at_line_start(found.start()) or (found["rest"] or "").strip()):
            return found.end()
        return self._block(found, family, name)

    def _fence_end(self, found: re.Match[str]) -> int:
        fence = found["fence"].lstrip(" ")
        width = len(fence) - len(fence.lstrip(fence[0]))
        end = re.compile(rf"^ {{0,3}}{fence[0]}{{{width},}}[ \t]*$", re.MULTILINE).search(self._text, found.end())
        return end.end() if end else len(self._text)

    def _lone_tag(self, found: re.Match[str], family: _Family) -> int:
        """A tag without a block: dropped where it is markup, kept where it stands in the middle of a sentence."""
        if family.content_stays or self._at_line_start(found.start()):
            self._drop(found.start(), found.end())
        return found.end()

    def _block(self, found: re.Match[str], family: _Family, name: str) -> int:
        ends = self._closers.get(family.closes or name, [])
        number = bisect_left(ends, (found.end(), 0))
        if number < len(ends):
            end = ends[number][1]
        elif family.open_ended and self._at_line_start(found.start()):
            end = len(self._text)
        else:
            return found.end()
        self._drop(found.start(), end)
        return end

    def _at_line_start(self, position: int) -> bool:
        line = self._text.rfind("\n", max(self._from, position - 200), position) + 1
        return not self._text[max(line, self._from, position - 200) : position].strip()

    def _drop(self, start: int, end: int) -> None:
        text = self._text
        self._kept.append(text[self._from : start])
        if start > 0 and end < len(text) and not text[start - 1].isspace() and not text[end].isspace():
            self._kept.append(" ")  # two words must not grow together
        elif (text.startswith("\n", end) and (start == 0 or text[start - 1] == "\n")) or (
            text[end : end + 1] == " " == text[start - 1 : start]
        ):
            end += 1  # no empty line and no double space where the block stood
        self._from = end


def _read_tag(found: re.Match[str]) -> tuple[_Family, str, bool]:
    """The family of a found tag, its name for pairing, and whether it is a closing one."""
    if found["bracket"]:
        return _BRACKETS, found["bracket"].lower(), bool(found["bclose"])
    number = next(number for number in range(len(_FAMILIES)) if found[f"f{number}"])
    return _FAMILIES[number], found[f"f{number}"].lower().replace("_", "-"), bool(found["close"])


def _closers(text: str) -> dict[str, list[tuple[int, int]]]:
    """Start and end of every closing tag by what it closes; one that stands in backticks is talk and closes nothing."""
    closers: dict[str, list[tuple[int, int]]] = {}
    for found in _ANY_TAG.finditer(text):
        family, name, closing = _read_tag(found)
        quoted = text[found.start() - 1 : found.start()] == "`" == text[found.end() : found.end() + 1]
        if closing and not quoted:
            closers.setdefault(family.closes or name, []).append(found.span())
    return closers


def _code_spans(text: str) -> dict[int, int]:
    """Start of each run of backticks that opens a code span, and the end of the span.

    A run is closed by the next one of the same length in the same paragraph (CommonMark 6.1); walked from the end, so that each
    run is looked at once.
    """
    spans: dict[int, int] = {}
    following: dict[int, int] = {}
    for found in reversed(list(_RUNS.finditer(text))):
        if not found["ticks"]:
            following = {}  # a blank line ends the paragraph
            continue
        width = len(found["ticks"])
        if width in following:
            spans[found.start()] = following[width]
        following[width] = found.end()
    return spans
