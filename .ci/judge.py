"""Judges what the gate ran: pytest's JUnit file, or the report of the fault cases against the list of those that cannot pass yet.

    judge.py tests JUNIT.xml          judge.py cases REPORT.json NOT-YET.txt

Prints what is wrong, a line each, and last "passed failed" as two numbers. Standard library only.
"""

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def judge_tests(path: Path) -> tuple[int, list[str]]:
    """Tests that passed, and what is wrong; a run without a single passed test is wrong too."""
    suites = list(ET.parse(path).getroot().iter("testsuite")) if path.exists() else []
    count = {name: sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")}
    wrong = [f"{name(case)} failed" for suite in suites for case in suite.iter("testcase") if case.find("failure") is not None]
    wrong += [f"{name(case)} broke" for suite in suites for case in suite.iter("testcase") if case.find("error") is not None]
    wrong += [f"{name(case)} was skipped" for suite in suites for case in suite.iter("testcase") if case.find("skipped") is not None]
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    return passed, wrong or ([] if passed > 0 else ["no test ran"])


def name(case: ET.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"


def judge_cases(report: Path, not_yet: Path) -> tuple[int, list[str]]:
    """Cases that passed, and what is wrong: a failure that is not listed, a listed one that passes, an answer of a wrong shape."""
    if not report.exists():
        return 0, ["the case runner wrote no report"]
    found = json.loads(report.read_text("utf-8"))
    listed = {line.split()[0]: line for line in not_yet.read_text("utf-8").split("\n") if line.strip() and not line.startswith("#")}
    results = {case["id"]: case for case in found["cases"]}
    bad = {one: case for one, case in results.items() if case["result"] in ("FAIL", "ERROR")}
    wrong = [f"{one} {case['result']}: {case['reason']}" for one, case in bad.items() if one not in listed]
    wrong += [f"{one} passes: take it off cases-not-yet.txt" for one in listed if results.get(one, {}).get("result") == "PASS"]
    wrong += [f"listed without id, issue and reason: {line}" for line in listed.values() if len(line.split(maxsplit=2)) < 3]
    wrong += [f"FAIL shape: {breach}" for breach in found["breaches"]]
    passed = sum(case["result"] == "PASS" for case in results.values())
    return passed, wrong or ([] if passed else ["no case ran"])


def main(arguments: list[str]) -> int:
    what, *paths = arguments
    judge = {"tests": judge_tests, "cases": judge_cases}[what]
    passed, wrong = judge(*map(Path, paths))
    for line in wrong:
        print("  " + line, file=sys.stderr)
    print(passed, len(wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
