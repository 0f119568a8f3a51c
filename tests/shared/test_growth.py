"""Where each new event hangs, and when the leaf moves: the rulings on the tree, one by one."""

import pytest

from shared.branch import ROOT
from shared.growth import Growth
from shared.transcript import read_event
from tests.conftest import message


def leaf(target_id, event_id="control"):
    return {"type": "leaf", "id": event_id, "targetId": target_id}


def node(event_id, kind="compaction", **fields):
    return {"type": kind, "id": event_id, **fields}


def grown(*payloads):
    growth = Growth(ROOT, None, 0, lambda seq: ROOT, lambda event_id: None)
    for seq, payload in enumerate(payloads, 1):
        growth.add(read_event(payload), seq, said=False)
    return growth


def path(growth):
    """Positions of the events on the active branch, from the root on."""
    seqs, at = [], growth.leaf
    while at.seq:
        seqs.append(at.seq)
        at = growth.fetch(at.parent_seq)
    return seqs[::-1]


a, b, c = message("a", ""), message("b", ""), message("c", "")


@pytest.mark.parametrize(
    ("payloads", "active", "leaf_id"),
    [
        pytest.param([a, b, c], [1, 2, 3], "c", id="no parent: after the leaf"),
        pytest.param([a, b, message("c", "", parentId="a")], [1, 3], "c", id="another parent: a branch"),
        pytest.param([a, b, message("c", "", parentId="nowhere")], [1, 2, 3], "c", id="a parent that does not exist: after the leaf"),
        pytest.param([a, message("b", "", parentId="c"), c], [1, 2, 3], "c", id="a parent that comes later does not exist yet"),
        pytest.param([a, message("b", "", parentId="b")], [1, 2], "b", id="an event cannot hang on itself"),
        pytest.param([a, message("b", "", parentId=None)], [2], "b", id="null: a new root"),
        pytest.param([a, message("b", "", appendMode="side"), c], [1, 3], "c", id="a side append does not move the leaf"),
        pytest.param([a, message("b", "", appendMode="side")], [1], "a", id="a side append is not on the branch"),
        pytest.param([a, message("b", "", appendMode="side"), message("c", "", parentId="b")], [1, 2, 3], "c", id="unless a child names it"),
        pytest.param([a, b, leaf("a")], [1], "a", id="a leaf control sets the leaf"),
        pytest.param([a, b, leaf("a"), c], [1, 4], "c", id="what follows hangs there"),
        pytest.param([a, b, leaf(None)], [], None, id="a leaf control to null empties the branch"),
        pytest.param([a, b, leaf("nowhere")], [1, 2], "b", id="a leaf control to the unknown is ignored"),
        pytest.param([a, {"type": "leaf", "targetId": "nowhere"}, b], [1, 3], "b", id="a leaf control needs no id"),
        pytest.param([a, {"type": "leaf", "id": "l"}], [1], "a", id="a leaf control without a target is ignored"),
        pytest.param([a, leaf("a", "l"), message("b", "", parentId="l")], [1, 3], "b", id="a leaf control is nobody's parent"),
        pytest.param([a, node("x", "thought_bubble"), b], [1, 3], "b", id="an unknown type passes through"),
        pytest.param([a, node("x", "thought_bubble"), message("b", "", parentId="x")], [1, 3], "b", id="and is nobody's parent"),
        pytest.param([a, node("x"), b], [1, 2, 3], "b", id="a compaction stays on the path"),
        pytest.param([a, node("x", "branch_summary", parentId="a"), b], [1, 2, 3], "b", id="so does a branch summary"),
        pytest.param([a, node("r", "reset"), b], [1, 2, 3], "b", id="and a reset; what came before it stays"),
        pytest.param([a, node("r", "reset"), b, leaf("a")], [1, 2, 3], "b", id="before the last reset: redirected to the leaf"),
        pytest.param([a, node("r", "reset"), b, leaf(None)], [1, 2, 3], "b", id="null is before any reset"),
        pytest.param([a, node("r", "reset"), b, leaf("r")], [1, 2], "r", id="the reset itself may be gone to"),
        pytest.param([a, b, node("r", "reset", parentId="a"), leaf("b")], [1, 3], "r", id="another branch is before the reset too"),
        pytest.param([{"type": "message", "message": {"role": "user", "content": ""}}], [], None, id="without an id there is no node"),
    ],
)
def test_the_tree_of_a_transcript_is_as_the_contract_rules(payloads, active, leaf_id):
    growth = grown(*payloads)

    assert path(growth) == active
    assert growth.leaf_id == leaf_id


def test_a_move_ends_a_generation_and_tells_how_far_the_branches_agree():
    growth = grown(a, b, c, message("d", "", parentId="a"), leaf("c"), leaf("c"))

    assert growth.moves == [(0, 1), (1, 1)]
    assert growth.generation == 2


def test_messages_are_counted_along_the_path():
    growth = Growth(ROOT, None, 0, lambda seq: ROOT, lambda event_id: None)
    for seq, (payload, said) in enumerate([(a, True), (node("x"), False), (b, True), (message("c", "", parentId="a"), True)], 1):
        growth.add(read_event(payload), seq, said=said)

    assert growth.leaf.said == 2
    assert growth.leaf.depth == 2
