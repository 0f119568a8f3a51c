"""Any tree: the fast answers of branch and growth are those of a walk, and what stayed on the branch stays findable."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.branch import ROOT, Node, ancestor, common, on_branch
from shared.growth import Growth
from shared.transcript import read_event
from tests.conftest import World, memory_folder, message
from tests.properties.tree import Told, Transcript

KINDS = ("message", "message", "message", "compaction", "reset", "thought_bubble", "leaf", "side")
steps = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(["leaf", "leaf", "known", "null", "unknown"]), st.integers(0, 40)), max_size=40)


def event_of(number: int, kind: str, parent: str, pick: int) -> dict[str, Any]:
    """The payload of a step; what it names is one of the events before it."""
    named = f"e{pick % number}" if number else "nowhere"
    place = {"leaf": {}, "known": {"parentId": named}, "null": {"parentId": None}, "unknown": {"parentId": "nowhere"}}[parent]
    if kind == "leaf":
        return {"type": "leaf", "id": f"e{number}", "targetId": None if parent == "null" else named}
    if kind in ("message", "side"):
        return message(f"e{number}", "word", **place, **({"appendMode": "side"} if kind == "side" else {}))
    return {"type": kind, "id": f"e{number}", **place}


class Grown:
    """The same events in the program's tree and in the simple one."""

    def __init__(self, taken: list[tuple[str, str, int]]) -> None:
        self.nodes: dict[int, Node] = {}
        self.simple = Transcript()
        self.growth = Growth(ROOT, None, 0, lambda seq: ROOT, lambda event_id: None)
        self.agreed: list[int] = []
        for number, (kind, parent, pick) in enumerate(taken):
            payload = event_of(number, kind, parent, pick)
            before = self.simple.path(self.simple.leaf)
            self.simple.add(payload)
            node = self.growth.add(read_event(payload), number + 1, said=kind in ("message", "side"))
            if node is not None:
                self.nodes[node.seq] = node
            self._note_move(before, number)

    def _note_move(self, before: list[Told], number: int) -> None:
        """How far the branch agrees with the one before, wherever the leaf went other than to a new event on it."""
        after = [e for e in self.simple.path(self.simple.leaf) if e.id != f"e{number}"]
        if after != before:
            shared = [a for a, b in zip(before, after, strict=False) if a is b]
            self.agreed.append(len(shared))

    def fetch(self, seq: int) -> Node:
        return self.nodes.get(seq, ROOT)

    def way_up(self, node: Node) -> list[int]:
        seqs = []
        while node.seq:
            seqs.append(node.seq)
            node = self.fetch(node.parent_seq)
        return seqs[::-1]


@given(steps)
def test_the_active_branch_is_that_of_the_simple_tree(taken):
    grown = Grown(taken)

    expected = grown.simple.path(grown.simple.leaf)
    assert [f"e{seq - 1}" for seq in grown.way_up(grown.growth.leaf)] == [e.id for e in expected]
    assert grown.growth.leaf.depth == len(expected)
    assert grown.growth.leaf.said == len([e for e in expected if e.text])
    assert grown.growth.leaf_id == (grown.simple.leaf.id if grown.simple.leaf else None)


@given(steps)
def test_every_move_tells_how_far_the_two_branches_agree(taken):
    grown = Grown(taken)

    assert [agreed for _, agreed in grown.growth.moves] == grown.agreed
    assert [generation for generation, _ in grown.growth.moves] == list(range(len(grown.agreed)))


@given(steps, st.integers(0, 40), st.integers(0, 40))
def test_ancestors_common_parts_and_places_are_those_of_a_walk(taken, first, second):
    grown = Grown(taken)
    nodes = [ROOT, *grown.nodes.values()]
    a, b = nodes[first % len(nodes)], nodes[second % len(nodes)]
    up_a, up_b = grown.way_up(a), grown.way_up(b)

    for depth in range(a.depth + 1):
        assert ancestor(a, depth, grown.fetch).seq == (up_a[depth - 1] if depth else 0)
    shared = [x for x, y in zip(up_a, up_b, strict=False) if x == y]
    assert common(a, b, grown.fetch).seq == (shared[-1] if shared else 0)
    assert on_branch(a, b, grown.fetch) == (a.seq in up_b)


moves = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("branch"), st.integers(0, 30)),
        st.tuples(st.just("rewind"), st.integers(0, 30)),
        st.tuples(st.just("reconcile"), st.just(0)),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves)
def test_what_stays_on_the_branch_stays_findable_and_what_left_it_is_not_found_until_it_is_reconciled(taken):
    """An event is findable from its append to the leaf until the branch leaves it, and again from the next reconcile on at the latest."""
    with memory_folder() as folder:
        agent = World(folder).session()
        told = Transcript()
        findable: set[str] = set()

        def send(payload: dict[str, Any]) -> None:
            before = told.leaf
            agent.send(payload)
            told.add(payload)
            if "parentId" not in payload or payload["parentId"] == (before.id if before else None):
                findable.add(payload["id"])

        for act, number in taken:
            ids = [e.id for e in told.events]
            if act == "append":
                for _ in range(number):
                    send(message(f"e{len(told.events)}", "word"))
            elif act == "branch":
                send(message(f"e{len(ids)}", "word", parentId=ids[number % len(ids)] if ids else None))
            elif act == "rewind" and ids:
                target = ids[number % len(ids)]
                agent.rewind(target)
                told.leaf = told.known(target)
            elif act == "reconcile" and ids:
                agent.reconcile()
                findable = {e.id for e in told.active()}
            findable &= {e.id for e in told.active()}
            if told.events:
                assert findable <= set(agent.found("word")) <= {e.id for e in told.active()}
                assert act != "reconcile" or set(agent.found("word")) == findable
        agent.world.store.close()
