"""The time now, how a time is written, and the zone that schedules go by."""

import os
import time
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shared.transcript import iso

_LOCALTIME = Path("/etc/localtime")


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def when(time_ms: int | None) -> str | None:
    """A time as ISO 8601 in UTC with milliseconds; None stays None."""
    return None if time_ms is None else iso(time_ms)


def zone_of(name: str) -> ZoneInfo:
    """The named time zone; for an empty name the system's, and UTC where the system names none."""
    for candidate in (name, os.environ.get("TZ", "").lstrip(":"), _system_zone()):
        try:
            if candidate:
                return ZoneInfo(candidate)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return ZoneInfo("UTC")


def _system_zone() -> str:
    try:
        return _LOCALTIME.resolve(strict=True).as_posix().partition("/zoneinfo/")[2]
    except OSError:
        return ""
