"""Events of a conversation that its program keeps as a list: each hangs on the one before, and the last one is the leaf."""

from worker.importers.base import Branch, Event, Problems
from worker.importers.finishing import Finisher


class Chain:
    """Links and finishes the events of one session, one after the other, and keeps its branch up to date."""

    def __init__(self, problems: Problems, branch: Branch, time: object = None) -> None:
        self._problems, self.branch, self._finisher = problems, branch, Finisher(problems, time)
        self._given: dict[str, int] = {}  # how many messages had an id so far, where it was more than one

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._finisher

    def add(self, number: int, event: Event, parent: str | None) -> Event | None:
        """The event hung on parent, fit to store; None when it cannot be."""
        finished = self._finisher.finish(number, {**event, "parentId": parent})
        if finished is None:
            self.branch.whole = False
        return finished

    def follow(self, number: int, event: Event) -> Event | None:
        """The event hung on the leaf, which it is from now on."""
        finished = self.add(number, event, self.branch.leaf)
        if finished is not None:
            self.branch.leaf = finished["id"]
        return finished

    def skip(self, number: int, reason: str) -> None:
        """Something of the conversation is left out: what is stored of it is not taken off the branch."""
        self.branch.whole = False
        self._problems.skip(number, reason)

    def free(self, event_id: str) -> str:
        """The id itself, or the first of id:2, id:3 ... that is free: some programs give several messages one id."""
        number, candidate = self._given.get(event_id, 1), event_id
        while candidate in self._finisher:
            number += 1
            candidate = f"{event_id}:{number}"
            self._given[event_id] = number
        return candidate
