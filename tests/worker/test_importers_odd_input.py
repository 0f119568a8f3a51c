"""What a transcript may hold that nobody expects, in every format: it is taken as it is, or left out by name, and its neighbours stay."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from shared.transcript import iso
from shared.visibility import Caller
from tests.conftest import Session, World
from tests.worker.formats import KINDS, SESSION, START_S, Kind, Said, talk
from tests.worker.raw import EXPORTS, RAW
from worker.import_report import ImportReport
from worker.importers import FORMATS
from worker.importers.base import Problems
from worker.importing import import_paths

NOW_MS = 1_790_000_000_000
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
each_raw = pytest.mark.parametrize("name", [name for name in RAW if name != "gemini"])  # a file of one JSON text has no neighbours


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "in"


def take(world: World, kind: Kind, path: Path) -> ImportReport:
    return import_paths(world.store, kind.format, [path], agent="ada" if kind is not KINDS["openclaw database"] else None, now_ms=NOW_MS)


def session(world: World) -> Session:
    """The session of every conversation here, reconciled and verified."""
    [agent] = world.store.agent_ids()
    found = world.session(agent, f"agent:{agent}:{SESSION}")
    found.reconcile()
    assert world.verify(agent) == []
    return found


def texts(world: World) -> list[str]:
    return [message["text"] for message in session(world).history()["messages"]]


def reported(report: ImportReport) -> list[str]:
    """Every problem as it is told, each with the file it was found in and, where the format has lines, the line."""
    return [line for file in report.files for line in file.lines()]


NO_JSON = {
    "not a number": b"NaN",
    "infinity": b"-Infinity",
    "a number out of range": b"1e999",
    "a number of ten thousand digits": b"9" * 10_000,
    "a control character": b'"a\x01b"',
    "a bare NUL": b"\0",
    "a comma": b",",
    "two values": b'"a" "b"',
    "a bracket too many": b'"a"]',
    "20,000 arrays in each other": b"[" * 20_000 + b"]" * 20_000,
    "20,000 objects in each other": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
}


@each_raw
def test_messages_that_are_no_json_are_left_out_by_name_and_their_neighbours_stay(name, world, folder):
    said = [said for bad in NO_JSON for said in talk(f"before {bad}", bad)]
    said = [Said(f"e{n + 10}", "user", s.text, n) for n, s in enumerate([*said, *talk("omega")], 1)]
    path = KINDS[name].write(folder, said)
    RAW[name](path, NO_JSON)

    report = take(world, KINDS[name], path)

    assert report.exit_code == 0
    left_out = [line for line in reported(report) if "skipped" in line]
    assert report.skipped == len(left_out) == len(NO_JSON)
    assert texts(world) == [s.text for s in said if name in EXPORTS or s.text not in NO_JSON]


def test_a_file_that_is_one_json_text_is_refused_by_name_where_it_is_none(world, folder):
    for bad, raw in NO_JSON.items():
        path = KINDS["gemini"].write(folder, talk("alpha", bad))
        RAW["gemini"](path, {bad: raw})

        report = take(world, KINDS["gemini"], path)

        assert report.exit_code == 1
        assert reported(report)[0].startswith(f"{path}: ")

    assert world.store.agent_ids() == []


@each_raw
def test_text_that_is_no_unicode_is_mended_where_json_or_a_column_may_hold_it_and_costs_a_line_elsewhere(name, world, folder):
    path = KINDS[name].write(folder, talk("one", "two", "three", "half", "four"))
    RAW[name](path, {"two": b'"alpha \xff omega"', "three": b'"alpha \xc0\x80 omega"', "half": b'"half \\ud83d an emoji"'})

    report = take(world, KINDS[name], path)

    in_column = name.endswith("database")
    assert report.skipped == (0 if in_column else 2)
    [agent] = world.store.agent_ids()
    world.reconcile_all(agent)
    found = session(world)
    assert len(found.found("omega")) == (2 if in_column else 0)
    assert len(found.found("one")) == len(found.found("four")) == 1
    [hit] = world.search(Caller(agent, "", owner=True), "emoji")["results"]
    assert hit["excerpt"] == "half \ufffd an emoji"


ODD_TEXTS = {
    "a\0b": "a\N{REPLACEMENT CHARACTER}b",  # what is shown, where it is not the same
    "\ufeffa byte-order mark": None,
    "a line end\r\nof two signs\rand of one": None,
    "separators \u2028 of lines \u2029 and \x85 of paragraphs": None,
    "[" * 20_000 + " brackets": None,
    "9" * 5_000 + " digits": None,
    '\\" \\u0041 \\ud83d {"type": "message"}': None,
    "x" * 1_000_000 + " megabyte": None,
}


@each_kind
def test_whatever_text_a_message_holds_it_is_found_and_shown(kind, world, folder):
    said = talk(*ODD_TEXTS, "omega")  # nine: OpenCode's order is that of its ids

    report = take(world, kind, kind.write(folder, said))

    assert reported(report) == []
    found = session(world)
    shown = [message["text"][:200] for message in found.history()["messages"]]
    assert shown == [*((other or text)[:200] for text, other in ODD_TEXTS.items()), "omega"]
    assert all(len(found.found(word)) == 1 for word in ("brackets", "digits", "megabyte", "omega"))


def test_times_before_1970_in_it_and_in_2999_are_kept(world, folder):
    seconds = {"e1": -300 * 86_400, "e2": -1, "e3": 0, "e4": 32_487_000_000}
    said = [Said(own, "user", f"tide {own}", at - START_S) for own, at in seconds.items()]
    for number, kind in enumerate(KINDS.values()):
        path = kind.write(folder / str(number), said)

        import_paths(world.store, kind.format, [path], agent=None if kind is KINDS["openclaw database"] else f"a{number}", now_ms=NOW_MS)

    agents = world.store.agent_ids()
    assert len(agents) == len(KINDS)
    for agent in agents:
        found = world.session(agent, f"agent:{agent}:{SESSION}")
        found.reconcile()
        hits = found.search("tide", order="recent")["results"]
        assert sorted(hit["timestamp"] for hit in hits) == sorted(iso(at * 1_000) for at in seconds.values())
        assert world.verify(agent) == []


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("openclaw database", "UPDATE transcript_events SET seq = seq * 1000 + 7"),
        ("hermes", "UPDATE messages SET id = id * 1000 + 7"),
        ("goose database", "UPDATE messages SET id = id * 1000 + 7"),
    ],
)
def test_gaps_in_the_numbers_of_rows_mean_nothing(name, statement, world, folder):
    path = KINDS[name].write(folder, talk("alpha", "beta", "gamma"))
    with closing(sqlite3.connect(path)) as conn, conn:
        assert conn.execute(statement).rowcount >= 3

    report = take(world, KINDS[name], path)

    assert reported(report) == []
    assert texts(world) == ["alpha", "beta", "gamma"]


MANY = 600


@pytest.mark.parametrize("name", ["openclaw", "claude-code", "chatgpt"])
def test_thousands_of_branches_from_one_event_end_on_the_last(name, world, folder):
    first, *others = [Said(f"e{n}", "user", f"word{n}", n) for n in range(MANY)]
    path = KINDS[name].write(folder, [first, *others])
    text = path.read_text()
    for n in range(2, MANY):
        for field in ("parentId", "parentUuid", "parent"):
            text = text.replace(f'"{field}": "e{n - 1}"', f'"{field}": "e0"', 1)
    path.write_text(text)

    report = take(world, KINDS[name], path)

    assert (report.exit_code, report.total("added")) == (0, MANY)
    assert texts(world) == ["word0", f"word{MANY - 1}"]
    assert session(world).found("word7") == []


@pytest.mark.parametrize("name", ["goose", "gemini"])
def test_thousands_of_messages_of_one_id_are_read_in_a_moment(name, folder):
    """Each looked for a free id from the first one on, so that 100,000 took a quarter of an hour."""
    path = KINDS[name].write(folder, [Said("e1", "user", f"word{n}", n) for n in range(6_000)])

    [source] = FORMATS[name].read(path, Problems())
    begun = time.process_time()
    ids = [event["id"] for event in source.events]

    assert ids == ["e1", *(f"e1:{n}" for n in range(2, 6_001))]
    assert time.process_time() - begun < 3
