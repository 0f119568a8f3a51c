"""Ancestors, common parts and moves in a tree of any shape, at a cost that does not grow with it."""

import math

import pytest

from shared.branch import ROOT, Node, ancestor, child_of, common, may_go_to, on_branch


class Tree:
    """Nodes by seq; counts how many are fetched."""

    def __init__(self) -> None:
        self.nodes = {0: ROOT}
        self.fetched = 0

    def fetch(self, seq: int) -> Node:
        self.fetched += 1
        return self.nodes.get(seq, ROOT)

    def grow(self, parent: int, count: int = 1, *, reset: bool = False) -> int:
        """A line of nodes below the parent; the seq of the last."""
        for _ in range(count):
            seq = len(self.nodes)
            self.nodes[seq] = child_of(self.nodes[parent], seq, self.fetch, reset=reset, said=True)
            parent = seq
        self.fetched = 0
        return parent


@pytest.fixture
def tree() -> Tree:
    return Tree()


def test_every_ancestor_of_a_line_is_found(tree):
    leaf = tree.nodes[tree.grow(0, 200)]

    assert [ancestor(leaf, depth, tree.fetch).seq for depth in range(201)] == list(range(201))
    assert leaf.said == leaf.depth == 200


def test_the_common_part_of_two_branches_is_where_they_fork(tree):
    fork = tree.grow(0, 37)
    left, right = tree.grow(fork, 50), tree.grow(fork, 3)

    assert common(tree.nodes[left], tree.nodes[right], tree.fetch).seq == fork
    assert common(tree.nodes[left], tree.nodes[fork], tree.fetch).seq == fork
    assert common(tree.nodes[left], tree.nodes[left], tree.fetch).seq == left


def test_two_roots_have_nothing_in_common(tree):
    first, second = tree.grow(0, 5), tree.grow(0, 9)

    assert common(tree.nodes[first], tree.nodes[second], tree.fetch) is ROOT
    assert common(tree.nodes[first], ROOT, tree.fetch).depth == 0


def test_a_node_is_on_a_branch_exactly_when_it_is_on_the_way_from_the_leaf_to_the_root(tree):
    fork = tree.grow(0, 10)
    left, right = tree.grow(fork, 10), tree.grow(fork, 10)

    assert on_branch(tree.nodes[fork], tree.nodes[left], tree.fetch)
    assert on_branch(tree.nodes[left], tree.nodes[left], tree.fetch)
    assert not on_branch(tree.nodes[right], tree.nodes[left], tree.fetch)
    assert not on_branch(tree.nodes[left], tree.nodes[fork], tree.fetch)
    assert not on_branch(ROOT, tree.nodes[left], tree.fetch)


def test_a_gap_ends_the_way_up(tree):
    leaf = tree.nodes[tree.grow(0, 20)]
    del tree.nodes[5]

    assert ancestor(leaf, 3, tree.fetch) in (ROOT, tree.nodes[3])
    assert common(leaf, tree.nodes[2], tree.fetch) in (ROOT, tree.nodes[2])


def test_a_stored_cycle_ends_the_way_up_instead_of_going_round():
    nodes = {0: ROOT, 1: Node(1, 2, 2, 5), 2: Node(2, 1, 1, 5)}

    assert ancestor(nodes[1], 2, nodes.__getitem__) is ROOT
    assert common(nodes[1], nodes[2], nodes.__getitem__) is ROOT


@pytest.mark.parametrize("length", [100, 1_000, 100_000])
def test_ancestors_and_common_parts_cost_the_logarithm_of_the_length(tree, length):
    leaf = tree.nodes[tree.grow(0, length)]
    other = tree.nodes[tree.grow(length // 2, 7)]
    bound = 12 * math.log2(length)

    for find in (
        lambda: ancestor(leaf, 1, tree.fetch),
        lambda: ancestor(leaf, length // 3, tree.fetch),
        lambda: common(leaf, other, tree.fetch),
        lambda: on_branch(other, leaf, tree.fetch),
    ):
        tree.fetched = 0
        find()
        assert tree.fetched < bound


def test_a_leaf_control_may_not_go_back_before_the_last_reset(tree):
    before = tree.grow(0, 3)
    reset = tree.grow(before, reset=True)
    leaf = tree.grow(reset, 3)
    beside = tree.grow(before, 1)

    assert may_go_to(tree.nodes[reset], tree.nodes[leaf], tree.fetch)
    assert may_go_to(tree.nodes[leaf], tree.nodes[reset], tree.fetch)
    assert not may_go_to(tree.nodes[before], tree.nodes[leaf], tree.fetch)
    assert not may_go_to(tree.nodes[beside], tree.nodes[leaf], tree.fetch)
    assert not may_go_to(ROOT, tree.nodes[leaf], tree.fetch)
    assert may_go_to(ROOT, tree.nodes[before], tree.fetch)
