"""How often the evidence for a question stands among the first hits, beside FTS5 with bm25, porter and without stop words.

A folder of conversations: each a file conversation-*.json with `sessions` (each `turns` of `id`, `speaker`, `text`, and its `time`)
and `questions` (each with the ids of its `evidence`). A conversation is one agent, a session of it one session, a turn one message.
"""

import json
import re
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.client import Client
from bench.figures import Row, ms, summary
from bench.ground import AGENT, Ground, key_of, say
from bench.raw import memory_index
from bench.service import Service

DEPTHS = (1, 5, 10, 25)
STOP_TEXT = """a an and any are as at be been before being but by can could did do does during for from had has have he her his how i in
    into is it its may might of on or our she should so some that the their then there these they this those to was we were what when where
    which while who whom whose why will with would you your"""
STOP = frozenset(STOP_TEXT.split())

Recall = dict[int, float]


def rows(ground: Ground) -> list[Row]:
    """Recall alone, and, when it is asked for, with the conversations planted as the oldest sessions among the main corpus."""
    folder = ground.options.questions
    if folder is None or not (found := sorted(folder.glob("conversation-*.json"))):
        return [Row("R", "evidence among the first ten, match any", notes=["there is no folder of questions here; left out"])]
    conversations = [json.loads(path.read_text("utf-8")) for path in found]
    with Service(ground.folder / "ranking", visibility="agent") as service:
        service.serve()
        ours, taken = _ours(service, conversations, [f"talk-{n}" for n in range(len(conversations))])
    beside = _baseline(conversations)
    row = Row("R", f"evidence of {len(taken):,} questions among the first ten, match any", "more than FTS5 porter")
    row.ours = f"{ours[10]:.3f} ({ms(taken)})"
    row.beside, row.ratio, row.reached = f"FTS5 {beside[10]:.3f}", f"{ours[10] / beside[10]:.2f}", ours[10] > beside[10]
    row.notes.append("recall at " + ", ".join(f"{k}: {ours[k]:.3f} (FTS5 {beside[k]:.3f})" for k in DEPTHS))
    row.detail = {"ours": ours, "FTS5": beside, "searches": summary(taken)}
    return [row, *(_planted(ground, conversations, ours) if ground.options.planted else [])]


def _planted(ground: Ground, conversations: list[Any], alone: Recall) -> list[Row]:
    """The same questions, asked of the one agent that has the main corpus, where each conversation's sessions are older than all else."""
    found, taken = _ours(ground.main, conversations, [AGENT] * len(conversations), ground.callers["all"]["sessionKey"])
    share = found[10] / alone[10]
    row = Row("R", f"the same, planted as the oldest among {ground.options.messages:,} messages", "0.9 of alone")
    row.ours = f"{found[10]:.3f} ({ms(taken)})"
    row.beside, row.ratio, row.reached = f"alone {alone[10]:.3f}", f"{share:.2f}", share >= 0.9
    row.detail = {"ours": found, "searches": summary(taken)}
    return [row]


def _ours(service: Service, conversations: list[Any], agents: list[str], planted_by: str | None = None) -> tuple[Recall, list[float]]:
    """Mean recall over all questions at each depth, and what each search took.

    planted_by: the key of the session that sees all others; the conversations become its children, older than all else. Without it the
    deployment's mode shows a caller its whole agent.
    """
    sums, taken = dict.fromkeys(DEPTHS, 0.0), list[float]()
    with service.client() as client:
        for number, (talk, agent) in enumerate(zip(conversations, agents, strict=True)):
            _store(client, talk, agent, number, planted_by)
        say("asking the questions")
        for number, (talk, agent) in enumerate(zip(conversations, agents, strict=True)):
            caller = {"agentId": agent, "sessionKey": planted_by or key_of(agent, "asker")}
            for question, evidence in _questions(talk):
                body = {"query": question, "caller": caller, "match": "any", "limit": DEPTHS[-1]}
                hits = [hit["messageId"] for hit in client.post("/v1/sessions/search", body)["results"]]
                taken.append(client.ms)
                for depth in DEPTHS:
                    sums[depth] += len({f"{number}/{one}" for one in evidence} & set(hits[:depth])) / len(evidence)
    return {depth: round(total / len(taken), 4) for depth, total in sums.items()}, taken


def _store(client: Client, talk: Any, agent: str, number: int, planted_by: str | None) -> None:
    """Appends the conversation; a planted one happened in another century than the rest."""
    for place, session in enumerate(talk["sessions"]):
        key = key_of(agent, f"talk-{number}-{place}")
        if planted_by is not None:
            client.post("/v1/sessions/put", {"agentId": agent, "sessionKey": key, "spawnedBy": planted_by})
        begin = datetime.fromisoformat(session["time"]) if planted_by is None else datetime(1999, 1, 1 + place % 28, number, tzinfo=UTC)
        events = [_event(talk, turn, number, begin + timedelta(seconds=20 * at)) for at, turn in enumerate(session["turns"])]
        client.post("/v1/sessions/append", {"agentId": agent, "sessionKey": key, "events": events})


def _event(talk: Any, turn: Any, number: int, time: datetime) -> dict[str, Any]:
    role = "user" if turn["speaker"] == talk["speakers"][0] else "assistant"
    message = {"role": role, "content": f"{turn['speaker']}: {turn['text']}"}
    return {"type": "message", "id": f"{number}/{turn['id']}", "timestamp": time.isoformat(), "message": message}


def _questions(talk: Any) -> list[tuple[str, set[str]]]:
    known = {turn["id"] for session in talk["sessions"] for turn in session["turns"]}
    asked = [(one["question"], set(one["evidence"]) & known) for one in talk["questions"]]
    return [(question, evidence) for question, evidence in asked if evidence]


def _baseline(conversations: list[Any]) -> Recall:
    """FTS5 with porter, any word but stop words, the best by bm25."""
    sums, count = dict.fromkeys(DEPTHS, 0.0), 0
    for talk in conversations:
        ids = [turn["id"] for session in talk["sessions"] for turn in session["turns"]]
        texts = [f"{turn['speaker']}: {turn['text']}" for session in talk["sessions"] for turn in session["turns"]]
        index: sqlite3.Connection = memory_index(texts)
        for question, evidence in _questions(talk):
            words = re.findall(r"\w+", question.lower())
            match = " OR ".join(f'"{word}"' for word in [word for word in words if word not in STOP] or words)
            found = index.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT ?", (match, DEPTHS[-1])).fetchall()
            count += 1
            for depth in DEPTHS:
                sums[depth] += len(evidence & {ids[row[0] - 1] for row in found[:depth]}) / len(evidence)
        index.close()
    return {depth: round(total / count, 4) for depth, total in sums.items()}


