"""Kills the product at every commit of a scenario, then real processes under load; prints what was found, exits with 1 on any fault."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.boundaries import boundaries
from tests.crash.storm import Storm


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long processes are killed under load; 0: not at all")
    parser.add_argument("--seed", type=int, default=1, help="of the choices made under load")
    parser.add_argument("--every", type=int, default=1, help="kill at each so manieth commit of the scenario only; 0: at none")
    asked = parser.parse_args()
    faults = (at_commits(asked.every) if asked.every else 0) + (under_load(asked.seconds, asked.seed) if asked.seconds else 0)
    return 1 if faults else 0


def at_commits(every: int) -> int:
    begun = time.monotonic()
    kills = faults = 0
    for name, way in boundaries(every):
        kills += way.killed
        faults += len(way.faults)
        for fault in way.faults:
            print(f"killed {name}, {way.answered} steps answered: {fault}", flush=True)
    print(f"{kills} kills at commits of the scenario, {faults} faults, {time.monotonic() - begun:.0f} s", flush=True)
    return faults


def under_load(seconds: float, seed: int) -> int:
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="session-search-crash-"))
    storm = Storm(folder, seed)
    storm.run(seconds)
    counts = storm.counts
    for fault in counts.faults:
        print(fault)
    print("kills and signals:", ", ".join(f"{what} {count}" for what, count in sorted(storm.kills.done.items())))
    print("answered:", ", ".join(f"{verb} {count}" for verb, count in sorted(counts.answered.items())), end="; ")
    print(f"broken off {counts.broken}, refused for now {counts.refused}")
    print(f"{storm.kills.killed} kills under load with seed {seed}, {len(counts.faults)} faults, {time.monotonic() - begun:.0f} s")
    if counts.faults:
        print(f"kept for a look: {folder}")
    else:
        shutil.rmtree(folder)
    return len(counts.faults)


if __name__ == "__main__":
    sys.exit(main())
