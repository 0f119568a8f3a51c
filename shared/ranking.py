"""How well a message answers a query: from the two of them and from visible candidates alone, never from the index's own counts. Pure.

The score is a sum over the terms that stand in the message: rarity among visible messages, times frequency against length (Robertson
and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with a fixed typical length in place of the collection's
average), plus how close the terms stand together, less a little for age.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.query import Piece, Term

SATURATION = 1.2  # BM25's k1
LENGTH_WEIGHT = 0.5  # BM25's b: long messages in a transcript are often the ones that say it
TYPICAL_TOKENS = 60.0
CLOSENESS = 0.6  # at most this much more for terms that stand together, in units of their mean rarity
ADJACENT = 0.4  # the same for pairs next to each other in the order they were typed
AGE_PER_DOUBLING = 0.01  # less for every doubling of the age in days: decides among nearly equal messages only
SPAN = 200  # characters of the token stream: terms so far apart get half of what is added for closeness
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Weights:
    """The terms of a query and how telling each is; fixed on the first page, so that later pages are in the same order."""

    terms: Sequence[Term]
    rarity: Sequence[float]
    newest_ms: int


def rarity(matching: int, bound: int) -> float:
    """How telling a term is that stands in this many visible messages, counted up to the bound."""
    return math.log(1 + (bound + 1) / (min(matching, bound) + 0.5))


def scorer(weights: Weights) -> Callable[[str, str, int], float]:
    """A function from a message's token streams (`text`, `parts`) and time to its score; higher is better.

    What does not depend on the message is worked out once: a request scores some thousands of messages.
    """
    terms = [([(p.column == "text", _needle(p)) for p in term.pieces], w) for term, w in zip(weights.terms, weights.rarity, strict=True)]
    pairs = [
        f" {a.pieces[0].needle} {b.pieces[0].needle} "
        for a, b in zip(weights.terms, weights.terms[1:], strict=False)
        if _plain(a) and _plain(b)
    ]
    count = max(1, len(weights.terms))
    mean = sum(weights.rarity) / count
    newest_ms, flat, slope = weights.newest_ms, SATURATION * (1 - LENGTH_WEIGHT), SATURATION * LENGTH_WEIGHT / TYPICAL_TOKENS

    def score(text: str, parts: str, time_ms: int) -> float:
        text, parts = f" {text} ", f" {parts} "
        norm = flat + slope * (text.count(" ") - 1)
        total, first, last, found = 0.0, 1 << 60, -1, 0
        for pieces, telling in terms:
            often = 1 << 30
            for in_text, needle in pieces:
                often = min(often, text.count(needle) if in_text else parts.count(needle))
            if often and pieces:
                total += telling * often * (SATURATION + 1) / (often + norm)
                if count > 1 and pieces[0][0]:
                    place = text.find(pieces[0][1])
                    first, last, found = min(first, place), max(last, place), found + 1
        if found > 1:
            total += CLOSENESS * mean * (found - 1) / count / (1 + (last - first) / SPAN)
            total += ADJACENT * mean * sum(pair in text for pair in pairs) / count
        return round(total - AGE_PER_DOUBLING * math.log2(1 + max(0, newest_ms - time_ms) / _DAY_MS), 6)

    return score


def _needle(piece: Piece) -> str:
    return f" {piece.needle}" if piece.open_end else f" {piece.needle} "


def _plain(term: Term) -> bool:
    return len(term.pieces) == 1 and term.pieces[0].column == "text" and not term.pieces[0].open_end
