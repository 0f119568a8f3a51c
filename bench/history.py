"""Row 12: pages of a very long session's history: the newest, those reached by cursor, and windows around messages anywhere."""

import random

from bench.client import Client
from bench.corpus import Corpus
from bench.figures import Row, ms, percentile, summary
from bench.ground import AGENT, Ground, key_of, say
from bench.service import Service

PATH = "/v1/sessions/history"
TARGET_MS = 20.0
TURNS = 25  # pages read on from each place


def rows(ground: Ground) -> list[Row]:
    service, corpus = _ready(ground), Corpus(ground.options.long_session, ground.options.seed, name="long", lone=True)
    session = corpus.session(0)
    found = [entry.id for entry in session.entries if entry.active and entry.text]
    places = random.Random(f"{ground.options.seed} pages").sample(found, min(len(found), ground.options.repeats))
    key = key_of(AGENT, session.id)
    taken: dict[str, list[float]] = {"cursor": [], "around": []}
    with service.client() as client:
        say("pages of history")
        _turn(client, key, {}, [])
        taken["cursor"] += _turn(client, key, {}, [])
        for place in places:
            _page(client, key, {"messageId": place})
            taken["around"].append(client.ms)
        for place in places[:4]:
            taken["cursor"] += _turn(client, key, {"messageId": place}, [])
    worst = max(taken, key=lambda kind: percentile(taken[kind], 0.95))
    row = Row("12", f"history, any page of a session of {ground.options.long_session:,} (slower: {worst})", f"{TARGET_MS:.0f} ms p95")
    row.ours, row.reached = ms(taken[worst]), percentile(taken[worst], 0.95) <= TARGET_MS
    row.detail = {kind: summary(values) for kind, values in taken.items()}
    return [row]


def _ready(ground: Ground) -> Service:
    """The service with the long session, indexed; row 8 has left it so, if it was measured."""
    service = ground.long
    if not service.children:
        ground.fill(service, ground.long_files)
        service.serve()
    return service


def _turn(client: Client, key: str, where: dict[str, str], taken: list[float]) -> list[float]:
    """Reads a page and on towards the first message."""
    for _ in range(TURNS):
        before = _page(client, key, where)
        taken.append(client.ms)
        if before is None:
            break
        where = {"before": before}
    return taken


def _page(client: Client, key: str, where: dict[str, str]) -> str | None:
    answer = client.post(PATH, {"sessionKey": key, "caller": {"agentId": AGENT, "sessionKey": key}, **where})
    if not answer["messages"]:
        raise RuntimeError(f"an empty page of history at {where}")
    before: str | None = answer["before"]
    return before
