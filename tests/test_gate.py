"""The gate's judge: what makes a run of the tests or of the fault cases red."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

JUDGE = Path(__file__).parent.parent / ".ci" / "judge.py"


def judge(*arguments: object) -> tuple[str, str]:
    """The numbers passed and failed as they are printed, and what was wrong."""
    done = subprocess.run([sys.executable, JUDGE, *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("cases", "numbers"),
    [
        ('<testcase classname="a" name="one"/>', "1 0"),
        ('<testcase classname="a" name="one"/><testcase classname="a" name="two"><failure/></testcase>', "1 1"),
        ('<testcase classname="a" name="one"/><testcase classname="a" name="two"><error/></testcase>', "1 1"),
        ('<testcase classname="a" name="one"/><testcase classname="a" name="two"><skipped/></testcase>', "1 1"),
        ("", "0 1"),
    ],
    ids=["passed", "failed", "broke", "skipped", "none"],
)
def test_tests_are_red_when_one_failed_broke_or_was_skipped_and_when_none_ran(tmp_path, cases, numbers):
    count = {word: cases.count(f"<{tag}") for word, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))}
    attributes = " ".join(f'{word}="{number}"' for word, number in count.items())
    report = tmp_path / "tests.xml"
    report.write_text(f"<testsuites><testsuite {attributes}>{cases}</testsuite></testsuites>")

    assert judge("tests", report)[0] == numbers


def test_tests_are_red_when_there_is_no_report(tmp_path):
    assert judge("tests", tmp_path / "missing.xml") == ("0 1", "  no test ran\n")


@pytest.mark.parametrize(
    ("results", "breaches", "numbers", "wrong"),
    [
        ({"q01": "PASS", "m05": "FAIL"}, [], "1 0", ""),
        ({"q01": "FAIL", "m05": "FAIL"}, [], "0 1", "q01 FAIL: because"),
        ({"q01": "ERROR", "m05": "FAIL"}, [], "0 1", "q01 ERROR: because"),
        ({"q01": "PASS", "m05": "PASS"}, [], "2 1", "m05 passes: take it off"),
        ({"q01": "PASS", "m05": "MANUAL"}, [], "1 0", ""),
        ({"q01": "PASS", "m05": "FAIL"}, ["a 500 with a traceback"], "1 1", "FAIL shape: a 500 with a traceback"),
        ({}, [], "0 1", "no case ran"),
    ],
    ids=["listed", "failed", "error", "passes now", "by hand", "shape", "none"],
)
def test_cases_are_red_for_what_is_not_listed_for_what_passes_though_listed_and_for_answers_of_a_wrong_shape(
    tmp_path, results, breaches, numbers, wrong
):
    report, listed = tmp_path / "cases.json", tmp_path / "not-yet.txt"
    cases = [{"id": name, "area": "query", "result": result, "reason": "because", "seconds": 0} for name, result in results.items()]
    report.write_text(json.dumps({"seconds": 1, "breaches": breaches, "cases": cases}))
    listed.write_text("# id issue reason\nm05 6 another issue's format\n")

    printed, said = judge("cases", report, listed)

    assert printed == numbers
    assert wrong in said and bool(wrong) == bool(said)


def test_cases_are_red_without_a_report(tmp_path):
    (tmp_path / "not-yet.txt").write_text("")

    assert judge("cases", tmp_path / "missing.json", tmp_path / "not-yet.txt") == ("0 1", "  the case runner wrote no report\n")


def test_every_case_that_is_not_yet_expected_to_pass_names_its_issue_and_the_reason():
    lines = (JUDGE.parent / "cases-not-yet.txt").read_text().splitlines()

    assert [line for line in lines if line and not line.startswith("#") and not (len(line.split()) > 2 and line.split()[1].isdigit())] == []
