"""The data folder: private files, one an agent; readers that cannot write; errors that name the file."""

import sqlite3
import stat
import threading

import pytest

from shared.errors import BadRequest, StoreDamaged, StoreUnavailable
from shared.overview import RUN, agents_overview, mark_pending, oldest_owed_ms, owed_sessions, parked_sessions, rebuild_index, unpark
from shared.store import connect, migrate, open_store, turns
from shared.store.connect import open_reader, open_writer, read_transaction, write_transaction
from shared.store.lists import in_texts
from tests.conftest import message

# ------------------------------------------------------------------------------------------------------------ files


def test_folders_and_files_are_for_their_owner_alone(agent):
    agent.append("a", "alpha")

    data = agent.world.store.settings.data
    for folder in (data, data / "agents"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = [path for path in data.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"registry.sqlite", "ada.sqlite", "ada.sqlite-wal"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_reading_makes_no_database_of_an_agent(world):
    with pytest.raises(StoreUnavailable) as refused, world.store.reader("nobody"):
        pass

    assert refused.value.path == str(world.store.agent_path("nobody"))
    assert world.store.agent_ids() == []


def test_other_files_in_the_folder_are_no_agents(world):
    for name in ("notes.txt", "ada.sqlite-wal", "ADA.sqlite", "a b.sqlite", ".sqlite"):
        (world.store.settings.data / "agents" / name).touch()

    assert world.store.agent_ids() == []


def test_a_path_is_given_for_agent_ids_only(world):
    with pytest.raises(BadRequest):
        world.store.agent_path("../registry")


def test_what_was_written_is_there_after_a_restart(agent):
    agent.append("a", "alpha").append("b", "beta")
    agent.rewind("a")

    agent.world.reopen()

    assert (agent.found("alpha"), agent.found("beta")) == (["a"], [])
    assert agent.search("alpha")["indexing"]


def test_two_processes_share_a_folder(agent, tmp_path):
    agent.append("a", "alpha")
    other = open_store(agent.world.store.settings)

    with other.writer("ada") as conn, write_transaction(conn, other.agent_path("ada")):
        conn.execute("UPDATE sessions SET title = 'Ferry'")
    other.close()

    assert agent.listed()["title"] == "Ferry"


# ------------------------------------------------------------------------------------------------------ connections


def test_a_reader_cannot_write(agent):
    agent.append("a", "alpha")

    with pytest.raises(StoreUnavailable, match="read-only"), agent.world.store.reader("ada") as conn:
        conn.execute("DELETE FROM events")


def test_a_write_that_fails_half_way_leaves_nothing(agent):
    agent.append("a", "alpha")
    store = agent.world.store

    with pytest.raises(ZeroDivisionError), store.writer("ada") as conn, write_transaction(conn, store.agent_path("ada")):
        conn.execute("DELETE FROM sessions")
        raise ZeroDivisionError

    assert agent.found("alpha") == ["a"]


def test_a_read_transaction_sees_one_state(agent):
    agent.append("a", "alpha")
    store = agent.world.store

    with store.reader("ada") as conn, read_transaction(conn, store.agent_path("ada")):
        before = conn.execute("SELECT count(*) FROM events").fetchone()
        agent.append("b", "beta")
        assert conn.execute("SELECT count(*) FROM events").fetchone() == before


def test_a_file_that_another_program_holds_is_unavailable_and_named(make_world, monkeypatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT_MS", 20)
    agent = make_world().session().append("a", "alpha")

    with agent.world.plain_sqlite() as conn:
        conn.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="another program") as refused:
            agent.append("b", "beta")
        assert agent.found("alpha") == ["a"]

    assert refused.value.path == str(agent.world.store.agent_path("ada"))
    agent.append("b", "beta")
    assert agent.found("beta") == ["b"]


def test_a_file_that_is_no_database_is_damaged_and_named(tmp_path):
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"no database" * 1_000)

    for opened in (open_reader, open_writer):
        with pytest.raises(StoreDamaged) as refused, connect.failures_named(path):
            opened(path).execute("SELECT 1 FROM sqlite_master")
        assert refused.value.path == str(path)


def test_threads_append_side_by_side_and_lose_nothing(world):
    def write(n):
        session = world.session("ada", f"agent:ada:{n % 2}")
        for k in range(15):
            session.append(f"{n}-{k}", "alpha")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(len(world.session("ada", f"agent:ada:{n}").found("alpha")) for n in range(2)) == 60
    assert world.verify() == []


# ------------------------------------------------------------------------------------------------------- migrations


def test_every_schema_is_applied_once(tmp_path):
    path = tmp_path / "x.sqlite"
    conn = open_writer(path)

    for _ in range(2):
        migrate.migrate(conn, "agent", path)

    assert conn.execute("PRAGMA user_version").fetchone() == (migrate.newest_version("agent"),)
    assert conn.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[0] > 0
    conn.close()


def test_a_file_of_a_newer_release_is_left_alone(agent):
    agent.append("a", "alpha")
    path = agent.world.store.agent_path("ada")
    agent.world.store.close()
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA user_version = 99")
    conn.close()

    agent.world.reopen()

    with pytest.raises(StoreUnavailable, match="newer release"):
        agent.append("b", "beta")


# ------------------------------------------------------------------------------------------------- lists of texts


@pytest.mark.parametrize("texts", [[], ["a"], ["a", "b\0c"], ["\0", "\0\0", ""], ['"', "'", "\\", "é", "\U0001f4a1"]])
def test_a_list_of_any_texts_finds_exactly_those(texts):
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE TABLE t (x TEXT)")
    conn.executemany("INSERT INTO t VALUES (?)", [(text,) for text in ("a", "b", "b\0c", "b\0", "\0", "\0\0", "", '"', "'", "\\", "é", "\U0001f4a1")])

    named, values = in_texts(texts)

    assert {row[0] for row in conn.execute(f"SELECT x FROM t WHERE x {named}", values)} == set(texts)
    conn.close()


# ---------------------------------------------------------------------------------------------- what operators read


@pytest.fixture
def fleet(world):
    """Of five sessions one is indexed, three are pending, one is parked."""
    for key in ("done", "rewound", "edited", "imported", "broken"):
        session = world.session("ada", key)
        if key == "imported":
            session.take_in("s1", [message("a", "alpha")], created_at_ms=5)
            continue
        session.append("a", "alpha").append("b", "beta")
    world.session("ada", "rewound").rewind("a")
    world.session("ada", "edited").add_outside(message("c", "gamma"))
    world.session("ada", "broken").edit_outside("b", "{")
    with pytest.raises(Exception, match="cannot be read"):
        world.session("ada", "broken").reconcile()
    return world


def test_operators_see_how_many_sessions_are_indexed_owed_and_parked(fleet):
    (row,) = agents_overview(fleet.store)

    assert {key: row[key] for key in ("agentId", "sessions", "indexed", "pending", "failed")} == {
        "agentId": "ada", "sessions": 5, "indexed": 1, "pending": 3, "failed": 1,
    }  # fmt: skip
    assert row["indexBytes"] > 0
    assert parked_sessions(fleet.store, "ada", limit=10) == [
        {"sessionKey": "broken", "error": "the event at position 2 cannot be read", "attempts": 1}
    ]
    assert oldest_owed_ms(fleet.store, "ada") is not None


def test_a_database_that_cannot_be_read_is_told_beside_the_others(fleet):
    fleet.session("bob").append("a", "alpha")
    fleet.ruin("bob")

    rows = agents_overview(fleet.store)

    assert [row["agentId"] for row in rows] == ["ada", "bob"]
    assert "damaged" in rows[1]["error"]


def test_what_is_owed_is_named_most_recently_used_first(fleet):
    def owed(**named):
        return owed_sessions(fleet.store, "ada", **{"limit": 10, "now_ms": fleet.now(), **named})

    assert owed() == ["rewound", "edited", "imported"]
    assert owed(limit=1) == ["rewound"]
    assert owed(include_parked=True) == ["rewound", "broken", "edited", "imported"]
    assert unpark(fleet.store, "ada", "broken") == 1
    assert owed() == ["rewound", "broken", "edited", "imported"]


def test_forcing_makes_everything_named_pending_while_its_rows_serve_on(fleet):
    assert mark_pending(fleet.store, "ada", "done", now_ms=fleet.now()) == 1

    done = fleet.session("ada", "done")
    assert done.listed()["pending"]
    assert done.found("beta") == ["b"]
    assert mark_pending(fleet.store, "ada", None, now_ms=fleet.now()) == 5
    assert mark_pending(fleet.store, "ada", "nowhere", now_ms=fleet.now()) == 0
    assert done.reconcile().entries == 0


def test_an_index_that_is_thrown_away_is_built_again(fleet):
    rebuild_index(fleet.store, "ada", fleet.now())

    done = fleet.session("ada", "done")
    assert (done.found("alpha"), done.search("alpha")["indexing"]) == ([], True)
    done.append("c", "gamma")
    done.reconcile()
    assert (done.found("alpha"), done.found("gamma")) == (["a"], ["c"])


def test_an_index_that_is_thrown_away_while_a_worker_is_at_a_session_is_built_again_whole(agent):
    """The worker went on from where it was, and settled a session half of which was not indexed."""
    agent.send(*(message(f"e{n}", "alpha") for n in range(300)))
    mark_pending(agent.world.store, "ada", None, now_ms=agent.world.now())
    acts = [lambda: rebuild_index(agent.world.store, "ada", agent.world.now())]

    agent.reconcile(beat=lambda: acts.pop()() if acts else None)

    assert len(agent.found("alpha")) == 300
    assert agent.world.verify() == []


def test_many_owed_sessions_are_worked_on_in_runs_that_go_forward_in_time(world):
    """Newest session first, each of them forward: every page of the index was left two fifths empty."""
    for n in range(RUN + 2):
        world.now.pass_ms(1_000)
        world.session("ada", f"k{n}").take_in(f"s{n}", [message("a", "alpha")])

    owed = owed_sessions(world.store, "ada", limit=1_000, now_ms=world.now())

    assert owed == [f"k{n}" for n in (*range(2, RUN + 2), 0, 1)]
    assert owed_sessions(world.store, "ada", limit=3, now_ms=world.now()) == [f"k{n}" for n in (RUN + 1, RUN, RUN - 1)]
