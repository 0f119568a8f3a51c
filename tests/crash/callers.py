"""Those who use the service while it is killed, each with sessions of its own and a model of what was answered.

Nobody else writes a caller's sessions, so what it reads next is known exactly. After a broken connection the verb was done or not done:
the next history must show one of the two, and nothing between.
"""

import random
import threading
import time
from dataclasses import dataclass, field

from tests.crash.rig import Answer, Line, Rig

LONGEST = 45  # messages of a session; a search shows 50


@dataclass
class Counts:
    """What happened; faults are sentences. Shared by threads, which only add."""

    answered: dict[str, int] = field(default_factory=dict)
    broken: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, verb: str) -> None:
        with self._lock:
            self.answered[verb] = self.answered.get(verb, 0) + 1


class Caller(threading.Thread):
    """One platform's thread with its sessions: a mix of verbs until it is told to stop."""

    def __init__(self, rig: Rig, counts: Counts, number: int, seed: int, stop: threading.Event) -> None:
        super().__init__(name=f"caller-{number}")
        self.line, self.counts, self.stop = Line(rig), counts, stop
        self.chance = random.Random(f"{seed} {number}")
        self.agent = f"agent{number % 2}"
        self.sessions = {f"agent:{self.agent}:c{number}s{n}": list[str]() for n in range(2)}
        self.number, self.said = number, 0

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                key = self.chance.choice(list(self.sessions))
                self._act(key, self.sessions[key])
                time.sleep(self.chance.random() * 0.05)
        except Exception as e:  # whatever ends a caller early is a fault
            self.counts.faults.append(f"{self.name}: {type(e).__name__}: {e}")
        finally:
            self.line.close()

    def _act(self, key: str, branch: list[str]) -> None:
        verb = self.chance.choices(("append", "rewind", "search", "delete"), (6, 2, 4, 0.3))[0]
        if verb == "append" or not branch:
            if len(branch) > LONGEST - 5:
                self._rewind(key, branch, self.chance.randrange(1, 5))
            else:
                self._append(key, branch)
        elif verb == "rewind":
            self._rewind(key, branch, self.chance.randrange(1, len(branch) + 1))
        elif verb == "search":
            self.look(key, branch)
        elif self._write("delete", key, branch, []):
            self._expect(key, "nothing is found of a deleted session", not self._found("mark", key))

    def _append(self, key: str, branch: list[str]) -> None:
        new = []
        for _ in range(self.chance.randrange(1, 5)):
            self.said += 1
            new.append(f"c{self.number}n{self.said}x")
        events = [{"type": "message", "id": one, "message": {"role": "user", "content": f"mark {one}"}} for one in new]
        if self._write("append", key, branch, branch + new, events=events):
            found = self._found(new[-1], key)
            self._expect(key, f"an appended message is found: {found}", found is None or found == {new[-1]})

    def _rewind(self, key: str, branch: list[str], left: int) -> None:
        gone = branch[left:]
        if self._write("rewind", key, branch, branch[:left], toEventId=branch[left - 1]) and gone:
            self._expect(key, f"{gone[-1]} is hidden by a rewind", not self._found(gone[-1], key))

    def _write(self, verb: str, key: str, before: list[str], after: list[str], **fields: object) -> bool:
        """Whether the verb was answered; the model is what is there, in any case."""
        answer = self.line.ask(verb, agentId=self.agent, sessionKey=key, **fields)
        if answer is not None and answer.status == 200:
            self.counts.count(verb)
            self.sessions[key] = after
            return True
        if answer is None:
            self.counts.broken += 1
        elif answer.status == 503:
            self.counts.refused += 1
        else:
            self.counts.faults.append(f"{verb} {key}: {answer}")
        shown = self.shown(key)
        allowed = (before, after) if answer is None else (before,)
        if shown not in allowed:
            self.counts.faults.append(f"{key} shows {shown} after {verb} broke ({answer}), before was {before}, after {after}")
        self.sessions[key] = shown
        return False

    def shown(self, key: str) -> list[str]:
        """The messages of the session by its history; empty when there is none."""
        return shown(self.line, self.agent, key)

    def look(self, key: str, branch: list[str]) -> bool:
        """A search for everything finds nothing but the branch, and all of it when the answer says it is complete; whether it does."""
        answer = self.line.ask("search", query="mark", limit=50, sessionKey=key, caller={"agentId": self.agent, "sessionKey": key})
        if answer is None or answer.status == 503:
            return False
        found = {hit["messageId"] for hit in answer.body["results"]}
        self.counts.count("search")
        self._expect(key, f"{found - set(branch)} are not on the branch", found <= set(branch))
        complete = not answer.body["indexing"]
        if complete and not answer.body["truncated"]:
            self._expect(key, f"{set(branch) - found} are found", found == set(branch))
        return complete

    def _found(self, word: str, key: str) -> set[str] | None:
        """The messages with the word; None when there was no answer."""
        answer = self.line.ask("search", query=word, match="all", caller={"agentId": self.agent, "sessionKey": key}, sessionKey=key)
        if answer is None or answer.status == 503:
            return None
        self.counts.count("search")
        return {hit["messageId"] for hit in answer.body["results"]}

    def _expect(self, key: str, what: str, holds: bool) -> None:
        if not holds:
            self.counts.faults.append(f"{key}: not so: {what}")


def shown(line: Line, agent: str, key: str) -> list[str]:
    """The messages of a session, oldest first, as history has them; empty when there is none."""
    answer: Answer = line.insist("history", sessionKey=key, limit=200, caller={"agentId": agent, "sessionKey": key})
    return [] if answer.status == 404 else [one["id"] for one in answer.body["messages"]]
