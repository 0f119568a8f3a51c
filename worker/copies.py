"""Events that a forked session's file copied from the session it was forked from are left out, where that session is stored.

The copies stand at the beginning, in the original's order. They end with the first words that are not the original's next: a turn
that only repeats an old one is the fork's own. Where the original is imported after its fork, the fork's copies are removed then.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Iterator

from shared import jsontext
from shared.searchable import message_text
from shared.store import Store, copies, notes
from shared.store import sessions as rows
from shared.store.connect import write_transaction
from worker.importers.base import Event, Format, Source, safe_id

_LONGEST_LINE = 32  # forks of forks of ... that are looked at, for every event of theirs is read


class Own:
    """A session's own events, iterated once; left_out counts the copies passed over so far."""

    def __init__(self, events: Iterator[Event], format_: Format, places: dict[int, list[int]]) -> None:
        self._events, self._format, self._places = events, format_, places
        self._copied: set[str] = set()
        self._at = -1  # place of the last copy in the original

    @property
    def left_out(self) -> int:
        """How many copies were left out."""
        return len(self._copied)

    @property
    def copied(self) -> frozenset[str]:
        """The ids of the copies that were left out."""
        return frozenset(self._copied)

    def __iter__(self) -> Iterator[Event]:
        for event in self._events:
            if self._places and self._is_copy(event):
                self._copied.add(event["id"])
                continue
            if self._places and message_text(event):
                self._places = {}
            yield self._rehung(event)

    def _is_copy(self, event: Event) -> bool:
        places = self._places.get(hash(self._format.trace(event)), [])
        following = bisect_right(places, self._at)
        if following == len(places):
            return False
        self._at = places[following]
        return True

    def _rehung(self, event: Event) -> Event:
        """An event that hung on a copy is a root of its own."""
        for name in ("parentId", "targetId"):
            if event.get(name) in self._copied:
                event[name] = None
        return event


def without_copies(store: Store, agent_id: str, format_: Format, source: Source, events: Iterator[Event]) -> Own:
    """The events of a source without those copied from a stored session of the same agent."""
    origin = safe_id(source.copied_from) if source.copied_from else None
    stored = origin is not None and origin != safe_id(source.session_id) and store.has_agent(agent_id)
    return Own(events, format_, _places(store, agent_id, format_, origin, safe_id(source.session_id)) if stored and origin else {})


def _places(store: Store, agent_id: str, format_: Format, session_id: str, fork_id: str) -> dict[int, list[int]]:
    """Where in the stored session each event stands, by a hash of what its copies in the fork share with it.

    What the session was itself forked from, and does not hold, stands before it; the fork's own events do not count.
    """
    places: dict[int, list[int]] = {}
    with store.reader(agent_id) as conn:
        stored = (payload for number in reversed(_line(conn, session_id, fork_id)) for payload in copies.payloads(conn, number))
        for place, payload in enumerate(stored):
            event = jsontext.loads(payload)
            if isinstance(event, dict) and isinstance(event.get("id"), str):
                places.setdefault(hash(format_.trace(event)), []).append(place)
    return places


def _line(conn: sqlite3.Connection, session_id: str | None, fork_id: str) -> list[int]:
    """The stored transcripts from this one up to what it was forked from, and that one in its turn; files may claim a circle."""
    line: list[int] = []
    passed = {fork_id}
    while session_id is not None and session_id not in passed and len(line) < _LONGEST_LINE:
        transcript = rows.find_transcript(conn, session_id)
        if transcript is None:
            break
        passed.add(session_id)
        line.append(transcript.transcript_no)
        session_id = notes.origin(conn, transcript.transcript_no)
    return line


def note_origin(store: Store, agent_id: str, format_: Format, source: Source) -> None:
    """What a session was forked from is remembered, and that it may hold copies of it where that is not stored."""
    original, own = safe_id(source.copied_from or ""), safe_id(source.session_id)
    if not source.copied_from or original == own or not format_.forks:
        return
    with store.reader(agent_id) as conn:
        fork, stored = rows.find_transcript(conn, own), rows.find_transcript(conn, original) is not None
        known = fork is not None and notes.origin(conn, fork.transcript_no) == original
    if fork is None or known:
        return
    with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
        notes.keep_origin(conn, fork.transcript_no, original, copied=not stored)


def clear_forks(store: Store, agent_id: str, format_: Format, session_id: str) -> Iterator[tuple[str, int]]:
    """The forks of a session that were stored before it hold their own events alone. Yields each one's id and how many copies it had."""
    if not format_.forks:
        return
    with store.reader(agent_id) as conn:
        forks = notes.forks_of(conn, session_id)
    for number, fork_id in forks:
        copied, rehung = _copies_in(store, agent_id, format_, number, _places(store, agent_id, format_, session_id, fork_id))
        with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
            if rows.find_transcript(conn, session_id) is None:
                return  # deleted meanwhile, and with it the words that the copies repeat
            copies.remove_copies(conn, number, copied, rehung)
            notes.forget_copies(conn, number)
        yield fork_id, len(copied)


def _copies_in(
    store: Store, agent_id: str, format_: Format, transcript_no: int, places: dict[int, list[int]]
) -> tuple[frozenset[str], dict[str, str]]:
    """The ids of a stored fork's copies, and the payloads of the events that hung on one, as they are without."""
    rehung: dict[str, str] = {}
    hung: list[object] = []  # where the event that is looked at hung
    with store.reader(agent_id) as conn:
        own = Own(_stored(conn, transcript_no, hung), format_, places)
        for event in own:
            if _hangs(event) != hung:
                rehung[event["id"]] = jsontext.dumps(event)
    return own.copied, rehung


def _stored(conn: sqlite3.Connection, transcript_no: int, hung: list[object]) -> Iterator[Event]:
    for payload in copies.payloads(conn, transcript_no):
        try:
            event = jsontext.loads(payload, max_levels=1_000)
        except jsontext.BadJson:
            continue  # another program's, and nobody's copy
        if isinstance(event, dict) and isinstance(event.get("id"), str):
            hung[:] = _hangs(event)
            yield event


def _hangs(event: Event) -> list[object]:
    return [event.get("parentId"), event.get("targetId")]
