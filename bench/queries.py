"""What is asked: queries of every class, drawn by a seed from the corpus' own words, so that their frequencies are known."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from bench.raw import Raw

SAMPLED = 20_000  # texts looked at
HAN = re.compile(r"[一-鿿]{2,}")
THAI = re.compile(r"[ก-๛]{4,}")
MIXED = re.compile(r"[a-z]{3,}[一-鿿]{2}")
WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Asked:
    """A query as typed, and the expression that asks raw FTS5 for the same; None where its tokenizer cannot find it."""

    text: str
    raw: str | None = None


def draw(raw: Raw, messages: int, count: int, seed: int) -> dict[str, list[Asked]]:
    """Queries by class, at most `count` of each; a class for which the corpus is too small has fewer, or none."""
    return _Drawing(raw, messages, count, random.Random(f"{seed} queries")).all()


class _Drawing:
    def __init__(self, raw: Raw, messages: int, count: int, rng: random.Random) -> None:
        self._raw, self._count, self._rng = raw, count, rng
        self._rows = raw.rows()
        self._many = max(4, messages // 500)  # matches of two words and of a phrase: 2,000 of 1,000,000
        numbers = rng.sample(range(1, self._rows + 1), min(self._rows, SAMPLED))
        self._texts = list(raw.texts(numbers))
        self._by_frequency = raw.frequencies()
        self._common = self._words(0.01, 0.08) or self._words(0.002, 0.2)

    def all(self) -> dict[str, list[Asked]]:
        commonest = [word for word, _ in sorted(self._by_frequency, key=lambda found: (-found[1], found[0]))[:8]]
        frequent = [*commonest, *self._common]
        classes: dict[str, Iterator[Asked]] = {
            "rare": self._single([word for word, doc in self._by_frequency if 2 <= doc <= 10 and len(word) > 4]),
            "medium": self._single(self._words(0.0005, 0.005)),
            "common": self._single(self._common),
            "commonest": self._single(commonest),
            "two words": self._pairs(frequent),
            "phrase": self._phrases(lambda matches: matches >= self._many),
            "rare phrase": self._phrases(lambda matches: 0 < matches <= max(1, self._many // 20), of=set(frequent)),
            "prefix": (Asked(f"{word[:4]}*", f'"{word[:4]}"*') for word in self._shuffled(self._words(0.0005, 0.05)) if len(word) > 5),
            "one CJK": self._slices(HAN, 1),
            "two CJK": self._slices(HAN, 2),
            "four CJK": self._slices(HAN, 4),
            "Thai": (Asked(text) for text in self._thai()),
            "mixed": (Asked(found[0]) for text in self._texts for found in MIXED.finditer(text)),
            "no hit": (self._nothing() for _ in range(self._count)),
            "question": (self._question() for _ in range(self._count)),
        }
        return {name: self._distinct(found) for name, found in classes.items()}

    def _distinct(self, found: Iterator[Asked]) -> list[Asked]:
        kept: dict[str, Asked] = {}
        for asked in found:
            kept.setdefault(asked.text, asked)
            if len(kept) == self._count:
                break
        return list(kept.values())

    def _shuffled(self, words: list[str]) -> list[str]:
        return self._rng.sample(words, len(words))

    def _words(self, low: float, high: float) -> list[str]:
        """Words that stand in such a share of the rows."""
        return [word for word, doc in self._by_frequency if low * self._rows <= doc <= high * self._rows and doc > 10 and len(word) > 2]

    def _single(self, words: list[str]) -> Iterator[Asked]:
        return (Asked(word, f'"{word}"') for word in self._shuffled(words))

    def _pairs(self, words: list[str]) -> Iterator[Asked]:
        for _ in range(20 * self._count):
            one, other = self._rng.sample(words, 2)
            match = f'"{one}" "{other}"'
            if self._raw.count(match) >= self._many:
                yield Asked(f"{one} {other}", match)

    def _phrases(self, fits: Callable[[int], bool], of: set[str] | None = None) -> Iterator[Asked]:
        """Words that stand beside each other in the corpus and match so often; of: both of them one of these."""
        seen: Counter[tuple[str, str]] = Counter()
        for text in self._texts:
            found = WORD.findall(text) if text.isascii() else []
            seen.update(pair for pair in pairwise(found) if of is None or (pair[0] in of and pair[1] in of))
        ranked = [pair for pair, _ in seen.most_common()]
        for one, other in ranked[: 10 * self._count] if of is None else self._rng.sample(ranked, len(ranked))[: 20 * self._count]:
            if one != other and fits(self._raw.count(f'"{one} {other}"')):
                yield Asked(f'"{one} {other}"', f'"{one} {other}"')

    def _slices(self, pattern: re.Pattern[str], length: int) -> Iterator[Asked]:
        for text in self._texts:
            for found in pattern.finditer(text):
                if len(found[0]) >= length:
                    at = self._rng.randrange(len(found[0]) - length + 1)
                    yield Asked(found[0][at : at + length])
                    break

    def _thai(self) -> Iterator[str]:
        """Pieces of a run that begin with a consonant and end before one, so that no mark is torn off."""
        for text in self._texts:
            for found in THAI.finditer(text):
                starts = [at for at, one in enumerate(found[0]) if "ก" <= one <= "ฮ"]
                pairs = [(a, b) for a, b in zip(starts, starts[2:], strict=False) if 3 <= b - a <= 6]
                if pairs:
                    start, end = self._rng.choice(pairs)
                    yield found[0][start:end]
                    break

    def _nothing(self) -> Asked:
        word = "zq" + "".join(self._rng.choices("bcdfghjklm", k=8))
        return Asked(word, f'"{word}"')

    def _question(self) -> Asked:
        """Ten words of two messages, as a question has words of the answer and others."""
        found: list[str] = []
        while len(found) < 10:
            words = sorted(set(WORD.findall(self._rng.choice(self._texts))))
            found += self._rng.sample(words, min(5, len(words)))
        found = found[:10]
        return Asked(" ".join(found), " OR ".join(f'"{word}"' for word in found))
