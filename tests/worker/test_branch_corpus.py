"""The branch conformance corpus: what each program shows as the conversation is what is found and shown here, and nothing else is."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
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


FORKED = [case for case in CASES if case["case"] in ("fork", "copies") and case["format"] != "hermes"]  # Hermes has one file


@pytest.mark.parametrize("case", FORKED, ids=[f"{case['format']}/{case['case']}" for case in FORKED])
def test_a_fork_imported_before_its_original_holds_its_own_words_alone_once_both_are_there(case, world, tmp_path):
    """It kept its copies for ever, so that what both had said was found twice."""
    folder = laid_out(states(case)[0], tmp_path / "in")
    original, fork = folder / "s1.jsonl", folder / "s2.jsonl"
    take(world, case, fork)
    for text in case["sessions"]["s2"]["active"]:
        world.session("ada", "agent:ada:s2").reconcile()
        assert world.session("ada", "agent:ada:s2").found(text) != []

    report = take(world, case, original)

    assert any("agent:ada:s2 had copied" in line for file in report.files for line in file.lines())
    check(world, case["sessions"])
    assert take(world, case, folder).total("added") == 0
    assert take(world, case, original).total("added") == 0
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
