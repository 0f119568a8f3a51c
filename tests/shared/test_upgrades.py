"""Databases of every release open, serve and converge; one that a newer release wrote is left alone, whoever meets it."""

import sqlite3

import pytest

from shared import tokens
from shared.store.migrate import newest_version
from shared.visibility import Caller
from tests.conftest import World, ids
from tests.shared.released import FOLDER, unpacked
from worker.cli import run

VERSIONS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
REGISTRIES = [
    (version, path.name[: -len(".sqlite.gz")]) for version in VERSIONS for path in sorted((FOLDER / version).glob("registry*.gz"))
]
ADA = Caller("ada", "agent:ada:main")


@pytest.fixture(params=REGISTRIES, ids=[" ".join(one) for one in REGISTRIES])
def folder(request, tmp_path):
    """A world on a release's data folder, with one of its registries."""
    settings = unpacked(request.param[0], tmp_path / "data", request.param[1])
    world = World(settings.data, visibility="agent")
    yield world
    world.store.close()


def test_a_release_is_there_with_every_registry_it_had():
    assert "0.1.0" in VERSIONS
    assert {registry for version, registry in REGISTRIES if version == "0.1.0"} == {"registry", "registry-1", "registry-2"}


def test_what_a_release_stored_is_found_at_once_and_nothing_that_was_hidden(folder):
    assert set(ids(folder.search(ADA, "ferry", limit=50))) == {"a", "k"}
    assert ids(folder.search(ADA, "渡")) == ["c"]
    assert ids(folder.search(ADA, "quay", match="all")) == []
    assert ids(folder.search(Caller("Bob", "bob"), "tidewater-77")) == []


def test_what_a_release_owed_is_owed_still_and_converges(folder):
    before = folder.search(ADA, "barge")
    folder.search(Caller("Bob", "bob"), "ferry")  # notices that a secret was registered since
    for agent_id in ("ada", "Bob"):
        folder.reconcile_all(agent_id)
    after = folder.search(ADA, "barge")

    assert (ids(before), before["indexing"]) == ([], True)
    assert (ids(after), after["indexing"]) == (["i"], False)
    assert ids(folder.search(ADA, "after the edit", match="all")) == ["e1"]
    assert ids(folder.search(ADA, "quay", match="all")) == []
    assert folder.verify("ada") == folder.verify("Bob") == []


def test_an_upgraded_folder_takes_every_verb(folder):
    main = folder.session("ada")

    main.append("d", "a new cormorant").rewind("d")
    folder.session("ada", "rewound").rewind("r3")
    folder.session("ada", "rewound").reconcile()
    gone = folder.session("ada", "gone").append("g2", "another under a deleted key")

    assert main.found("cormorant") == ["d"]
    assert folder.session("ada", "rewound").found("abandoned quay") == ["r2"]
    assert gone.history()["messages"][0]["id"] == "g2"
    assert [message["id"] for message in main.history()["messages"]] == ["a", "b", "c", "d"]


def test_tokens_and_secrets_of_a_release_are_kept_where_its_registry_knew_them(folder, request):
    knew_tokens = "registry-1" not in request.node.callspec.id

    assert len(tokens.list_tokens(folder.store)) == int(knew_tokens)
    assert folder.store.catalogue().secrets == ("tidewater-77",)


@pytest.mark.parametrize(
    ("file", "command"),
    [("registry.sqlite", "search ferry"), ("queue.sqlite", "reindex --agent ada"), ("agents/ada.sqlite", "reindex --agent ada")],
)
def test_a_database_of_a_newer_release_is_refused_by_name_and_left_as_it_is(tmp_path, monkeypatch, capsys, file, command):
    settings = unpacked(VERSIONS[-1], tmp_path / "data")
    path = settings.data / file
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA user_version = 99")
    conn.close()
    bytes_before = path.read_bytes()
    monkeypatch.setenv("SESSION_SEARCH_DATA", str(settings.data))

    code = run(command.split())

    assert code == 1
    told = capsys.readouterr().err
    assert "newer release" in told
    assert str(path) in told
    assert path.read_bytes() == bytes_before


def test_the_newest_schemas_are_those_of_the_newest_fixtures(tmp_path):
    """A schema file was added: a folder that has it belongs to the fixtures, once it is released."""
    settings = unpacked(VERSIONS[-1], tmp_path / "data")

    for kind, name in (("registry", "registry.sqlite"), ("queue", "queue.sqlite"), ("agent", "agents/ada.sqlite")):
        with sqlite3.connect(settings.data / name) as conn:
            assert conn.execute("PRAGMA user_version").fetchone() == (newest_version(kind),)
        conn.close()
