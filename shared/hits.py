"""One page of hits: as many entries of a stream as the limit and the size of an answer allow."""

from dataclasses import dataclass
from typing import Any

from shared import excerpt, jsontext
from shared.shown import shown
from shared.store import search
from shared.stream import Entry, Resume, Stream
from shared.transcript import iso

MAX_ANSWER_BYTES = 32 * 1024
_ENVELOPE_BYTES = 1_536  # the answer's other fields, without `interpreted` and what a cursor holds for each word
_CURSOR_BYTES_A_WORD = 8
MAX_MATCHES = 100  # `matches` is exact up to here


@dataclass(frozen=True, slots=True)
class Hits:
    """results: ready for JSON; resume: where the next page goes on, None at the end."""

    results: list[dict[str, Any]]
    resume: Resume | None

    @staticmethod
    def of(stream: Stream, limit: int) -> "Hits":
        """The next hits of a stream."""
        results: list[dict[str, Any]] = []
        query = stream.wanted.query
        room = MAX_ANSWER_BYTES - _ENVELOPE_BYTES - len(jsontext.dumps(query.interpreted).encode()) - _CURSOR_BYTES_A_WORD * query.words
        last: Entry | None = None
        for entry in stream.entries():
            if len(results) == limit:
                return Hits(results, stream.resume_after(last) if last else None)
            hit = _hit(stream, entry)
            if hit is None:
                continue
            room -= len(jsontext.dumps(hit).encode()) + 1
            if room < 0 and results:
                return Hits(results, stream.resume_after(last) if last else None)
            results.append(hit)
            last = entry
        return Hits(results, None)


def _hit(stream: Stream, entry: Entry) -> dict[str, Any] | None:
    """What a caller gets of a match; None for one just deleted or made unreadable by another program."""
    row = entry.part.read(search.hit_row, entry.candidate)
    if row is None:
        return None
    try:
        text = stream.shown_text(row.payload)
    except jsontext.BadJson:
        return None
    piece = excerpt.cut(text.text, stream.wanted.terms, text.masks)
    title = shown(row.title or "", stream.catalogue)
    hit: dict[str, Any] = {
        "sessionKey": row.session_key,
        "sessionId": row.session_id,
        "messageId": row.event_id,
        "agentId": entry.part.agent_id,
        "timestamp": iso(row.time_ms),
        "role": row.role,
        "kind": row.kind,
        "title": title.text if row.title is not None else None,
        "excerpt": piece.text,
        "highlights": piece.highlights,
        "redacted": piece.masks + title.redacted,
    }
    if stream.by_session:
        matches = stream.matches_in(entry, MAX_MATCHES + 1)
        hit["matches"] = min(matches, MAX_MATCHES)
        if matches > MAX_MATCHES:
            hit["matchesMore"] = True
    return hit
