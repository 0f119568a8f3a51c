"""The suite every format must pass, in every way in which it comes: what is imported, again, grown, shortened, changed, damaged, foreign."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.errors import UnknownFormat, UnreadableSource
from shared.transcript import read_event
from tests.conftest import Session, World, memory_folder
from tests.worker.formats import KINDS, SESSION, Kind, Said, talk
from worker.import_report import ImportReport
from worker.importers import FORMATS
from worker.importers.base import Problems
from worker.importing import import_paths, render_report

NOW_MS = 1_790_000_000_000
NAMING = ("opencode", "goose", "chatgpt", "claude-export")  # formats whose conversations are written here with a title
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
rewritten = pytest.mark.parametrize("kind", [k for k in KINDS.values() if k.rewritten], ids=[n for n, k in KINDS.items() if k.rewritten])


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "in"


def take(world: World, kind: Kind, path: Path) -> ImportReport:
    return import_paths(world.store, kind.format, [path], agent="ada" if kind is not KINDS["openclaw database"] else None, now_ms=NOW_MS)


def session(world: World, kind: Kind) -> Session:
    [agent] = world.store.agent_ids()
    return world.session(agent, f"agent:{agent}:{SESSION}")


def shown(world: World, kind: Kind) -> list[tuple[str, str]]:
    """What the session's history shows, role and text."""
    found = session(world, kind)
    found.reconcile()
    assert world.verify(found.agent_id) == []
    return [(message["role"], message["text"]) for message in found.history()["messages"]]


def texts(world: World, kind: Kind) -> list[str]:
    return [text for _, text in shown(world, kind)]


@each_kind
def test_a_conversation_is_imported_with_its_roles_times_and_ids(kind, world, folder):
    said = talk("count the fenders", "eight fenders", "and the ropes")

    report = take(world, kind, kind.write(folder, said))

    assert report.exit_code == 0
    assert report.skipped == 0
    assert shown(world, kind) == [(s.role, s.text) for s in said]
    [hit] = session(world, kind).search("ropes")["results"]
    assert hit["timestamp"] == said[2].iso
    assert hit["messageId"].endswith("3") or kind.format == "codex"
    assert session(world, kind).listed()["title"] == ("t" if kind.format in NAMING else None)


@each_kind
def test_importing_again_adds_nothing_and_moves_nothing(kind, world, folder):
    path = kind.write(folder, talk("one", "two", "three"))
    first = take(world, kind, path)
    shown(world, kind)

    again = take(world, kind, path)

    assert (again.total("added"), again.total("known")) == (0, first.total("added"))
    assert "nothing added" in render_report(again)
    assert session(world, kind).state()["pending_reason"] is None


@each_kind
def test_a_grown_source_adds_its_tail_alone(kind, world, folder):
    take(world, kind, kind.write(folder, talk("one", "two")))

    report = take(world, kind, kind.write(folder, talk("one", "two", "three", "four")))

    assert report.total("added") == 2
    assert texts(world, kind) == ["one", "two", "three", "four"]


@rewritten
def test_what_a_source_has_taken_back_leaves_the_branch_and_is_kept(kind, world, folder):
    take(world, kind, kind.write(folder, talk("alpha", "beta", "gamma", "delta")))

    take(world, kind, kind.write(folder, talk("alpha", "beta")))

    assert texts(world, kind) == ["alpha", "beta"]
    assert session(world, kind).found("gamma") == []
    take(world, kind, kind.write(folder, talk("alpha", "beta", "gamma", "delta")))
    assert texts(world, kind) == ["alpha", "beta", "gamma", "delta"]
    take(world, kind, kind.write(folder, talk("alpha", "beta")))
    assert texts(world, kind) == ["alpha", "beta"]


@rewritten
def test_a_source_that_was_emptied_hides_everything(kind, world, folder):
    take(world, kind, kind.write(folder, talk("alpha", "beta")))

    report = take(world, kind, kind.write(folder, []))

    assert texts(world, kind) == []
    assert report.total("added") == 1
    assert take(world, kind, kind.write(folder, [])).total("added") == 0


@rewritten
def test_a_conversation_without_messages_makes_no_session(kind, world, folder):
    report = take(world, kind, kind.write(folder, []))

    assert report.exit_code == 0
    assert world.store.agent_ids() == []


@rewritten
def test_a_message_that_was_changed_in_place_is_found_as_it_is_now_and_what_follows_stays(kind, world, folder):
    first, last = Said("e1", "user", "alpha", 1), Said("e3", "user", "gamma", 3)
    take(world, kind, kind.write(folder, [first, Said("e2", "assistant", "beta", 2), last]))
    path = kind.write(folder, [first, Said("e2", "assistant", "better", 2), last])

    take(world, kind, path)

    assert texts(world, kind) == ["alpha", "better", "gamma"]
    assert session(world, kind).found("beta") == []
    assert len(session(world, kind).found("gamma")) == 1
    assert take(world, kind, path).total("added") == 0


@rewritten
def test_messages_written_again_under_new_ids_are_the_ones_that_are_known(kind, world, folder):
    said = talk("alpha", "beta", "gamma")
    take(world, kind, kind.write(folder, said))
    renamed = [Said(f"e{n + 40}", s.role, s.text, s.after_s) for n, s in enumerate(said)]

    report = take(world, kind, kind.write(folder, [*renamed, Said("e50", "assistant", "delta", 4)]))

    assert report.total("added") == 1
    assert texts(world, kind) == ["alpha", "beta", "gamma", "delta"]


@each_kind
def test_what_was_moved_here_stands_until_the_source_goes_on(kind, world, folder):
    """Importing a source again that had not changed took a rewind back that was made here, and put an append off the branch."""
    path = kind.write(folder, talk("alpha", "beta", "gamma", "delta"))
    take(world, kind, path)
    shown(world, kind)
    found = session(world, kind)
    found.rewind(found.history()["messages"][1]["id"])
    found.append("own", "written here")

    take(world, kind, path)

    assert texts(world, kind) == ["alpha", "beta", "written here"]
    take(world, kind, kind.write(folder, talk("alpha", "beta", "gamma", "delta", "omega")))
    assert texts(world, kind)[-1] == "omega"


@each_kind
def test_what_is_damaged_is_reported_and_the_rest_is_imported(kind, world, folder):
    path = kind.write(folder, talk("alpha", "beta", "gamma"))
    kind.damage(path, talk("alpha", "beta")[1])

    report = take(world, kind, path)

    assert report.exit_code == 0
    assert report.skipped == 1
    assert "1 " in render_report(report).splitlines()[0] and "skipped" in render_report(report).splitlines()[1]
    assert texts(world, kind)[0] == "alpha"
    assert texts(world, kind)[-1] == "gamma"


@rewritten
def test_a_source_read_with_a_gap_takes_nothing_off_the_branch(kind, world, folder):
    said = talk("alpha", "beta", "gamma")
    take(world, kind, kind.write(folder, said))
    path = kind.write(folder, talk("alpha", "beta", "gamma", "delta"))
    kind.damage(path, said[1])

    take(world, kind, path)

    assert texts(world, kind) == ["alpha", "beta", "gamma", "delta"]


@each_kind
def test_an_empty_file_is_no_failure_and_stores_nothing(kind, world, folder):
    path = kind.write(folder, talk("one"))
    path.write_bytes(b"")

    report = take(world, kind, path)

    assert report.exit_code == 0
    assert "empty" in render_report(report)
    assert world.store.agent_ids() == []


@each_kind
def test_a_folder_is_searched_for_its_transcripts(kind, world, folder):
    kind.write(folder / "below" / "deeper", talk("one", "two"))
    (folder / "below" / "notes.txt").write_text("nothing")

    report = take(world, kind, folder)

    assert (len(report.files), report.total("sessions"), report.exit_code) == (1, 1, 0)


@each_kind
def test_a_folder_without_transcripts_is_a_failure_that_says_what_was_looked_for(kind, world, folder):
    folder.mkdir()

    report = take(world, kind, folder)

    assert report.exit_code == 1
    assert FORMATS[kind.format].wanted in render_report(report)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_another_program_is_refused_and_stores_nothing(name, world, folder):
    foreign = [
        kind.write(folder / kind.format / str(n), talk("one", "two")) for n, kind in enumerate(KINDS.values()) if kind.format != name
    ]
    for number, data in enumerate(
        [b'{"role": "user"}', b"# notes\n\n> hello\n", b'[{"role": "user"}]', b"\xff\xfe\0", b"\n\n", b"PK\3\4 no", b"{}", b"[1]"]
    ):
        foreign.append(folder / f"foreign{number}.json")
        foreign[-1].write_bytes(data)
    (folder / "whole.db").write_bytes(b"SQLite format 3\0" + bytes(200))

    for path in [*foreign, folder / "whole.db"]:
        report = import_paths(world.store, name, [path], now_ms=NOW_MS)
        assert report.exit_code == 1, path
        assert str(path) in render_report(report)

    assert world.store.agent_ids() == []


def test_a_source_that_is_not_there_is_a_failure_that_names_it(world, folder):
    for kind in KINDS.values():
        path = kind.write(folder, talk("one"))
        path.unlink()

        report = take(world, kind, path)

        assert report.exit_code == 1
        assert str(path) in render_report(report)


@each_kind
def test_a_session_deleted_here_stays_deleted_until_it_is_restored_under_the_same_ids(kind, world, folder):
    path = kind.write(folder, talk("alpha", "beta"))
    first = take(world, kind, path)
    shown(world, kind)
    found = session(world, kind)
    ids = [message["id"] for message in found.history()["messages"]]
    found.delete()

    report = take(world, kind, path)

    assert (report.exit_code, report.total("added"), report.total("deleted")) == (0, 0, 1)
    assert found.found("alpha") == []
    restored = import_paths(world.store, kind.format, [path], agent=found.agent_id, restore=True, now_ms=NOW_MS)
    assert restored.total("added") == first.total("added")
    assert texts(world, kind) == ["alpha", "beta"]
    assert [message["id"] for message in found.history()["messages"]] == ids


@each_kind
def test_any_script_and_sign_comes_through(kind, world, folder):
    said = talk(
        "渡し船 の 時刻",
        "הַסֵּפֶר 👩‍👩‍👧 o\u2028ne\x85",
        'naïve "quoted" \\back\\ {brace} [bracket',
        "tab\tand\nline",
        "\N{REPLACEMENT CHARACTER}",
    )

    take(world, kind, kind.write(folder, said))

    assert texts(world, kind) == [s.text for s in said]


@each_kind
def test_every_event_has_an_id_of_its_own_and_is_one_that_the_store_takes(kind, folder):
    path = kind.write(folder, talk(*(f"text {n}" for n in range(20))))

    for _, events in read(kind, path):
        assert all(read_event(event).id for event in events)
        assert len({event["id"] for event in events}) == len(events) == 20


@each_kind
def test_a_program_that_writes_meanwhile_changes_nothing_about_the_file(kind, world, folder):
    path = kind.write(folder, talk("one", "two"))
    before = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}

    take(world, kind, path)

    assert {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()} == before


# -- properties


def read(kind: Kind, path: Path):
    return [(source, list(source.events)) for source in FORMATS[kind.format].read(path, Problems())]


def read_or_refuse(kind: Kind, path: Path) -> None:
    """Reads everything; any error but those that tell of a bad file fails the test."""
    try:
        for _, events in read(kind, path):
            assert all(read_event(event).id for event in events)
            assert len({event["id"] for event in events}) == len(events)
    except (UnknownFormat, UnreadableSource):
        pass


@each_kind
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.binary(max_size=200)
    | st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"1", b"\n", b"PK\3\4"])).map(b"".join)
)
def test_no_bytes_make_a_reader_fail(kind, data):
    with memory_folder() as folder:
        path = kind.write(folder, talk("one"))
        path.write_bytes(data)

        read_or_refuse(kind, path)


@each_kind
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=12), cut=st.floats(0, 1))
def test_no_flipped_bits_and_no_cut_make_a_reader_fail(kind, changes, cut):
    with memory_folder() as folder:
        path = kind.write(folder, talk("one", "two", "three"))
        data = bytearray(path.read_bytes())
        for place, value in changes:
            data[int(place * len(data))] = value
        path.write_bytes(data[: max(1, int(cut * len(data)))] if cut < 0.5 else data)

        read_or_refuse(kind, path)


FIELDS = [
    *("id", "type", "role", "content", "text", "parts", "parent", "children", "mapping", "message", "author", "create_time", "current_node", "metadata", "uuid", "sender", "chat_messages", "created_at"),
    *("parent_message_uuid", "current_leaf_message_uuid", "$set", "$rewindTo", "messages", "sessionId", "toolCalls", "args", "result", "displayContent", "thoughts", "name", "created", "time"),
    *("state", "input", "output", "tool", "callID", "summary", "revert", "messageID", "partID", "userVisible", "toolCall", "toolResult", "status", "value", "timestamp", "content_type", "recipient"),
]
WORDS = st.sampled_from(
    ["user", "gemini", "human", "assistant", "tool", "text", "e1", "e2", "root", "toolRequest", "functionCall", "code", ""]
)
VALUES = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=15,
)


def mutated(value: object, draw: st.DataObject) -> object:
    """The value with some of its parts exchanged for anything."""
    if draw.draw(st.integers(0, 9)) == 0:
        return draw.draw(VALUES)
    if isinstance(value, dict):
        return {name: mutated(part, draw) for name, part in value.items()}
    return [mutated(part, draw) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["gemini", "gemini log", "opencode", "goose", "chatgpt", "claude-export"])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(draw=st.data())
def test_no_json_makes_a_reader_fail_or_give_what_the_store_refuses(name, draw):
    with memory_folder() as folder:
        path = KINDS[name].write(folder, talk("one", "two", "three"))
        for file in [file for file in folder.rglob("*.json*") if file.is_file()]:
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            file.write_text("".join(json.dumps(mutated(line, draw)) + "\n" for line in lines))

        read_or_refuse(KINDS[name], path)


STEPS = st.lists(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2)), max_size=6, unique_by=lambda m: m[0]), min_size=1, max_size=5)


@pytest.mark.parametrize("name", ["goose database", "hermes", "chatgpt", "gemini"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=STEPS)
def test_however_a_source_is_rewritten_history_shows_it_as_it_is_now(name, steps):
    kind = KINDS[name]
    with memory_folder() as folder:
        world = World(folder / "data")
        try:
            for step in steps:
                said = [Said(f"e{n}", "user" if n % 2 else "assistant", f"text {n} {version}", n) for n, version in sorted(step)]
                path = kind.write(folder / "in", said)
                take(world, kind, path)
                if world.store.agent_ids():
                    assert texts(world, kind) == [s.text for s in said]
                    assert take(world, kind, path).total("added") == 0
                else:
                    assert said == []
        finally:
            world.store.close()
            shutil.rmtree(folder / "in", ignore_errors=True)


def test_the_suite_knows_every_format():
    assert {kind.format for kind in KINDS.values()} == set(FORMATS)
