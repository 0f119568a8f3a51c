"""The branch conformance corpus: what each program shows as the conversation is what is found and shown here, and nothing else is."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from tests.conftest import World
from worker.importers import FORMATS
from worker.importing import import_paths

CORPUS = Path(__file__).parent.parent / "fixtures" / "branches"
CASES = json.loads((CORPUS / "manifest.json").read_text("utf-8"))
EVERYWHERE = ["rewind", "fork", "retry", "edit-first", "compaction-after-rewind", "rollback", "parallel-tools", "copies"]
NOW_MS = 1_790_000_000_000
each_case = pytest.mark.parametrize("case", CASES, ids=[f"{case['format']}/{case['case']}" for case in CASES])


def states(case: dict) -> list[Path]:
    folder = CORPUS / case["format"] / case["case"]
    return sorted(folder.glob("state-*")) or [folder]


def laid_out(state: Path, folder: Path) -> Path:
    """The source as the program leaves it: databases are built from their text."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(state, folder)
    for script in folder.rglob("*.sql"):
        with closing(sqlite3.connect(script.with_suffix(""))) as conn, conn:
            conn.executescript(script.read_text("utf-8"))
        script.unlink()
    return folder


def take(world: World, case: dict, folder: Path):
    return import_paths(world.store, case["format"], [folder], agent="ada", now_ms=NOW_MS)


def check(world: World, sessions: dict) -> None:
    for session_id, words in sessions.items():
        session = world.session("ada", f"agent:ada:{session_id}")
        session.reconcile()
        assert [message["text"] for message in session.history()["messages"]] == words["active"]
        for text in words["active"]:
            assert len(session.found(text)) == 1
        for text in words["off"]:
            assert session.found(text) == []
    assert world.verify() == []


@each_case
def test_what_is_active_in_the_source_is_active_here(case, world, tmp_path):
    for state in states(case):
        report = take(world, case, laid_out(state, tmp_path / "in"))
        assert (report.exit_code, report.skipped) == (0, 0)

    check(world, case["sessions"])


@each_case
def test_importing_the_case_again_changes_nothing(case, world, tmp_path):
    for state in states(case):
        take(world, case, laid_out(state, tmp_path / "in"))

    assert take(world, case, tmp_path / "in").total("added") == 0

    check(world, case["sessions"])


@pytest.mark.parametrize("case", [case for case in CASES if len(states(case)) > 1], ids=lambda case: f"{case['format']}/{case['case']}")
def test_a_source_imported_only_once_it_was_rewritten_shows_the_same(case, world, tmp_path):
    take(world, case, laid_out(states(case)[-1], tmp_path / "in"))

    check(world, case["sessions"])


FORKED = [
    (case, order)
    for case in CASES
    if "s2" in case["sessions"] and case["format"] not in ("hermes", "opencode")  # which have one file
    for order in list(permutations(case["sessions"]))[1:]
]


@pytest.mark.parametrize(("case", "order"), FORKED, ids=[f"{case['format']}/{case['case']}-{''.join(order)}" for case, order in FORKED])
def test_forks_hold_their_own_words_alone_in_whatever_order_they_are_imported(case, order, world, tmp_path):
    """A fork imported before its original kept its copies for ever, and a fork of a fork always did: what they shared was found twice."""
    folder = laid_out(states(case)[0], tmp_path / "in")
    told = []
    for session in order:
        told += [line for file in take(world, case, folder / f"{session}.jsonl").files for line in file.lines()]

    assert any("had copied from this one are removed from it" in line for line in told)
    check(world, case["sessions"])
    for session in order:
        assert take(world, case, folder / f"{session}.jsonl").total("added") == 0
    check(world, case["sessions"])


def test_every_format_has_its_cases_and_every_case_is_in_the_table_with_what_is_active():
    readme = (CORPUS / "README.md").read_text("utf-8")
    folders = {f"{folder.parent.name}/{folder.name}" for folder in CORPUS.glob("*/*") if folder.is_dir()}

    assert folders == {f"{case['format']}/{case['case']}" for case in CASES}
    assert {case["format"] for case in CASES} == set(FORMATS)
    for case in CASES:
        [row] = [row for row in readme.splitlines() if row.startswith(f"| `{case['format']}/{case['case']}` |")]
        assert all(" · ".join(words["active"]) in row for words in case["sessions"].values())


def test_every_format_has_each_case_or_the_reason_why_it_cannot_express_it():
    readme = (CORPUS / "README.md").read_text("utf-8")
    reasons = set(re.findall(r"`([\w-]+/[\w-]+)`", readme[readme.index("cannot express:") :]))
    cases = {f"{case['format']}/{case['case']}" for case in CASES}

    assert cases & reasons == set()
    assert {f"{name}/{case}" for name in FORMATS for case in EVERYWHERE} <= cases | reasons
    assert reasons <= {f"{name}/{case}" for name in FORMATS for case in EVERYWHERE}
