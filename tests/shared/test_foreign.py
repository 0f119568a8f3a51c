"""What another program writes into an agent's database is noticed by itself, hides what may be wrong, and is taken over."""

import json

import pytest

from shared.errors import UnreadableEvent
from tests.conftest import ids, message


@pytest.fixture
def line(agent):
    """A session of four messages, each with a word of its own."""
    return agent.append("a", "alpha").append("b", "beta").append("c", "gamma").append("d", "delta")


def found(agent):
    """Which of the words of the line are found, and `new`."""
    return "".join(event_id for word in ("alpha", "beta", "gamma", "delta", "new") for event_id in agent.found(word))


def settled(agent):
    """Reconciled, with nothing for verify to find, and the same in search, history and list."""
    agent.reconcile()
    assert agent.world.verify() == []
    assert not agent.search("alpha")["indexing"]
    assert agent.listed()["messages"] == len(ids(agent.history()))
    return "".join(ids(agent.history()))


# ---------------------------------------------------------------------------------------------------------- noticed


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO events (transcript_no, seq, payload) VALUES (:t, 5, '{}')",
        "INSERT OR REPLACE INTO events (transcript_no, seq, payload) VALUES (:t, 4, '{}')",
        "INSERT OR REPLACE INTO events (transcript_no, seq, event_id, payload) VALUES (:t, 9, 'b', '{}')",
        "UPDATE events SET payload = replace(payload, 'beta', 'new') WHERE transcript_no = :t",
        "UPDATE OR REPLACE events SET seq = 9 WHERE transcript_no = :t AND seq = 2",
        "UPDATE events SET event_id = 'x' WHERE transcript_no = :t AND seq = 2",
        "DELETE FROM events WHERE transcript_no = :t AND seq = 4",
        "DELETE FROM events WHERE transcript_no = :t AND seq = 1",
        "UPDATE transcripts SET leaf_id = 'a' WHERE transcript_no = :t",
        "UPDATE transcripts SET leaf_id = NULL WHERE transcript_no = :t",
    ],
)
def test_every_write_from_outside_makes_the_session_pending(line, statement):
    line.write_outside(statement)

    assert line.search("alpha")["indexing"]
    assert line.listed()["pending"]


@pytest.mark.parametrize(
    "statement",
    ["UPDATE events SET stored_ms = stored_ms WHERE transcript_no = :t", "UPDATE transcripts SET leaf_id = leaf_id WHERE transcript_no = :t"],
)
def test_a_write_that_changes_nothing_that_counts_is_passed_over(line, statement):
    line.write_outside(statement)

    assert not line.search("alpha")["indexing"]


def test_none_of_our_own_verbs_looks_like_a_write_from_outside(line):
    line.append("e", "x", parent="b")
    line.append("f", "x")
    line.rewind("d")
    line.send({"type": "leaf", "id": "l", "targetId": "f"})
    line.take_in("old", [message("a", "x")])
    line.reset("new")

    with line.world.plain_sqlite() as conn:
        assert conn.execute("SELECT max(foreign_writes) FROM index_state").fetchone() == (0,)


# ------------------------------------------------------------------------------------------------------------ added


def test_events_added_outside_follow_the_rules_of_the_tree(line):
    for event in (message("e", "new"), message("f", "new", parentId="b"), message("g", "new", appendMode="side"), message("a", "new")):
        line.add_outside(event)

    assert found(line) == "abcd"
    assert settled(line) == "abf"
    assert found(line) == "abf"


def test_an_event_added_outside_without_an_id_gets_a_stable_one(line):
    line.add_outside(message(None, "new"))
    assert settled(line) == "abcdseq-5"

    line.edit_outside("a", message("a", "alpha again"))

    assert settled(line) == "abcdseq-5"
    assert line.found("new") == ["seq-5"]


def test_a_verb_takes_over_what_was_added_outside_before_it_acts(line):
    line.add_outside(message("e", "new"))

    assert line.send(message("f", "x"))["seq"] == 6

    assert settled(line) == "abcdef"


def test_what_was_added_outside_is_reached_by_every_page(line):
    """Its time of storing was later than the session's, so that the second page left it out."""
    for n in range(20):
        line.add_outside(message(f"e{n:02}", "new"))
    line.reconcile()

    assert len(line.found("new", limit=3)) == 20


def test_an_event_put_into_a_gap_is_noticed_and_hangs_on_the_leaf(line):
    line.rewind("c")
    line.append("e", "x")
    line.delete_outside("d")
    line.reconcile()
    line.write_outside("INSERT INTO events (transcript_no, seq, payload) VALUES (:t, 4, ?)", json.dumps(message("n", "new")))

    assert line.search("alpha")["indexing"]
    assert settled(line) == "abcen"


def test_an_event_put_where_another_was_is_there_before_what_is_appended_later(line):
    """It was looked at by the reconcile only, and what had been appended meanwhile was no longer on the branch."""
    line.write_outside("DELETE FROM events WHERE transcript_no = :t AND seq IN (2, 3)")
    line.write_outside("INSERT INTO events (transcript_no, seq, payload) VALUES (:t, 2, ?)", json.dumps(message("n", "new", parentId=None)))

    line.append("e", "x")

    assert settled(line) == "ne"


def test_a_program_that_adds_an_event_and_moves_the_leaf_to_it_continues_the_branch(line):
    """The event began a branch of its own, for the leaf it was to hang on could not be told any more."""
    line.write_outside("INSERT INTO events (transcript_no, seq, event_id, payload) VALUES (:t, 5, 'n', ?)", json.dumps(message("n", "new")))
    line.move_leaf_outside("n")

    assert settled(line) == "abcdn"


# ----------------------------------------------------------------------------------------------------------- edited


def test_an_edited_text_is_unfindable_at_once_what_stands_before_it_is_not(line):
    line.edit_outside("c", message("c", "new"))

    assert found(line) == "ab"
    assert [m["text"] for m in line.history()["messages"]] == ["alpha", "beta", "new", "delta"]
    assert settled(line) == "abcd"
    assert found(line) == "abdc"


def test_an_edit_costs_the_rows_it_changed(line):
    line.edit_outside("c", message("c", "new"))

    done = line.reconcile()

    assert (done.entries, done.removed) == (1, 1)


def test_an_edited_role_is_the_one_that_filters_see(line):
    line.edit_outside("b", message("b", "beta", role="assistant"))
    line.reconcile()

    assert line.found("beta", role="assistant") == ["b"]
    assert line.found("beta", role="user") == []


def test_an_edited_time_is_the_one_that_filters_and_order_see(line):
    line.edit_outside("b", message("b", "alpha", timestamp=5))
    line.reconcile()

    assert line.found("alpha", before_ms=6) == ["b"]
    assert line.found("alpha", order="recent") == ["a", "b"]


@pytest.mark.parametrize(
    ("event_id", "parent", "branch"),
    [("c", "a", "acd"), ("c", None, "cd"), ("d", "a", "ad"), ("b", None, "bcd"), ("d", "nowhere", "abcd"), ("b", "d", ""), ("a", "a", "")],
)
def test_an_edited_parent_moves_the_event_and_what_hangs_on_it_and_a_cycle_empties_the_branch(line, event_id, parent, branch):
    payload = message(event_id, {"a": "alpha", "b": "beta", "c": "gamma", "d": "delta"}[event_id], parentId=parent)

    line.edit_outside(event_id, payload)

    assert found(line) == ""
    assert settled(line) == branch
    assert found(line) == branch


def test_a_cycle_that_is_mended_gives_the_branch_back(line):
    line.edit_outside("b", message("b", "beta", parentId="d"))
    line.reconcile()

    line.edit_outside("b", message("b", "beta", parentId="a"))

    assert settled(line) == "abcd"


def test_a_parent_that_came_later_stays_one_that_did_not_exist(agent):
    """An edit elsewhere made the tree anew, with a cycle in it, and the branch was empty."""
    agent.append("a", "alpha").append("b", "beta", parent="c").append("c", "gamma")

    agent.edit_outside("a", message("a", "new"))

    assert settled(agent) == "abc"


def test_what_was_appended_to_a_branch_that_turns_out_to_be_another_is_found_once(line):
    """Its row stood at a position of the old tree and at one of the new."""
    line.edit_outside("c", message("c", "gamma", parentId="a"))
    line.append("e", "new")
    shown = []

    line.reconcile(beat=lambda: shown.append(line.found("new")))

    assert all(hits in ([], ["e"]) for hits in shown)
    assert settled(line) == "acde"


# ---------------------------------------------------------------------------------------------------------- removed


@pytest.mark.parametrize(("event_id", "branch"), [("a", "bcd"), ("b", "cd"), ("c", "d"), ("d", "abc")])
def test_an_event_removed_outside_leaves_the_tail_that_can_be_reached(line, event_id, branch):
    """Of a line with a gap the rows before the gap were kept, and those after it lost."""
    line.delete_outside(event_id)

    assert set(found(line)) <= set(branch)
    assert "".join(ids(line.history())) == branch
    assert settled(line) == branch
    assert found(line) == branch


def test_where_the_leaf_was_removed_the_branch_ends_at_its_parent(line):
    """It ended at the event stored last, which had been abandoned."""
    line.rewind("b")
    line.append("e", "new")
    line.rewind("d")
    line.reconcile()

    line.delete_outside("d")

    assert found(line) == "abc"
    assert settled(line) == "abc"


def test_where_the_leaf_and_its_parent_were_removed_the_branch_ends_at_the_last_event(line):
    line.write_outside("DELETE FROM events WHERE transcript_no = :t AND seq > 2")

    assert settled(line) == "ab"


def test_a_transcript_emptied_outside_is_empty(line):
    line.write_outside("DELETE FROM events WHERE transcript_no = :t")

    assert settled(line) == ""
    assert line.send(message("n", "new"))["seq"] == 1
    assert found(line) == "n"


@pytest.mark.parametrize("columns", ["seq", "seq, event_id", "event_no, seq"])
def test_an_event_replaced_outside_is_the_new_one_in_the_old_ones_place(line, columns):
    """INSERT OR REPLACE sets off no delete trigger: the old text stayed findable and nothing was pending."""
    values = {"seq": "2", "seq, event_id": "2, 'b'", "event_no, seq": "2, 2"}[columns]

    line.write_outside(
        f"INSERT OR REPLACE INTO events (transcript_no, {columns}, payload) VALUES (:t, {values}, ?)", json.dumps(message("b", "new"))
    )

    assert line.found("beta") == []
    assert settled(line) == "abcd"
    assert line.found("new") == ["b"]


def test_a_leaf_replaced_outside_is_the_new_one(line):
    line.write_outside("INSERT OR REPLACE INTO events (transcript_no, seq, payload) VALUES (:t, 4, ?)", json.dumps(message("d", "new")))

    assert settled(line) == "abcd"
    assert line.found("new") == ["d"]


# ------------------------------------------------------------------------------------------------------- leaf moved


@pytest.mark.parametrize(("leaf_id", "branch"), [("b", "ab"), (None, ""), ("nowhere", "")])
def test_a_leaf_moved_outside_is_the_leaf(line, leaf_id, branch):
    line.move_leaf_outside(leaf_id)

    assert found(line) == ""
    assert "".join(ids(line.history())) == branch
    assert settled(line) == branch
    assert found(line) == branch


def test_an_append_after_a_leaf_moved_outside_is_found_at_once(line):
    line.move_leaf_outside("a")

    line.append("n", "new")

    assert found(line) == "n"
    assert settled(line) == "an"


# ------------------------------------------------------------------------------------------------------- unreadable


UNREADABLE = ['{"type": "message", "secretword', "[]", "null", '{"type": 7}', '{"type": "message", "id": "c"}', '{"a": NaN}', "[" * 3_000]


@pytest.mark.parametrize("payload", UNREADABLE)
def test_a_payload_that_cannot_be_read_parks_its_session_with_an_error_that_quotes_nothing(line, payload):
    line.edit_outside("c", payload)

    with pytest.raises(UnreadableEvent) as refused:
        line.reconcile()

    assert refused.value.seq == 3
    assert line.state()["error"] == str(refused.value) == "the event at position 3 cannot be read"
    assert line.state()["parked"] == 1
    answer = line.world.ask(line.caller, "alpha")
    assert answer.body["indexing"]
    assert "operator" in answer.body["warning"]
    assert answer.retry_after_s is None
    assert set(found(line)) <= set("abd")


@pytest.mark.parametrize("payload", UNREADABLE)
def test_a_payload_that_was_mended_is_as_before(line, payload):
    line.edit_outside("c", payload)
    with pytest.raises(UnreadableEvent):
        line.reconcile()

    line.edit_outside("c", message("c", "new"))

    assert settled(line) == "abcd"
    assert line.found("new") == ["c"]


def test_an_unreadable_event_that_was_added_outside_joins_the_branch_once_it_is_mended(line):
    """It became a root of its own."""
    line.add_outside('{"broken')
    with pytest.raises(UnreadableEvent):
        line.reconcile()
    line.append("e", "x")

    line.write_outside("UPDATE events SET payload = ? WHERE transcript_no = :t AND seq = 5", json.dumps(message("n", "new")))

    assert settled(line) == "abcden"
    assert line.found("new") == ["n"]


def test_what_can_be_read_beside_an_unreadable_event_is_found_while_the_session_waits_for_an_operator(line):
    line.add_outside(message("n", "new"))
    line.add_outside('{"broken')

    with pytest.raises(UnreadableEvent):
        line.reconcile()

    assert line.state()["parked"] == 1
    assert line.found("new") == ["n"]


def test_an_unreadable_event_is_not_forgotten_when_the_leaf_is_moved(line):
    line.edit_outside("c", '{"broken')
    line.move_leaf_outside("b")

    with pytest.raises(UnreadableEvent):
        line.reconcile()


def test_writes_go_on_in_a_parked_session(line):
    line.edit_outside("c", '{"broken')
    with pytest.raises(UnreadableEvent):
        line.reconcile()

    line.append("n", "new")

    assert line.found("new") == ["n"]


# --------------------------------------------------------------------------------------------- in the midst of work


def test_a_write_from_outside_while_a_worker_is_at_the_session_is_taken_over_by_it(agent):
    agent.send(*(message(f"e{n}", "alpha") for n in range(900)))
    agent.edit_outside("e0", message("e0", "beta"))
    writes = [lambda: agent.add_outside(message("n", "new")), lambda: agent.delete_outside("e5"), lambda: agent.edit_outside("e9", message("e9", "beta"))]

    agent.reconcile(beat=lambda: writes.pop()() if writes else None)

    assert agent.world.verify() == []
    assert agent.listed()["messages"] == 895  # from the event after the gap on, and the new one
    assert (agent.found("beta"), agent.found("new")) == (["e9"], ["n"])
