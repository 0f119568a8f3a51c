"""What the drivers of other programs share: the job they read from standard input, and timing. Standard library only."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.corpus import Entry

SEARCH_S = 20.0  # at most so long a class


def read() -> Any:
    """The job; with --installed the process ends here instead, having shown by then that the program can be imported."""
    if "--installed" in sys.argv:
        sys.exit(0)
    return json.load(sys.stdin)


def searches(queries: dict[str, list[str]], search: Callable[[str], object]) -> dict[str, list[float]]:
    """Milliseconds of every query by class, after one to warm up."""
    taken: dict[str, list[float]] = {}
    for name, asked in queries.items():
        end = time.monotonic() + SEARCH_S
        for number, query in enumerate([*asked[:1], *asked]):
            begun = time.perf_counter()
            search(query)
            if number:
                taken.setdefault(name, []).append((time.perf_counter() - begun) * 1000)
            if time.monotonic() > end:
                break
    return taken


def blocks(entry: Entry, kind: str) -> list[dict[str, Any]]:
    return [block for block in entry.message["content"] if block["type"] == kind]


def text_of(entry: Entry) -> str:
    return "\n".join(block["text"] for block in blocks(entry, "text"))


def size(files: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in files if path.is_file())


def answer(found: dict[str, Any]) -> None:
    """Prints what was measured, as the last line."""
    print(json.dumps(found))
