"""Imports a transcript of a size nobody expects, by the real command, and looks at memory: `python -m tests.large_input --mib 2048`.

A JSONL file is written line by line: talk, large answers of tools, now and then a line that is no JSON and one longer than is read, and
at its end very many branches from one event. The import must take all of it but what is damaged, in bounded memory, and a search must
find the last words. Exit code 1 and a sentence when one of these does not hold.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_RSS_MIB = 160  # a process that has imported one small file has some 60; the rest is ids, a line, and SQLite's pages
EVENT_BYTES = 250  # and what an event leaves in memory: its id, by which a repeated one is known
_ROOT = Path(__file__).parent.parent
_TOOL_BYTES = 16_000
_LONG_LINE = (16 << 20) + 1


@dataclass
class Written:
    """What a file holds. damaged: lines that are to be left out."""

    events: int = 0
    damaged: int = 0
    bytes: int = 0


def write(path: Path, mib: int, branches: int) -> Written:
    """Writes the file, about so large."""
    written = Written()
    with path.open("wb") as file:
        for line, damaged in _lines(mib << 20, branches):
            file.write(line)
            written.events += not damaged
            written.damaged += damaged
            written.bytes += len(line)
    written.events -= 1  # the header
    return written


def _lines(size: int, branches: int) -> Iterator[tuple[bytes, bool]]:
    yield _json({"type": "session", "version": 3, "id": "large", "timestamp": "2026-01-01T00:00:00Z"}), False
    written, number, parent = 0, 0, None
    while written < size:
        number += 1
        role, text = ("toolResult", "row " * (_TOOL_BYTES // 4)) if number % 3 == 0 else ("user", f"ferry {number}")
        line = _event(f"e{number}", parent, role, text)
        parent = f"e{number}"
        yield line, False
        written += len(line)
        if number % 3_000 == 0:
            yield b'{"type": "message", "id"\n', True
        if number == 3_000:
            yield b'{"long": "' + b"x" * _LONG_LINE + b'"}\n', True
            written += _LONG_LINE
    for branch in range(branches):
        yield _event(f"b{branch}", parent, "user", f"branch {branch}"), False
    yield _event("last", f"b{branches - 1}" if branches else parent, "user", "the last words"), False


def _event(own: str, parent: str | None, role: str, text: str) -> bytes:
    return _json({"type": "message", "id": own, "parentId": parent, "message": {"role": role, "content": text}})


def _json(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


# A command, or what a worker does for the session, in a process of its own that tells the largest memory it had.
_MEASURED = """
import sys
if sys.argv[1] == "reconcile":
    from shared.clock import now_ms
    from shared.config import read_settings
    from shared.store import open_store
    from worker.reconcile import reconcile_session
    reconcile_session(open_store(read_settings()), "openclaw", "agent:openclaw:large", "w1", now_ms, lambda: None)
    code = 0
else:
    from worker.cli import run
    code = run(sys.argv[1:])
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print("VmHWM", int(peak) // 1024, file=sys.stderr)
sys.exit(code)
"""


@dataclass
class Run:
    """A command as it ended; memory in MiB."""

    code: int
    output: str
    rss_mib: int
    seconds: float


def run(folder: Path, *arguments: str) -> Run:
    """One command of the program on the folder's data."""
    begun = time.monotonic()
    env = {**os.environ, "SESSION_SEARCH_DATA": str(folder / "data")}
    done = subprocess.run([sys.executable, "-c", _MEASURED, *arguments], env=env, cwd=_ROOT, capture_output=True, text=True, check=False)
    peaks = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("VmHWM")]
    return Run(done.returncode, done.stdout + ("" if peaks else done.stderr), max(peaks, default=0), time.monotonic() - begun)


def check(folder: Path, mib: int, branches: int) -> Iterator[str]:
    """What does not hold, a sentence each; the figures are printed."""
    path = folder / "large.jsonl"
    written = write(path, mib, branches)
    print(f"{written.bytes >> 20} MiB, {written.events:,} events, {written.damaged} damaged lines, {branches:,} branches")
    bound = MAX_RSS_MIB + (EVENT_BYTES * written.events >> 20)
    runs = {
        name: run(folder, *arguments)
        for name, arguments in {
            "import": ("import", "openclaw", str(path), "--json"),
            "import again": ("import", "openclaw", str(path), "--again", "--json"),
            "reconcile": ("reconcile",),
            "search": ("search", "last words", "--json"),
        }.items()
    }
    for name, done in runs.items():
        print(f"{name}: {done.seconds:.1f} s, {done.rss_mib} MiB at most")
        if done.code:
            yield f"{name} ended with {done.code}: {done.output[-500:]}"
            return
        if done.rss_mib > bound:
            yield f"{name} took {done.rss_mib} MiB; the bound is {bound}"
    first, again, found = (json.loads(runs[name].output) for name in ("import", "import again", "search"))
    if (first["added"], first["skippedLines"]) != (written.events, written.damaged):
        yield f"{first['added']} events were added and {first['skippedLines']} lines skipped"
    if again["added"]:
        yield f"importing again added {again['added']} events"
    if [hit["messageId"] for hit in found["results"]] != ["last"] or found["indexing"]:
        yield "the last words are not found"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.large_input", description=__doc__)
    parser.add_argument("--mib", type=int, default=2_048)
    parser.add_argument("--branches", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broken = list(check(Path(folder), asked.mib, asked.branches))
    print("\n".join(broken) or "all holds")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
