"""Verify: every row is computed again and looked up; what differs is named without its text, and repaired when that is asked for."""

import pytest

from shared.suspects import suspects
from tests.conftest import message


@pytest.fixture
def fleet(world):
    """Two agents with sessions of every history, all of it settled."""
    for agent_id in ("ada", "bob"):
        session = world.session(agent_id).append("a", "alpha").append("b", "beta", "assistant").append("c", "gamma")
        session.rewind("b")
        session.append("d", "delta").append("t", "result", "tool").append("e", "")
        session.reconcile()
    return world


def differences(world, agent_id="ada"):
    return [(d.session_key, d.what) for d in world.verify(agent_id)]


def test_an_index_that_is_right_has_no_difference(fleet):
    assert fleet.verify("ada") == fleet.verify("bob") == []


def test_a_pending_session_is_no_difference_for_it_says_so_itself(fleet):
    agent = fleet.session("ada")
    agent.rewind("a")
    agent.add_outside(message("x", "new"))
    fleet.session("ada", "agent:ada:imported").take_in("s1", [message("a", "alpha")])

    assert fleet.verify() == []


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM messages WHERE seq = 1", "the message at position 1 is not indexed"),
        ("UPDATE messages SET position = 9 WHERE seq = 1", "the message at position 1 is indexed otherwise"),
        ("UPDATE message_index SET text = 'alpha beta' WHERE text = 'alpha'", "the message at position 1 is indexed otherwise"),
        ("UPDATE message_index SET parts = 'x.' WHERE text = 'alpha'", "the message at position 1 is indexed otherwise"),
        ("UPDATE message_index SET session = 's9' WHERE text = 'alpha'", "the message at position 1 is indexed otherwise"),
        ("UPDATE messages SET session_no = 9 WHERE seq = 1", "the message at position 1 is indexed otherwise"),
        ("INSERT INTO messages SELECT 7, transcript_no, seq, position, 0, session_no, 0, role FROM messages LIMIT 1", "the message at position 1 is indexed more than once"),
        ("DELETE FROM message_index WHERE text = 'alpha'", "the message at position 1 is indexed otherwise"),
        ("UPDATE messages SET role = 'assistant' WHERE seq = 1", "the message at position 1 is indexed otherwise"),
        ("UPDATE messages SET message_no = message_no - (9 << 18) WHERE seq = 1", "the message at position 1 is indexed otherwise"),
        ("INSERT INTO messages SELECT 7, transcript_no, 3, 3, 0, session_no, 0, 'user' FROM messages LIMIT 1", "the row of position 3 is not on the active branch"),
        ("INSERT INTO marks VALUES (1, 0, 9, 0)", "the message at position 1 is indexed otherwise"),
        ("INSERT INTO messages SELECT 7, 99, 1, 1, 0, 99, 0, 'user' FROM messages LIMIT 1", "the index holds 1 rows of no transcript"),
        ("INSERT INTO message_index (rowid, text) VALUES (7, 'alpha')", "the index holds 1 rows of no transcript"),
    ],
)
def test_each_kind_of_difference_is_told_and_repaired(fleet, damage, told):
    with fleet.plain_sqlite() as conn:
        conn.execute(damage)

    assert told in [what for _, what in differences(fleet)]
    assert "alpha" not in str(differences(fleet))
    assert fleet.verify("bob") == []

    fleet.verify(repair=True)

    agent = fleet.session("ada")
    assert agent.search("alpha")["indexing"]
    agent.reconcile()
    assert fleet.verify() == []
    assert [agent.found(word) for word in ("alpha", "beta", "gamma", "delta")] == [["a"], ["b"], [], ["d"]]


def test_an_index_that_lost_its_words_is_noticed_although_no_query_fails(fleet):
    with fleet.plain_sqlite() as conn:
        conn.execute("UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id > 10")

    assert fleet.session("ada").found("alpha") == []
    assert differences(fleet)


def test_without_repair_nothing_is_changed(fleet):
    with fleet.plain_sqlite() as conn:
        conn.execute("DELETE FROM messages WHERE seq = 1")

    assert fleet.verify() == fleet.verify()
    assert not fleet.session("ada").search("beta")["indexing"]


def test_a_database_that_cannot_be_read_is_told_with_its_file(fleet):
    path = fleet.ruin("ada")

    ((key, what),) = differences(fleet)

    assert (key, str(path) in what) == ("", True)


def test_a_damaged_database_is_remembered_for_whoever_looks_at_all_of_them(fleet):
    path = fleet.ruin("ada")

    fleet.verify("ada", repair=True)
    fleet.verify("bob", repair=True)

    assert suspects(fleet.store.settings) == {path.name}


def test_a_transcript_that_is_damaged_is_told_and_not_repaired_away(fleet):
    path = fleet.store.agent_path("ada")
    fleet.session("ada").send(*(message(f"x{n}", "word " * 200) for n in range(200)))
    fleet.store.close()
    with fleet.plain_sqlite() as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = conn.execute("PRAGMA page_size").fetchone()[0]
        root = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events_by_id'").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\xff" * page)

    found = fleet.reopen().verify(repair=True)

    assert any("damaged" in difference.what for difference in found)
    assert path.exists()
