"""Which of Codex's two copies of a text is the other's: an event and a response item of the same words in the same turn.

The two stand side by side, in either order; a real repeat has two of each, or stands in another turn. Whatever is unpaired when the
turn goes on is a text of its own. The item is kept, under the line, time and place of the copy that came first: a file that ended
between the two had given that one, and gives it again when it has grown.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_MOST_WAITING = 200  # lines held back behind an event that waits for its item


@dataclass(frozen=True)
class Spoken:
    """One line on its way to an event: its number, time and shape; role and text where a person or the model speaks."""

    number: int
    time: Any
    event: dict[str, Any]
    event_id: str | None = None
    role: str | None = None
    text: str = ""
    rolled_back: int = 0


class Pairs:
    """Holds back an event's text until its item comes or the turn goes on; every method gives what may go on now, in order."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Spoken, bool]] = []  # and whether it is an event that waits for its item
        self._unclaimed: list[tuple[str | None, str]] = []  # items of this turn whose event has not come

    def item(self, said: Spoken) -> Iterator[Spoken]:
        """A response item that speaks."""
        if self._take_waiting(said):
            yield from self._ready()
            return
        yield from self._go_on(said)
        self._unclaimed.append((said.role, said.text))
        yield from self._add(said, waits=False)

    def event(self, said: Spoken) -> Iterator[Spoken]:
        """An event that speaks: dropped when its item stands before it, held back otherwise."""
        for place, (role, text) in enumerate(self._unclaimed):
            if role == said.role and _same(text, said.text):
                del self._unclaimed[place]
                return
        yield from self._go_on(said)
        yield from self._add(said, waits=True)

    def _go_on(self, said: Spoken) -> Iterator[Spoken]:
        """A new text: what the person said before it has had its copy by now, and at the person's next words so has the model's."""
        speakers = [role for role, _ in self._unclaimed] + [held.role for held, waits in self._waiting if waits]
        if said.role == "user" or "user" in speakers:
            yield from self.rest()

    def other(self, said: Spoken) -> Iterator[Spoken]:
        """Anything that does not speak."""
        yield from self._add(said, waits=False)

    def rest(self) -> Iterator[Spoken]:
        """Everything held back: the turn goes on, or the file is at its end."""
        self._unclaimed.clear()
        waiting, self._waiting = self._waiting, []
        yield from (said for said, _ in waiting)

    def _add(self, said: Spoken, *, waits: bool) -> Iterator[Spoken]:
        if not waits and not self._waiting:
            yield said
            return
        self._waiting.append((said, waits))
        yield from self._ready()

    def _ready(self) -> Iterator[Spoken]:
        """What stands before the first text that still waits, or everything when too much does."""
        waiting = [place for place, (_, waits) in enumerate(self._waiting) if waits]
        count = waiting[0] if waiting and len(self._waiting) <= _MOST_WAITING else len(self._waiting)
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        yield from (held for held, _ in ready)

    def _take_waiting(self, said: Spoken) -> bool:
        """Puts the item in the place of the event that was waiting for it."""
        for place, (held, waits) in enumerate(self._waiting):
            if waits and held.role == said.role and _same(said.text, held.text):
                self._waiting[place] = (replace(said, number=held.number, time=held.time, event_id=None), False)
                return True
        return False


def _same(item: str, event: str) -> bool:
    """Whether an event tells an item's text: word for word, or the item holds attachments beside it."""
    item, event = item.strip(), event.strip()
    return item == event or (bool(event) and event in item)
