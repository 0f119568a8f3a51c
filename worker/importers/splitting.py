"""A JSON array of objects cut into its elements while its bytes come in: memory holds one element, however long the array is.

The cutter knows strings and brackets and nothing else; what an element holds is decoded, and judged, on its own. So a damaged one is
passed over, and the next comma outside every bracket begins a new one. A bracket that closes nothing of its kind is no bracket, and a
brace closes what was left open inside it: one sign too many or too few costs its element and not those that follow.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shared import jsontext
from shared.errors import UnknownFormat, UnreadableSource
from worker.importers.base import Problems

MAX_ELEMENT_BYTES = 32 << 20  # a longer conversation is passed over; the longest of real exports are some MiB
_ABSURD_LEVELS = 250_000  # brackets and nothing else: no export, and slow to follow
_BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)  # to the closing quote, the end, or a lone backslash before the end
_PLAIN = re.compile(rb'[^"\[\]{},]*+')


@dataclass(frozen=True)
class Element:
    """One element as bytes; data is None where it was too long or too deep, and complete False where the text ends inside it.

    behind: it is no element, but whatever follows the end of the array, unread.
    """

    number: int
    data: bytes | None
    complete: bool = True
    behind: bool = False


def objects(pieces: Iterable[bytes], problems: Problems, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON array, or the one object that the text is; anything else is reported and passed over.

    raises: UnknownFormat when the text is neither, before anything is given; UnreadableSource for brackets without end.
    """
    for element in elements(pieces, name):
        value, reason = _decoded(element)
        if isinstance(value, dict):
            yield element.number, value
        else:
            problems.skip(0, f"number {element.number} of {name} {reason}")


def _decoded(element: Element) -> tuple[object, str]:
    if element.data is None:
        return None, f"is longer than {MAX_ELEMENT_BYTES >> 20} MiB, or nested deeper than {jsontext.MAX_LEVELS} levels"
    if element.behind:
        return None, "stands behind the end of the array, and so does whatever follows it"
    if not element.complete:
        return None, "is cut off"
    try:
        return jsontext.loads(element.data), "is not a JSON object"
    except jsontext.BadJson as e:
        return None, f"is not valid JSON ({e})"


def elements(pieces: Iterable[bytes], name: str, max_bytes: int = MAX_ELEMENT_BYTES) -> Iterator[Element]:
    """The elements of a JSON array as bytes, or the one object that the text is."""
    stream = iter(pieces)
    start = _first(stream)
    if start[:1] not in (b"[", b"{"):
        raise UnknownFormat(f"not an export: {name} is not a JSON array")
    cutter = _Cutter(max_bytes, outside=1 if start[:1] == b"[" else 0)
    yield from cutter.feed(start)
    for piece in stream:  # to its end, also behind the array's: an archive is checked with its last byte
        yield from cutter.feed(piece)
    yield from cutter.rest()


def _first(stream: Iterator[bytes]) -> bytes:
    """The text from its first sign that is not blank."""
    start = b""
    for piece in stream:
        start = (start + piece).removeprefix(_BOM).lstrip(b" \t\r\n")
        if len(start) > len(_BOM):
            break
    return start


class _Cutter:
    """Where the text stands: in which brackets, and whether in a string; and the bytes of the element it stands in."""

    def __init__(self, max_bytes: int, outside: int) -> None:
        self._max, self._outside = max_bytes, outside  # outside: the depth at which an element has ended
        self._open, self._deeper = bytearray(), 0  # brackets that are open, and how many more beyond those that matter
        self._in_string, self._escaped, self._behind = False, b"", False
        self._kept: list[bytes] = []
        self._size = self._number = 0
        self._dropped = False
        self.ended = False

    def feed(self, piece: bytes) -> Iterator[Element]:
        """The elements that end in this piece."""
        piece, self._escaped = self._escaped + piece, b""
        place = begun = 0
        while place < len(piece) and not self.ended and not self._escaped:
            if self._in_string:
                place = self._through_string(piece, place)
                continue
            place = self._next_mark(piece, place)
            if place == len(piece):
                break
            mark = piece[place : place + 1]
            place += 1
            if self._mark(mark):
                self._keep(piece[begun : place if mark == b"}" and not self._outside else place - 1])
                begun = place
                yield from self._finish()
        if self.ended:
            self._behind = self._behind or bool(piece[place:].strip(b" \t\r\n"))
        else:
            self._keep(piece[begun:place])

    def _next_mark(self, piece: bytes, place: int) -> int:
        found = _PLAIN.match(piece, place)
        return found.end() if found else place

    def _through_string(self, piece: bytes, place: int) -> int:
        found = _STRING.match(piece, place)
        end = found.end() if found else place
        if end < len(piece) and piece[end : end + 1] == b'"':
            self._in_string = False
            return end + 1
        self._escaped = piece[end:]  # a backslash whose sign comes with the next piece, or nothing
        return end

    def _mark(self, mark: bytes) -> bool:
        """Whether an element, or the array, has ended with this sign."""
        if mark == b'"':
            self._in_string = True
        elif mark in (b"[", b"{"):
            return self._opens(mark)
        elif mark in (b"]", b"}"):
            return self._closes(mark)
        return mark == b"," and len(self._open) == self._outside

    def _opens(self, mark: bytes) -> bool:
        if len(self._open) > jsontext.MAX_LEVELS:
            self._dropped = True
            self._deeper += 1
            if self._deeper > _ABSURD_LEVELS:
                raise UnreadableSource(f"it is nested deeper than {_ABSURD_LEVELS} levels")
            return False
        self._open += mark
        return len(self._open) == self._outside  # what stands before the array's bracket is nothing

    def _closes(self, mark: bytes) -> bool:
        if self._deeper:
            self._deeper -= 1
            return False
        opening = self._open.rfind(b"[" if mark == b"]" else b"{")
        if opening < 0 or (mark == b"]" and opening < len(self._open) - 1):
            return False  # it stays in its element, where it is found to be no JSON
        del self._open[opening:]
        self.ended = not self._open
        return self.ended

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._max or self._dropped:
            self._dropped = True
            self._kept.clear()
        else:
            self._kept.append(data)

    def _finish(self, complete: bool = True) -> Iterator[Element]:
        data, dropped = b"".join(self._kept), self._dropped
        self._kept.clear()
        self._size, self._dropped = 0, False
        if dropped or data.strip(b" \t\r\n"):
            self._number += 1
            yield Element(self._number, None if dropped else data, complete)

    def rest(self) -> Iterator[Element]:
        """The element in which the text ended."""
        self._keep(self._escaped)
        if not self.ended:
            yield from self._finish(complete=False)
        elif self._behind:
            yield Element(self._number + 1, b"", behind=True)
