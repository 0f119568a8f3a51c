"""The corpus of the benchmark: the same for the same seed, and what was planted is found exactly where the manifest says."""

import json
from pathlib import Path

import pytest

from bench.corpus import PLANTS, Corpus, jsonl, searchable
from bench.ground import AGENT, Ground, Options, key_of, tree
from shared.config import Settings
from shared.search import SearchRequest, search_sessions
from shared.store import Store, open_store
from shared.visibility import OWNER, Caller, visible_sessions
from worker.importing import import_paths
from worker.reconcile import reconcile_session

MESSAGES = 2_000


def text_of(corpus: Corpus) -> str:
    return "\n".join(line for session in corpus.sessions() for line in jsonl(session))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_gives_others():
    assert text_of(Corpus(600, 3)) == text_of(Corpus(600, 3))
    assert text_of(Corpus(600, 3)) != text_of(Corpus(600, 4))


def test_sessions_can_be_made_in_any_order():
    corpus = Corpus(600, 3)

    assert list(jsonl(corpus.session(4))) == list(jsonl(list(Corpus(600, 3).sessions())[4]))


@pytest.mark.parametrize("messages", [100, 1_000, 7_777])
def test_a_corpus_has_as_many_messages_as_were_asked_for(messages):
    assert sum(len(session.entries) for session in Corpus(messages, 1).sessions()) == messages


def test_a_lone_session_has_all_messages_and_no_branches():
    (session,) = Corpus(500, 1, lone=True).sessions()

    assert len(session.entries) == 500
    assert all(entry.active for entry in session.entries)


def test_a_corpus_has_branches_that_were_left_tool_results_and_several_scripts():
    entries = [entry for session in Corpus(MESSAGES, 1).sessions() for entry in session.entries]
    roles = {entry.message["role"] for entry in entries}
    text = "".join(entry.text for entry in entries)

    assert roles == {"user", "assistant", "toolResult"}
    assert any(not entry.active for entry in entries)
    assert any("一" <= one <= "鿿" for one in text) and any("ก" <= one <= "๛" for one in text)


def test_what_is_said_to_be_searchable_is_what_stands_on_the_path_from_the_last_entry():
    for session in Corpus(MESSAGES, 1).sessions():
        by_id = {entry.id: entry for entry in session.entries}
        path, here = set(), session.entries[-1].id
        while here is not None:
            path.add(here)
            here = by_id[here].parent

        assert {event_id for event_id, _ in searchable(session)} == {entry.id for entry in session.entries if entry.text and entry.id in path}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory):
    """A corpus with its lineage, imported and reconciled; its store, the manifest, and the ground it was written on."""
    folder = tmp_path_factory.mktemp("bench")
    ground = Ground(Options(messages=MESSAGES), folder)
    files = ground.files(ground.corpus, lineage=tree)
    store = open_store(Settings(data=folder / "data"))
    report = import_paths(store, "openclaw", [files / "transcripts"], now_ms=1_800_000_000_000)
    assert report.exit_code == 0
    for index in range(len(ground.corpus.lengths)):
        key = key_of(AGENT, ground.corpus.session_id(index))
        reconcile_session(store, AGENT, key, "test", lambda: 1_800_000_000_000, lambda: None)
    yield store, manifest_of(files), ground
    ground.close()
    store.close()


def manifest_of(files: Path) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = json.loads((files / "manifest.json").read_text("utf-8"))
    return found


def hits(store: Store, query: str, caller: Caller = OWNER) -> list[list[str]]:
    answer = search_sessions(store, caller, SearchRequest(query, match="all", limit=50), 1_800_000_000_000)
    assert not answer.body["indexing"]
    return sorted([hit["sessionId"], hit["messageId"]] for hit in answer.body["results"])


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_term_is_found_exactly_where_the_manifest_says(imported, plant):
    store, manifest, _ = imported
    places = manifest.get(plant.name, [])

    assert hits(store, plant.query) == (sorted(places) if plant.slot == "text" else [])


def test_every_kind_of_place_is_planted(imported):
    _, manifest, _ = imported

    assert {plant.slot for plant in PLANTS if manifest.get(plant.name)} == {"text", "tool_result", "thinking", "tool_call", "abandoned"}


def test_callers_see_by_what_they_spawned_as_many_sessions_as_their_set_is_named_for(imported):
    store, _, ground = imported
    sessions = len(ground.corpus.lengths)

    for name, caller in ground.callers.items():
        seen = visible_sessions(store, Caller(caller["agentId"], caller["sessionKey"])).keys[AGENT]

        assert len(seen) == (sessions if name == "all" else min(sessions - 1, int(name.replace(",", ""))))
