"""Which matches of a request are ranked: the newest up to a bound, or, where any word may match, word by word from the rarest on.

The choice is fixed by what a cursor carries: for each source of matches the row number from which on they are ranked, and how telling
each word is. Made again from these, it brings the same candidates, less what was rewound meanwhile.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from shared.matching import Matcher, Source
from shared.parts import Confirmed, Found, Part
from shared.ranking import Told, Weights, aged, rarity, reader, says_little, scorer, scores_in_context
from shared.store import search
from shared.store.search import Candidate, Filter

RANKED = 500  # newest candidates that are ranked when every word must match; below it the ranking is exact
RANKED_ANY = 1_000  # the same when any word may match, taken from the rarest word on
PER_SESSION = 100  # candidates of one session when each session gives one hit
NO_SOURCE = search.TOP  # floor of a word that brought no candidates


@dataclass(slots=True)
class Ranked:
    """The ranked candidates. floors: for each source the row number from which on its matches are among them; NO_SOURCE: none is.

    rarity: how telling each term is; told: what each candidate tells, where any word may match.
    """

    found: Found
    floors: tuple[int, ...]
    rarity: tuple[float, ...]
    told: list[Told] = field(default_factory=list)

    def sessions(self) -> set[tuple[str, int]]:
        """(agent id, session number) of every candidate."""
        return {(part.agent_id, c.session_no) for part, c in self.found}


_Row = tuple[int, int]  # row number, and which of the parts it is in


def _newest_rows(rows: list[_Row], bound: int) -> tuple[list[_Row], int]:
    """The newest rows, at most `bound` and those of the same number, and the number below which there are more (BOTTOM: nowhere)."""
    if len(rows) <= bound:
        return rows, search.BOTTOM
    floor = sorted(rows, reverse=True)[bound - 1][0]
    return [row for row in rows if row[0] >= floor], floor


class Choice:
    """Chooses the candidates of one request."""

    def __init__(self, parts: list[Part], wanted: Matcher, confirmed: Confirmed, *, by_session: bool) -> None:
        self._parts, self._wanted, self._confirmed, self._by_session = parts, wanted, confirmed, by_session

    def now(self, narrowed: Filter) -> Ranked:
        """The candidates of a first page."""
        if self._wanted.mode == "any":
            return self._of_any(narrowed)
        found, floor = self._gather(self._wanted.sources[0], narrowed, RANKED) if self._wanted.sources else ([], search.BOTTOM)
        return Ranked(self._confirmed.only(found), (floor,), tuple(1.0 for _ in self._wanted.terms))

    def again(self, narrowed: Filter, floors: tuple[int, ...], rarity: tuple[float, ...]) -> Ranked:
        """The candidates that an earlier page fixed."""
        pairs = [(s, f) for s, f in zip(self._wanted.sources, floors, strict=True) if f != NO_SOURCE]
        found = self._union([self._gather(source, replace(narrowed, low=max(narrowed.low, floor)), None)[0] for source, floor in pairs])
        ranked = Ranked(self._confirmed.only(found), floors, rarity)
        ranked.told = self._told(ranked.found) if self._wanted.mode == "any" else []
        return ranked

    def scores(self, ranked: Ranked, newest_ms: int) -> list[float]:
        """How well each candidate answers, in their order; age counts from newest_ms on."""
        weights = Weights(self._wanted.terms, ranked.rarity)
        if self._wanted.mode == "any":
            places = [(part.agent_id, c.transcript_no, c.position) for part, c in ranked.found]
            found = scores_in_context(weights, places, ranked.told)
        else:
            score = scorer(weights)
            found = [score(c.text, c.parts) for _, c in ranked.found]
        return [aged(score, c.time_ms, newest_ms) for score, (_, c) in zip(found, ranked.found, strict=True)]

    def _told(self, found: Found) -> list[Told]:
        read = reader(self._wanted.terms, loosely=True)
        return [read(c.text, c.parts) for _, c in found]

    def _of_any(self, narrowed: Filter) -> Ranked:
        """Candidates word by word, rarest first; a word past the bound only ranks what rarer ones brought, unless none did."""
        sources = self._wanted.sources
        visible = sum(part.read(search.visible_messages, part.sessions, RANKED_ANY + 1) for part in self._parts)
        matching = [self._matching(source, narrowed, visible) for source in sources]
        counts = [RANKED_ANY + 1 if found is None else len(found) for found in matching]
        floors = [NO_SOURCE] * len(sources)
        brought: Found = []
        places: dict[_Row, None] = {}  # read once, however many words brought it
        for n in sorted(range(len(sources)), key=lambda n: (counts[n], n)):
            total, rows = len(brought) + len(places), matching[n]
            if rows is not None and not (rows and self._by_session):
                if not rows or total < RANKED_ANY:
                    taken, floors[n] = _newest_rows([row for row in rows if row not in places], RANKED_ANY - total)
                    places |= dict.fromkeys(taken)
            elif total < RANKED_ANY and (rows is not None or not total):
                found, floors[n] = self._gather(sources[n], narrowed, RANKED_ANY)
                brought += found
        found = self._confirmed.only(self._union([brought, self._read(places)]))
        told = self._told(found)
        standing = Counter(n for one in told for n in one.counts)  # other forms of a word among them
        counted = {sources[n].terms[0]: count for n, count in enumerate(counts)}
        weights = tuple(rarity(term, max(counted.get(term, 0), standing[n]), visible) for n, term in enumerate(self._wanted.terms))
        return Ranked(found, tuple(floors), weights, told)

    def _matching(self, source: Source, narrowed: Filter, visible: int) -> list[_Row] | None:
        """The rows that a word brings; None: more than the bound, or a word like "the" that is not looked up where there are more."""
        if visible > RANKED_ANY and says_little(source.terms[0]):
            return None
        rows: list[_Row] = []
        for place, part in enumerate(self._parts):
            found = part.read(search.numbers, source.match, part.its(narrowed), RANKED_ANY + 1 - len(rows))
            rows += [(number, place) for number in found]
            if len(rows) > RANKED_ANY:
                return None
        return rows

    def _read(self, rows: Iterable[_Row]) -> Found:
        numbers: dict[int, list[int]] = {}
        for number, place in rows:
            numbers.setdefault(place, []).append(number)
        parts = [(self._parts[place], of_part) for place, of_part in numbers.items()]
        return [(part, candidate) for part, of_part in parts for candidate in part.read(search.candidates_of, of_part)]

    def _union(self, groups: list[Found]) -> Found:
        return list({(part.agent_id, c.message_no): (part, c) for group in groups for part, c in group}.values())

    def _gather(self, source: Source, narrowed: Filter, bound: int | None) -> tuple[Found, int]:
        """The newest candidates of all agents, at most `bound`, and the row number below which there are more (BOTTOM: nowhere).

        bound None: all that the filter's low end leaves.
        """
        found: Found = []
        floor = search.BOTTOM
        each = 1 << 30 if bound is None else max(50, 2 * bound // len(self._parts)) if len(self._parts) > 1 else bound
        for part in self._parts:
            newest, below = self._newest(part, source, part.its(narrowed), each)
            found += [(part, candidate) for candidate in newest]
            floor = max(floor, below)
        if bound is not None and len(found) > bound:
            found.sort(key=lambda pair: -pair[1].message_no)
            floor = max(floor, found[bound - 1][1].message_no)
        return [(part, c) for part, c in found if c.message_no >= floor], floor

    def _newest(self, part: Part, source: Source, narrowed: Filter, limit: int) -> tuple[list[Candidate], int]:
        """One agent's newest candidates; the last one's row number when there may be more, else BOTTOM."""
        if not self._by_session:
            found = part.read(search.candidates, source.match, narrowed, limit)
            return found, found[-1].message_no if len(found) == limit else search.BOTTOM
        return self._newest_by_session(part, source, narrowed, limit)

    def _newest_by_session(self, part: Part, source: Source, narrowed: Filter, limit: int) -> tuple[list[Candidate], int]:
        """The same, no more of one session than PER_SESSION: a long session does not take the place of the others."""
        taken: list[Candidate] = []
        counts: Counter[int] = Counter()
        step = min(limit, 500)
        while len(taken) < limit:
            full = tuple(sorted(no for no, count in counts.items() if count >= PER_SESSION))
            found = part.read(search.candidates, source.match, replace(narrowed, without=full), step)
            for candidate in filter(partial(self._confirmed.holds, part), found):
                counts[candidate.session_no] += 1
                if counts[candidate.session_no] <= PER_SESSION:
                    taken.append(candidate)
            if len(found) < step:
                return taken, search.BOTTOM
            narrowed = replace(narrowed, high=found[-1].message_no - 1)
        return taken, taken[-1].message_no
