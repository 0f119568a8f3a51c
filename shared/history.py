"""The history verb: the messages of one session's active branch, page by page or around one of them.

Invariant: a message that is not on the active branch is never shown, nor is a neighbour in its place; every text is masked whole
before it is cut.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import regex

from shared import cursors, jsontext, searchable
from shared.branch import ROOT, Node, ancestor, common, on_branch
from shared.errors import BadRequest, NotFound, UnreadableEvent
from shared.shown import shown
from shared.store import Store, history
from shared.store import sessions as rows
from shared.store.connect import read_transaction
from shared.store.events import find_node, node_fetcher
from shared.store.history import Step
from shared.store.registry import Catalogue
from shared.store.sessions import Transcript
from shared.transcript import iso
from shared.visibility import Caller, visible_agent

MAX_LIMIT = 200
MAX_TEXT_CHARS = 4_000
MAX_ANSWER_BYTES = 80 * 1024
_ENVELOPE_BYTES = 6 * 1024  # the answer's own fields: a key and an id of the longest kind, two cursors
_GRAPHEME = regex.compile(r"\X")

Place = tuple[int, int]  # depth of an event on the branch, number of the piece inside it


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """before, after: cursors to older and newer messages."""

    session_key: str
    message_id: str | None = None
    session_id: str | None = None
    limit: int = 20
    before: str | None = None
    after: str | None = None
    include_tools: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """One message as it is shown, and where it stands."""

    place: Place
    seq: int
    body: dict[str, Any]
    size: int
    cut: bool


def read_history(store: Store, caller: Caller, request: HistoryRequest) -> dict[str, Any]:
    """One page of a visible session, oldest first.

    raises: NotFound for a session that is hidden or is not there (the two are not told apart), BadRequest, BadCursor,
        VisibilityUnknown; UnreadableEvent when a stored message on the page cannot be read.
    """
    _check(request)
    agent_id = visible_agent(store, caller, request.session_key)
    catalogue = store.catalogue()
    with store.reader(agent_id) as conn, read_transaction(conn, store.agent_path(agent_id)):
        transcript = _transcript(conn, request)
        page = _Page(conn, transcript, request, catalogue)
        bound_to = [
            "history", caller.agent_id, caller.session_key, caller.sandboxed, caller.owner,
            request.session_key, transcript.session_id, request.include_tools,
        ]  # fmt: skip
        key = store.cursor_key()
        return page.answer(lambda c: cursors.unseal(key, bound_to, c), lambda content: cursors.seal(key, bound_to, content))


def _check(request: HistoryRequest) -> None:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise BadRequest(f"limit must be 1 to {MAX_LIMIT}", "limit")
    if sum(value is not None for value in (request.message_id, request.before, request.after)) > 1:
        raise BadRequest("only one of messageId, before and after may be given", "messageId")


def _transcript(conn: sqlite3.Connection, request: HistoryRequest) -> Transcript:
    session = rows.find_session(conn, request.session_key)
    if session is None or session.incognito:
        raise NotFound("no such session")
    transcript = rows.find_transcript(conn, request.session_id or session.session_id)
    if transcript is None or transcript.session_no != session.session_no:
        raise NotFound("no such session")
    return transcript


class _Page:
    """A page of one transcript's active branch."""

    def __init__(self, conn: sqlite3.Connection, transcript: Transcript, request: HistoryRequest, catalogue: Catalogue) -> None:
        self._conn, self._transcript, self._request, self._catalogue = conn, transcript, request, catalogue
        self._leaf = rows.leaf_node(conn, transcript)

    def answer(self, unseal: Callable[[str], Any], seal: Callable[[Any], str]) -> dict[str, Any]:
        pieces, older, newer = self._found(unseal)
        first, last = (pieces[0], pieces[-1]) if pieces else (None, None)
        return {
            "sessionKey": self._request.session_key,
            "sessionId": self._transcript.session_id,
            "messages": [piece.body for piece in pieces],
            "before": seal([first.seq, first.place[1]]) if older and first else None,
            "after": seal([last.seq, last.place[1]]) if newer and last else None,
            "truncated": older or newer or any(piece.cut for piece in pieces),
        }

    def _found(self, unseal: Callable[[str], Any]) -> tuple[list[_Piece], bool, bool]:
        """The pieces of the page, and whether there are older and newer ones."""
        request = self._request
        if request.message_id is not None:
            return self._around(request.message_id)
        if request.after is not None:
            place = self._place(unseal(request.after))
            newer, more = _fitting(self._newer(place), request.limit)
            return newer, self._any(self._older(newer[0].place if newer else (place[0], place[1] + 1))), more
        place = self._place(unseal(request.before)) if request.before is not None else (self._leaf.depth + 1, 0)
        older, more = _fitting(self._older(place), request.limit)
        older.reverse()
        return older, more, request.before is not None and self._any(self._newer(older[-1].place if older else (place[0], place[1] - 1)))

    def _any(self, pieces: Iterator[_Piece]) -> bool:
        return next(pieces, None) is not None

    def _place(self, content: Any) -> Place:
        """Where a cursor points: its event, or after a rewind the last one that the two branches share."""
        seq, piece = content
        fetch = node_fetcher(self._conn, self._transcript.transcript_no)
        node = fetch(int(seq))
        if on_branch(node, self._leaf, fetch):
            return node.depth, int(piece)
        return common(node, self._leaf, fetch).depth + 1, -1

    def _around(self, message_id: str) -> tuple[list[_Piece], bool, bool]:
        """A window that holds the message, grown evenly to both sides; nothing when it is not on the branch."""
        node = find_node(self._conn, self._transcript.transcript_no, message_id) or ROOT
        if not on_branch(node, self._leaf, node_fetcher(self._conn, self._transcript.transcript_no)):
            return [], False, False
        own = list(self._pieces_of(node))[: self._request.limit]
        if not own:
            return [], False, False
        older, newer = self._older((node.depth, 0)), self._newer((node.depth, len(own) - 1))
        return _grown(own, older, newer, self._request.limit)

    def _pieces_of(self, node: Node) -> Iterator[_Piece]:
        steps = history.upwards(self._conn, self._transcript.transcript_no, node.seq)
        return self._pieces(list(islice(steps, 2)), newest_first=False, only_first=True)

    def _older(self, place: Place) -> Iterator[_Piece]:
        """Pieces before a place, newest first."""
        fetch = node_fetcher(self._conn, self._transcript.transcript_no)
        start = ancestor(self._leaf, min(place[0], self._leaf.depth), fetch)
        steps = history.upwards(self._conn, self._transcript.transcript_no, start.seq)
        return (piece for piece in self._pieces(steps, newest_first=True) if piece.place < place)

    def _newer(self, place: Place) -> Iterator[_Piece]:
        """Pieces after a place, oldest first."""
        steps = history.downwards(self._conn, self._transcript.transcript_no, self._leaf, max(0, place[0] - 1))
        return (piece for piece in self._pieces(steps, newest_first=False) if piece.place > place)

    def _pieces(self, steps: Iterable[Step], *, newest_first: bool, only_first: bool = False) -> Iterator[_Piece]:
        for step in steps:
            bodies = self._bodies(step)
            numbered = list(enumerate(bodies))
            for number, (body, cut) in reversed(numbered) if newest_first else numbered:
                yield _Piece((step.depth, number), step.seq, body, len(jsontext.dumps(body).encode()) + 1, cut)
            if only_first:
                return

    def _bodies(self, step: Step) -> list[tuple[dict[str, Any], bool]]:
        """The messages an event shows: its text, and with includeTools its calls and results, each apart."""
        if step.payload is None or (step.role not in searchable.SEARCHED_ROLES and not self._request.include_tools):
            return []
        payload = _payload(step)
        items = searchable.message_items(payload)
        head = {"id": step.event_id, "role": step.role, "timestamp": iso(step.time_ms)}
        if not self._request.include_tools:
            text = searchable.message_text(payload)
            return [self._body({**head, "omitted": items.omitted}, text)] if text else []
        return [self._body(_item_head(head, item, 0 if n else items.omitted), item.text) for n, item in enumerate(items.items)]

    def _body(self, head: dict[str, Any], text: str) -> tuple[dict[str, Any], bool]:
        masked = shown(text, self._catalogue)
        part = cut_text(masked.text, MAX_TEXT_CHARS, masked.masks)
        redacted = sum(end <= len(part) for _, end in masked.masks)
        cut = len(part) < len(masked.text)
        return {**head, "text": part, "redacted": redacted, **({"cut": True} if cut else {})}, cut


def _item_head(head: dict[str, Any], item: searchable.Item, omitted: int) -> dict[str, Any]:
    """The fields of one piece of a message beside its text."""
    name = {"name": item.name} if item.name else {}
    return {**head, "type": item.kind, **name, "omitted": omitted}


def _payload(step: Step) -> Any:
    try:
        return jsontext.loads(step.payload or "", max_levels=1_000)
    except jsontext.BadJson:
        raise UnreadableEvent(f"the event at position {step.seq} cannot be read", step.seq) from None


def cut_text(text: str, limit: int, masks: Iterable[tuple[int, int]] = ()) -> str:
    """The first `limit` characters at most, whole graphemes and whole masks."""
    if len(text) <= limit:
        return text
    end = limit
    for start, stop in masks:
        if start < end < stop:
            end = start
    near = max(0, end - 64)
    last = near
    for grapheme in _GRAPHEME.finditer(text, near, min(len(text), end + 64)):
        if grapheme.end() > end:
            break
        last = grapheme.end()
    return text[: last if last > near else end]


def _fitting(pieces: Iterator[_Piece], limit: int) -> tuple[list[_Piece], bool]:
    """The first pieces that fit, and whether more follow."""
    room = MAX_ANSWER_BYTES - _ENVELOPE_BYTES
    taken: list[_Piece] = []
    for piece in pieces:
        if len(taken) >= limit or (taken and piece.size > room):
            return taken, True
        room -= piece.size
        taken.append(piece)
    return taken, False


def _grown(own: list[_Piece], older: Iterator[_Piece], newer: Iterator[_Piece], limit: int) -> tuple[list[_Piece], bool, bool]:
    """Pieces around the middle, one from each side in turn, as many as fit; whether each side has more."""
    room = MAX_ANSWER_BYTES - _ENVELOPE_BYTES - sum(piece.size for piece in own)
    sides: list[list[_Piece]] = [[], []]
    waiting = [next(older, None), next(newer, None)]
    streams, turn, count = (older, newer), 0, len(own)
    while count < limit and any(piece is not None for piece in waiting):
        piece = waiting[turn] if waiting[turn] is not None else waiting[turn := 1 - turn]
        if piece is None or piece.size > room:
            break
        sides[turn].append(piece)
        room, count = room - piece.size, count + 1
        waiting[turn] = next(streams[turn], None)
        turn = 1 - turn
    return [*reversed(sides[0]), *own, *sides[1]], waiting[0] is not None, waiting[1] is not None
