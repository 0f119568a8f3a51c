"""All matches of a request in one total order, from anywhere in it.

By relevance: the newest candidates up to a bound, ranked; then what lies beyond the bound, newest first, so that every match can be
reached; then the same for sessions of the kinds that rank after all others. A first page fixes what the order depends on (which
candidates are ranked, how telling each word is), and a cursor carries it, so that pages neither repeat nor lose a hit.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, cast

from shared.candidates import Choice, Ranked
from shared.errors import BadCursor
from shared.matching import Matcher, Mode
from shared.parts import Confirmed, Found, Part
from shared.store import search
from shared.store.projection import time_floor
from shared.store.registry import Catalogue
from shared.store.search import Candidate, Filter

CHUNK = 64  # matches read at a time where the order is newest first


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
        self._fixed: Ranked | None = None
        self._confirmed = Confirmed(wanted, catalogue)
        self._choice = Choice(self._parts, wanted, self._confirmed, by_session=by_session)
        self.shown_text = self._confirmed.shown_text
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
                self._fixed = self._ranked(narrowed, resumed=stage == first)
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
        if self._confirmed.needed(entry.part):
            return sum(1 for _ in islice(self._kept(entry.part, narrowed), limit))
        return len(entry.part.read(search.numbers, self.wanted.whole, narrowed, limit))

    # ------------------------------------------------------------------------------------------------ ranked

    def _ranked(self, narrowed: Filter, *, resumed: bool) -> Ranked:
        """The ranked candidates: fixed by the cursor, or chosen now."""
        if resumed and self._resume is not None:
            return self._choice.again(narrowed, self._resume.floors, self._resume.rarity)
        return self._choice.now(narrowed)

    def _by_score(self, stage: int, ranked: Ranked) -> Iterator[Entry]:
        after, scores = self._after(stage), self._choice.scores(ranked, self._seen_to_ms)
        scored = [(-score, -c.time_ms, part, c) for score, (part, c) in zip(scores, ranked.found, strict=True)]
        entries = self._in_order(stage, sorted(scored, key=itemgetter(0, 1)))
        for entry in self._once_a_session(entries) if self.by_session else entries:
            if after is None or entry.key > after:
                yield entry

    def _in_order(self, stage: int, scored: list[tuple[float, int, Part, Candidate]]) -> Iterator[Entry]:
        """Entries by score and time; event ids decide among equals, and are looked up as far as the page goes."""
        for (s, t), group in groupby(scored, key=itemgetter(0, 1)):
            equal = [(part, c) for _, _, part, c in group]
            ids = self._event_ids(equal)
            keyed = [
                Entry(part, c, stage, (s, t, *named))
                for part, c in equal
                if (named := ids.get((part.agent_id, c.message_no)))
            ]
            yield from sorted(keyed, key=lambda entry: entry.key)

    def _event_ids(self, found: Found) -> dict[tuple[str, int], tuple[str, str, str]]:
        """For each candidate that is still there: its event id, agent id and session id, which decide among equals."""
        numbers: dict[str, tuple[Part, list[int]]] = {}
        for part, c in found:
            numbers.setdefault(part.agent_id, (part, []))[1].append(c.message_no)
        return {
            (part.agent_id, n): (event_id, part.agent_id, session_id)
            for part, of_part in numbers.values()
            for n, (event_id, session_id) in part.read(search.event_ids, of_part).items()
        }

    def _once_a_session(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        seen: set[tuple[str, int]] = set()
        for entry in entries:
            if entry.session not in seen:
                seen.add(entry.session)
                yield entry

    def _after(self, stage: int) -> tuple[Any, ...] | None:
        return self._resume.after if self._resume and self._resume.stage == stage else None

    # ------------------------------------------------------------------------------------------- newest first

    def _beyond(self, stage: int, narrowed: Filter, ranked: Ranked) -> Iterator[Entry]:
        """What the bound left unranked, newest first."""
        if all(floor == search.BOTTOM for floor in ranked.floors):
            return
        if self.wanted.mode == "all":
            narrowed = replace(narrowed, high=min(narrowed.high, ranked.floors[0] - 1))
        yield from self._newest_first(stage, narrowed, ranked)

    def _newest_first(self, stage: int, narrowed: Filter, ranked: Ranked | None) -> Iterator[Entry]:
        skipped = {(part.agent_id, c.message_no) for part, c in ranked.found} if ranked and self.wanted.mode == "any" else set()
        after = self._after(stage)
        streams = [self._agent_newest_first(part, stage, part.its(narrowed), after) for part in self._parts]
        ranked_sessions = ranked.sessions() if ranked and self.by_session else set()
        seen: set[tuple[str, int]] = set()
        for entry in heapq.merge(*streams, key=lambda entry: entry.key):
            if (entry.part.agent_id, entry.candidate.message_no) in skipped:
                continue
            if self.by_session:
                if entry.session in seen or entry.session in ranked_sessions:
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
            kept = [c for c in found if self._confirmed.holds(part, c)]
            ids = part.read(search.event_ids, [c.message_no for c in kept])
            for _, same_time in groupby(kept, key=lambda c: c.time_ms):
                keyed = [
                    Entry(part, c, stage, (-c.time_ms, named[0], part.agent_id, named[1]))
                    for c in same_time
                    if (named := ids.get(c.message_no))
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
            yield from filter(partial(self._confirmed.holds, part), found)
            narrowed = replace(narrowed, high=found[-1].message_no - 1)

