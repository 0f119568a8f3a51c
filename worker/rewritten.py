"""A source that its program rewrites in place, fitted to what is stored of it: what is new is added, what left its branch leaves ours.

What is stored is never changed. A message that now says something else, or stands in another place, is stored beside the old one under
an id made of its own and of what it says, and so is whatever hangs on it; rows that were only written again under new ids are recognised
by place and content. In the end the leaf is where the source has it, unless the source has not moved it since the last import: then a
rewind or an append that was made here stands. Where the source could not be read whole, what is known keeps its place and the leaf
stays: a failed reading takes nothing away.
"""

import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any

from shared import jsontext
from shared.appending import same_content
from shared.store import Store, copies, events, notes
from shared.store import sessions as rows
from shared.store.connect import write_transaction
from worker.importers.base import Branch, Event, Format, safe_id

_BATCH = 500


class Fitted:
    """The events of a source as they are to be stored; iterated once."""

    def __init__(self, store: Store, agent_id: str, session_id: str, format_: Format, found: Iterator[Event], branch: Branch) -> None:
        self._store, self._agent_id, self._session_id = store, agent_id, session_id
        self._format, self._found, self._branch = format_, found, branch
        self._names: dict[str, str] = {}  # an event's id in the source, and the one it is stored under where that is another
        self._twins: dict[int, str] | None = None
        self._given: set[str] = set()

    def __iter__(self) -> Iterator[Event]:
        while batch := list(islice(self._found, _BATCH)):
            stored = self._stored(batch)
            yield from (self._fitted(event, stored) for event in batch)

    @property
    def leaf(self) -> str | None:
        """The id of the source's leaf as it is stored; asked after all events were read."""
        return self._name(self._branch.leaf)

    def _name(self, event_id: str | None) -> str | None:
        return None if event_id is None else self._names.get(event_id, event_id)

    def _fitted(self, event: Event, stored: dict[str, str]) -> Event:
        own = event["id"]
        event = {**event, "parentId": self._name(event.get("parentId"))}
        known = stored.get(own)
        if known is None:
            known = self._twin(event, stored)
        elif not same_content(known, event):
            known = self._moved(event, known) or self._revised(event)
        placed: Event = event if known is None else known if isinstance(known, dict) else jsontext.loads(known, max_levels=1_000)
        self._given.add(placed["id"])
        if placed["id"] != own:
            self._names[own] = placed["id"]
        return placed

    def _moved(self, event: Event, known: str) -> str | None:
        """What is stored, where it differs in its place alone and a gap in what was read may be the reason."""
        if self._branch.whole:
            return None
        before = jsontext.loads(known, max_levels=1_000)
        return known if {**before, "parentId": None} == {**event, "parentId": None} else None

    def _revised(self, event: Event) -> Any:
        """The event under an id of its own."""
        digest = sha256(jsontext.dumps(event).encode()).hexdigest()[:12]
        return {**event, "id": safe_id(f"{event['id']}~{digest}")}

    def _twin(self, event: Event, stored: dict[str, str]) -> str | None:
        """The stored event that stands in the same place and says the same, where the source has none of its id any more."""
        if self._twins is None:
            self._twins = self._all_twins()
        twin = self._twins.get(self._place(event))
        if twin is None or twin in self._given:
            return None
        if twin not in stored:
            stored |= self._stored([{"id": twin}])
        return stored.get(twin)

    def _place(self, event: Event) -> int:
        return hash((event.get("parentId"), event.get("timestamp"), self._format.trace(event)))

    def _all_twins(self) -> dict[int, str]:
        """Where every stored event stands and what it says, by the hash of both."""
        number = self._transcript_no()
        if number is None:
            return {}
        twins: dict[int, str] = {}
        with self._store.reader(self._agent_id) as conn:
            for payload in copies.payloads(conn, number):
                event = jsontext.loads(payload, max_levels=1_000)
                if isinstance(event, dict) and isinstance(event.get("id"), str):
                    twins.setdefault(self._place(event), event["id"])
        return twins

    def _stored(self, batch: list[Event]) -> dict[str, str]:
        """The payloads of those of these events that are stored."""
        number = self._transcript_no()
        if number is None:
            return {}
        with self._store.reader(self._agent_id) as conn:
            found = events.known_payloads(conn, number, [event["id"] for event in batch])
        return {event_id: payload for event_id, (_, payload) in found.items()}

    def _transcript_no(self) -> int | None:
        if not self._store.has_agent(self._agent_id):
            return None
        with self._store.reader(self._agent_id) as conn:
            transcript = rows.find_transcript(conn, self._session_id)
        return None if transcript is None else transcript.transcript_no


def leaf_control(store: Store, agent_id: str, session_id: str, wanted: str | None, *, grew: bool) -> Event | None:
    """The event that moves the stored leaf to where the source has it; None where it stands there, or is to stay, or nothing is stored.

    wanted: the source's leaf as it is stored; grew: the source brought new events. Where the source has its leaf is kept for next time.
    """
    if not store.has_agent(agent_id):
        return None
    with store.reader(agent_id) as conn:
        transcript = rows.find_transcript(conn, session_id)
        if transcript is None or not _is_there(conn, transcript.transcript_no, wanted):
            return None
        before = notes.source_leaf(conn, transcript.transcript_no)
    if before != (wanted or ""):
        with store.writer(agent_id) as conn, write_transaction(conn, store.agent_path(agent_id)):
            notes.keep_source_leaf(conn, transcript.transcript_no, wanted or "")
    elif not grew:
        return None
    if transcript.leaf_id == wanted:
        return None
    return {"type": "leaf", "id": f"leaf~{transcript.last_seq + 1}", "targetId": wanted}


def _is_there(conn: sqlite3.Connection, transcript_no: int, wanted: str | None) -> bool:
    return wanted is None or events.find_node(conn, transcript_no, wanted) is not None
