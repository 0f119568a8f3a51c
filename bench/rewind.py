"""Row 7: a rewind by two messages, from the call until nothing is owed, in a long session and in a short one."""

import time
from typing import Any

from bench import append
from bench.client import Client
from bench.figures import Row, ms, percentile, short, summary
from bench.ground import Ground, say
from bench.service import served

AGENT = "rewinder"
SETTLE_S = 60.0
POLL_S = 0.002
LEFT = "xqleftbehind"  # stands in the messages that are rewound


def rows(ground: Ground) -> list[Row]:
    length = min(10_000, ground.options.long_session)
    lengths = {f"agent:{AGENT}:short": 10, f"agent:{AGENT}:long": length}
    taken: dict[str, list[float]] = {key: [] for key in lengths}
    shown = 0
    with served(ground.folder / "rewind") as service, service.client() as client:
        say(f"rewinds in sessions of 10 and {length:,}")
        for key, count in lengths.items():
            sent = append.messages(count, ground.options.seed + 4, key[-5:])
            for at in range(0, count, append.CALL):
                _append(client, key, [event for event, _ in sent[at : at + append.CALL]])
        for number in range(max(5, ground.options.repeats // 5)):
            for key, values in taken.items():
                ms_taken, found = _rewind(client, key, number)
                values.append(ms_taken)
                shown += found
    short_one, long_one = taken.values()
    growth = percentile(long_one, 0.5) / percentile(short_one, 0.5)
    row = Row("7", f"rewind by 2 in a session of {length:,}, until settled", "1.5 x a session of 10; text gone at once", ms(long_one))
    row.beside, row.ratio, row.reached = "session of 10: " + ms(short_one), short(growth), growth <= 1.5 and not shown
    row.detail = {"short": summary(short_one), "long": summary(long_one), "hits of abandoned text": shown}
    if shown:
        row.notes.append(f"abandoned text was found {shown} times after the rewind's answer")
    return [row]


def _append(client: Client, key: str, events: list[dict[str, Any]]) -> Any:
    return client.post(append.PATH, {"agentId": AGENT, "sessionKey": key, "events": events})


def _rewind(client: Client, key: str, number: int) -> tuple[float, int]:
    """Two messages are appended and rewound; milliseconds until settled, and how often what was left was still found."""
    first = _append(client, key, [_message(f"k{number}", f"the harbour is open {number}")])["leafId"]
    _append(client, key, [_message(f"l{number}-{i}", f"{LEFT} in round {number}") for i in range(2)])
    if not _search(client, key)["results"]:
        raise RuntimeError("an appended message is not found")
    begun = time.perf_counter()
    client.post("/v1/sessions/rewind", {"agentId": AGENT, "sessionKey": key, "toEventId": first})
    found = 0
    while True:
        answer = _search(client, key)
        found += len(answer["results"])
        if not answer["indexing"]:
            return (time.perf_counter() - begun) * 1000, found
        if time.perf_counter() - begun > SETTLE_S:
            raise TimeoutError(f"a rewind did not settle within {SETTLE_S:.0f} s")
        time.sleep(POLL_S)


def _message(event_id: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": event_id, "message": {"role": "user", "content": text}}


def _search(client: Client, key: str) -> Any:
    return client.post("/v1/sessions/search", {"query": LEFT, "sessionKey": key, "caller": {"agentId": AGENT, "sessionKey": key}})
