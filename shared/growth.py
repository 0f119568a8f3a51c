"""How a transcript grows: where each new event hangs, and when the leaf moves other than by an append to it. Pure.

The rules are the contract's, "The tree". Used by every path that adds events, so that appending, importing and taking over what
another program wrote build the same tree.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.branch import ROOT, Node, child_of, common, may_go_to
from shared.transcript import ABSENT, LEAF, Event, Parent

Find = Callable[[str], Node | None]  # event id to node; None for an id that is unknown or no node


@dataclass(slots=True)
class Growth:
    """A transcript while events are added. moves: for each move of the leaf, the generation it ended and the depth still in common."""

    leaf: Node
    leaf_id: str | None
    generation: int
    fetch_stored: Callable[[int], Node]
    find_stored: Find
    moves: list[tuple[int, int]] = field(default_factory=list)
    _nodes: dict[int, Node] = field(default_factory=dict)
    _ids: dict[str, Node] = field(default_factory=dict)

    def fetch(self, seq: int) -> Node:
        """The node of a stored event or of one just added."""
        if seq == 0:
            return ROOT
        if (node := self._nodes.get(seq)) is None:
            node = self._nodes[seq] = self.fetch_stored(seq)
        return node

    def find(self, event_id: str) -> Node | None:
        return self._ids.get(event_id) or self.find_stored(event_id)

    def add(self, event: Event, seq: int, *, said: bool) -> Node | None:
        """Adds one event; its node, or None when it does not stand in the tree."""
        if event.kind == LEAF:
            self._obey(event.target_id)
            return None
        if not event.node or event.id is None:
            return None
        parent = self._parent(event.parent_id)
        node = child_of(parent, seq, self.fetch, reset=event.kind == "reset", said=said)
        self._nodes[seq] = self._ids[event.id] = node
        if not event.side:
            self.move_to(parent, None)
            self.leaf, self.leaf_id = node, event.id
        return node

    def move_to(self, target: Node, target_id: str | None) -> None:
        """The leaf is target; nothing happens when it already is."""
        if target.seq == self.leaf.seq:
            return
        self.moves.append((self.generation, common(self.leaf, target, self.fetch).depth))
        self.generation += 1
        self.leaf, self.leaf_id = target, target_id

    def uproot(self) -> None:
        """The branch may be another one from its first event on: no row so far is known to be on it, or at its right position."""
        self.moves.append((self.generation, 0))
        self.generation += 1

    def _parent(self, parent_id: Parent) -> Node:
        """Where an event hangs: on the leaf without a parent or with one that does not exist, at the root with null."""
        if parent_id is None:
            return ROOT
        return self.leaf if parent_id is ABSENT else self.find(parent_id) or self.leaf

    def _obey(self, target_id: Parent) -> None:
        """A leaf control: an unknown target is ignored, and so is one before the last reset on the branch."""
        if target_id is ABSENT:
            return
        target = ROOT if target_id is None else self.find(target_id)
        if target is not None and may_go_to(target, self.leaf, self.fetch):
            self.move_to(target, target_id)
