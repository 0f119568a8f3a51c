"""Other programs beside us, in the same run on the same corpus, each in a process of its own and through its own functions.

They are installed by the extra `bench`, in an environment of their own if need be; one that is not there is named and left out.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.figures import Row, ms
from bench.ground import Ground, say

PEERS = {"hermes": "Hermes", "ccsearch": "cc-search"}
MOST = 100_000  # messages; beyond, they take hours
ROOT = Path(__file__).parent.parent.parent
FILLED = frozenset({"1", "4", "6", "10"})
LIMIT_S = 3_600


def fill(ground: Ground, rows: Sequence[Row]) -> list[Row]:
    """Writes what the peers took into these rows, and into the last of them why one was left out; a row for one that failed."""
    fitting = [row for row in rows if row.number in FILLED and not row.failed]
    if not ground.options.peer_python or not fitting:
        return []
    if ground.options.messages > MOST:
        fitting[-1].notes.append(f"other programs were left out: they are run up to {MOST:,} messages")
        return []
    failed, ran = [], False
    for module, name in PEERS.items():
        if not _installed(ground.options.peer_python, module):
            fitting[-1].notes.append(f"{name} is not installed and was left out")
            continue
        try:
            _write(fitting, name, _run(ground, module))
            ran = True
        except (OSError, RuntimeError, subprocess.SubprocessError) as e:
            failed.append(Row("P", name, failed=" ".join(str(e).split())[-300:]))
    if ran:
        fitting[-1].notes.append("other programs are called as functions in their own process: no HTTP, no visibility, no redaction")
    return failed


def _installed(python: str, module: str) -> bool:
    done = subprocess.run([python, "-m", f"bench.peers.{module}", "--installed"], cwd=ROOT, capture_output=True, check=False)
    return done.returncode == 0


def _run(ground: Ground, module: str) -> Any:
    """What the driver printed. raises: RuntimeError when it failed."""
    say(f"{PEERS[module]}, {ground.options.messages:,} messages")
    folder = ground.folder / f"peer-{module}"
    folder.mkdir()
    asked = {name: [one.text for one in found] for name, found in ground.queries.items()}
    job = {
        "folder": str(folder),
        "messages": ground.corpus.messages,
        "seed": ground.corpus.seed,
        "queries": asked,
        "appends": ground.options.repeats,
    }
    command = [ground.options.peer_python, "-m", f"bench.peers.{module}"]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(job), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.strip().split("\n")[-1])


def _write(rows: Sequence[Row], name: str, found: Any) -> None:
    for row in rows:
        text = _text(row, found)
        if text:
            row.peers = f"{row.peers}; {name} {text}" if row.peers else f"{name} {text}"
            row.detail[name] = {key: value for key, value in found.items() if key != "search"}


def _text(row: Row, found: Any) -> str:
    if row.number == "1":
        taken = found["search"].get(row.what.removeprefix("search, "))
        return ms(taken) if taken else ""
    if row.number == "4":
        return ms(found["append"]) if found["append"] else ""
    if row.number == "6":
        return f"{found['messages'] / found['seconds']:,.0f}/s" if "eight" not in row.what and " agents" not in row.what else ""
    return f"{found['bytes'] / row.detail['JSONL bytes']:.1f} x"
