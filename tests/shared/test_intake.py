"""Imports: another program's transcript is stored once, stays deleted when it was deleted, and is owed until it is reconciled."""

import pytest

from shared.errors import BadRequest, Conflict
from shared.intake import BATCH
from tests.conftest import ids, message


def events(*names, text="alpha"):
    return [message(name, text) for name in names]


def test_an_imported_session_is_pending_and_findable_once_it_is_reconciled(agent, search):
    done = agent.take_in("s1", events("a", "b"), title="Old log", kind="group")

    assert (done.added, done.known, done.deleted, done.problems) == (2, 0, False, [])
    assert search("alpha")["results"] == []
    assert search("alpha")["indexing"]
    assert (agent.listed()["sessionId"], agent.listed()["title"], agent.listed()["kind"]) == ("s1", "Old log", "group")
    assert ids(agent.history()) == ["a", "b"]
    agent.reconcile()
    assert sorted(agent.found("alpha")) == ["a", "b"]
    assert agent.world.verify() == []


def test_importing_again_adds_nothing_and_leaves_nothing_pending(agent):
    agent.take_in("s1", events("a", "b"))
    agent.reconcile()

    done = agent.take_in("s1", events("a", "b"))

    assert (done.added, done.known) == (0, 2)
    assert not agent.listed()["pending"]


def test_a_grown_transcript_adds_its_new_part(agent):
    agent.take_in("s1", events("a", "b"))
    agent.reconcile()

    done = agent.take_in("s1", [*events("a", "b"), *events("c", text="beta")])

    assert (done.added, done.known) == (1, 2)
    assert sorted(agent.found("alpha")) == ["a", "b"]
    assert agent.search("beta")["indexing"]
    assert agent.reconcile().entries == 1
    assert agent.found("beta") == ["c"]


def test_many_batches_are_one_transcript(agent):
    names = [f"e{n}" for n in range(2 * BATCH + 7)]

    assert agent.take_in("s1", iter(events(*names))).added == len(names)
    assert agent.take_in("s1", iter(events(*names))).known == len(names)
    agent.reconcile()
    assert len(agent.found("alpha")) == len(names)


def test_an_empty_transcript_is_a_session_without_messages(agent):
    agent.take_in("s1", [])

    assert (agent.listed()["messages"], agent.listed()["pending"]) == (0, False)


def test_events_that_cannot_be_read_are_left_out_and_told(agent):
    done = agent.take_in("s1", [*events("a"), message("", "x"), {"type": "message", "id": "c"}, *events("d")])

    assert done.added == 2
    assert [problem.split(":")[0] for problem in done.problems] == ["an event is skipped"] * 2
    assert ids(agent.history()) == ["a", "d"]


def test_of_two_events_with_one_id_the_first_stays_and_the_other_is_told(agent):
    done = agent.take_in("s1", [message("a", "alpha"), message("a", "beta"), message("a", "alpha")])

    assert (done.added, done.known, len(done.problems)) == (1, 1, 1)
    agent.reconcile()
    assert agent.found("beta") == []


def test_leaf_controls_without_an_id_are_known_again_by_what_they_hold(agent):
    lines = [*events("a", "b"), {"type": "leaf", "targetId": "a"}]

    agent.take_in("s1", lines)

    assert (agent.take_in("s1", lines).added, ids(agent.history())) == (0, ["a"])


def test_an_event_without_a_time_gets_that_of_the_event_before_it_else_the_files(agent):
    agent.take_in("s1", [message("a", "x"), message("b", "x", timestamp=50_000), message("c", "x")], created_at_ms=7_000)

    assert [m["timestamp"][14:] for m in agent.history()["messages"]] == ["00:07.000Z", "00:50.000Z", "00:50.000Z"]
    assert agent.listed()["createdAt"] == "1970-01-01T00:00:07.000Z"
    assert agent.listed()["updatedAt"] == "1970-01-01T00:00:50.000Z"


def test_an_append_to_a_session_never_indexed_is_found_once_it_is_reconciled(agent):
    agent.take_in("s1", events("a"))

    agent.append("b", "beta")

    assert agent.search("beta")["indexing"]
    agent.reconcile()
    assert (agent.found("alpha"), agent.found("beta")) == (["a"], ["b"])


def test_an_import_under_a_session_that_is_there_adds_a_transcript_to_it(agent):
    agent.append("a", "alpha")

    agent.take_in("s0", events("a", text="beta"))
    agent.reconcile()

    assert [(h["sessionKey"], h["sessionId"]) for h in agent.search("beta")["results"]] == [(agent.key, "s0")]
    assert ids(agent.history()) == ["a"]
    assert agent.history()["messages"][0]["text"] == "alpha"


def test_an_import_takes_the_whole_branch_of_a_tree_and_leaves_the_rest(agent):
    agent.take_in("s1", [message("a", "x"), message("b", "dropped"), message("c", "kept", parentId="a"), message("d", "x", parentId="nowhere")])
    agent.reconcile()

    assert ids(agent.history()) == ["a", "c", "d"]
    assert agent.found("dropped") == []


@pytest.mark.parametrize("refused", ["", "x" * 257])
def test_a_session_id_that_cannot_be_one_is_refused(agent, refused):
    with pytest.raises(BadRequest):
        agent.take_in(refused, [])


def test_an_import_under_the_key_of_another_agent_is_refused(world):
    world.session("ada").put()

    with pytest.raises(Conflict):
        world.session("bob", "agent:ada:main").take_in("s1", events("a"))


def test_a_session_id_of_another_session_is_refused(world):
    world.session("ada", "agent:ada:one").put(sessionId="s1")

    with pytest.raises((BadRequest, Conflict)):
        world.session("ada", "agent:ada:two").take_in("s1", events("a"))


# ------------------------------------------------------------------------------------------------------- tombstones


def test_a_deleted_session_stays_deleted_when_it_is_imported_again(agent):
    agent.take_in("s1", events("a"))
    agent.delete()

    done = agent.take_in("s1", events("a"))

    assert (done.deleted, done.added) == (True, 0)
    assert agent.search("alpha") == agent.search("alpha") | {"results": [], "indexing": False}


def test_the_transcripts_a_deleted_session_had_before_a_reset_stay_deleted_too(agent):
    agent.take_in("s1", events("a"))
    agent.reset("s2")
    agent.delete()

    assert agent.take_in("s1", events("a")).deleted
    assert agent.world.session("ada", "agent:ada:elsewhere").take_in("s1", events("a")).deleted


def test_an_import_that_is_to_restore_brings_a_deleted_session_back(agent):
    agent.take_in("s1", events("a"))
    agent.delete()

    done = agent.take_in("s1", events("a", "b"), restore=True)

    assert (done.deleted, done.added) == (False, 2)
    agent.reconcile()
    assert sorted(agent.found("alpha")) == ["a", "b"]
    assert agent.take_in("s1", events("a", "b")).known == 2


def test_another_session_may_be_imported_under_a_deleted_key(agent):
    agent.take_in("s1", events("a"))
    agent.delete()

    assert agent.take_in("s2", events("a")).added == 1


@pytest.mark.parametrize("used_again", [False, True])
def test_a_session_deleted_while_it_is_imported_stays_deleted(agent, used_again):
    """Batches after the delete were stored under the session that had the key by then."""

    def lines():
        yield from events(*(f"a{n}" for n in range(BATCH + 1)))
        agent.delete()
        if used_again:
            agent.append("new", "beta")
        yield from events(*(f"b{n}" for n in range(BATCH)))

    done = agent.take_in("s1", lines())

    assert done.deleted
    if used_again:
        agent.reconcile()
    assert agent.found("alpha") == []


def test_a_part_imported_while_a_worker_is_at_the_session_is_indexed_too(agent):
    """The worker did not notice that more had come, and left the session settled without it."""
    agent.append("first", "alpha")
    session_id = agent.listed()["sessionId"]
    agent.take_in(session_id, events(*(f"a{n}" for n in range(300))))
    more = [events(*(f"b{n}" for n in range(10)))]

    agent.reconcile(beat=lambda: agent.take_in(session_id, more.pop()) if more else None)

    assert len(agent.found("alpha")) == 311


def test_an_import_into_an_older_transcript_that_another_program_wrote_to_goes_on_after_its_writes(agent):
    """The position was taken already: the import ended in an error of the database."""
    agent.take_in("s1", events("a"))
    agent.add_outside(message("b", "beta"))
    number = agent.transcript_no
    agent.reset("s2")
    with agent.world.plain_sqlite() as conn:
        conn.execute("""INSERT INTO events (transcript_no, seq, payload) VALUES (?, 3, '{"type": "custom", "id": "c"}')""", (number,))

    agent.take_in("s1", events("d"))
    agent.reconcile()

    assert sorted(agent.found("alpha")) == ["a", "d"]
    assert [m["id"] for m in agent.history(session_id="s1")["messages"]] == ["a", "b", "d"]
