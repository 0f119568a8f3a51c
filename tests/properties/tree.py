"""The contract's tree of events told again, as simply as it can be: objects that know their parent, walked one by one.

Slow and without memory of positions, generations or marks, so that it shares no mistake with the program it is held against.
"""

from dataclasses import dataclass, field
from typing import Any

NODES = {"message", "compaction", "branch_summary", "reset", "custom"}


@dataclass(eq=False)
class Told:
    """One stored event. hangs_on is None for a root; new_parent waits for the program to look at what was edited outside."""

    id: str
    payload: dict[str, Any]
    hangs_on: "Told | None" = None
    gone: bool = False
    new_parent: "list[Told | None]" = field(default_factory=list)

    @property
    def node(self) -> bool:
        return self.payload["type"] in NODES

    @property
    def side(self) -> bool:
        return self.payload.get("appendMode") == "side"

    @property
    def text(self) -> str:
        """What search may find of it."""
        spoken = self.payload.get("message", {})
        return str(spoken["content"]) if self.payload["type"] == "message" and spoken["role"] in ("user", "assistant") else ""


@dataclass
class Transcript:
    """The events of one session id in the order of storing, and its leaf."""

    events: list[Told] = field(default_factory=list)
    leaf: Told | None = None
    waiting: list[dict[str, Any]] = field(default_factory=list)  # added outside, not yet looked at
    never_indexed: bool = False
    touched_outside: bool = False  # by more than additions
    mended: bool = False  # an event that could not be read can be read again, which is not yet noticed

    # ----------------------------------------------------------------------------------------------- what is asked

    def known(self, event_id: str) -> Told | None:
        return next((e for e in self.events if e.id == event_id and not e.gone), None)

    def nodes(self) -> list[Told]:
        return [e for e in self.events if e.node and not e.gone]

    def path(self, end: Told | None) -> list[Told]:
        """From the root, or the first event after a gap, to the end; nothing where the way up is a cycle."""
        walked: list[Told] = []
        while end is not None and not end.gone:
            if end in walked:
                return []
            walked.append(end)
            end = end.hangs_on
        return walked[::-1]

    def active(self) -> list[Told]:
        """The messages with text on the active branch."""
        return [e for e in self.path(self.leaf) if e.text]

    def below(self, end: Told) -> list[Told]:
        """The event and whatever hangs on it, also once what was edited is looked at."""
        found = [end]
        for _ in self.events:
            found += [e for e in self.events if e not in found and (e.hangs_on in found or any(p in found for p in e.new_parent))]
        return found

    # ----------------------------------------------------------------------------------------------- what is done

    def add(self, payload: dict[str, Any]) -> None:
        """One more event, by the rulings on the tree."""
        if self.known(payload["id"]) is not None:
            return
        event = Told(payload["id"], payload)
        if payload["type"] == "leaf":
            self._obey(payload)
        elif event.node:
            event.hangs_on = self._parent(payload)
            if not event.side:
                self.leaf = event
        self.events.append(event)

    def _parent(self, payload: dict[str, Any]) -> Told | None:
        if "parentId" in payload and payload["parentId"] is None:
            return None
        named = self.known(payload.get("parentId", ""))
        return named if named is not None and named.node else self.leaf

    def _obey(self, control: dict[str, Any]) -> None:
        if "targetId" not in control:
            return
        target = None if control["targetId"] is None else self.known(control["targetId"])
        if control["targetId"] is not None and (target is None or not target.node):
            return
        resets = [e for e in self.path(self.leaf) if e.payload["type"] == "reset"]
        if not resets or resets[-1] in self.path(target):
            self.leaf = target

    def take_over(self) -> None:
        """What was added outside gets its place."""
        for payload in self.waiting:
            self.add(payload)
        self.waiting = []

    def look_again(self) -> None:
        """What was edited or removed outside is looked at: what hung on an event that is gone is a root now."""
        for event in self.events:
            if event.new_parent and not (event.new_parent[-1] and event.new_parent[-1].gone):
                event.hangs_on = event.new_parent[-1]
            event.new_parent = []
            if event.hangs_on is not None and event.hangs_on.gone:
                event.hangs_on = None
        self.events = [e for e in self.events if not e.gone]
        self.take_over()
        self.touched_outside = self.never_indexed = self.mended = False

    def remove_outside(self, event: Told) -> None:
        event.gone = self.touched_outside = True
        if self.leaf is event:
            self.leaf = event.hangs_on
