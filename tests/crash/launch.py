"""Starts a command of the product in this process, which kills itself at a commit if CRASH_COMMIT names one."""

import os
import sys
from pathlib import Path
from typing import cast

from tests.crash.killing import Side, count_commits


def main() -> None:
    commit, side = int(os.environ["CRASH_COMMIT"]), cast(Side, os.environ["CRASH_SIDE"])
    if commit:
        count_commits(commit, side, (Path(os.environ["CRASH_MARKS"]), sys.argv[1]))
    from worker.cli import main as session_search

    sys.argv[0] = "session-search"
    session_search()


if __name__ == "__main__":
    main()
