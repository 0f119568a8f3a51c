"""How well a message answers a query: from the two of them and from visible candidates alone, never from the index's own counts. Pure.

The score is a sum over the terms that stand in the message: rarity among visible messages, times frequency against length (Robertson
and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with a fixed typical length in place of the collection's
average), plus how close the terms stand together, less a little for age.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.query import Piece, Term

SATURATION = 1.2  # BM25's k1
LENGTH_WEIGHT = 0.5  # BM25's b: long messages in a transcript are often the ones that say it
TYPICAL_TOKENS = 60.0
CLOSENESS = 0.6  # at most this much more, in units of the mean rarity of the terms
ADJACENT = 0.4
AGE_PER_DOUBLING = 0.01  # less for every doubling of the age in days: decides among nearly equal messages only
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


def score(weights: Weights, columns: Mapping[str, str], time_ms: int) -> float:
    """The score of one message. columns: its token streams, `text` and `parts`; higher is better."""
    padded = {name: f" {stream} " for name, stream in columns.items()}
    length = padded["text"].count(" ") - 1
    norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / TYPICAL_TOKENS)
    total, found, places = 0.0, 0, []
    for term, telling in zip(weights.terms, weights.rarity, strict=True):
        count, place = _occurrences(term, padded)
        if count:
            found += 1
            total += telling * count * (SATURATION + 1) / (count + norm)
            if place >= 0:
                places.append(place)
    total += _together(weights, padded["text"], places)
    age_days = max(0, weights.newest_ms - time_ms) / _DAY_MS
    return round(total - AGE_PER_DOUBLING * math.log2(1 + age_days), 6)


def _occurrences(term: Term, padded: Mapping[str, str]) -> tuple[int, int]:
    """How often a term stands there, and where in the text it stands first (-1: not told)."""
    counts, place = [], -1
    for piece in term.pieces:
        needle = _needle(piece)
        stream = padded[piece.column]
        counts.append(stream.count(needle))
        if piece.column == "text" and place < 0:
            place = stream.find(needle)
    return min(counts, default=0), place


def _needle(piece: Piece) -> str:
    return f" {piece.needle}" if piece.open_end else f" {piece.needle} "


def _together(weights: Weights, text: str, places: list[int]) -> float:
    """What is added for terms that stand close together or next to each other in the order they were typed."""
    if len(places) < 2:
        return 0.0
    mean = sum(weights.rarity) / len(weights.rarity)
    span = (max(places) - min(places)) / 200  # characters of the token stream
    bonus = CLOSENESS * mean * (len(places) - 1) / len(weights.terms) / (1 + span)
    pairs = zip(weights.terms, weights.terms[1:], strict=False)
    adjacent = sum(1 for a, b in pairs if _plain(a) and _plain(b) and f" {a.pieces[0].needle} {b.pieces[0].needle} " in text)
    return bonus + ADJACENT * mean * adjacent / len(weights.terms)


def _plain(term: Term) -> bool:
    return len(term.pieces) == 1 and term.pieces[0].column == "text" and not term.pieces[0].open_end
