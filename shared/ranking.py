"""How well a message answers a query: from the two of them and from visible candidates alone, never from the index's own counts. Pure.

The score is a sum over the terms that stand in the message: rarity among visible messages, times frequency against length (Robertson
and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with a fixed typical length in place of the collection's
average), plus how close the terms stand together, less a little for age.

Where any word may match, three more things count, for such queries are mostly questions in whole sentences: other forms of a word
are as good as the word, a message is worth the share of the question that it covers, and words that it lacks count in part where they
stand shortly before it in its conversation, for an answer does not repeat the words of the question. Only messages before it lend it
something: they are on the branch as long as it is, so that a rewind between two pages changes no score.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.query import Term
from shared.wordforms import FUNCTION_WORDS, beginning

SATURATION = 1.2  # BM25's k1
LENGTH_WEIGHT = 0.3  # BM25's b: long messages in a transcript are often the ones that say it
TYPICAL_TOKENS = 60.0
CLOSENESS = 0.6  # at most this much more for terms that stand together, in units of their mean rarity
ADJACENT = 0.4  # the same for pairs next to each other in the order they were typed
AGE_PER_DOUBLING = 0.01  # less for every doubling of the age in days: decides among nearly equal messages only
SPAN = 200  # characters of the token stream: terms so far apart get half of what is added for closeness
FUNCTION_WORD = 0.1  # what is left of the rarity of a word that says little
LEAST_RARITY = 0.3  # of a word that stands everywhere
LENT = {1: 0.4, 2: 0.2, 3: 0.1, 4: 0.05}  # of what a word is worth that stands so many events before
_DAY_MS = 86_400_000

Place = tuple[str, int, int]  # agent id, transcript, position on the branch


@dataclass(frozen=True, slots=True)
class Weights:
    """The terms of a query and how telling each is; fixed on the first page, so that later pages are in the same order."""

    terms: Sequence[Term]
    rarity: Sequence[float]


def says_little(term: Term) -> bool:
    """Whether the term is a word like "the" or "when", that stands in any text."""
    return _plain(term) and not term.quoted and term.pieces[0].needle in FUNCTION_WORDS


def rarity(term: Term, matching: int, visible: int) -> float:
    """How telling a term is that stands in so many of the visible messages; both counted up to one bound."""
    matching = min(matching, visible)
    telling = max(LEAST_RARITY, math.log(1 + (visible - matching + 0.5) / (matching + 0.5)))
    return telling * FUNCTION_WORD if says_little(term) else telling


@dataclass(slots=True)
class Told:
    """What a message tells of a query.

    counts: by number of the term, how much each that stands in it counts, frequency against length, 0 to SATURATION + 1.
    near: how close they stand together, in units of their mean rarity.
    """

    counts: dict[int, float]
    near: float


def reader(terms: Sequence[Term], *, loosely: bool) -> Callable[[str, str], Told]:
    """A function from a message's token streams (`text`, `parts`) to what it tells of the query.

    What does not depend on the message is worked out once, and most messages lack most words, which is what is found out first: a
    request reads a thousand of them.
    loosely: any word may match; other forms of a word count, and words that say little do not where others are asked for.
    """
    wanted = [(n, _needles(term, loosely)) for n, term in enumerate(terms)]
    if loosely and not all(map(says_little, terms)):
        wanted = [(n, needles) for n, needles in wanted if not says_little(terms[n])]
    words = [(n, needles[0][1]) for n, needles in wanted if len(needles) == 1 and needles[0][0]]
    others = [(n, needles) for n, needles in wanted if len(needles) > 1 or (needles and not needles[0][0])]
    firsts = {n: needles[0][1] for n, needles in wanted if needles and needles[0][0]}
    pairs = [f" {a.pieces[0].needle} {b.pieces[0].needle} " for a, b in pairwise(terms) if _plain(a) and _plain(b)]
    count = max(1, len(terms))
    flat, slope = _length_norm()

    def read(text: str, parts: str) -> Told:
        text = f" {text} "
        found = [(n, text.count(needle)) for n, needle in words if needle in text]
        if others:
            parts = f" {parts} "
            for n, needles in others:
                if often := min((text if in_text else parts).count(needle) for in_text, needle in needles):
                    found.append((n, often))
        norm = flat + slope * text.count(" ")
        counts = {n: often * (SATURATION + 1) / (often + norm) for n, often in found}
        return Told(counts, near(text, [firsts[n] for n in counts if n in firsts]) if len(counts) > 1 else 0.0)

    def near(text: str, needles: list[str]) -> float:
        if len(needles) < 2:
            return 0.0
        places = [text.find(needle) for needle in needles]
        close = CLOSENESS * (len(places) - 1) / count / (1 + (max(places) - min(places)) / SPAN)
        return close + ADJACENT * sum(pair in text for pair in pairs) / count

    return read


def scorer(weights: Weights) -> Callable[[str, str], float]:
    """A function from a message's token streams to its score by itself, without age; higher is better."""
    if len(weights.terms) == 1 and len(needles := _needles(weights.terms[0], loosely=False)) == 1:
        return _one_word_scorer(*needles[0], weights.rarity[0])
    read = reader(weights.terms, loosely=False)
    telling, mean = weights.rarity, _mean(weights.rarity)

    def score(text: str, parts: str) -> float:
        told = read(text, parts)
        return sum(telling[n] * counts for n, counts in told.counts.items()) + mean * told.near

    return score


def _one_word_scorer(in_text: bool, needle: str, telling: float) -> Callable[[str, str], float]:
    """The same for a single word, where nothing but frequency and length counts."""
    flat, slope = _length_norm()

    def score(text: str, parts: str) -> float:
        often = f" {text} ".count(needle) if in_text else f" {parts} ".count(needle)
        return telling * often * (SATURATION + 1) / (often + flat + slope * (text.count(" ") + 2))

    return score


def _length_norm() -> tuple[float, float]:
    return SATURATION * (1 - LENGTH_WEIGHT), SATURATION * LENGTH_WEIGHT / TYPICAL_TOKENS


def scores_in_context(weights: Weights, places: Sequence[Place], told: Sequence[Told]) -> list[float]:
    """The score of each message where any word may match, without age. places: where each stands, in the order of `told`."""
    telling = weights.rarity
    mean, asked = _mean(telling), sum(telling) or 1.0
    conversations: dict[tuple[str, int], dict[int, Told]] = {}
    for (agent, transcript, position), one in zip(places, told, strict=True):
        conversations.setdefault((agent, transcript), {})[position] = one
    scores = []
    for (agent, transcript, position), own in zip(places, told, strict=True):
        total, covered = mean * own.near, 0.0
        for n, counts in own.counts.items():
            total += telling[n] * counts
            covered += telling[n]
        for n, (share, counts) in _lent(conversations[agent, transcript], position, own).items():
            total += telling[n] * share * counts
            covered += telling[n] * share
        scores.append(total * covered / asked)
    return scores


def _lent(conversation: Mapping[int, Told], position: int, own: Told) -> dict[int, tuple[float, float]]:
    """For each term that a message lacks and one shortly before it has: the share that is lent, and how much the term counts there."""
    lent: dict[int, tuple[float, float]] = {}
    for before, share in LENT.items():
        if near := conversation.get(position - before):
            for n, counts in near.counts.items():
                if n not in own.counts:
                    best_share, best = lent.get(n, (0.0, 0.0))
                    if share * counts > best_share * best:
                        lent[n] = share, counts
    return lent


def _mean(telling: Sequence[float]) -> float:
    return sum(telling) / max(1, len(telling))


def aged(score: float, time_ms: int, newest_ms: int) -> float:
    """The score, less a little for age; rounded, so that every process orders alike."""
    return round(score - AGE_PER_DOUBLING * math.log2(1 + max(0, newest_ms - time_ms) / _DAY_MS), 6)


def _needles(term: Term, loosely: bool) -> list[tuple[bool, str]]:
    """What to look for in the token streams: (whether in `text`, the tokens between spaces)."""
    if loosely and not term.quoted and _plain(term) and (shared := beginning(term.pieces[0].needle)):
        return [(True, f" {shared}")]
    return [(piece.column == "text", f" {piece.needle}" if piece.open_end else f" {piece.needle} ") for piece in term.pieces]


def _plain(term: Term) -> bool:
    return len(term.pieces) == 1 and term.pieces[0].column == "text" and not term.pieces[0].open_end
