"""Verify: compare every row of the index with a fresh computation, and find what no query would notice.

A page of zeros reads as an empty index, so nothing is taken on trust: each message of each active branch is computed again and looked
up, and every row is asked what it stands for.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from shared import jsontext, searchable, shown
from shared.errors import IndexDamaged, StoreDamaged, StoreUnavailable
from shared.overview import rebuild_index
from shared.store import Store, check, events, owed, projection
from shared.store import sessions as rows
from shared.store.connect import read_transaction
from shared.store.registry import Catalogue
from shared.store.sessions import Transcript
from shared.suspects import note_suspect

MAX_LENT_MS = 64  # 16 million messages of one millisecond


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as it should be. session_key is empty when it concerns the whole database.

    of_index: building the index anew mends it.
    """

    agent_id: str
    session_key: str
    session_id: str
    what: str
    of_index: bool = True


def verify_agent(store: Store, agent_id: str, *, repair: bool = False, now_ms: int) -> list[Difference]:
    """Every difference between an agent's index and its transcripts; none for what is pending and says so.

    repair: an index that differs is thrown away and owed again; a damaged transcript is only reported.
    """
    try:
        found = list(_differences(store, agent_id))
    except StoreUnavailable as e:
        if isinstance(e, StoreDamaged) and not isinstance(e, IndexDamaged):  # an index is built anew by itself
            note_suspect(store.settings, str(e.path))
        return [Difference(agent_id, "", "", f"{e}: {e.path}", of_index=False)]
    if repair and any(difference.of_index for difference in found):
        rebuild_index(store, agent_id, now_ms)
    return found


def _differences(store: Store, agent_id: str) -> Iterator[Difference]:
    catalogue = store.catalogue()
    with store.reader(agent_id) as conn:
        numbers = check.all_transcripts(conn)
        damage = check.quick_check(conn)
    if damage is not None:
        note_suspect(store.settings, str(store.agent_path(agent_id)))
        yield Difference(agent_id, "", "", f"the database is damaged ({damage}): {store.agent_path(agent_id)}", of_index=False)
    for session_id in numbers:
        yield from _Check(store, agent_id, session_id, catalogue).differences()
    with store.reader(agent_id) as conn:
        try:
            if (orphans := check.orphans(conn)) > 0:
                yield Difference(agent_id, "", "", f"the index holds {orphans} rows of no transcript")
        except (StoreDamaged, sqlite3.DatabaseError):
            yield Difference(agent_id, "", "", "the index cannot be read")


class _Check:
    """One transcript, read in one transaction."""

    def __init__(self, store: Store, agent_id: str, session_id: str, catalogue: Catalogue) -> None:
        self._store, self._agent_id, self._session_id, self._catalogue = store, agent_id, session_id, catalogue

    def differences(self) -> list[Difference]:
        with self._store.reader(self._agent_id) as conn, read_transaction(conn, self._store.agent_path(self._agent_id)):
            transcript = rows.find_transcript(conn, self._session_id)
            state = projection.read_state(conn, transcript.transcript_no) if transcript else None
            if transcript is None or state is None or state.pending_reason is not None:
                return []
            key = check.session_key(conn, transcript.session_no)
            try:
                found = list(self._compare(conn, transcript))
            except sqlite3.DatabaseError as e:
                found = [f"the index cannot be read ({e})"]
        return [Difference(self._agent_id, key, self._session_id, what) for what in found]

    def _compare(self, conn: sqlite3.Connection, transcript: Transcript) -> Iterator[str]:
        have, surplus = check.rows_of(conn, transcript.transcript_no)
        path = events.branch_beyond(conn, transcript.transcript_no, rows.leaf_node(conn, transcript), 0)
        for start in range(0, len(path), 500):
            found = owed.payloads(conn, transcript.transcript_no, path[start : start + 500], searchable.SEARCHED_ROLES)
            for seq, depth, role, time_ms, _, payload in found:
                text = self._text(payload)
                row = have.pop(seq, None)
                if text is None:
                    yield f"the event at position {seq} cannot be read"
                elif row is None and text:
                    yield f"the message at position {seq} is not indexed"
                elif row is not None and not (
                    (row.hidden, row.position, row.role, row.session_no) == (False, depth, role, transcript.session_no)
                    and _dated(row.message_no, time_ms)
                    and self._same(conn, row, text)
                ):
                    yield f"the message at position {seq} is indexed otherwise"
        for seq in have:
            yield f"the row of position {seq} is not on the active branch"
        for row in surplus:
            yield f"the message at position {row.seq} is indexed more than once"

    def _text(self, payload: str | None) -> str | None:
        if payload is None:
            return ""
        try:
            return searchable.message_text(jsontext.loads(payload, max_levels=1_000))
        except jsontext.BadJson:
            return None

    def _same(self, conn: sqlite3.Connection, row: owed.Row, text: str) -> bool:
        """Whether the stored token streams are those of the text, and the index itself finds the row by its first word."""
        document = shown.indexed(text, self._catalogue)
        if owed.document_of(conn, row.message_no) != (document.text, document.parts):
            return False
        first = next((token for token in document.text.split(" ") if token), None)
        return check.finds(conn, row.message_no, row.session_no, first)


def _dated(message_no: int, time_ms: int) -> bool:
    """Whether a row number is made from this time; where one ms had more messages than fit, the next ones lent theirs."""
    return 0 <= (message_no >> projection.TIME_SHIFT) - time_ms <= MAX_LENT_MS
