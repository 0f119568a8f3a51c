"""Kills at commits: a few of them here, all of them with `python -m tests.crash`."""

import json
import subprocess
import sys
from pathlib import Path

from tests.crash.scenario import IMPORTED, STEPS, A, expected

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import json
from tests.crash.boundaries import boundaries
print(json.dumps([(name, way.killed, way.answered, way.faults) for name, way in boundaries(every=17, first=9)]))
"""


def test_a_kill_at_a_commit_loses_nothing_that_was_answered_and_leaves_nothing_half_done():
    """In a process of its own, which has no threads, since it forks."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    ways = json.loads(done.stdout.splitlines()[-1])
    assert [(name, faults) for name, _, _, faults in ways if faults] == []
    assert ways[0][1:3] == [False, len(STEPS)]
    assert len(ways) > 8
    assert all(killed and answered < len(STEPS) for _, killed, answered, _ in ways[1:])


def test_the_scenario_ends_in_what_it_says():
    shown = expected(len(STEPS))

    assert shown.branch[A] == ["a7"]
    assert shown.branch[IMPORTED] is None
    assert shown.buried
