"""python -m docs [--check]: writes docs/http.md and docs/cli.md from the code, or shows in what they differ from it."""

import argparse
import difflib
import sys
from pathlib import Path

from docs import cli, http

FOLDER = Path(__file__).parent
PAGES = {"http.md": http.page, "cli.md": cli.page}


def main(arguments: list[str] | None = None) -> int:
    """0 when every page is as the code says, 1 when `--check` found one that is not."""
    parser = argparse.ArgumentParser(prog="python -m docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 and a diff when a page is not up to date")
    check = parser.parse_args(arguments).check
    stale = False
    for name, page in PAGES.items():
        path, wanted = FOLDER / name, page()
        found = path.read_text("utf-8") if path.exists() else ""
        if found == wanted:
            continue
        stale = True
        if check:
            sys.stdout.writelines(difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), f"docs/{name}", "from the code"))
        else:
            path.write_text(wanted, "utf-8")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
