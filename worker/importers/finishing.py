"""Events made fit to store: ids within their bounds, each once, parents known, times understood. What is mended is reported."""

from collections.abc import Iterable
from typing import Any

from shared import jsontext
from shared.errors import BadRequest
from shared.transcript import read_event, time_of
from worker.importers.base import Problems, quoted, safe_id


class Finisher:
    """Makes one session's events fit to store: ids within their bounds, each once, parents known, times understood."""

    def __init__(self, problems: Problems, time: Any = None) -> None:
        self._problems = problems
        self._seen: dict[str, int] = {}
        self._time = time if time_of(time) is not None else None

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._seen

    def know(self, event_ids: Iterable[str | None]) -> None:
        """Events of these ids stand in another file of the same session."""
        self._seen |= {event_id: 0 for event_id in event_ids if event_id is not None}

    def finish(self, number: int, event: dict[str, Any], content: object = None) -> dict[str, Any] | None:
        """The event with what was wrong mended and reported; None when it is left out.

        content: what makes a repeated id the same event; the whole event when None.
        """
        self._shorten_ids(number, event)
        if not self._first(number, event["id"], event if content is None else content):
            return None
        self._date(number, event)
        self._look_for_parent(number, event)
        try:
            read_event(event, "event")
        except BadRequest as e:
            self._problems.skip(number, str(e))
            return None
        self._seen[event["id"]] = hash(jsontext.dumps(event if content is None else content))
        return event

    def _shorten_ids(self, number: int, event: dict[str, Any]) -> None:
        for name in ("id", "parentId", "targetId"):
            value = event.get(name)
            if isinstance(value, str) and value and (short := safe_id(value)) != value:
                event[name] = short
                if name == "id":
                    self._problems.note(number, f"id {quoted(value)} is too long or unprintable and was replaced by {short}")

    def _first(self, number: int, event_id: str, content: object) -> bool:
        stored = self._seen.get(event_id)
        if stored is None:
            return True
        same = stored == hash(jsontext.dumps(content))
        self._problems.note(number, f"id {quoted(event_id)} repeated with {'the same' if same else 'other'} content; the first one is kept")
        return False

    def _date(self, number: int, event: dict[str, Any]) -> None:
        value = event.get("timestamp")
        if value is not None and time_of(value) is None:
            self._problems.note(number, f"timestamp {quoted(value)} is not a time; the event before it lends its own")
            event["sourceTimestamp"] = event.pop("timestamp")
            value = None
        if value is not None:
            self._time = value
        elif self._time is not None:
            event["timestamp"] = self._time
        else:
            event.pop("timestamp", None)

    def _look_for_parent(self, number: int, event: dict[str, Any]) -> None:
        parent = event.get("parentId")
        if parent is not None and not (isinstance(parent, str) and parent in self._seen):
            self._problems.note(number, f"parent {quoted(parent)} not found before this line; the event hangs on the leaf")
            if not isinstance(parent, str):
                event["sourceParentId"] = event.pop("parentId")
