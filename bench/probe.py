"""python -m bench.probe FILE: asks for its write lock until the input ends; prints the longest wait in ms, and how often it asked."""

import select
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.raw import longest_wait_ms


def _until_closed() -> Iterator[bool]:
    while True:
        yield bool(select.select([sys.stdin], [], [], 0)[0])


if __name__ == "__main__":
    print(*longest_wait_ms(Path(sys.argv[1]), _until_closed()))
