"""Text to tokens, one way for index, query and excerpt.

Two columns of tokens, each a string joined by single spaces; SQLite's tokenizer has nothing left to decide (tokenizer.py).
`text` holds words, emoji, and for scripts written without spaces the overlapping pairs of each run and its last character: the run
ABC is "AB BC C", so that any part of it is a phrase. `parts` holds the joints, then every dense character of the text once.
A joint is a word, the signs that follow it directly, and the word that follows those directly, if one does: "foo.bar.baz, C++ 17" has
"foo.bar", "bar.baz", "baz,", "C++". Two joints in a row share the word between them, or a BREAK stands there if they only seem to.
Words are as folded (`folding.py`); of a dense run, the word next to a sign is its nearest character.

Invariant: everything derives from the folded text alone, and `document` and `analyse` fold alike.
"""

import re
import string
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add

from shared.folding import blocks, fold, origins
from shared.scripts import BREAK, DENSE, FLAG_END, PICTURE, SIGN, SPACE, WORD
from shared.tokenizer import SIGN_CHARS

_WORDS_ONLY = bytes(code if chr(code) in string.ascii_lowercase + string.digits else 32 for code in range(256))
_NO_CONTROLS = bytes(code if 32 < code < 127 else 32 for code in range(256))
_CODES = f"utf-32-{sys.byteorder[0]}e"
_SPACE_CODE = array("I", [32])
_LONG_RUN = 16  # from here on weaving code points is faster than adding strings, five times at 100
# A word, the signs after it, the word after those, and whether signs follow that one too.
_ASCII_JOINT = re.compile(rf"(?<![a-z0-9])([a-z0-9]++)([{re.escape(SIGN_CHARS)}]++)(?=([a-z0-9]*+)([{re.escape(SIGN_CHARS)}]?))")

# One word or emoji, or one dense run; the signs directly after it; a space after those. Plain English inside other text goes first.
_ELEMENT = re.compile(
    r"[\x00-/:-`{-\x7f]*+"
    rf"(?:([a-z0-9]++(?![^\x00-\x7f])|{WORD.run}|[\U0001f1e6-\U0001f1ff]{{2}}{FLAG_END}|{PICTURE.one}|{BREAK})|({DENSE.run}))"
    rf"({SIGN.run})?([{SPACE}])?"
)


@dataclass(frozen=True, slots=True)
class Document:
    """The two columns of one text: tokens joined by single spaces."""

    text: str
    parts: str


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of a text, where it begins there and where its folded form begins; plain if character stands on character."""

    text: str
    at: int
    folded_at: int
    plain: bool


class Analysed:
    """A folded text that knows where in the original each of its characters came from.

    folded: what stands inside a mask is one BREAK.
    """

    def __init__(self, folded: str, blocks: list[_Block]) -> None:
        self.folded = folded
        self._blocks = blocks
        self._starts = [block.folded_at for block in blocks]
        self._origins: dict[int, list[tuple[int, int]]] = {}
        self._begins = [block.at for block in blocks]
        self._plain = len(blocks) == 1 and blocks[0].plain

    @cached_property
    def document(self) -> Document:
        return _document(self.folded)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Half-open offsets into the original of a non-empty piece of the folded text."""
        return (start, end) if self._plain else (self._origin(start)[0], self._origin(end - 1)[1])

    def folded_range(self, start: int, end: int) -> tuple[int, int]:
        """A range of the folded text that holds the fold of [start, end) of the original, and some hundred characters more at most."""
        if self._plain:
            return max(0, start), end
        first = max(0, bisect_right(self._begins, start) - 1)
        after = bisect_left(self._begins, end)
        return self._starts[first], self._starts[after] if after < len(self._starts) else len(self.folded)

    def _origin(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._starts, at) - 1
        block = self._blocks[number]
        within = at - block.folded_at
        if block.plain:
            return block.at + within, block.at + within + 1
        if number not in self._origins:
            self._origins[number] = origins(block.text)
        start, end = self._origins[number][within]
        return block.at + start, block.at + end


def document(text: str, masks: Sequence[tuple[int, int]] = ()) -> Document:
    """The text's two columns; nothing inside a mask is a token and no phrase reaches across one.

    masks: half-open spans of `text`, ascending, not overlapping.
    """
    if masks:
        return _document(BREAK.join(fold(text[start:end]) for start, end in _between(len(text), masks)))
    return _document(fold(text))


def analyse(text: str, masks: Sequence[tuple[int, int]] = ()) -> Analysed:
    """The same text folded the same way, with the way back to it; masks as for `document`."""
    found: list[_Block] = []
    folded: list[str] = []
    at = 0
    for number, (start, end) in enumerate(_between(len(text), masks)):
        if number:
            found.append(_Block(BREAK, start, at, True))
            folded.append(BREAK)
            at += 1
        place = start
        for part in _parts(text[start:end]):
            folded.append(fold(part))
            found.append(_Block(part, place, at, part.isascii()))
            place += len(part)
            at += len(folded[-1])
    return Analysed("".join(folded), found)


def dense_tokens(run: str) -> str:
    """The overlapping pairs of a dense run, then its last character, joined by spaces: "AB BC C" for ABC."""
    if len(run) < _LONG_RUN:
        return " ".join((*map(add, run, run[1:]), run[-1]))
    codes = array("I", run.encode(_CODES))
    woven = _SPACE_CODE * (3 * len(codes) - 2)
    woven[0::3] = codes
    woven[1::3] = codes[1:]
    return woven.tobytes().decode(_CODES)


def _between(length: int, masks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans outside the masks, one more than there are masks; some may be empty."""
    edges = [0, *(edge for mask in masks for edge in mask), length]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _parts(text: str) -> list[str]:
    return [text] if text.isascii() else blocks(text)


def _document(folded: str) -> Document:
    return _plain_document(folded) if folded.isascii() else _any_document(folded)


def _plain_document(folded: str) -> Document:
    """The columns of an ASCII text, faster than `_any_document` makes the same ones."""
    raw = folded.encode()
    words = raw.translate(_WORDS_ONLY).decode().split()
    with_signs = " ".join([chunk for chunk in raw.translate(_NO_CONTROLS).decode().split() if not chunk.isalnum()])
    joints: list[str] = []
    last = ""  # the word that the joint before ended with, if this one does not begin with that very word
    for word, signs, after, goes_on in _ASCII_JOINT.findall(with_signs):
        if last == word:
            joints.append(BREAK)
        joints.append(word + signs + after)
        last = "" if goes_on else after
    return Document(" ".join(words), " ".join(joints))


def _any_document(folded: str) -> Document:
    words: list[str] = []
    joints: list[str] = []
    runs: list[str] = []
    unfinished = last = ""  # a joint that still waits for the word after its signs; the word that the joint before ended with
    glued = False  # whether that word follows directly
    for word, run, signs, space in _ELEMENT.findall(folded):
        if run:
            words.append(dense_tokens(run))
            runs.append(run)
        else:
            words.append(word)
        shared = False
        if unfinished:
            last = (run[:1] or word) if glued and word != BREAK else ""
            joints.append(unfinished + last)
            unfinished = ""
            shared = last != "" and len(run) < 2
        if word == BREAK:
            joints.append(BREAK)
            last = ""
        elif signs:
            before = run[-1:] or word
            if last == before and not shared:
                joints.append(BREAK)
            unfinished = before + signs
            glued = not space
    if unfinished:
        joints.append(unfinished)
    return Document(" ".join(words), " ".join((*joints, *dict.fromkeys("".join(runs)))))
