"""Figures: percentiles, and the rows of the table."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies, by the nearest rank. raises: ValueError when there are none."""
    if not values:
        raise ValueError("no values")
    ranked = sorted(values)
    return ranked[max(0, min(len(ranked) - 1, -int(-share * len(ranked) // 1) - 1))]


@dataclass
class Row:
    """One line of the table. ratio: ours to the figure beside it; reached: None where no target is set; failed: why it did not run."""

    number: str
    what: str
    target: str = ""
    ours: str = ""
    beside: str = ""
    ratio: str = ""
    peers: str = ""
    reached: bool | None = None
    failed: str = ""
    notes: list[str] = field(default_factory=list)
    detail: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def ms(values: Sequence[float]) -> str:
    """p50 and p95, as the table shows them."""
    return f"{short(percentile(values, 0.5))} / {short(percentile(values, 0.95))} ms"


def short(value: float) -> str:
    """Three digits that matter."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def summary(values: Sequence[float]) -> dict[str, float]:
    """What --json keeps of samples, in milliseconds."""
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {"n": len(values), **{name: round(percentile(values, share), 3) for name, share in shares.items()}}


def guarded(number: str, what: str, rows: Callable[[], list[Row]]) -> list[Row]:
    """The rows, or one that tells why they could not be measured."""
    try:
        return rows()
    except Exception as e:  # whatever it was: the other rows are measured all the same, and the exit code tells
        return [Row(number, what, failed=f"{type(e).__name__}: {' '.join(str(e).split())[:300]}")]
