"""The tree of events and its active branch. Pure; events are fetched through a function that is passed in.

Every node knows its depth and a jump: an ancestor so far up that any ancestor is reached in O(log depth) steps (Myers, "An
applicative random-access stack", 1983). So the common part of two branches, or whether an event is on the active one, costs the same
in a session of ten messages and of a hundred thousand.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """An event's place in the tree; seq 0 is the empty root above all first events."""

    seq: int
    parent_seq: int
    jump_seq: int
    depth: int
    reset_depth: int = 0
    said: int = 0


ROOT = Node(0, 0, 0, 0)
Fetch = Callable[[int], Node]  # seq to node; ROOT for 0, and for an event that is gone


def child_of(parent: Node, seq: int, fetch: Fetch, *, reset: bool = False, said: bool = False) -> Node:
    """The node of an event that hangs on parent."""
    jump = fetch(parent.jump_seq)
    far = fetch(jump.jump_seq)
    same_stride = parent.depth - jump.depth == jump.depth - far.depth
    depth = parent.depth + 1
    return Node(
        seq=seq,
        parent_seq=parent.seq,
        jump_seq=jump.jump_seq if same_stride and parent.seq else parent.seq,
        depth=depth,
        reset_depth=depth if reset else parent.reset_depth,
        said=parent.said + said,
    )


def ancestor(node: Node, depth: int, fetch: Fetch) -> Node:
    """The ancestor of node at this depth (the node itself at its own); ROOT for 0 and where the way up is broken."""
    while node.depth > depth:
        jump = fetch(node.jump_seq)
        above = jump if jump.depth >= depth else fetch(node.parent_seq)
        if above.depth >= node.depth:
            return ROOT  # a stored cycle: the branch is empty
        node = above
    return node if node.depth == depth else ROOT


def on_branch(node: Node, leaf: Node, fetch: Fetch) -> bool:
    """Whether node is on the path from leaf to the root."""
    return 0 < node.depth <= leaf.depth and ancestor(leaf, node.depth, fetch).seq == node.seq


def common(a: Node, b: Node, fetch: Fetch) -> Node:
    """The deepest node on both paths to the root; ROOT when they share none."""
    depth = min(a.depth, b.depth)
    a, b = ancestor(a, depth, fetch), ancestor(b, depth, fetch)
    while a.seq != b.seq:
        if a.depth == 0 or b.depth == 0:
            return ROOT
        jump_a, jump_b = fetch(a.jump_seq), fetch(b.jump_seq)
        step = jump_a.seq != jump_b.seq and jump_a.depth == jump_b.depth
        up_a, up_b = (jump_a, jump_b) if step else (fetch(a.parent_seq), fetch(b.parent_seq))
        if up_a.depth >= a.depth or up_b.depth >= b.depth or up_a.depth != up_b.depth:
            return ROOT
        a, b = up_a, up_b
    return a


def may_go_to(target: Node, leaf: Node, fetch: Fetch) -> bool:
    """Whether a leaf control inside a transcript may move the leaf there: not to before the last reset on the branch."""
    return leaf.reset_depth == 0 or common(target, leaf, fetch).depth >= leaf.reset_depth
