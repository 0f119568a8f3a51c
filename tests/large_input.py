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

MAX_MIB = 110  # of its own, without pages of files that are mapped; one that imported a small file has 40, the rest is a batch and a long line
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


# A command, or what a worker does for the session.
_PROCESS = """
import sys
if sys.argv[1] == "reconcile":
    from shared.clock import now_ms
    from shared.config import read_settings
    from shared.store import open_store
    from worker.reconcile import reconcile_session
    reconcile_session(open_store(read_settings()), "openclaw", "agent:openclaw:large", "w1", now_ms, lambda: None)
else:
    from worker.cli import run
    sys.exit(run(sys.argv[1:]))
"""


@dataclass
class Run:
    """A command as it ended. mib: the most memory it had of its own; what is mapped from files is the system's to take back."""

    code: int
    output: str
    mib: int
    seconds: float


def run(folder: Path, *arguments: str) -> Run:
    """One command of the program on the folder's data, in a process of its own that is looked at every few milliseconds."""
    begun, most = time.monotonic(), 0
    env = {**os.environ, "SESSION_SEARCH_DATA": str(folder / "data")}
    told, complained = folder / "output", folder / "errors"
    command = [sys.executable, "-c", _PROCESS, *arguments]
    with (
        told.open("w") as out,
        complained.open("w") as err,
        subprocess.Popen(command, env=env, cwd=_ROOT, stdout=out, stderr=err) as process,
    ):
        while process.poll() is None:
            most = max(most, _own_kib(process.pid))
            time.sleep(0.01)
    output = complained.read_text() if process.returncode else told.read_text()
    return Run(process.returncode, output, most >> 10, time.monotonic() - begun)


def _own_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def check(folder: Path, mib: int, branches: int) -> Iterator[str]:
    """What does not hold, a sentence each; the figures are printed."""
    path = folder / "large.jsonl"
    written = write(path, mib, branches)
    print(f"{written.bytes >> 20} MiB, {written.events:,} events, {written.damaged} damaged lines, {branches:,} branches")
    bound = MAX_MIB + (EVENT_BYTES * written.events >> 20)
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
        print(f"{name}: {done.seconds:.1f} s, {done.mib} MiB at most")
        if done.code:
            yield f"{name} ended with {done.code}: {done.output[-500:]}"
            return
        if done.mib > bound:
            yield f"{name} took {done.mib} MiB; the bound is {bound}"
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
