"""What templates are given besides their data: the credential, the form token, and how times, sizes and matches are written."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask import Flask, g

from shared.errors import BadRequest
from web import signin
from web.times import milliseconds


def install(app: Flask) -> None:
    """Every template has them."""
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(minute=minute, second=second, size=size, span=span, marked=marked, field_time=field_time)
    app.context_processor(_common)


def _common() -> dict[str, Any]:
    return {"credential": g.get("credential"), "form_token": signin.form_token, "signed_in": "sign_in" in g}


def marked(text: str, highlights: Sequence[Sequence[int]], masks: Sequence[Sequence[int]] = ()) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with what it is: "match", "mask", or "" for the rest.

    highlights, masks: half-open offsets in code points; no place is both.
    """
    at = 0
    spans = [(start, end, "match") for start, end in highlights] + [(start, end, "mask") for start, end in masks]
    for start, end, what in sorted(spans):
        if start > at:
            yield text[at:start], ""
        yield text[start:end], what
        at = end
    if at < len(text):
        yield text[at:], ""


def minute(iso: str | None) -> str:
    """A time as people read it, in UTC: 2026-11-30 10:15."""
    return f"{iso[:10]} {iso[11:16]}" if iso else "–"


def second(iso: str | None) -> str:
    """The same to the second."""
    return f"{iso[:10]} {iso[11:19]}" if iso else "–"


def span(ms: float | None) -> str:
    """A duration in the unit that suits it: 80 ms, 4.2 s, 3 min, 2 h, 5 d."""
    if ms is None:
        return "–"
    for limit, unit, size_ms in ((1_000, "ms", 1), (60_000, "s", 1_000), (3_600_000, "min", 60_000), (172_800_000, "h", 3_600_000)):
        if ms < limit:
            value = ms / size_ms
            return f"{value:.1f} {unit}" if unit == "s" and value < 10 else f"{value:.0f} {unit}"
    return f"{ms / 86_400_000:.0f} d"


def since(iso: str | None, now_ms: int) -> str:
    """How long ago a time was."""
    if not iso:
        return "never"
    passed_ms = now_ms - datetime.fromisoformat(iso).replace(tzinfo=UTC).timestamp() * 1000
    return "now" if passed_ms < 1000 else span(passed_ms) + " ago"


def size(count: int) -> str:
    """Bytes in the unit that suits them."""
    value, units = float(count), iter(("B", "KiB", "MiB", "GiB"))
    unit = next(units)
    for larger in units:
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"


def time_ms(iso: str | None) -> int | None:
    """A time of an answer, in milliseconds since 1970."""
    return None if iso is None else round(datetime.fromisoformat(iso).replace(tzinfo=UTC).timestamp() * 1000)


def local(ms: int, zone: str) -> str:
    """A time as the clocks of a zone show it: 2026-11-30 10:15."""
    return datetime.fromtimestamp(ms / 1000, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def field_time(value: str | None) -> str:
    """A time of the address as a field for times takes it; what is no time leaves the field empty."""
    if not value:
        return ""
    with suppress(BadRequest, ValueError, OverflowError):
        ms = milliseconds("time", int(value) if value.isascii() and value.isdigit() else value)
        return datetime.fromtimestamp((ms or 0) / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
    return ""
