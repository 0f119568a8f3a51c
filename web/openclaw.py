"""The shape of OpenClaw's sessions.search, so that a platform which calls that can switch by address.

Their hits must carry a score. Ours would tell how often hidden sessions use a word, had it come from an index that holds those; what
is given is 1 divided by the hit's place in the answer, which orders the hits and tells nothing else.
"""

from typing import Any

from web.times import milliseconds


def as_openclaw(body: dict[str, Any]) -> dict[str, Any]:
    """An answer of search with OpenClaw's names; `indexing` and `truncated` are there only where they are true."""
    told = {name: True for name in ("indexing", "truncated") if body[name]}
    return {"results": [_hit(hit, place) for place, hit in enumerate(body["results"], 1)], **told}


def _hit(hit: dict[str, Any], place: int) -> dict[str, Any]:
    same = {name: hit[name] for name in ("sessionKey", "sessionId", "messageId", "role")}
    return {**same, "timestamp": milliseconds("timestamp", hit["timestamp"]), "snippet": hit["excerpt"], "score": 1 / place}
