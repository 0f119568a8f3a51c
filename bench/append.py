"""Rows 4 and 5: appends over HTTP, one message and a thousand, beside an empty request and a raw commit of the same."""

import json
from typing import Any

from bench.client import Client
from bench.corpus import Corpus, event_of
from bench.figures import Row, ms, percentile, short, summary
from bench.ground import Ground, say
from bench.raw import Raw
from bench.service import Service

PATH = "/v1/sessions/append"
CALL = 1_000  # events, the most that one call takes
CALLS = 20
RATE = 15_000.0  # messages a second
AGENT, SHORT, LONG, BULK = "writer", "agent:writer:short", "agent:writer:long", "agent:writer:bulk"
# The empty request: checked and authenticated like every other, for a caller who has nothing.
NOBODY = {"caller": {"agentId": "nobody", "sessionKey": "agent:nobody:main"}, "limit": 1}


def rows(ground: Ground) -> list[Row]:
    """Both rows, on a service of their own without a worker: an append needs none."""
    raw = Raw(ground.folder / "append.sqlite")
    try:
        with Service(ground.folder / "append") as service:
            service.serve()
            with service.client() as client:
                lines = []
                if ground.wanted("4"):
                    lines.append(_one(ground, client, raw))
                if ground.wanted("5"):
                    lines.append(_thousand(ground, client, raw))
                return lines
    finally:
        raw.close()


def messages(count: int, seed: int, name: str) -> list[tuple[dict[str, Any], str]]:
    """So many messages of users and assistants, as an append sends them, with their texts; none names a parent."""
    found: list[tuple[dict[str, Any], str]] = []
    for session in Corpus(4 * count + 400, seed, name=name).sessions():
        for entry in session.entries:
            if entry.text:
                event = {**event_of(entry), "id": f"{session.id}-{entry.id}"}
                del event["parentId"]
                found.append((event, entry.text))
                if len(found) == count:
                    return found
    return found


def _one(ground: Ground, client: Client, raw: Raw) -> Row:
    """Row 4: the four kinds take turns, so that all see the same machine."""
    repeats, length = ground.options.repeats, min(10_000, ground.options.long_session)
    say(f"append of one message, sessions of 10 and {length:,}")
    seed = ground.options.seed
    for key, count in ((SHORT, 10), (LONG, length)):
        _fill(client, key, messages(count, seed + 1, key[-5:]))
    taken: dict[str, list[float]] = {"empty": [], "short": [], "long": [], "raw": []}
    for number, (event, text) in enumerate(messages(2 * repeats, seed + 2, "one")):
        key = (SHORT, LONG)[number % 2]
        client.post(PATH, {"agentId": AGENT, "sessionKey": key, "events": [event]})
        taken["short" if key == SHORT else "long"].append(client.ms)
        client.post("/v1/sessions/list", NOBODY)
        taken["empty"].append(client.ms)
        taken["raw"].append(raw.append([(json.dumps(event, ensure_ascii=False), text)]))
    middle = {name: percentile(values, 0.5) for name, values in taken.items()}
    allowed, growth = middle["empty"] + 3 * middle["raw"], middle["long"] / middle["short"]
    row = Row("4", "append of one message", f"{short(allowed)} ms p50 (empty + 3 x raw); long 1.2 x short", ms(taken["long"]))
    row.beside = f"empty {ms(taken['empty'])}; raw {ms(taken['raw'])}; session of 10: {ms(taken['short'])}"
    row.ratio = f"{short(middle['long'] / allowed)} of allowed; {short(growth)} x short"
    row.reached = max(middle["short"], middle["long"]) <= allowed and growth <= 1.2
    row.detail = {name: summary(values) for name, values in taken.items()} | {"long session": length}
    return row


def _fill(client: Client, key: str, sent: list[tuple[dict[str, Any], str]]) -> None:
    for at in range(0, len(sent), CALL):
        client.post(PATH, {"agentId": AGENT, "sessionKey": key, "events": [event for event, _ in sent[at : at + CALL]]})


def _thousand(ground: Ground, client: Client, raw: Raw) -> Row:
    """Row 5: calls of a thousand messages each, and the same messages in one raw commit."""
    calls = min(CALLS, max(3, ground.options.repeats // 5))
    say(f"{calls} appends of {CALL:,} messages")
    sent = messages(CALL * (calls + 1), ground.options.seed + 3, "bulk")
    ours, beside = list[float](), list[float]()
    for at in range(0, len(sent), CALL):
        part = sent[at : at + CALL]
        client.post(PATH, {"agentId": AGENT, "sessionKey": BULK, "events": [event for event, _ in part]})
        ours.append(client.ms)
        beside.append(raw.append([(json.dumps(event, ensure_ascii=False), text) for event, text in part]))
    ours, beside = ours[1:], beside[1:]  # the first makes the session
    rate, raw_rate = (CALL / percentile(values, 0.5) * 1000 for values in (ours, beside))
    row = Row("5", f"append of {CALL:,} messages in one call", f"{RATE:,.0f} messages/s", f"{rate:,.0f} messages/s ({ms(ours)})")
    row.beside, row.ratio, row.reached = f"raw {raw_rate:,.0f}/s", short(rate / raw_rate), rate >= RATE
    row.detail = {"ours": summary(ours), "raw": summary(beside)}
    return row
