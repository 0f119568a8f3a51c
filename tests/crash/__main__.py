"""Kills the product at every commit of a scenario, prints what was found, and exits with 1 on any fault."""

import argparse
import sys
import time

from tests.crash.boundaries import boundaries


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="kill at each so manieth commit only")
    asked = parser.parse_args()
    begun = time.monotonic()
    kills = faults = 0
    for name, way in boundaries(asked.every):
        kills += way.killed
        faults += len(way.faults)
        for fault in way.faults:
            print(f"killed {name}, {way.answered} steps answered: {fault}", flush=True)
    print(f"{kills} kills at commits, {faults} faults, {time.monotonic() - begun:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
