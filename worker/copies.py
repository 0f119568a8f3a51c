"""Events that a forked session's file copied from the session it was forked from are left out, where that session is stored.

The copies stand at the beginning, in the original's order. They end with the first words that are not the original's next: a turn
that only repeats an old one is the fork's own.
"""

from bisect import bisect_right
from collections.abc import Iterator

from shared import jsontext
from shared.searchable import message_text
from shared.store import Store, copies
from shared.store import sessions as rows
from worker.importers.base import Event, Format, Source, safe_id


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
    return Own(events, format_, _places(store, agent_id, format_, origin) if stored and origin else {})


def _places(store: Store, agent_id: str, format_: Format, session_id: str) -> dict[int, list[int]]:
    """Where in the stored session each event stands, by a hash of what its copies share with it."""
    places: dict[int, list[int]] = {}
    with store.reader(agent_id) as conn:
        transcript = rows.find_transcript(conn, session_id)
        if transcript is None:
            return {}
        for place, payload in enumerate(copies.payloads(conn, transcript.transcript_no)):
            event = jsontext.loads(payload)
            if isinstance(event, dict) and isinstance(event.get("id"), str):
                places.setdefault(hash(format_.trace(event)), []).append(place)
    return places
