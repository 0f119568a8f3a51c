"""Text with its disguises taken off, and the way back to where each character stood.

A view drops invisible characters, decodes percent signs, JSON escapes and entities, and closes line breaks that stand
inside a token. Positions in a view lead to half-open spans of the text it was made from, disguise included.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from shared.redaction_rules import FAMILIES

_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_DASHES = "\u2010-\u2013\u2212\ufe63\uff0d"
_VISIBLE = bytes(b for b in range(128) if b in b"\t\n\r" or 32 <= b < 127)
_PERCENT = r"%(?:25){0,3}(?:[2-7][0-9A-Fa-f]|0[aAdD]|[c-fC-F][0-9A-Fa-f](?:%(?:25){0,3}[89abAB][0-9A-Fa-f]){1,3})"
_ESCAPE = r"\\(?:\\{0,16}+(?:u[0-9A-Fa-f]{4}(?:\\{1,16}+u[dD][c-fC-F][0-9A-Fa-f]{2})?|[\"'`/]|r\\{1,16}+n|[nrt]|\r?\n)|\\{1,16}+)"
_ENTITY = r"&(?:amp|quot|apos|lt|gt|#39|#34|#x27|#x22);"
_GONE_RUN = re.compile(rf"(?:\x1b\[[0-9;]{{0,16}}[A-Za-z]|[{_INVISIBLE}{_DASHES}])++")
_ODD = frozenset(chr(c) for c in (*range(0x10000), *range(0xE0000, 0xE1000)) if re.match(f"[{_INVISIBLE}{_DASHES}]", chr(c)))
_STEP = re.compile(
    rf"(?P<gone>\x1b\[[0-9;]{{0,16}}[A-Za-z]|[{_INVISIBLE}]+)|(?P<dash>[{_DASHES}])"
    rf"|(?P<percent>{_PERCENT})|(?P<escape>{_ESCAPE})|(?P<entity>{_ENTITY})|(?P<crlf>\r\n)"
)
_MARKED = (("\\", re.compile(_ESCAPE)), ("%", re.compile(_PERCENT)), ("&", re.compile(_ENTITY)))
_BETWEEN_WINDOWS = "\n\x00\n"  # nothing that a token or a name is made of
_ENTITIES = {"amp": "&", "quot": '"', "apos": "'", "lt": "<", "gt": ">", "#39": "'", "#34": '"', "#x27": "'", "#x22": '"'}
_PART = r"[A-Za-z0-9_\-+/.~=]"
# A line break with a token's characters on both sides, the second part being more than a word in lower case.
_AFTER_BREAK = rf"[ \t]{{0,8}}+(?={_PART}{{4}})(?=.[a-z_\-]{{0,40}}[A-Z0-9])(?!\w[\w.\-]{{0,48}}+[ \t]{{0,4}}[:=(](?!=))"
_BREAK = re.compile(rf"\n(?<={_PART}\n){_AFTER_BREAK}")
_BREAK_CRLF = re.compile(rf"\n(?:(?<={_PART}\n)|(?<={_PART}\r\n)){_AFTER_BREAK}")
_RUN = re.compile(r"[A-Za-z0-9_\-+/.~]*+(?:={1,2}(?![A-Za-z0-9=]))?")
_RUN_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/.~"
_LETTERS = r"[A-Z]{2,}+[a-z]*+|[A-Z]?[a-z]{2,}+(?:[A-Z][a-z]{2,}+)++|[A-Z]?[a-z]++|[A-Z]"
_WORD = rf"[0-9]++[a-z]{{0,2}}|(?>{_LETTERS})[0-9]{{0,4}}+"
_ORDINARY = re.compile(rf"(?>{_WORD})?(?:[_\-+/.~=](?>{_WORD})?)*+")
_PREFIXES = sorted({prefix for family in FAMILIES for prefix in family.prefixes.split()}, key=len, reverse=True)
_OPENING = re.compile("|".join(map(re.escape, _PREFIXES)) + "|eyJ|A[KS]IA|AIza|EAA|ATATT|dapi")
_KNOWN_LENGTH = re.compile(
    r"(?:A[KS]IA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36}|npm_[A-Za-z0-9]{36}|AIza[A-Za-z0-9_\-]{35}|glpat-[A-Za-z0-9_\-]{20}"
    r"|hf_[A-Za-z]{34}|dapi[0-9a-f]{32}|dop_v1_[0-9a-f]{64}|lin_api_[A-Za-z0-9]{40}|shp(?:at|ca|pa|ss)_[0-9a-f]{32})\Z"
)


@dataclass
class View:
    """`text` as it reads without disguise; `starts`, `origins` and `widths` describe its pieces in ascending order."""

    text: str = ""
    starts: list[int] = field(default_factory=list)  # where a piece begins in the view
    origins: list[int] = field(default_factory=list)  # where it begins in the original
    widths: list[int] = field(default_factory=list)  # 0: a piece copied as it was; else one character made of this many

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original's half-open span that view[start:end] was made from; end > start."""
        return self._at(start)[0], self._at(end - 1)[1]

    def _at(self, position: int) -> tuple[int, int]:
        piece = bisect_right(self.starts, position) - 1
        if width := self.widths[piece]:
            return self.origins[piece], self.origins[piece] + width
        origin = self.origins[piece] + position - self.starts[piece]
        return origin, origin + 1


def disguise(text: str, control: bool) -> View | None:
    """A view of the lines in which something is disguised, tokens whole and other line breaks kept; None when there are none.

    control: whether the text is known to hold control characters or a soft hyphen.
    """
    if "\n" not in text and not control and text.isascii() and "\\" not in text and "%" not in text and "&" not in text:
        return None
    windows = _merged(sorted(_disguised_lines(text, control)))
    return _without_breaks(_steps_taken(text, windows), _inside_token) if windows else None


def visible(text: str) -> str | None:
    """The text without its invisible characters; None when it has none."""
    seen = text if text.isascii() and text.isprintable() else re.sub(f"[{_INVISIBLE}]", "", text)
    return seen if seen != text else None


def bare(text: str) -> View:
    """A view of the whole text without any line break, its indentation included."""
    return _without_breaks(_steps_taken(text, [(0, len(text))]), lambda text, at: True)


def _disguised_lines(text: str, control: bool) -> Iterator[tuple[int, int]]:
    for char, pattern in _MARKED:
        if char in text:
            yield from _lines(text, pattern)
    if control or not text.isascii():
        yield from _lines_with_invisible(text)
    for found in (_BREAK_CRLF if "\r" in text else _BREAK).finditer(text):
        if _inside_token(text, found.start()):
            start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
            yield start, end if end >= 0 else len(text)


def _lines(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at = 0
    while found := pattern.search(text, at):
        start, at = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        yield start, at if at >= 0 else len(text)
        if at < 0:
            return


def _lines_with_invisible(text: str) -> Iterator[tuple[int, int]]:
    """Lines in which an invisible character or an odd dash stands between two plain ones; one that joins emoji is no disguise."""
    rare = text.encode("utf-8", "surrogatepass").translate(None, _VISIBLE).decode("utf-8", "surrogatepass")
    for char in sorted(set(rare) & _ODD):
        at = text.find(char)
        while at >= 0:
            run = _GONE_RUN.match(text, at)
            end = run.end() if run else at + 1
            if at > 0 and " " < text[at - 1] < "\x7f" and " " < text[end : end + 1] < "\x7f":
                start, end = text.rfind("\n", 0, at) + 1, text.find("\n", end)
                end = end if end >= 0 else len(text)
                yield start, end
            at = text.find(char, end)


def _merged(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in windows:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def _steps_taken(text: str, windows: list[tuple[int, int]]) -> View:
    view, parts, length = View(), [], 0
    for window_start, window_end in windows:
        at = window_start
        for step in _STEP.finditer(text, window_start, window_end):
            start, end = step.span()
            if start > at:
                _add(view, length, at, 0)
                parts.append(text[at:start])
                length += start - at
            if made := _made_of(step.lastgroup, step.group()):
                _add(view, length, start, end - start)
                parts.append(made)
                length += 1
            at = end
        _add(view, length, at, 0)
        parts.append(text[at:window_end] + _BETWEEN_WINDOWS)
        length += window_end - at + len(_BETWEEN_WINDOWS)
    view.text = "".join(parts)[: -len(_BETWEEN_WINDOWS)]
    return view


def _add(view: View, start: int, origin: int, width: int) -> None:
    view.starts.append(start)
    view.origins.append(origin)
    view.widths.append(width)


@lru_cache(maxsize=4096)
def _made_of(kind: str | None, seen: str) -> str:
    if kind == "gone":
        return ""
    if kind == "dash":
        return "-"
    if kind == "crlf":
        return "\n"
    if kind == "entity":
        return _ENTITIES[seen[1:-1]]
    return _percent(seen) if kind == "percent" else _escape(seen)


def _percent(seen: str) -> str:
    while "%25" in seen and len(seen) > 3:
        seen = seen.replace("%25", "%")
    char = bytes.fromhex(seen.replace("%", "")).decode("utf-8", "replace")[:1]
    return "" if _is_invisible(char) else "\n" if char == "\r" else char


def _escape(seen: str) -> str:
    rest = seen.lstrip("\\")
    if not rest:
        return "\\"
    if rest[0] == "u":
        units = [int(unit, 16) for unit in re.findall(r"u([0-9A-Fa-f]{4})", rest)]
        char = b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be", "replace")[:1]
        return "" if _is_invisible(char) else char
    if rest[0] in "nr\r\n":
        return "\n"
    return "\t" if rest[0] == "t" else rest[0]


def _is_invisible(char: str) -> bool:
    return char not in "\n\r\t" and re.match(f"[{_INVISIBLE}]", char) is not None


_ANY_BREAK = re.compile(r"\n[ \t]{0,8}+")


def _without_breaks(view: View, closes: Callable[[str, int], bool]) -> View:
    """The view without the line breaks that `closes` accepts; it is given the view's text and the break's position."""
    gaps = [found.span() for found in _ANY_BREAK.finditer(view.text) if closes(view.text, found.start())]
    if not gaps:
        return view
    joined, parts, length, at, piece = View(), [], 0, 0, 0
    for gap_start, gap_end in [*gaps, (len(view.text), len(view.text))]:
        piece = _copy_pieces(view, joined, piece, at, gap_start, length)
        parts.append(view.text[at:gap_start])
        length += gap_start - at
        at = gap_end
    joined.text = "".join(parts)
    return joined


def _copy_pieces(view: View, into: View, piece: int, start: int, end: int, at: int) -> int:
    """Adds the pieces of view[start:end] so that they begin at `at`; returns the piece to go on from."""
    while start < end:
        while piece + 1 < len(view.starts) and view.starts[piece + 1] <= start:
            piece += 1
        stop = view.starts[piece + 1] if piece + 1 < len(view.starts) else len(view.text)
        width = view.widths[piece]
        _add(into, at, view.origins[piece] + (0 if width else start - view.starts[piece]), width)
        step = min(stop, end) - start
        start, at = start + step, at + step
    return piece


def _inside_token(text: str, at: int) -> bool:
    """Whether the break at `at` stands inside a token, so that what follows is its rest and not the next ordinary line."""
    if not _BREAK_CRLF.match(text, at):
        return False
    start, at = at + 1, at - (text[at - 1] == "\r")
    while text[start] in " \t":
        start += 1
    before, rest = text[max(0, at - 80) : at], _RUN.match(text, start).group()  # type: ignore[union-attr]  # it matches nothing too
    ahead = before[len(before.rstrip(_RUN_CHARS)) :]
    known = _KNOWN_LENGTH.search(ahead + rest)
    if known and known.start() < len(ahead):
        return True
    if _OPENING.match(rest):
        return False  # another token
    if ragged(rest) and ragged(ahead):
        return True
    opening = _OPENING.search(ahead[-32:] + rest[:16]) if ragged(rest) else None
    return opening is not None and opening.start() < len(ahead[-32:])


def ragged(run: str) -> bool:
    """Whether a run of token characters is not made of words, numbers and identifiers, as a random one is not."""
    return len(run) >= 4 and _ORDINARY.fullmatch(run) is None
