"""One searched-for term: how the index finds it, and where exactly it stands in a text.

A term is a word, a phrase, or a word with punctuation, folded as texts are. It is a row of units (words, dense characters, emoji),
and what was typed between two of them says what must stand there in a text:

    nothing        two dense characters: nothing; else: anything but another unit
    signs          exactly these signs
    signs, space   something that begins with these signs, then anything but another unit
    space          anything but another unit; between two dense characters at least something

Signs before a term mean nothing; signs at its end must begin what follows its last unit. Spaces are in phrases only.

Invariant: `Term.spans` is exact. `Term.match` finds the same texts, or where `checked` says so also others, and never misses one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from shared.analysis import Analysed, dense_tokens
from shared.folding import fold
from shared.scripts import BETWEEN, BREAK, DENSE, FLAG_END, PICTURE, SPACE, UNIT, WORD, graphemes

_UNIT = re.compile(rf"({DENSE.one})|{WORD.run}|[\U0001f1e6-\U0001f1ff]{{2}}{FLAG_END}|{PICTURE.one}")
_GAP = re.compile(f"(?:{BETWEEN.run})?+")
_REST_OF_WORD = re.compile(f"(?:{WORD.run})?+")
_BEFORE_SPACE = re.compile(f"[^{SPACE}]*+")
_NOWHERE = BREAK + BREAK  # no text has this token

# What a sentence, a closing quote or a closing bracket leaves at the end of a word.
_SENTENCE_END = ".,;:!?\"')]}>`”»›。、」』）】》〉〕،؛؟।॥·"


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens in a row in one column: `needle` joins them by single spaces; with `open_end` the last one may go on."""

    column: Literal["text", "parts"]
    needle: str
    open_end: bool = False

    @property
    def match(self) -> str:
        """The piece as an FTS5 expression."""
        quoted = self.needle.replace('"', '""')
        return f'{self.column} : "{quoted}"' + (" *" if self.open_end else "")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit of a term; `signs` directly after it, then a space or not."""

    text: str
    dense: bool
    signs: str
    spaced: bool

    @property
    def joined(self) -> bool:
        return bool(self.signs) and not self.spaced


@dataclass(frozen=True, slots=True)
class _Step:
    """Characters that stand directly together; `apart` if something must lie between the step before and this one."""

    literal: str
    apart: bool


@dataclass(frozen=True)
class Term:
    """What one typed word or phrase asks for.

    sought: folded, from its first unit on; open_end: the last word may go on (word*); nowhere: a masked secret, which stands in no text.
    """

    typed: str
    quoted: bool
    nowhere: bool
    sought: str
    open_end: bool = False

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """What must be found in the columns, all of it."""
        if self.nowhere:
            return (Piece("text", _NOWHERE),)
        joints = self._joint_pieces()
        if joints and all(unit.joined for unit in self._units[:-1]):
            return joints  # every unit is in a joint, each with the next
        return (self._words_piece(), *joints)

    @property
    def match(self) -> str:
        """The FTS5 expression of this term alone."""
        found = " AND ".join(piece.match for piece in self.pieces)
        return f"({found})" if len(self.pieces) > 1 else found

    @property
    def checked(self) -> bool:
        """Whether `match` may find texts that hold the pieces in different places; `spans` tells."""
        return len(self.pieces) > 1

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for terms that ask for the same."""
        return self.quoted, self.nowhere, self.open_end, self.sought if self.nowhere else self._steps

    def spans(self, analysed: Analysed) -> list[tuple[int, int]]:
        """Where the term stands in the text: half-open offsets, ascending by start; they overlap where the text repeats itself."""
        return list(self.places(analysed))

    def places(self, analysed: Analysed) -> Iterator[tuple[int, int]]:
        """The spans, found one by one."""
        return (analysed.span(*place) for place in self._places(analysed.folded, 0, len(analysed.folded)))

    def places_near(self, analysed: Analysed, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The spans that begin in [start, end) of the text, and perhaps some that begin shortly before or after."""
        return (analysed.span(*place) for place in self._places(analysed.folded, *analysed.folded_range(start, end)))

    def stands_in(self, analysed: Analysed) -> bool:
        return next(self.places(analysed), None) is not None

    def loose(self) -> "Term":
        """The term without the punctuation that a sentence puts after a word; phrases, prefixes and secrets as they are."""
        signs = self._units[-1].signs
        excess = len(signs) - len(signs.rstrip(_SENTENCE_END))
        if self.quoted or self.nowhere or self.open_end or not excess:
            return self
        return replace(self, sought=self.sought[:-excess])

    @cached_property
    def _units(self) -> list[_Unit]:
        found = list(_UNIT.finditer(self.sought))
        ends = [*(unit.start() for unit in found[1:]), len(self.sought)]
        units = []
        for unit, end in zip(found, ends, strict=True):
            between = self.sought[unit.end() : end]
            signs = _before_space(between)
            units.append(_Unit(unit[0], unit[1] is not None, signs, len(signs) < len(between)))
        return units

    def _in_pairs(self) -> Iterator[tuple[_Unit, _Unit | None]]:
        """Each unit with the one after it; the last with None."""
        return zip(self._units, (*self._units[1:], None), strict=True)

    @cached_property
    def _steps(self) -> tuple[_Step, ...]:
        steps = []
        literal, apart = "", False
        for unit, after in self._in_pairs():
            literal += unit.text + unit.signs
            if after and (unit.joined or _one_run(unit, after)):
                continue
            steps.append(_Step(literal, apart))
            literal, apart = "", bool(after and unit.dense and after.dense and not unit.signs)
        return tuple(steps)

    def _words_piece(self) -> Piece:
        """The term as a phrase of words: exact but for its signs."""
        if len(self._units) == 1 and self._units[0].dense:
            return Piece("parts", self._units[0].text)
        tokens = []
        run = ""
        for unit, after in self._in_pairs():
            run += unit.text
            if not (after and _one_run(unit, after)):
                tokens.append(dense_tokens(run) if unit.dense else run)
                run = ""
        last = self._units[-1]
        goes_on = last.dense and not last.signs  # the run may go on in a text, so that its last character is no token there
        if goes_on and " " in tokens[-1]:
            return Piece("text", " ".join(tokens)[:-2])
        return Piece("text", " ".join(tokens), goes_on or self.open_end)

    def _joint_pieces(self) -> tuple[Piece, ...]:
        """The term's joints; those that share a word make one piece, as they stand in a row in a text."""
        pieces = []
        row: list[str] = []
        for unit, after in self._in_pairs():
            if unit.signs:
                row.append(unit.text + unit.signs + (after.text if after and unit.joined else ""))
            if row and not (after and unit.joined):
                open_end = unit.signs != "" or (self.open_end and after is None)
                pieces.append(Piece("parts", " ".join(row), open_end))
                row = []
        return tuple(pieces)

    def _places(self, folded: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
        """Start and end in the folded text of each place that starts in [begin, stop), found one by one."""
        if self.nowhere:
            return
        first, *others = self._steps
        last = stop + len(first.literal) - 1
        start = folded.find(first.literal, begin, last)
        while start >= 0:
            if not (start and _one_word(folded[start - 1], folded[start])):
                end = self._end(folded, start + len(first.literal), others)
                if end is not None:
                    yield start, end
            start = folded.find(first.literal, start + 1, last)

    def _end(self, folded: str, at: int, others: list[_Step]) -> int | None:
        """Where the term ends whose first step ended at `at`, or None when the other steps do not follow."""
        for step in others:
            if _goes_on(folded, at):
                return None
            begin = _end_of(_GAP, folded, at)
            if (step.apart and begin == at) or not folded.startswith(step.literal, begin):
                return None
            at = begin + len(step.literal)
        if self.open_end:
            return _end_of(_REST_OF_WORD, folded, at)
        return None if _goes_on(folded, at) else at


def term(typed: str, *, quoted: bool = False, nowhere: bool = False) -> Term | None:
    """The term that was typed, or None when it holds no letter, digit or emoji.

    typed: without spaces, or if quoted what stood between the quotes.
    """
    folded = fold(typed)
    first = _UNIT.search(folded)
    if first is None:
        return None
    sought = folded[first.start() :]
    if not quoted and _is_prefix(typed, sought):
        sought = sought[:-1]
        return Term(typed, quoted, nowhere, sought, open_end=WORD.holds(sought[-1]))
    return Term(typed, quoted, nowhere, sought)


def has_unit(text: str) -> bool:
    """Whether the text holds a letter, digit or emoji."""
    return _UNIT.search(fold(text)) is not None


def _is_prefix(typed: str, sought: str) -> bool:
    """Whether a star ends a word of two characters or more, signs before it not counted."""
    if not sought.endswith("*") or not UNIT.holds(sought[-2]):
        return False
    seen = [folded for grapheme in graphemes(typed) if (folded := fold(grapheme))]
    first = next((at for at, folded in enumerate(seen) if _UNIT.search(folded)), 0)
    return len(seen) - first > 2


def _one_run(unit: _Unit, after: _Unit) -> bool:
    return unit.dense and after.dense and not unit.signs and not unit.spaced


def _goes_on(folded: str, at: int) -> bool:
    """Whether the unit that the character before `at` belongs to goes on there."""
    if at >= len(folded):
        return False
    if "\U0001f1e6" <= folded[at - 1] <= "\U0001f1ff":  # half of a flag, if one ends here or after the next
        return FLAG_END in folded[at : at + 2]
    return _one_word(folded[at - 1], folded[at])


def _one_word(left: str, right: str) -> bool:
    if left.isascii() and right.isascii():
        return left.isalnum() and right.isalnum()
    return WORD.holds(left) and WORD.holds(right)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern that also matches nothing ends."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _before_space(text: str) -> str:
    return text[: _end_of(_BEFORE_SPACE, text, 0)]
