"""A piece of a text, cut around what matched it best.

A cut is made between graphemes, outside masks and matches, and at a space where one is near. "…" stands for what is left out.
All offsets are in code points.

Invariant: the excerpt shows the text's own characters in order, whole mask labels only, and its highlights are the matches it shows.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from shared.analysis import analyse
from shared.scripts import grapheme_at
from shared.terms import Term

_BEFORE, _BETWEEN, _AFTER = "… ", " … ", " …"
_LOOKED_AT = 1000  # so many places of a term are compared; in a longer text the best of the first ones is good enough
_NEAR = 20  # so far an edge moves to stand at a space

Span = tuple[int, int]


@dataclass(frozen=True)
class Excerpt:
    """highlights: half-open [start, end] in `text`, ascending, not overlapping; masks: how many labels `text` shows."""

    text: str
    highlights: list[list[int]]
    masks: int


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    term: int


def cut(text: str, terms: Sequence[Term], masks: Sequence[Span] = (), limit: int = 300) -> Excerpt:
    """At most `limit` characters of the text with the most different terms, then the most matches; of equals the earliest.

    text: as shown, already masked; masks: half-open spans of its labels. Two pieces are shown when one cannot hold as many terms.
    """
    if len(text) <= limit:
        return _joined(text, [(0, len(text))], places(text, terms, masks), masks)
    analysed = analyse(text, masks)
    matches = sorted(
        (_Match(*span, number) for number, term in enumerate(terms) for span in islice(term.places(analysed), _LOOKED_AT)), key=_in_order
    )
    cores = _cores(matches, limit) if matches else [((0, 0), limit - len(_AFTER))]
    marked = _merged(span for (start, end), _ in cores for term in terms for span in term.places_near(analysed, start - limit, end + limit))
    edges = _Edges(text, masks, marked)
    return _joined(text, [edges.around(*core, room) for core, room in cores], marked, masks)


def places(text: str, terms: Sequence[Term], masks: Sequence[Span] = ()) -> list[Span]:
    """Where the terms stand in a text, outside masks: ascending half-open spans that do not overlap."""
    analysed = analyse(text, masks)
    return _merged(span for term in terms for span in term.places(analysed))


def _in_order(match: _Match) -> tuple[int, int, int]:
    return match.start, match.end, match.term


def _cores(matches: list[_Match], limit: int) -> list[tuple[Span, int]]:
    """What must be seen, and in how much room: one span of matches, or two that are too far apart to be one and hold more terms."""
    one_room = limit - len(_BEFORE + _AFTER)
    two_room = (limit - len(_BEFORE + _BETWEEN + _AFTER)) // 2
    one = _best(matches, one_room)
    missing = {match.term for match in matches} - _terms(one)
    if missing:
        first = _best(matches, two_room)
        others = [match for match in matches if match.term not in _terms(first)]
        second = _best(others, two_room) if others else []
        if len(_terms(first) | _terms(second)) > len(_terms(one)):
            return sorted((_extent(window, two_room), two_room) for window in (first, second))
    return [(_extent(one, one_room), one_room)]


def _best(matches: list[_Match], room: int) -> list[_Match]:
    """The matches of the best window of that many characters; one that is longer is a window by itself."""
    best, best_score = (0, 1), (0, 0)
    seen: Counter[int] = Counter()
    after = 0
    for first, match in enumerate(matches):
        while after < len(matches) and (after == first or matches[after].end <= match.start + room):
            seen[matches[after].term] += 1
            after += 1
        score = len(seen), after - first
        if score > best_score:
            best, best_score = (first, after), score
        seen[match.term] -= 1
        if not seen[match.term]:
            del seen[match.term]
    return matches[slice(*best)]


def _terms(matches: Iterable[_Match]) -> set[int]:
    return {match.term for match in matches}


def _extent(matches: list[_Match], room: int) -> Span:
    start = matches[0].start
    return start, min(max(match.end for match in matches), start + room)


class _Edges:
    """Where a text may be cut: between graphemes, outside masks, and outside matches where that shows all that must be seen."""

    def __init__(self, text: str, masks: Sequence[Span], marked: Sequence[Span]) -> None:
        self._text = text
        self._whole = (masks, marked)

    def around(self, start: int, end: int, room: int) -> Span:
        """At most `room` characters that hold [start, end) near their middle; less of it where it is longer than that."""
        start, end = grapheme_at(self._text, start)[0], grapheme_at(self._text, end)[1]
        if end - start > room:
            end = max(start, self._settled(start + room, start, forward=False))
        left = max(0, start - (room - (end - start)) // 2)
        right = min(len(self._text), left + room)
        left = max(0, right - room)
        return self._left(left, start), self._right(right, end)

    def _left(self, at: int, stop: int) -> int:
        at = self._settled(at, stop, forward=True)
        if at in (0, stop) or self._text[at - 1].isspace():
            return at
        spaces = (place + 1 for place in range(at, min(at + _NEAR, stop)) if self._text[place].isspace())
        return next((place for place in spaces if self._settled(place, stop, forward=True) == place), at)

    def _right(self, at: int, stop: int) -> int:
        at = self._settled(at, stop, forward=False)
        if at in (stop, len(self._text)) or self._text[at].isspace():
            return at
        spaces = (place for place in range(at - 1, max(at - _NEAR, stop) - 1, -1) if self._text[place].isspace())
        return next((place for place in spaces if self._settled(place, stop, forward=False) == place), at)

    def _settled(self, at: int, stop: int, *, forward: bool) -> int:
        """The nearest allowed place from `at` towards `stop`, which is the last resort."""
        while (at < stop) if forward else (at > stop):
            inside = [grapheme_at(self._text, at), *(_around(spans, at) for spans in self._whole)]
            moved = max(end for _, end in inside) if forward else min(start for start, _ in inside)
            if moved == at:
                return at
            at = moved
        return stop


def _around(spans: Sequence[Span], at: int) -> Span:
    """The one of the ascending spans that `at` is inside of, or (at, at)."""
    number = bisect_left(spans, (at,)) - 1
    return spans[number] if number >= 0 and spans[number][1] > at else (at, at)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in ascending order, those that overlap made one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _joined(text: str, fragments: Sequence[Span], marked: Sequence[Span], masks: Sequence[Span]) -> Excerpt:
    shown = _BEFORE if fragments[0][0] > 0 else ""
    highlights = []
    labels = 0
    for number, (start, end) in enumerate(fragments):
        shown += _BETWEEN if number else ""
        offset = len(shown) - start
        shown += text[start:end]
        highlights += [[max(first, start) + offset, min(last, end) + offset] for first, last in _overlapping(marked, start, end)]
        labels += sum(start <= first and last <= end for first, last in _overlapping(masks, start, end))
    return Excerpt(shown + (_AFTER if fragments[-1][1] < len(text) else ""), highlights, labels)


def _overlapping(spans: Sequence[Span], start: int, end: int) -> Sequence[Span]:
    """Those of the ascending, separate spans that share a character with [start, end)."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    return spans[first : bisect_left(spans, end, lo=first, key=lambda span: span[0])]
