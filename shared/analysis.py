"""Text to tokens, one way for index, query and excerpt.

Two columns of tokens, each a string joined by single spaces; SQLite's tokenizer has nothing left to decide (TOKENIZE).
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
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shared.folding import blocks, fold, pieces
from shared.scripts import BREAK, DENSE, FLAG_END, PICTURE, SIGN, SPACE, WORD

ANALYSER_VERSION = 1  # a change of any token makes every indexed session pending

_SIGN_CHARS = string.punctuation
# The option of CREATE VIRTUAL TABLE ... USING fts5(text, parts, ...): spaces separate, nothing else does.
TOKENIZE = "tokenize = \"ascii tokenchars '" + _SIGN_CHARS.replace('"', '""').replace("'", "''") + "'\""

_WORDS_ONLY = bytes(code if chr(code) in string.ascii_lowercase + string.digits else 32 for code in range(256))
_NO_CONTROLS = bytes(code if 32 < code < 127 else 32 for code in range(256))
_CODES = f"utf-32-{sys.byteorder[0]}e"
_SPACE_CODE = array("I", [32])
_SIGNS = re.compile(f"([{re.escape(_SIGN_CHARS)}]+)")

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


@dataclass(frozen=True)
class Analysed:
    """A folded text that knows where in the original each of its characters came from.

    folded: what stands inside a mask is one BREAK.
    """

    original: str
    folded: str
    _blocks: tuple["_Block", ...]
    _traced: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)

    @cached_property
    def document(self) -> Document:
        return _document(self.folded)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Half-open offsets into the original of a non-empty piece of the folded text."""
        return self._trace(start)[0], self._trace(end - 1)[1]

    @cached_property
    def _starts(self) -> list[int]:
        return [block.folded_at for block in self._blocks]

    def _trace(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._starts, at) - 1
        block = self._blocks[number]
        within = at - block.folded_at
        if block.plain:
            return block.at + within, block.at + within + 1
        if number not in self._traced:
            self._traced[number] = block.trace()
        starts, ends = self._traced[number]
        return block.at + starts[within], block.at + ends[within]


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the original and where its folded form begins; plain if character stands on character."""

    text: str
    at: int
    folded_at: int
    plain: bool

    def trace(self) -> tuple[list[int], list[int]]:
        """Start and end in the block for each folded character."""
        found = [(start, end) for start, end, folded in pieces(self.text) for _ in folded]
        return [start for start, _ in found], [end for _, end in found]


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
    return Analysed(text, "".join(folded), tuple(found))


def dense_tokens(run: str) -> str:
    """The overlapping pairs of a dense run, then its last character, joined by spaces: "AB BC C" for ABC."""
    if len(run) == 1:
        return run
    codes = array("I", run.encode(_CODES))  # strides over code points: five times faster than pairing strings
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
    """The columns of an ASCII text, three times faster than `_any_document` makes the same ones."""
    raw = folded.encode()
    words = raw.translate(_WORDS_ONLY).decode().split()
    joints: list[str] = []
    last = ""  # the word that the joint before ended with
    for chunk in raw.translate(_NO_CONTROLS).decode().split():
        if chunk.isalnum():
            continue
        if chunk[:-1].isalnum():  # "noon,", nine of ten
            if last and last == chunk[:-1]:
                joints.append(BREAK)
            joints.append(chunk)
            last = ""
            continue
        cut = _SIGNS.split(chunk)
        first = 0 if cut[0] else 2
        if first + 2 < len(cut):
            if last and last == cut[first]:
                joints.append(BREAK)
            joints += [cut[at] + cut[at + 1] + cut[at + 2] for at in range(first, len(cut) - 2, 2)]
            last = cut[-1]
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
