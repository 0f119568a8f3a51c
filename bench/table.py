"""The one table at the end, in Markdown, so that it can be pasted."""

from collections.abc import Sequence
from unicodedata import east_asian_width

from bench.figures import Row

HEAD = ("#", "what", "target", "ours, p50 / p95", "beside", "ratio", "peers", "reached")


def render(rows: Sequence[Row]) -> str:
    """The table, and under it what there is to say about single rows."""
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(_width(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [_line(line, widths) for line in cells]
    lines.insert(1, _line(tuple("-" * width for width in widths), widths))
    notes = [f"{row.number}: {note}" for row in rows for note in row.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _cells(row: Row) -> tuple[str, ...]:
    if row.failed:
        return (row.number, row.what, row.target, "did not run: " + row.failed, "", "", "", "FAILED")
    reached = "" if row.reached is None else "yes" if row.reached else "MISSED"
    return (row.number, row.what, row.target, row.ours, row.beside, row.ratio, row.peers, reached)


def _line(cells: tuple[str, ...], widths: Sequence[int]) -> str:
    padded = (cell.replace("|", "/") + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _width(text: str) -> int:
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def exit_code(rows: Sequence[Row]) -> int:
    """1 when a row could not be measured; a target that was missed is printed and is no failure."""
    return int(any(row.failed for row in rows))
