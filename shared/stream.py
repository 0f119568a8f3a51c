"""All matches of a request in one total order, from anywhere in it.

By relevance: the newest candidates up to a bound, ranked; then what lies beyond the bound, newest first, so that every match can be
reached; then the same for sessions of the kinds that rank after all others. A first page fixes what the order depends on (which
candidates are ranked, how telling each word is), and a cursor carries it, so that pages neither repeat nor lose a hit.
"""

import heapq
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from shared import jsontext, searchable
from shared.analysis import analyse
from shared.errors import BadCursor
from shared.matching import Matcher, Mode, Source
from shared.ranking import Told, Weights, aged, rarity, reader, says_little, scorer, scores_in_context
from shared.shown import Shown, shown
from shared.store import search
from shared.store.connect import failures_named
from shared.store.projection import time_floor
from shared.store.registry import Catalogue
from shared.store.search import Candidate, Filter, Pending, Sessions

P = ParamSpec("P")
T = TypeVar("T")

RANKED = 500  # newest candidates that are ranked when every word must match; below it the ranking is exact
RANKED_ANY = 1_000  # the same when any word may match, taken from the rarest word on
PER_SESSION = 100  # candidates of one session when each session gives one hit
CHUNK = 64  # matches read at a time where the order is newest first
NO_SOURCE = search.TOP  # floor of a word that brought no candidates


@dataclass(frozen=True, slots=True)
class Part:
    """One agent's database in one read transaction, with the visible sessions inside the filters."""

    agent_id: str
    path: Path
    conn: sqlite3.Connection
    sessions: Sessions
    pending: Pending

    def read(self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """What a store function finds in this database; its failures carry the file's name."""
        with failures_named(self.path):
            return function(self.conn, *args, **named)


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a next page goes on. floors: for each source the row number from which on its matches are ranked; NO_SOURCE: none is."""

    mode: Mode
    stage: int
    after: tuple[Any, ...]
    stored_to_ms: int
    floors: tuple[int, ...]
    rarity: tuple[float, ...]

    def as_list(self) -> list[Any]:
        return [self.mode, self.stage, list(self.after), self.stored_to_ms, list(self.floors), list(self.rarity)]

    @staticmethod
    def of(content: Any) -> "Resume":
        try:
            mode, stage, after, stored_to_ms, floors, weights = content
        except (TypeError, ValueError):
            raise BadCursor from None
        return Resume(cast(Mode, mode), stage, tuple(after), stored_to_ms, tuple(floors), tuple(weights))


@dataclass(frozen=True, slots=True)
class Entry:
    """A match in its place. key orders the entries of one stage."""

    part: Part
    candidate: Candidate
    stage: int
    key: tuple[Any, ...]

    @property
    def session(self) -> tuple[str, int]:
        return self.part.agent_id, self.candidate.session_no


@dataclass(slots=True)
class _Ranked:
    """What one pair of stages fixed: the ranked candidates and how telling the words are; told: of each, where any word may match."""

    found: list[tuple[Part, Candidate]]
    floors: tuple[int, ...]
    rarity: tuple[float, ...]
    told: list[Told] = field(default_factory=list)
    sessions: set[tuple[str, int]] = field(default_factory=set)


_Row = tuple[int, int]  # row number, and which of the parts it is in


def _newest_rows(rows: list[_Row], bound: int) -> tuple[list[_Row], int]:
    """The newest rows, at most `bound` and those of the same number, and the number below which there are more (BOTTOM: nowhere)."""
    if len(rows) <= bound:
        return rows, search.BOTTOM
    floor = sorted(rows, reverse=True)[bound - 1][0]
    return [row for row in rows if row[0] >= floor], floor


class Stream:
    """The matches of one request."""

    def __init__(
        self, parts: list[Part], wanted: Matcher, narrowed: Filter, catalogue: Catalogue, resume: Resume | None,
        *, by_relevance: bool, by_session: bool, demotes: bool,
    ) -> None:  # fmt: skip
        self.wanted, self.catalogue, self.by_session = wanted, catalogue, by_session
        self._parts = [part for part in parts if part.sessions.numbers != ()] if wanted.sources else []
        self._resume, self._by_relevance = resume, by_relevance
        self._seen_to_ms = resume.stored_to_ms if resume else max((part.sessions.newest_store_ms for part in parts), default=0)
        self._filter = replace(narrowed, stored_to_ms=resume.stored_to_ms if resume else None)
        self._splits = by_relevance and demotes and any(part.read(search.has_demoted) for part in self._parts)
        self._fixed: _Ranked | None = None
        self._stale: dict[str, set[int]] = {}
        self._held: dict[tuple[str, int], bool] = {}
        if resume and by_relevance and (len(resume.floors), len(resume.rarity)) != (len(wanted.sources), len(wanted.terms)):
            raise BadCursor  # a secret that was registered meanwhile made other words of the query

    def entries(self) -> Iterator[Entry]:
        """Every match from the cursor on, in order."""
        first = self._resume.stage if self._resume else 0
        if not self._by_relevance:
            yield from self._newest_first(0, self._filter, None)
            return
        for stage in range(first, 4 if self._splits else 2):
            demoted = stage > 1 if self._splits else None
            narrowed = replace(self._filter, demoted=demoted)
            if stage % 2 == 0 or self._fixed is None:
                self._fixed = self._rank(narrowed, resumed=stage == first)
            if stage % 2 == 0:
                yield from self._by_score(stage, self._fixed)
            else:
                yield from self._beyond(stage, narrowed, self._fixed)

    def resume_after(self, entry: Entry) -> Resume:
        """Where the page after this entry goes on."""
        floors, weights = (self._fixed.floors, self._fixed.rarity) if self._fixed else ((), ())
        return Resume(self.wanted.mode, entry.stage, entry.key, self._seen_to_ms, floors, weights)

    def matches_in(self, entry: Entry, limit: int) -> int:
        """How many messages of the entry's session match, counted up to limit."""
        narrowed = search.of_session(replace(self._filter, sessions=entry.part.sessions), entry.candidate.session_no)
        if self.wanted.query.checked or entry.part.pending.sessions:
            return sum(1 for _ in islice(self._kept(entry.part, narrowed), limit))
        return len(entry.part.read(search.numbers, self.wanted.whole, narrowed, limit))

    def shown_text(self, part: Part, payload: str) -> Shown:
        return shown(searchable.message_text(jsontext.loads(payload, max_levels=1_000)), self.catalogue)

    # ------------------------------------------------------------------------------------------------ ranked

    def _rank(self, narrowed: Filter, *, resumed: bool) -> _Ranked:
        """The ranked candidates: fixed by the cursor, or chosen now."""
        fixed = self._resume if resumed else None
        if fixed is not None:
            pairs = [(s, f) for s, f in zip(self.wanted.sources, fixed.floors, strict=True) if f != NO_SOURCE]
            found = self._union([self._gather(source, replace(narrowed, low=max(narrowed.low, floor)), None)[0] for source, floor in pairs])
            ranked = _Ranked(self._kept_only(found), fixed.floors, fixed.rarity)
            ranked.told = self._told(ranked.found) if self.wanted.mode == "any" else []
        elif self.wanted.mode == "all":
            found, floor = self._gather(self.wanted.sources[0], narrowed, RANKED) if self.wanted.sources else ([], search.BOTTOM)
            ranked = _Ranked(self._kept_only(found), (floor,), tuple(1.0 for _ in self.wanted.terms))
        else:
            ranked = self._rank_any(narrowed)
        ranked.sessions = {(part.agent_id, c.session_no) for part, c in ranked.found}
        return ranked

    def _kept_only(self, found: list[tuple[Part, Candidate]]) -> list[tuple[Part, Candidate]]:
        if self.wanted.query.checked or any(part.pending.sessions for part in self._parts):
            return [(part, c) for part, c in found if self._keeps(part, c)]
        return found

    def _told(self, found: list[tuple[Part, Candidate]]) -> list[Told]:
        read = reader(self.wanted.terms, loosely=True)
        return [read(c.text, c.parts) for _, c in found]

    def _rank_any(self, narrowed: Filter) -> _Ranked:
        """Candidates word by word, rarest first; a word past the bound only ranks what rarer ones brought, unless none did."""
        sources = self.wanted.sources
        visible = sum(part.read(search.visible_messages, part.sessions, RANKED_ANY + 1) for part in self._parts)
        matching = [self._matching(source, narrowed, visible) for source in sources]
        counts = [RANKED_ANY + 1 if found is None else len(found) for found in matching]
        floors = [NO_SOURCE] * len(sources)
        brought: list[tuple[Part, Candidate]] = []
        places: dict[_Row, None] = {}  # read once, however many words brought it
        for n in sorted(range(len(sources)), key=lambda n: (counts[n], n)):
            total, rows = len(brought) + len(places), matching[n]
            if rows is not None and not (rows and self.by_session):
                if not rows or total < RANKED_ANY:
                    taken, floors[n] = _newest_rows([row for row in rows if row not in places], RANKED_ANY - total)
                    places |= dict.fromkeys(taken)
            elif total < RANKED_ANY and (rows is not None or not total):
                found, floors[n] = self._gather(sources[n], narrowed, RANKED_ANY)
                brought += found
        found = self._kept_only(self._union([brought, self._read(places)]))
        told = self._told(found)
        standing = Counter(n for one in told for n in one.counts)  # other forms of a word among them
        counted = {sources[n].terms[0]: count for n, count in enumerate(counts)}
        weights = tuple(rarity(term, max(counted.get(term, 0), standing[n]), visible) for n, term in enumerate(self.wanted.terms))
        return _Ranked(found, tuple(floors), weights, told)

    def _matching(self, source: Source, narrowed: Filter, visible: int) -> "list[_Row] | None":
        """The rows that a word brings; None: more than the bound, or a word like "the" that is not looked up where there are more."""
        if visible > RANKED_ANY and says_little(source.terms[0]):
            return None
        rows: list[_Row] = []
        for place, part in enumerate(self._parts):
            found = part.read(search.numbers, source.match, self._of(part, narrowed), RANKED_ANY + 1 - len(rows))
            rows += [(number, place) for number in found]
            if len(rows) > RANKED_ANY:
                return None
        return rows

    def _read(self, rows: "Iterable[_Row]") -> list[tuple[Part, Candidate]]:
        numbers: dict[int, list[int]] = {}
        for number, place in rows:
            numbers.setdefault(place, []).append(number)
        parts = [(self._parts[place], of_part) for place, of_part in numbers.items()]
        return [(part, candidate) for part, of_part in parts for candidate in part.read(search.candidates_of, of_part)]

    def _union(self, groups: list[list[tuple[Part, Candidate]]]) -> list[tuple[Part, Candidate]]:
        return list({(part.agent_id, c.message_no): (part, c) for group in groups for part, c in group}.values())

    def _of(self, part: Part, narrowed: Filter) -> Filter:
        return replace(narrowed, sessions=part.sessions, settled=not part.pending.sessions)

    def _gather(self, source: Source, narrowed: Filter, bound: int | None) -> tuple[list[tuple[Part, Candidate]], int]:
        """The newest candidates of all agents, at most `bound`, and the row number below which there are more (BOTTOM: nowhere).

        bound None: all that the filter's low end leaves.
        """
        found: list[tuple[Part, Candidate]] = []
        floor = search.BOTTOM
        each = 1 << 30 if bound is None else max(50, 2 * bound // len(self._parts)) if len(self._parts) > 1 else bound
        for part in self._parts:
            newest, below = self._newest(part, source, self._of(part, narrowed), each)
            found += [(part, candidate) for candidate in newest]
            floor = max(floor, below)
        if bound is not None and len(found) > bound:
            found.sort(key=lambda pair: -pair[1].message_no)
            floor = max(floor, found[bound - 1][1].message_no)
        return [(part, c) for part, c in found if c.message_no >= floor], floor

    def _newest(self, part: Part, source: Source, narrowed: Filter, limit: int) -> tuple[list[Candidate], int]:
        """One agent's newest candidates; the last one's row number when there may be more, else 0."""
        if not self.by_session:
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
            for candidate in filter(partial(self._keeps, part), found):
                counts[candidate.session_no] += 1
                if counts[candidate.session_no] <= PER_SESSION:
                    taken.append(candidate)
            if len(found) < step:
                return taken, search.BOTTOM
            narrowed = replace(narrowed, high=found[-1].message_no - 1)
        return taken, taken[-1].message_no

    def _by_score(self, stage: int, ranked: _Ranked) -> Iterator[Entry]:
        after = self._after(stage)
        scored = [(-score, -c.time_ms, part, c) for score, (part, c) in zip(self._scores(ranked), ranked.found, strict=True)]
        entries = self._in_order(stage, sorted(scored, key=itemgetter(0, 1)))
        for entry in self._once_a_session(entries) if self.by_session else entries:
            if after is None or entry.key > after:
                yield entry

    def _scores(self, ranked: _Ranked) -> list[float]:
        weights = Weights(self.wanted.terms, ranked.rarity)
        if self.wanted.mode == "any":
            places = [(part.agent_id, c.transcript_no, c.position) for part, c in ranked.found]
            found = scores_in_context(weights, places, ranked.told)
        else:
            score = scorer(weights)
            found = [score(c.text, c.parts) for _, c in ranked.found]
        return [aged(score, c.time_ms, self._seen_to_ms) for score, (_, c) in zip(found, ranked.found, strict=True)]

    def _in_order(self, stage: int, scored: list[tuple[float, int, Part, Candidate]]) -> Iterator[Entry]:
        """Entries by score and time; event ids decide among equals, and are looked up as far as the page goes."""
        for (s, t), group in groupby(scored, key=itemgetter(0, 1)):
            equal = [(part, c) for _, _, part, c in group]
            ids = self._event_ids(equal)
            keyed = [
                Entry(part, c, stage, (s, t, event_id, part.agent_id, session_id))
                for part, c in equal
                for event_id, session_id in [ids[part.agent_id, c.message_no]]
            ]
            yield from sorted(keyed, key=lambda entry: entry.key)

    def _event_ids(self, found: list[tuple[Part, Candidate]]) -> dict[tuple[str, int], tuple[str, str]]:
        ids: dict[tuple[str, int], tuple[str, str]] = {}
        for part in {part.agent_id: part for part, _ in found}.values():
            numbers = [c.message_no for p, c in found if p.agent_id == part.agent_id]
            ids |= {(part.agent_id, n): named for n, named in part.read(search.event_ids, numbers).items()}
        return ids

    def _once_a_session(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        seen: set[tuple[str, int]] = set()
        for entry in entries:
            if entry.session not in seen:
                seen.add(entry.session)
                yield entry

    def _after(self, stage: int) -> tuple[Any, ...] | None:
        return self._resume.after if self._resume and self._resume.stage == stage else None

    # ------------------------------------------------------------------------------------------- newest first

    def _beyond(self, stage: int, narrowed: Filter, ranked: _Ranked) -> Iterator[Entry]:
        """What the bound left unranked, newest first."""
        if all(floor == search.BOTTOM for floor in ranked.floors):
            return
        if self.wanted.mode == "all":
            narrowed = replace(narrowed, high=min(narrowed.high, ranked.floors[0] - 1))
        yield from self._newest_first(stage, narrowed, ranked)

    def _newest_first(self, stage: int, narrowed: Filter, ranked: _Ranked | None) -> Iterator[Entry]:
        skipped = {(part.agent_id, c.message_no) for part, c in ranked.found} if ranked and self.wanted.mode == "any" else set()
        after = self._after(stage)
        streams = [self._agent_newest_first(part, stage, self._of(part, narrowed), after) for part in self._parts]
        seen: set[tuple[str, int]] = set()
        for entry in heapq.merge(*streams, key=lambda entry: entry.key):
            if (entry.part.agent_id, entry.candidate.message_no) in skipped:
                continue
            if self.by_session:
                if entry.session in seen or (ranked and entry.session in ranked.sessions):
                    continue
                seen.add(entry.session)  # where this is not the newest, none that follows is
                if not self._is_newest(entry):
                    continue
            if after is None or entry.key > after:
                yield entry

    def _agent_newest_first(self, part: Part, stage: int, narrowed: Filter, after: tuple[Any, ...] | None) -> Iterator[Entry]:
        """One agent's matches, newest first and by event id among those of one ms."""
        if after is not None:
            narrowed = replace(narrowed, high=min(narrowed.high, time_floor(1 - after[0]) - 1))
        while found := part.read(search.candidates, self.wanted.whole, narrowed, CHUNK):
            if len(found) == CHUNK:
                floor = time_floor(found[-1].time_ms)
                rest = replace(narrowed, low=max(narrowed.low, floor), high=found[-1].message_no - 1)
                found += part.read(search.candidates, self.wanted.whole, rest, 1 << 30)
            kept = [c for c in found if self._keeps(part, c)]
            ids = part.read(search.event_ids, [c.message_no for c in kept])
            for _, same_time in groupby(kept, key=lambda c: c.time_ms):
                keyed = [
                    Entry(part, c, stage, (-c.time_ms, event_id, part.agent_id, session_id))
                    for c in same_time
                    for event_id, session_id in [ids[c.message_no]]
                ]
                yield from sorted(keyed, key=lambda entry: entry.key)
            narrowed = replace(narrowed, high=time_floor(found[-1].time_ms) - 1)

    def _is_newest(self, entry: Entry) -> bool:
        """Whether the entry is of the time of its session's newest match."""
        narrowed = replace(search.of_session(self._filter, entry.candidate.session_no), low=time_floor(entry.candidate.time_ms + 1))
        return next(self._kept(entry.part, narrowed), None) is None

    # ------------------------------------------------------------------------------------------------- checks

    def _kept(self, part: Part, narrowed: Filter) -> Iterator[Candidate]:
        """One agent's matches that match by their text too, newest first."""
        while found := part.read(search.candidates, self.wanted.whole, narrowed, CHUNK):
            yield from filter(partial(self._keeps, part), found)
            narrowed = replace(narrowed, high=found[-1].message_no - 1)

    def _keeps(self, part: Part, candidate: Candidate) -> bool:
        """Whether a candidate matches by its text, where the index alone cannot tell."""
        if not self.wanted.query.checked and candidate.transcript_no not in self._rechecked(part):
            return True
        place = part.agent_id, candidate.message_no
        if place not in self._held:
            self._held[place] = self._holds(part, candidate)
        return self._held[place]

    def _holds(self, part: Part, candidate: Candidate) -> bool:
        row = part.read(search.hit_row, candidate)
        try:
            text = self.shown_text(part, row.payload)
        except jsontext.BadJson:
            return False
        if self.catalogue.policy != "strict":
            raw = searchable.message_text(jsontext.loads(row.payload, max_levels=1_000))
            return self.wanted.holds(analyse(raw))
        return self.wanted.holds(analyse(text.text, text.masks))

    def _rechecked(self, part: Part) -> set[int]:
        """Transcripts whose rows may have been made by an older catalogue."""
        if part.agent_id not in self._stale:
            self._stale[part.agent_id] = part.read(search.rechecked) if part.pending.sessions else set()
        return self._stale[part.agent_id]
