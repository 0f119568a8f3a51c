"""Which sessions a caller sees: each mode contains the one before it, nothing widens, and where two sources differ the narrower holds."""

import sqlite3

import pytest

from shared.errors import NotFound, Unprocessable, VisibilityUnknown
from shared.history import HistoryRequest, read_history
from shared.store import registry, search, trees
from shared.store.search import FEW
from shared.visibility import OWNER, Caller, visible_sessions
from tests.conftest import Killed, ids, message

#  ada:main ── ada:child ── bob:grandchild        ada:other        bob:main        eve:main
FAMILY = {
    "agent:ada:main": None,
    "agent:ada:child": "agent:ada:main",
    "agent:bob:grandchild": "agent:ada:child",
    "agent:ada:other": None,
    "agent:bob:main": None,
    "agent:eve:main": None,
}


def agent_of(key):
    return key.split(":")[1]


def sees(world, caller, scope=None, word="word"):
    """Short names of the sessions a search finds, which list and history must agree with."""
    found = {hit["sessionKey"] for hit in world.pages(caller, word, match="all", limit=50, **({"scope": scope} if scope else {}))}
    listed = {s["sessionKey"] for s in world.listing(caller, limit=200, scope=scope)["sessions"]}
    assert found <= listed
    return sorted(key.removeprefix("agent:") for key in listed)


@pytest.fixture
def make_family(make_world):
    def make(**settings):
        world = make_world("data", **settings)
        for key, parent in FAMILY.items():
            session = world.session(agent_of(key), key)
            session.put(spawnedBy=parent)
            session.append("m", "word")
        return world

    return make


MAIN = Caller("ada", "agent:ada:main")
TREE = ["ada:child", "ada:main", "bob:grandchild"]
AGENT = ["ada:child", "ada:main", "ada:other", "bob:grandchild"]
ALL = sorted(key.removeprefix("agent:") for key in FAMILY)


@pytest.mark.parametrize(
    ("mode", "policy", "expected"),
    [
        ("self", "", ["ada:main"]),
        ("tree", "", TREE),
        ("agent", "", AGENT),
        ("all", "", AGENT),
        ("all", "ada", AGENT),
        ("all", "bob", AGENT),
        ("all", "ada,bob", sorted([*AGENT, "bob:main"])),
        ("all", "ada,bob,eve", ALL),
        ("all", "*", ALL),
        ("agent", "*", AGENT),
    ],
)
def test_a_mode_shows_what_it_says(make_family, mode, policy, expected):
    world = make_family(visibility=mode, agent_to_agent=frozenset(policy.split(",")) - {""})

    assert sees(world, MAIN) == expected


def test_each_mode_contains_the_one_before_it_for_every_caller(make_family):
    world = make_family(visibility="all", agent_to_agent=frozenset({"ada", "bob"}))

    for key in [*FAMILY, "agent:ada:not-there"]:
        for sandboxed in (False, True):
            caller = Caller(agent_of(key), key, sandboxed=sandboxed)
            shown = [set(sees(world, caller, scope)) for scope in ("self", "tree", "agent", "all")]
            assert all(narrow <= wide for narrow, wide in zip(shown, shown[1:], strict=False)), key


@pytest.mark.parametrize(("mode", "expected"), [("self", ["ada:main"]), ("tree", TREE), ("agent", TREE), ("all", TREE)])
@pytest.mark.parametrize("asked", [None, "agent", "all"])
def test_a_sandboxed_caller_sees_its_tree_at_most(make_family, mode, expected, asked):
    world = make_family(visibility=mode, agent_to_agent=frozenset({"*"}))
    caller = Caller("ada", "agent:ada:main", sandboxed=True)

    assert sees(world, caller, asked) == expected
    assert "ada:main" not in sees(world, Caller("ada", "agent:ada:child", sandboxed=True), asked)


@pytest.mark.parametrize(
    ("mode", "asked", "applied"),
    [("self", "all", "self"), ("tree", "self", "self"), ("tree", "agent", "tree"), ("agent", "all", "agent"), ("all", "tree", "tree")],
)
def test_a_scope_narrows_and_is_clamped_and_the_answer_names_what_applied(make_family, mode, asked, applied):
    world = make_family(visibility=mode, agent_to_agent=frozenset({"*"}))

    body = world.search(MAIN, "word", scope=asked)

    assert body["scope"] == world.listing(MAIN, scope=asked)["scope"] == applied
    assert sees(world, MAIN, asked) == {"self": ["ada:main"], "tree": TREE, "agent": AGENT}[applied]


@pytest.mark.parametrize("scope", ["", "Tree", "everyone", "ALL"])
def test_an_unknown_scope_is_refused_by_name(make_family, scope):
    world = make_family()

    for ask in (lambda: world.search(MAIN, "word", scope=scope), lambda: world.listing(MAIN, scope=scope)):
        with pytest.raises(Unprocessable) as refused:
            ask()
        assert refused.value.field == "scope"


def test_a_mode_may_be_set_for_one_agent(make_family):
    world = make_family(agent_visibility={"ada": "self"})

    assert sees(world, MAIN) == ["ada:main"]
    assert sees(world, Caller("bob", "agent:bob:main")) == ["bob:main"]
    assert sees(world, Caller("ada", "agent:ada:child")) == ["ada:child"]


def test_the_owner_of_the_folder_sees_all_but_incognito(make_family):
    world = make_family(visibility="self")
    world.session("ada", "agent:ada:other").put(incognito=True)

    assert sees(world, OWNER) == [s for s in ALL if s != "ada:other"]


def test_a_caller_whose_session_does_not_exist_sees_an_empty_self(make_family):
    world = make_family()

    for caller in (Caller("ada", "agent:ada:later"), Caller("zoe", "agent:zoe:main")):
        body = world.search(caller, "word")
        assert (body["results"], body["indexing"], body["nextCursor"]) == ([], False, None)
        assert world.listing(caller)["sessions"] == []


def test_the_key_of_another_agents_session_lends_no_view(make_family):
    world = make_family()

    for key in ("agent:bob:main", "agent:bob:grandchild"):
        assert sees(world, Caller("ada", key)) == []
        assert sees(world, Caller("ada", key), "self") == []


# -------------------------------------------------------------------------------------------------------- incognito


def test_an_incognito_session_is_found_by_nobody_not_even_itself(make_family):
    world = make_family(visibility="all", agent_to_agent=frozenset({"*"}))
    child = world.session("ada", "agent:ada:child")

    child.put(incognito=True)

    for caller in (child.caller, MAIN, OWNER):
        assert "ada:child" not in sees(world, caller)
        assert child.key not in {h["sessionKey"] for h in world.search(caller, "word", session_key=child.key)["results"]}
        with pytest.raises(NotFound):
            read_history(world.store, caller, HistoryRequest(child.key))


def test_children_of_an_incognito_session_are_judged_by_themselves(make_family):
    world = make_family()
    world.session("ada", "agent:ada:child").put(incognito=True)

    assert sees(world, MAIN) == ["ada:main", "bob:grandchild"]
    assert sees(world, Caller("ada", "agent:ada:child")) == ["bob:grandchild"]


def test_a_session_that_is_no_longer_incognito_is_found_again(make_family):
    world = make_family()
    child = world.session("ada", "agent:ada:child")
    child.put(incognito=True)
    child.append("n", "hidden")

    child.put(incognito=False)

    assert child.found("hidden") == ["n"]


def test_a_session_set_incognito_by_another_program_is_hidden_at_once(agent):
    agent.append("a", "alpha")

    with agent.world.plain_sqlite() as conn:
        conn.execute("UPDATE sessions SET incognito = 1")

    assert agent.found("alpha") == []


# ---------------------------------------------------------------------------------------------------------- deleted


def test_children_of_a_deleted_session_stay_in_the_tree_of_those_above_it(make_family):
    world = make_family()

    world.session("ada", "agent:ada:child").delete()

    assert sees(world, MAIN) == ["ada:main", "bob:grandchild"]


def test_children_of_a_deleted_session_do_not_join_a_new_session_under_its_key(make_family):
    world = make_family()
    child = world.session("ada", "agent:ada:child")
    child.delete()

    child.append("n", "word")
    world.session("bob", "agent:bob:second").put(spawnedBy=child.key)

    assert sees(world, child.caller) == ["ada:child", "bob:second"]
    assert sees(world, MAIN) == ["ada:main", "bob:grandchild"]
    child.put(spawnedBy="agent:ada:main")
    assert sees(world, MAIN) == ["ada:child", "ada:main", "bob:grandchild", "bob:second"]


@pytest.mark.parametrize("again", ["nothing", "append", "put"])
def test_children_of_a_session_whose_delete_was_cut_short_do_not_join_a_new_session_under_its_key(make_family, monkeypatch, again):
    """The process was killed before the registry knew: a session made under the key was the old one to it, with all it had spawned."""
    world = make_family()
    child = world.session("ada", "agent:ada:child")

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(registry, "mark_deleted", killed)
        child.delete()
    if again == "append":
        child.append("n", "word")
    elif again == "put":
        child.put()

    assert "bob:grandchild" not in sees(world, child.caller)
    if again != "nothing":
        world.session("bob", "agent:bob:second").put(spawnedBy=child.key)
        assert sees(world, child.caller) == ["ada:child", "bob:second"]


def test_a_deleted_caller_sees_nothing_of_what_it_spawned(make_family):
    world = make_family()
    world.session("ada", "agent:ada:main").delete()

    assert sees(world, MAIN) == []


def test_a_child_may_be_spawned_by_a_key_that_is_made_later(world):
    world.session("ada", "agent:ada:child").put(spawnedBy="agent:bob:parent")
    world.session("bob", "agent:bob:parent").append("m", "word")

    assert sees(world, Caller("bob", "agent:bob:parent")) == ["ada:child", "bob:parent"]


def test_a_session_given_another_parent_leaves_the_tree_it_was_in(make_family):
    world = make_family()

    world.session("bob", "agent:bob:grandchild").put(spawnedBy="agent:eve:main")

    assert sees(world, MAIN) == ["ada:child", "ada:main"]
    assert sees(world, Caller("eve", "agent:eve:main")) == ["bob:grandchild", "eve:main"]


# ------------------------------------------------------------------------------------ registry and agent database differ


def test_where_only_the_registry_names_a_parent_the_child_is_hidden(make_family):
    world = make_family()

    with world.plain_sqlite("bob") as conn:
        conn.execute("UPDATE sessions SET spawned_by = NULL WHERE session_key = 'agent:bob:grandchild'")

    assert sees(world, MAIN) == ["ada:child", "ada:main"]


def test_where_only_the_agents_database_names_a_parent_the_child_is_hidden(make_family):
    world = make_family()

    with world.plain_sqlite("bob") as conn:
        conn.execute("UPDATE sessions SET spawned_by = 'agent:ada:main' WHERE session_key = 'agent:bob:main'")

    assert sees(world, MAIN) == TREE


def test_what_hangs_below_a_session_that_differs_is_hidden_with_it(make_family):
    world = make_family()

    with world.plain_sqlite("ada") as conn:
        conn.execute("UPDATE sessions SET spawned_by = 'agent:ada:other' WHERE session_key = 'agent:ada:child'")

    assert sees(world, MAIN) == ["ada:main"]
    assert sees(world, Caller("ada", "agent:ada:other")) == ["ada:other"]


def test_a_claim_without_a_session_shows_nothing_and_its_agent_may_use_it(make_family):
    world = make_family()
    with world.store.registry_writer() as conn:
        conn.execute("INSERT INTO lineage (session_key, incarnation, agent_id, spawned_by) VALUES ('agent:bob:claimed', 0, 'bob', 'agent:ada:main')")

    assert sees(world, MAIN) == TREE
    world.session("bob", "agent:bob:claimed").put(spawnedBy="agent:ada:main")
    assert sees(world, MAIN) == [*TREE[:2], "bob:claimed", TREE[2]]


def test_when_a_database_that_decides_cannot_be_read_the_answer_is_an_error(make_family):
    world = make_family()
    world.ruin("bob")

    with pytest.raises(VisibilityUnknown):
        world.search(MAIN, "word")
    with pytest.raises(VisibilityUnknown):
        world.listing(MAIN)
    assert visible_sessions(world.store, MAIN, "self").keys == {"ada": frozenset({"agent:ada:main"})}


# -------------------------------------------------------------------------------- hidden and missing are not told apart


def test_a_hidden_session_and_one_that_is_not_there_get_the_same_answer(make_family):
    world = make_family()
    hidden = ["agent:ada:other", "agent:bob:main", "agent:eve:main"]
    world.session("eve", "agent:eve:main").put(incognito=True)
    world.session("bob", "agent:bob:main").take_in("old", [message("x", "word")])

    missing = world.ask(MAIN, "word", session_key="agent:not:there")

    for agent_id in ("eve", "nobody"):
        assert world.ask(MAIN, "word", agent_id=agent_id) == missing
    for key in hidden:
        assert world.ask(MAIN, "word", session_key=key) == missing
        for session_id in (None, "s1"):
            told = []
            for asked in (key, "agent:not:there"):
                with pytest.raises(NotFound) as refused:
                    read_history(world.store, MAIN, HistoryRequest(asked, session_id=session_id))
                told.append(str(refused.value))
            assert told[0] == told[1]


def test_a_session_id_is_not_a_way_around_the_key(make_family):
    world = make_family()
    other = world.session("ada", "agent:ada:other")
    other_id = world.listing(other.caller, scope="self")["sessions"][0]["sessionId"]

    with pytest.raises(NotFound):
        world.session("ada", "agent:ada:main").history(session_id=other_id)
    assert ids(world.search(MAIN, "word", session_key=other_id)) == []


@pytest.mark.parametrize("many", [64, 65, 200])
def test_any_number_of_visible_sessions_is_searched(world, many):
    """Few are named in the match expression, more are joined."""
    for n in range(many):
        world.session("ada", f"agent:ada:{n}").put(spawnedBy="agent:ada:main")
        world.session("ada", f"agent:ada:{n}").append("m", "word")
    world.session("ada", "agent:ada:hidden").append("m", "word")

    hits = world.pages(MAIN, "word", limit=50)

    assert len({hit["sessionKey"] for hit in hits}) == len(hits) == many


# ------------------------------------------------------------------------------------------------- remembered trees


def trees_read(world, caller, act=lambda: None):
    """How often a tree is read anew, by two looks at what the caller sees with an act between them."""
    seen = []
    visible_sessions(world.store, caller)
    act()
    with world.store.registry_reader() as conn:
        conn.set_trace_callback(seen.append)
    found = visible_sessions(world.store, caller)
    with world.store.registry_reader() as conn:
        conn.set_trace_callback(None)
    return found, sum("RECURSIVE tree" in statement for statement in seen)


def test_a_tree_is_not_read_again_while_nothing_in_it_changes(world):
    main = world.session("ada").append("a", "alpha")
    world.session("ada", "agent:ada:child").put(spawnedBy=main.key)

    found, read = trees_read(world, main.caller, lambda: main.append("b", "beta"))

    assert read == 0
    assert found.keys == {"ada": {main.key, "agent:ada:child"}}


@pytest.mark.parametrize("agent_id", ["ada", "bob"])
def test_a_tree_is_read_again_when_a_session_is_spawned_or_deleted_anywhere(world, agent_id):
    main = world.session("ada").append("a", "alpha")
    child = world.session(agent_id, f"agent:{agent_id}:child")

    spawned, read_then = trees_read(world, main.caller, lambda: child.put(spawnedBy=main.key))
    gone, read_later = trees_read(world, main.caller, child.delete)

    assert (read_then, read_later) == (1, 1)
    assert child.key in spawned.keys[agent_id]
    assert child.key not in gone.keys.get(agent_id, ())


def test_a_tree_is_read_again_when_another_program_hangs_a_session_elsewhere(world):
    main = world.session("ada").append("a", "alpha")
    child = world.session("ada", "agent:ada:child")
    child.put(spawnedBy=main.key)

    def hang_elsewhere():
        conn = sqlite3.connect(world.store.agent_path("ada"))
        with conn:
            conn.execute("UPDATE sessions SET spawned_by = NULL WHERE session_key = ?", (child.key,))
        conn.close()

    found, _ = trees_read(world, main.caller, hang_elsewhere)

    assert found.keys == {"ada": {main.key}}


def test_remembered_trees_have_a_bound(monkeypatch):
    monkeypatch.setattr(trees, "MAX_KEYS", 10)
    kept = trees.Remembered()
    for n in range(5):
        kept.keep(("ada", f"k{n}"), trees.Tree({"ada": frozenset({"a", "b", "c"})}, {None: "1"}))

    assert [n for n in range(5) if kept.find(("ada", f"k{n}"))] == [3, 4]


@pytest.mark.parametrize("outside", [False, True])
def test_a_session_that_becomes_incognito_is_not_found_by_who_sees_many(world, outside):
    """Which sessions of a large tree may be found is remembered, too, and must not outlive a change."""
    main = world.session("ada").append("a", "alpha")
    for n in range(FEW + 5):
        world.session("ada", f"agent:ada:child{n}").append(f"c{n}", "alpha").put(spawnedBy=main.key)
    before = {hit["messageId"] for hit in world.pages(main.caller, "alpha", limit=50)}
    again = {hit["messageId"] for hit in world.pages(main.caller, "alpha", limit=50)}

    if outside:
        conn = sqlite3.connect(world.store.agent_path("ada"))
        with conn:
            conn.execute("UPDATE sessions SET incognito = 1 WHERE session_key = 'agent:ada:child3'")
        conn.close()
    else:
        world.session("ada", "agent:ada:child3").put(incognito=True)

    assert before == again == {"a", *(f"c{n}" for n in range(FEW + 5))}
    assert {hit["messageId"] for hit in world.pages(main.caller, "alpha", limit=50)} == before - {"c3"}


def test_what_is_newest_is_known_of_remembered_sessions_too(world):
    main = world.session("ada").append("a", "alpha")
    for n in range(FEW + 5):
        world.session("ada", f"agent:ada:child{n}").put(spawnedBy=main.key)
    main.search("alpha")

    world.session("ada", "beside").append("m", "alpha")  # else all are seen, of which none is remembered
    world.now.pass_ms(5_000)
    main.append("b", "alpha")

    keys = visible_sessions(world.store, main.caller).keys["ada"]
    with world.store.reader("ada") as conn:
        assert search.known_numbers(conn, world.store.trees, "ada", keys) == search.visible_numbers(conn, keys)
