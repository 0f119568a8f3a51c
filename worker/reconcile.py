"""Reconcile: make the rows of a pending session equal its active branch, by the difference.

1. Take over what another program wrote, if something was.
2. Read a snapshot: the branch and the rows beyond the position up to which they are known to agree.
3. Step by step, compute outside any write lock, then publish in a short transaction that first takes or renews the session's lease and
   checks that nobody published since and nothing but appends happened; a move of the leaf or a foreign write starts over from what is done.
4. With the step that reaches the branch's end nothing is owed any more: a session of one step costs one commit.

A killed worker leaves a lease that runs out and rows that are right as far as they go: the next one goes on from there.
"""

import random
import sqlite3
import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from shared import jsontext, searchable
from shared import shown as shown_text
from shared.damage import condemn_index
from shared.errors import IndexDamaged, LeaseLost, SessionSearchError, StoreUnavailable, UnreadableEvent
from shared.store import Store, foreign, owed, projection
from shared.store.connect import read_transaction, write_transaction
from shared.store.foreign import ADDED
from shared.store.owed import Change, Row, Snapshot, StoredEvent
from shared.store.projection import TIME_SHIFT, NewMessage, State, read_state, time_floor
from shared.store.registry import Catalogue
from shared.store.sessions import Transcript, find_transcript

LONGEST_STEP_S = 0.02  # a publish that took longer halves the next step: the write lock is held for 50 ms at most
MAX_STEP = 800  # messages a step
MIN_STEP = 8
MAX_STEP_CHARS = 400_000
MAX_ATTEMPTS = 6
_BACKOFF_MS = (500, 2_000, 8_000, 30_000, 120_000)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was done. pending: the session still owes something, for it changed meanwhile or another worker has it."""

    entries: int
    removed: int
    pending: bool


def reconcile_session(
    store: Store,
    agent_id: str,
    session_key: str,
    worker_id: str,
    now_ms: Callable[[], int],
    beat: Callable[[], None],
    failing: Callable[[str], None] = lambda error: None,
) -> Reconciled:
    """The session's rows equal its active branch, in every transcript it has.

    beat: called after every step, as a sign of progress. failing: told why, before the session is parked.
    raises: UnreadableEvent when a stored event cannot be understood (the session is parked); LeaseLost while another worker has it;
        StoreUnavailable when a later try may do (it is noted when).
    """
    with store.reader(agent_id) as conn:
        found = owed.pending_transcripts(conn, session_key)
    added = removed = 0
    for transcript, _ in found:
        work = _Work(store, agent_id, transcript.session_id, worker_id, now_ms, beat, failing)
        work.run()
        added, removed = added + work.added, removed + work.removed
    with store.reader(agent_id) as conn:
        pending = bool(owed.pending_transcripts(conn, session_key))
    return Reconciled(added, removed, pending)


class _Moved(Exception):
    """The snapshot no longer holds."""


class _Work:
    """One transcript."""

    def __init__(
        self, store: Store, agent_id: str, session_id: str, worker_id: str, now_ms: Callable[[], int], beat: Callable[[], None],
        failing: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._store, self._agent_id, self._session_id = store, agent_id, session_id
        self._path = store.agent_path(agent_id)
        self._owner, self._now_ms, self._beat, self._failing = worker_id, now_ms, beat, failing
        self._catalogue: Catalogue = store.catalogue()  # of the attempt
        self._step = MAX_STEP // 4
        self._whole_to: int | None = None  # as the snapshot, or the step before, left it
        self.added = self.removed = 0

    def run(self) -> None:
        try:
            while not self._attempt():
                self._beat()
        except LeaseLost:
            raise
        except IndexDamaged:
            condemn_index(self._store, self._agent_id, self._now_ms())
            self._fail(StoreUnavailable("the full-text index is damaged and is built anew"), parked=False)
            raise
        except UnreadableEvent as e:
            self._failing(str(e))
            self._fail(e, parked=True)
            raise
        except (StoreUnavailable, SessionSearchError) as e:
            with suppress(SessionSearchError):
                self._fail(e, parked=False)
            raise

    def _attempt(self) -> bool:
        """Works from one snapshot; False when it stopped holding and another is to be taken."""
        self._catalogue = self._store.catalogue()
        snapshot = self._snapshot()
        if snapshot is None and self._begin():
            snapshot = self._snapshot()
            if snapshot is None:
                return False
        if snapshot is None:
            return True
        self._whole_to = snapshot.state.whole_to
        try:
            return self._apply(snapshot)
        except _Moved:
            return False

    def _snapshot(self) -> Snapshot | None:
        """What is to be compared; None when nothing is owed, or something must be written first."""
        with self._store.reader(self._agent_id) as conn, read_transaction(conn, self._path):
            transcript, state = self._read(conn)
            if transcript is None or state is None or state.pending_reason is None:
                return None
            if state.foreign_writes or projection.condemned(conn) or projection.made_by(conn) != self._maker():
                return None
            return owed.take_snapshot(conn, transcript, state)

    def _begin(self) -> bool:
        """Takes the lease and writes what a snapshot rests on; False when nothing is owed."""
        now_ms = self._now_ms()
        with self._store.writer(self._agent_id) as conn, write_transaction(conn, self._path):
            projection.adopt(conn, self._maker(), now_ms)
            transcript, state = self._read(conn)
            if transcript is None or state is None or state.pending_reason is None:
                return False
            if projection.condemned(conn):
                projection.drop_index(conn, now_ms)
            owed.take_lease(conn, transcript.transcript_no, self._owner, now_ms, self._lease_end(now_ms))
            if state.foreign_writes > ADDED:
                foreign.rework(conn, transcript, now_ms)
            elif state.foreign_writes:
                foreign.take_over(conn, transcript, now_ms)
            return True

    def _read(self, conn: sqlite3.Connection) -> tuple[Transcript | None, State | None]:
        transcript = find_transcript(conn, self._session_id)
        return transcript, read_state(conn, transcript.transcript_no) if transcript else None

    def _maker(self) -> str:
        """What the rows of this attempt are made by; once the database is to be brought up to another, they must not be published."""
        return projection.maker(self._catalogue.version, self._catalogue.policy)

    def _lease_end(self, now_ms: int) -> int:
        return now_ms + self._store.settings.lease_s * 1000

    # ------------------------------------------------------------------------------------------------ steps

    def _apply(self, snapshot: Snapshot) -> bool:
        """Publishes the difference step by step; whether nothing is owed any more. raises: _Moved."""
        position, at = snapshot.done, 0
        stale = snapshot.stale  # by position
        while True:
            seqs = snapshot.path[at : at + self._step]
            change, used = self._computed(snapshot, seqs, position)
            at, position = at + used, position + used
            passed = len(stale) if at >= len(snapshot.path) else bisect_right(stale, position, key=lambda row: row.position)
            taken, stale = stale[: min(passed, 2 * self._step)], stale[min(passed, 2 * self._step) :]
            remove = [*change.remove, *(row.message_no for row in taken)]
            done = min([position, *(row.position - 1 for row in stale[:1])])  # the next worker must find what is left
            last = at >= len(snapshot.path) and not stale
            settled = self._publish(snapshot, Change(remove, change.unhide, change.add, done), last=last)
            if last:
                return settled

    def _computed(self, snapshot: Snapshot, seqs: list[int], position: int) -> tuple[Change, int]:
        """What the next events of the branch need, and how many of them the step takes."""
        remove: list[int] = []
        unhide: list[int] = []
        add: list[NewMessage] = []
        chars = used = 0
        with self._store.reader(self._agent_id) as conn, read_transaction(conn, self._path):
            found = owed.payloads(conn, snapshot.transcript.transcript_no, self._to_read(snapshot, seqs), searchable.SEARCHED_ROLES)
            by_seq = {row[0]: row for row in found}
            for seq in seqs:
                used += 1
                row = snapshot.rows.get(seq)
                if (event := by_seq.get(seq)) is not None:
                    message = self._message(event)
                    chars += len(event[5] or "")
                    if row is not None and not self._equal(conn, row, message, snapshot.transcript):
                        remove.append(row.message_no)
                        row = None
                    if row is None and message is not None:
                        add.append(message)
                if row is not None and row.hidden:
                    unhide.append(row.message_no)
                if chars > MAX_STEP_CHARS:
                    break
        return Change(remove, unhide, add, position + used), used

    def _to_read(self, snapshot: Snapshot, seqs: list[int]) -> list[int]:
        """The events whose text is needed: those without a row, and all of them where rows may hold other text."""
        return seqs if snapshot.recheck else [seq for seq in seqs if seq not in snapshot.rows]

    def _equal(self, conn: sqlite3.Connection, row: Row, message: NewMessage | None, transcript: Transcript) -> bool:
        if message is None or (row.role, row.session_no) != (message.role, transcript.session_no):
            return False
        same_time = time_floor(message.time_ms) == row.message_no >> TIME_SHIFT << TIME_SHIFT
        return same_time and owed.document_of(conn, row.message_no) == (message.document.text, message.document.parts)

    def _message(self, event: StoredEvent) -> NewMessage | None:
        """The row an event of the branch should have; None when it has no searchable text."""
        seq, depth, role, time_ms, stored_ms, payload = event
        if payload is None or role is None:
            return None
        try:
            text = searchable.message_text(jsontext.loads(payload, max_levels=1_000))
        except jsontext.BadJson:
            raise UnreadableEvent(f"the event at position {seq} cannot be read", seq) from None
        return NewMessage(seq, depth, time_ms, stored_ms, role, shown_text.indexed(text, self._catalogue)) if text else None

    def _publish(self, snapshot: Snapshot, change: Change, *, last: bool) -> bool:
        """Writes one step; the last one settles the transcript too, if it can be. raises: UnreadableEvent, once the step is written."""
        begun = time.monotonic()
        settled, unreadable = False, None
        with self._store.writer(self._agent_id) as conn, write_transaction(conn, self._path):
            begun = time.monotonic()
            self._check(conn, snapshot)
            owed.publish(conn, snapshot, change)
            if last and (unreadable := self._unreadable(conn)) is None:
                settled = self._settle(conn, snapshot)
        self._whole_to = change.done
        self._adapt(time.monotonic() - begun)
        self.added += len(change.add)
        self.removed += len(change.remove)
        if unreadable is not None:
            raise UnreadableEvent(f"the event at position {unreadable} cannot be read", unreadable)
        self._beat()
        return settled

    def _check(self, conn: sqlite3.Connection, snapshot: Snapshot) -> None:
        now_ms = self._now_ms()
        owed.take_lease(conn, snapshot.transcript.transcript_no, self._owner, now_ms, self._lease_end(now_ms))
        if not owed.unmoved(conn, snapshot.transcript) or not owed.untouched(conn, snapshot.transcript, self._whole_to):
            raise _Moved

    def _adapt(self, took_s: float) -> None:
        """Keeps the time under the write lock near what is allowed."""
        if took_s > LONGEST_STEP_S:
            self._step = max(MIN_STEP, self._step // 2)
        elif took_s < LONGEST_STEP_S / 3:
            self._step = min(MAX_STEP, self._step * 2)

    def _unreadable(self, conn: sqlite3.Connection) -> int | None:
        """The position of an event from outside that was never understood: with it the transcript is never settled."""
        transcript, state = self._read(conn)
        if transcript is None or state is None or state.pending_reason != "edited":
            return None
        return owed.has_unreadable(conn, transcript.transcript_no)

    def _settle(self, conn: sqlite3.Connection, snapshot: Snapshot) -> bool:
        """Nothing is owed, unless events came meanwhile that were not indexed by their append."""
        transcript, _ = self._read(conn)
        if transcript is None:
            return True
        if transcript.last_seq != snapshot.transcript.last_seq and not snapshot.state.indexed:
            return False
        owed.settle(conn, transcript.transcript_no)
        return True

    def _fail(self, error: SessionSearchError, *, parked: bool) -> None:
        now_ms = self._now_ms()
        with self._store.writer(self._agent_id) as conn, write_transaction(conn, self._path):
            transcript, state = self._read(conn)
            if transcript is None or state is None:
                return
            gone = parked or state.attempts + 1 >= MAX_ATTEMPTS
            pause = _BACKOFF_MS[min(state.attempts, len(_BACKOFF_MS) - 1)]
            retry_at_ms = now_ms + round(pause * random.uniform(0.8, 1.2))  # noqa: S311 (spreads retries, guards nothing)
            owed.note_failure(conn, transcript.transcript_no, self._owner, str(error), retry_at_ms, parked=gone)
