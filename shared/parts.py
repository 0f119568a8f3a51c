"""The databases of one request, and whether what the index finds in them matches by its text too."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from shared import jsontext, searchable
from shared.analysis import analyse
from shared.matching import Matcher
from shared.shown import Shown, shown
from shared.store import search
from shared.store.connect import failures_named
from shared.store.registry import Catalogue
from shared.store.search import Candidate, Filter, Pending, Sessions

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """One agent's database with the visible sessions inside the filters.

    conn: in one read transaction for the whole request; None: the database is opened for each reading by `open`, for a request over more
    agents than may be open at once.
    """

    agent_id: str
    path: Path
    conn: sqlite3.Connection | None
    open: Callable[[], AbstractContextManager[sqlite3.Connection]]
    sessions: Sessions
    pending: Pending

    def read(self, function: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """What a store function finds in this database; its failures carry the file's name."""
        with failures_named(self.path):
            if self.conn is not None:
                return function(self.conn, *args, **named)
        with self.open() as conn:
            return function(conn, *args, **named)

    def its(self, narrowed: Filter) -> Filter:
        """The filter, on the visible sessions of this database. Where something may have changed meanwhile, marks are looked at."""
        return replace(narrowed, sessions=self.sessions, settled=self.conn is not None and not self.pending.sessions)


Found = list[tuple[Part, Candidate]]


class Confirmed:
    """What the index alone cannot tell: whether punctuation is as asked for, and whether a row of an older catalogue still holds."""

    def __init__(self, wanted: Matcher, catalogue: Catalogue) -> None:
        self._wanted, self._catalogue = wanted, catalogue
        self._stale: dict[str, set[int]] = {}
        self._known: dict[tuple[str, int], bool] = {}

    def only(self, found: Found) -> Found:
        """The candidates that match by their text."""
        if not self._wanted.query.checked and not any(part.pending.sessions for part, _ in found):
            return found
        return [(part, c) for part, c in found if self.holds(part, c)]

    def needed(self, part: Part) -> bool:
        """Whether matches of this database have to be looked at."""
        return self._wanted.query.checked or part.pending.sessions > 0

    def holds(self, part: Part, candidate: Candidate) -> bool:
        """Whether a candidate matches by its text, where the index alone cannot tell."""
        if not self._wanted.query.checked and candidate.transcript_no not in self._rechecked(part):
            return True
        place = part.agent_id, candidate.message_no
        if place not in self._known:
            self._known[place] = self._matches(part, candidate)
        return self._known[place]

    def shown_text(self, payload: str) -> Shown:
        """The text of a message as it may leave the service. raises: BadJson for a payload that another program made unreadable."""
        return shown(searchable.message_text(jsontext.loads(payload, max_levels=1_000)), self._catalogue)

    def _matches(self, part: Part, candidate: Candidate) -> bool:
        row = part.read(search.hit_row, candidate)
        if row is None:
            return False
        try:
            text = self.shown_text(row.payload)
        except jsontext.BadJson:
            return False
        if self._catalogue.policy != "strict":
            raw = searchable.message_text(jsontext.loads(row.payload, max_levels=1_000))
            return self._wanted.holds(analyse(raw))
        return self._wanted.holds(analyse(text.text, text.masks))

    def _rechecked(self, part: Part) -> set[int]:
        """Transcripts whose rows may have been made by an older catalogue."""
        if part.agent_id not in self._stale:
            self._stale[part.agent_id] = part.read(search.rechecked) if part.pending.sessions else set()
        return self._stale[part.agent_id]
