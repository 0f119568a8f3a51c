"""Put, rewind, reset and delete: what a session is, where its branch ends, and how it goes."""

import pytest

from shared.errors import BadRequest, Conflict, NotFound, Unprocessable
from shared.visibility import Caller
from tests.conftest import Session, ids, message

# ------------------------------------------------------------------------------------------------------------- put


def test_putting_a_session_makes_it_as_lists_show_it(agent):
    shown = agent.put(sessionId="s1", title="Ferry", kind="group", spawnedBy="agent:ada:parent")

    assert shown == {
        "sessionKey": "agent:ada:main", "sessionId": "s1", "agentId": "ada", "title": "Ferry", "redacted": 0, "kind": "group",
        "spawnedBy": "agent:ada:parent", "createdAt": "2025-10-09T08:53:20.001Z", "updatedAt": "2025-10-09T08:53:20.001Z",
        "messages": 0, "pending": False,
    }  # fmt: skip
    assert agent.listed() == shown


def test_putting_again_changes_what_is_named_and_keeps_the_rest(agent):
    agent.put(sessionId="s1", title="Ferry", kind="group", spawnedBy="agent:ada:parent")

    shown = agent.put(title=None)

    assert (shown["title"], shown["kind"], shown["spawnedBy"], shown["sessionId"]) == (None, "group", "agent:ada:parent", "s1")
    assert shown["updatedAt"] > shown["createdAt"]


def test_a_parent_may_be_named_changed_and_taken_away(agent):
    agent.put(spawnedBy="agent:ada:one")

    assert agent.put(spawnedBy="agent:ada:two")["spawnedBy"] == "agent:ada:two"
    assert agent.put(spawnedBy=None)["spawnedBy"] is None


def test_a_session_may_be_given_another_session_id_and_its_old_transcript_stays_searchable(agent):
    agent.put(sessionId="s1")
    agent.append("a", "herring")

    agent.put(sessionId="s2")
    agent.append("a", "mackerel")

    assert [(h["sessionId"], h["messageId"]) for h in agent.search("herring")["results"]] == [("s1", "a")]
    assert ids(agent.history()) == ["a"]
    assert agent.put(sessionId="s1")["messages"] == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sessionId": ""}, "sessionId"),
        ({"sessionId": "é" * 129}, "sessionId"),
        ({"sessionId": 3}, "sessionId"),
        ({"spawnedBy": ""}, "spawnedBy"),
        ({"spawnedBy": "x" * 513}, "spawnedBy"),
        ({"title": "x" * 301}, "title"),
        ({"title": 3}, "title"),
        ({"kind": ""}, "kind"),
        ({"kind": None}, "kind"),
        ({"kind": "x" * 65}, "kind"),
        ({"kind": "a\nb"}, "kind"),
        ({"incognito": 1}, "incognito"),
        ({"incognito": None}, "incognito"),
        ({"Title": "x"}, "Title"),
    ],
)
def test_a_bad_field_is_refused_by_name_and_nothing_is_made(agent, changes, field):
    with pytest.raises(BadRequest) as refused:
        agent.put(**changes)

    assert refused.value.field == field
    assert field in str(refused.value)
    assert not agent.world.store.has_agent("ada")


@pytest.mark.parametrize("key", ["", "x" * 513, "é" * 257, "\ud800", 3, None])
def test_a_session_key_is_utf8_of_1_to_512_bytes(world, key):
    with pytest.raises(BadRequest) as refused:
        Session(world, "ada", key).put()

    assert refused.value.field == "sessionKey"


@pytest.mark.parametrize("key", ["é" * 256, "a\0b", "%_", "' OR 1=1 --", "key\nwith lines", "\U0001f4a1", "//..//", "\u202e"])
def test_any_character_in_a_session_key_is_harmless(world, key):
    session = world.session("ada", key).append("a\0b", "herring").append("a\0b", "herring")

    assert ids(session.search("herring")) == ids(session.history()) == ["a\0b"]
    assert session.listed()["messages"] == 1
    assert ids(session.search("herring", session_key=key)) == ["a\0b"]
    assert session.delete() == {"deleted": True}


@pytest.mark.parametrize("agent_id", ["", "x" * 65, "a/b", "a b", "é", "a\0", "a\n", "../x"])
def test_an_agent_id_that_could_name_another_file_is_refused(world, agent_id):
    with pytest.raises(BadRequest) as refused:
        world.session(agent_id, "agent:x:main").put()

    assert refused.value.field == "agentId"


@pytest.mark.parametrize("agent_id", ["a", "A", ".", "..", "-", "x" * 64, "X" * 64, "Ada.v2_b-c"])
def test_every_agent_id_has_a_file_of_its_own_inside_the_folder(world, agent_id):
    world.session("other", "agent:other:main").append("a", "mackerel")
    session = world.session(agent_id, "agent:x:main").append("a", "herring")

    assert world.store.agent_path(agent_id).parent == world.store.settings.data / "agents"
    assert world.store.agent_ids() == sorted([agent_id, "other"])
    assert session.found("herring") == ["a"]


def test_two_agent_ids_that_differ_in_case_alone_share_nothing(world):
    world.session("ada", "agent:low:main").append("a", "herring")
    world.session("ADA", "agent:high:main").append("a", "mackerel")

    assert world.store.agent_ids() == ["ADA", "ada"]
    assert world.search(Caller("ADA", "agent:high:main"), "herring", match="all", scope="agent")["results"] == []


def test_a_key_belongs_to_one_agent(world):
    world.session("ada", "agent:ada:main").put()
    bob = world.session("bob", "agent:ada:main")

    for refused in (bob.put, lambda: bob.append("a", "text")):
        with pytest.raises(Conflict, match="another agent"):
            refused()


def test_a_session_id_belongs_to_one_session(world):
    world.session("ada", "agent:ada:one").put(sessionId="s1")

    with pytest.raises(Conflict, match="sessionId"):
        world.session("ada", "agent:ada:two").put(sessionId="s1")
    two = world.session("ada", "agent:ada:two")
    two.put()
    with pytest.raises(Conflict, match="sessionId"):
        two.put(sessionId="s1")
    with pytest.raises(Conflict, match="sessionId"):
        two.reset("s1")


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_session_cannot_stand_above_itself(world, length):
    keys = [f"agent:ada:{n}" for n in range(length)]
    for above, key in zip(keys, keys[1:], strict=False):
        world.session("ada", key).put(spawnedBy=above)

    with pytest.raises(Unprocessable) as refused:
        world.session("ada", keys[0]).put(spawnedBy=keys[-1])

    assert refused.value.field == "spawnedBy"


def test_a_cycle_is_refused_also_where_one_of_its_sessions_does_not_exist_yet(world):
    world.session("ada", "agent:ada:child").put(spawnedBy="agent:bob:later")

    with pytest.raises(Unprocessable):
        world.session("bob", "agent:bob:later").put(spawnedBy="agent:ada:child")


# ---------------------------------------------------------------------------------------------------------- rewind


def test_rewinding_hides_later_messages_at_once_and_keeps_the_part_that_did_not_change(agent, search):
    agent.append("a", "alpha").append("b", "beta").append("c", "gamma")

    answer = agent.rewind("b")

    assert answer == {"sessionId": agent.listed()["sessionId"], "leafId": "b", "pending": True}
    assert (agent.found("alpha"), agent.found("beta"), agent.found("gamma")) == (["a"], ["b"], [])
    assert search("alpha")["indexing"]


def test_an_append_after_a_rewind_is_searchable_at_once_and_what_was_abandoned_is_not(agent):
    agent.append("a", "alpha").append("b", "beta one")
    agent.rewind("a")

    agent.append("c", "beta two")

    assert agent.found("beta") == ["c"]
    assert ids(agent.history()) == ["a", "c"]


def test_of_two_rewinds_the_second_does_not_bring_back_what_the_first_abandoned(agent):
    """Back to 5, append 6 and 7, back to 6: the old 6 must not reappear, the new 6 must stay."""
    for n in range(1, 9):
        agent.append(f"old{n}", "word")
    agent.rewind("old5")
    agent.append("new6", "word").append("new7", "word")

    agent.rewind("new6")

    expected = ["new6", *(f"old{n}" for n in range(5, 0, -1))]
    assert agent.found("word", order="recent") == expected
    agent.reconcile()
    assert agent.found("word", order="recent") == expected


def test_switching_to_another_branch_shows_that_one_after_the_reconcile_and_neither_before(agent):
    agent.append("a", "amber").append("b", "brick").append("c", "clay", parent="a")

    agent.rewind("b")

    assert (agent.found("amber"), agent.found("clay")) == (["a"], [])
    assert agent.search("brick")["indexing"]
    agent.reconcile()
    assert agent.found("brick") == ["b"]


def test_rewinding_to_nothing_empties_the_branch_and_the_next_event_is_a_new_root(agent):
    agent.append("a", "alpha")

    assert agent.rewind(None)["leafId"] is None
    agent.append("b", "beta")

    assert agent.found("alpha") == []
    assert ids(agent.history()) == ["b"]


def test_a_rewind_that_does_not_move_the_leaf_leaves_nothing_pending(agent):
    agent.append("a", "alpha").append("b", "beta")

    assert agent.rewind("b")["pending"] is False
    assert agent.search("beta")["indexing"] is False


def test_a_rewind_may_go_before_a_reset_event(agent):
    agent.append("a", "alpha").send({"type": "reset", "id": "r"})
    agent.append("b", "beta")

    agent.rewind("a")

    assert ids(agent.history()) == ["a"]


def test_a_rewind_to_what_is_not_there_is_not_found(agent):
    with pytest.raises(NotFound):
        agent.rewind("a")
    agent.append("a", "alpha")
    for unknown in ("b", "A", "a "):
        with pytest.raises(NotFound):
            agent.rewind(unknown)
    with pytest.raises(BadRequest):
        agent.rewind("")


def test_a_rewind_to_an_event_that_is_no_node_stays_at_the_leaf(agent):
    agent.append("a", "alpha").send({"type": "thought_bubble", "id": "x"})

    assert agent.rewind("x") == {"sessionId": agent.listed()["sessionId"], "leafId": "a", "pending": False}


# ----------------------------------------------------------------------------------------------------------- reset


def test_a_reset_gives_the_key_a_new_transcript_and_keeps_the_old_one_searchable_under_it(agent):
    agent.append("a", "alpha")
    old = agent.listed()["sessionId"]

    new = agent.reset()["sessionId"]
    agent.append("a", "beta")

    assert new != old
    assert [(h["sessionKey"], h["sessionId"]) for h in agent.search("alpha")["results"]] == [(agent.key, old)]
    assert [(h["sessionKey"], h["sessionId"]) for h in agent.search("beta")["results"]] == [(agent.key, new)]
    assert ids(agent.history()) == ["a"]
    assert [m["text"] for m in agent.history(session_id=old)["messages"]] == ["alpha"]
    assert agent.listed()["messages"] == 1


def test_a_reset_of_what_is_not_there_is_not_found(agent):
    with pytest.raises(NotFound):
        agent.reset()


def test_a_rewound_transcript_stays_rewound_after_a_reset(agent):
    agent.append("a", "alpha").append("b", "beta")
    agent.rewind("a")
    agent.reset()

    assert agent.found("beta") == []
    agent.reconcile()
    assert (agent.found("alpha"), agent.found("beta")) == (["a"], [])


# ---------------------------------------------------------------------------------------------------------- delete


def counts(agent):
    with agent.world.plain_sqlite() as conn:
        tables = ("sessions", "transcripts", "events", "messages", "message_index", "index_state", "marks", "idempotency")
        return {table: conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


def test_deleting_removes_every_row_in_one_transaction_and_leaves_tombstones(agent):
    agent.put(sessionId="s1")
    agent.send(message("a", "alpha"), message("b", "beta"), idempotency_key="once")
    agent.rewind("a")
    agent.reset("s2")
    agent.append("a", "gamma")

    assert agent.delete() == {"deleted": True}

    assert set(counts(agent).values()) == {0}
    with agent.world.plain_sqlite() as conn:
        assert conn.execute("SELECT session_id, session_key FROM tombstones ORDER BY 1").fetchall() == [("s1", agent.key), ("s2", agent.key)]
    assert agent.search("alpha")["results"] == []
    with pytest.raises(NotFound):
        agent.history()
    with pytest.raises(NotFound):
        agent.delete()


def test_deleting_one_session_touches_no_other(world):
    one, two = world.session("ada", "agent:ada:one"), world.session("ada", "agent:ada:two")
    one.append("a", "alpha")
    two.append("a", "alpha")

    one.delete()

    assert two.found("alpha") == ["a"]
    assert world.verify() == []


@pytest.mark.parametrize("key", ["agent:ada:Main", "agent:ada:main ", "agent:ada:mai", "agent:ada:main\0"])
def test_another_spelling_of_a_key_is_another_session(agent, key):
    agent.append("a", "alpha")

    with pytest.raises(NotFound):
        agent.world.session("ada", key).delete()

    assert agent.found("alpha") == ["a"]


def test_a_key_used_again_after_a_delete_names_a_new_session_with_a_new_id(agent):
    agent.put(sessionId="s1")
    agent.append("a", "turnip")
    agent.delete()

    for refused in (lambda: agent.put(sessionId="s1"), lambda: agent.put() and agent.reset("s1")):
        with pytest.raises(Conflict, match="deleted"):
            refused()
    agent.append("a", "parsnip")

    assert agent.found("turnip") == []
    assert agent.found("parsnip") == ["a"]
    assert agent.listed()["sessionId"] != "s1"


def test_after_a_delete_the_key_still_belongs_to_its_agent(agent):
    agent.put()
    agent.delete()

    with pytest.raises(Conflict, match="another agent"):
        agent.world.session("bob", agent.key).put()
    assert agent.put()["agentId"] == "ada"


def test_deleting_in_a_folder_without_the_agent_makes_no_file(world):
    with pytest.raises(NotFound):
        world.session("nobody", "agent:nobody:main").delete()

    assert not world.store.has_agent("nobody")
