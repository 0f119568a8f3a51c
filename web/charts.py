"""Small charts of the queue's last hour and day: rows of bars, drawn on the server, so that they need no script.

A bar has two layers: what was done and under what failed, or a median within a 95th percentile. Every chart also says its figures in
words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from web.views import span

WIDTH, HEIGHT = 240.0, 60.0
LEAST = 1.5  # what is there can be seen
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Bar:
    """One stretch of time, in the chart's own units; y counts from the top."""

    x: float
    width: float
    low: float  # height of the lower layer
    high: float  # of the upper layer, which begins where the lower ends
    title: str

    @property
    def low_y(self) -> float:
        return round(HEIGHT - self.low, 2)

    @property
    def high_y(self) -> float:
        return round(HEIGHT - self.low - self.high, 2)


@dataclass(frozen=True)
class Chart:
    """A row of bars with its words. layers: what the lower and the upper layer of a bar mean."""

    name: str
    kind: str  # counts or times
    bars: tuple[Bar, ...]
    most: str
    words: str
    layers: tuple[str, str]
    first: str
    last: str


Series = Sequence[dict[str, Any]]


def charts(series: Series, window: str) -> list[Chart]:
    """The three charts of one window: jobs that ended, how long they waited, how long they ran."""
    return [
        _counts(series, window),
        _times(series, window, "Wait", "waitP50", "waitP95"),
        _times(series, window, "Run", "runP50", "runP95"),
    ]


def _counts(series: Series, window: str) -> Chart:
    done, failed = (sum(row[name] for row in series) for name in ("done", "failed"))
    most = max((row["done"] + row["failed"] for row in series), default=0)
    bars = _bars(series, most, lambda row: (row["done"], row["failed"]), lambda row: f"{row['done']} done, {row['failed']} failed")
    words = f"Jobs that ended in the last {window}: {done} done, {failed} failed" + (f", at most {most} at a time." if most else ".")
    return Chart(
        f"{done + failed:,} ended", "counts", bars, f"most {most:,}" if most else "", words, ("done", "failed"), f"1 {window} ago", "now"
    )


def _times(series: Series, window: str, name: str, median: str, high: str) -> Chart:
    some = [row for row in series if row[median] is not None]
    most = max((row[high] for row in some), default=0)

    def layers(row: dict[str, Any]) -> tuple[float, float]:
        return (row[median], row[high] - row[median]) if row[median] is not None else (0, 0)

    bars = _bars(series, most, layers, lambda row: f"median {span(row[median])}, p95 {span(row[high])}")
    low, top = (f"{span(f(row[median] for row in some))}" if some else "–" for f in (min, max))
    said = f"median from {low} to {top}, 95th percentile at most {span(most)}" if some else "no job ended"
    words = f"{name} of jobs that ended in the last {window}: {said}."
    return Chart(name, "times", bars, f"p95 up to {span(most)}" if some else "", words, ("median", "p95"), f"1 {window} ago", "now")


def _bars(
    series: Series, most: float, layers: Callable[[dict[str, Any]], tuple[float, float]], told: Callable[[dict[str, Any]], str]
) -> tuple[Bar, ...]:
    """The bars that are not empty."""
    step = WIDTH / max(1, len(series))
    found = []
    for n, row in enumerate(series):
        low, high = layers(row)
        if low or high or row["done"] + row["failed"]:
            heights = [max(LEAST, round(part / most * (HEIGHT - 2 * LEAST), 2)) if part and most else 0.0 for part in (low, high)]
            if not any(heights):
                heights[0] = LEAST
            found.append(Bar(round(n * step, 2), round(step * 0.8, 2), heights[0], heights[1], f"{row['at'][11:16]} {told(row)}"))
    return tuple(found)
