"""python -m bench: measures, and prints one table."""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import agents, append, history, peers, ranking, reconcile, rewind, search, throughput
from bench.figures import Row, guarded
from bench.ground import Ground, Options
from bench.table import exit_code, render

QUESTIONS = Path(__file__).parent.parent.parent / "shared" / "data" / "questions"

# In the order in which they are measured: what changes the main corpus' folder comes last. (numbers, what, rows)
ROWS: tuple[tuple[frozenset[str], str, Callable[[Ground], list[Row]]], ...] = (
    (frozenset({"4", "5"}), "append", append.rows),
    (frozenset({"7"}), "rewind", rewind.rows),
    (frozenset({"8", "9"}), "a very long session", reconcile.long_rows),
    (frozenset({"12"}), "history", history.rows),
    (frozenset({"6"}), "reconcile", reconcile.rows),
    (frozenset({"10"}), "size on disk", reconcile.size_rows),
    (frozenset({"1"}), "search", search.rows),
    (frozenset({"13"}), "growth", search.growth_rows),
    (frozenset({"9"}), "memory of a web process", reconcile.web_rows),
    (frozenset({"3"}), "search over agents", agents.rows),
    (frozenset({"11"}), "throughput", throughput.rows),
    (frozenset({"R"}), "ranking", ranking.rows),
    (frozenset({"2"}), "search while sessions are pending", search.pending_rows),
)
NUMBERS = frozenset[str]().union(*(numbers for numbers, _, _ in ROWS))
QUICK = {"messages": 10_000, "samples": 8, "long_session": 5_000, "agents": 50, "repeats": 25, "searches": 500, "load_s": 3.0}
QUICK_LEFT_OUT = frozenset({"3", "11", "R", "2", "9"})  # not without being asked for: they take longer than all else together


def parse(arguments: Sequence[str] | None = None) -> tuple[Options, Path | None]:
    """What is asked for on the command line, and where the JSON goes. Ends the process (2) for what cannot be."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="10,000 messages, under a minute")
    size.add_argument("--full", action="store_true", help="1,000,000 messages in 10,000 sessions, as the targets want it")
    size.add_argument("--messages", type=int, help="of the main corpus; 100,000 by default")
    parser.add_argument("--only", type=_numbers, default=frozenset(), metavar="1,4,13", help="rows by number; R is ranking")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep the corpora there for the next run")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, metavar="DIR", help="conversations with questions, for ranking")
    parser.add_argument("--planted", action="store_true", help="ask them also as the oldest sessions of the main corpus")
    parser.add_argument("--peer-python", default=sys.executable, metavar="FILE", help="the interpreter that has the extra `bench`")
    parser.add_argument("--no-peers", action="store_true", help="leave other programs out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures")
    given = parser.parse_args(arguments)
    if given.messages is not None and given.messages < 1_000:
        parser.error("--messages must be 1,000 or more")
    sizes: dict[str, Any] = QUICK if given.quick else {"messages": 1_000_000 if given.full else given.messages or 100_000}
    options = Options(
        **sizes,
        seed=given.seed,
        only=given.only or (NUMBERS - QUICK_LEFT_OUT if given.quick else frozenset()),
        questions=given.questions if given.questions.is_dir() else None,
        planted=given.planted,
        peer_python="" if given.no_peers else given.peer_python,
        cache=given.cache,
    )
    return options, given.json


def _numbers(text: str) -> frozenset[str]:
    found = frozenset(part.strip().upper() for part in text.split(",") if part.strip())
    if not found or found - NUMBERS:
        raise argparse.ArgumentTypeError(f"rows are {', '.join(sorted(NUMBERS, key=_order))}")
    return found


def _order(number: str) -> tuple[int, str]:
    return (int(number), "") if number.isdigit() else (1_000, number)


def main(arguments: Sequence[str] | None = None) -> int:
    options, where = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended, too
    begun, rows = time.monotonic(), list[Row]()
    with tempfile.TemporaryDirectory(prefix="session-search-bench-") as folder:
        ground = Ground(options, Path(folder))
        try:
            for numbers, what, measure in ROWS:
                if any(map(ground.wanted, numbers)):
                    rows += guarded(min(numbers, key=_order), what, lambda measure=measure: measure(ground))  # type: ignore[misc]
            rows += guarded("P", "other programs", lambda: peers.fill(ground, rows))
        finally:
            ground.close()
    rows.sort(key=lambda row: _order(row.number))
    sessions = len(ground.corpus.lengths)
    print(f"{options.messages:,} messages in {sessions:,} sessions, seed {options.seed}, {time.monotonic() - begun:.0f} s\n")
    print(render(rows))
    if where is not None:
        where.write_text(json.dumps([row.as_json() for row in rows], ensure_ascii=False, indent=1) + "\n", "utf-8")
    return exit_code(rows)


if __name__ == "__main__":
    sys.exit(main())
