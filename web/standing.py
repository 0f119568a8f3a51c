"""How things stand, in words for operators: whether work gets done, and what needs a person."""

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """How things stand, in a few words that change only when it does. tone: good, busy, warn or bad."""

    tone: str
    text: str
    more: list[str] = field(default_factory=list)


def standing(queue: Row, agents: list[Row], *, ready: bool) -> Standing:
    """Whether work gets done, and what needs an operator. No figure of it changes by the second: it is read out when it changes."""
    states = [worker["state"] for worker in queue["workers"]]
    owed = any(row["pending"] for row in agents) or any(queue["depth"][state] for state in ("queued", "running", "retrying"))
    troubles = [f"The database of agent {row['agentId']} cannot be read: {row['error']}." for row in agents if row.get("error")]
    parked = sum(row["failed"] for row in agents)
    if parked:
        troubles.append(f"{_many(parked, 'session is parked and needs', 'sessions are parked and need')} an operator.")
    troubles += [f"{_many(states.count(state), 'worker is', 'workers are')} {word}." for state, word in _UNWELL.items() if state in states]
    tone, text = _work(queue["paused"], owed, "healthy" in states, ready)
    if parked and tone == "good":
        text = "Nothing is owed but what is parked."
    return Standing("warn" if troubles and tone in ("good", "busy") else tone, text, troubles)


_UNWELL = {"stuck": "stuck: alive, and getting nowhere", "stale": "silent"}


def _work(paused: bool, owed: bool, healthy: bool, ready: bool) -> tuple[str, str]:
    if paused:
        return "warn", "The queue is paused: workers take nothing new."
    if not ready:
        return "bad", "Work stands still: jobs wait, and no worker made progress in the last minute."
    if owed:
        return ("busy", "Work is under way.") if healthy else ("bad", "Work is owed, and no worker is there to do it.")
    return ("good", "Nothing is owed: every session is indexed.") if healthy else ("warn", "Nothing is owed, and no worker is running.")


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
