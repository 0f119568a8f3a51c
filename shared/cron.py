"""When a crontab line is due, in a time zone and across its clock changes. Pure.

Five fields: minute, hour, day of month, month, day of week (0 and 7 are Sunday), each *, a number, a range, a list, or a step of
these. As in cron, a day matches by either day field when both are restricted. A local time that a clock change leaves out runs at
the first moment after the gap; one that comes twice runs the first time, or both times when every hour is named.
source: crontab(5), POSIX crontab.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import product

_PART = re.compile(r"(\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?", re.ASCII)
_LIMITS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_HORIZON = timedelta(days=366 * 9)  # 29 February can be eight years away


class BadCron(ValueError):
    """Not a crontab line, or one that is never due; the text says why."""


@dataclass(frozen=True)
class Cron:
    """The times of a crontab line."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    either_day: bool  # both day fields are restricted

    def next_after(self, time_ms: int, zone: tzinfo) -> int:
        """The first due time after time_ms, both in ms since 1970. raises: BadCron when none comes."""
        now = datetime.fromtimestamp(time_ms / 1000, UTC)
        day = now.astimezone(zone).date() - timedelta(days=1)
        last = day + _HORIZON
        while day <= last:
            if self._on(day):
                due = [moment for moment in self._moments(day, zone) if moment > now]
                if due:
                    return round(min(due).timestamp() * 1000)
            day += timedelta(days=1)
        raise BadCron("no day has this date")

    def _moments(self, day: date, zone: tzinfo) -> Iterator[datetime]:
        folds = (0, 1) if len(self.hours) == 24 else (0,)
        for hour, minute, fold in product(self.hours, self.minutes, folds):
            yield _moment(datetime.combine(day, time(hour, minute, fold=fold), zone))

    def _on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday


def parse(line: str) -> Cron:
    """The times that a line of five fields names. raises: BadCron."""
    fields = line.split()
    if len(fields) != 5:
        raise BadCron("a schedule has five fields: minute hour day month weekday")
    minutes, hours, days, months, weekdays = (_values(text, *limits) for text, limits in zip(fields, _LIMITS, strict=True))
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return Cron(tuple(sorted(minutes)), tuple(sorted(hours)), days, months, frozenset(day % 7 for day in weekdays), either)


def _values(text: str, name: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if not match or match[4] == "0" or (match[4] and match[2] and not match[3]):
            raise BadCron(f"{name} {part!r} is not *, a number, a range or a step of these")
        first = low if match[2] is None else int(match[2])
        last = high if match[2] is None else int(match[3] or match[2])
        if not low <= first <= last <= high:
            raise BadCron(f"{name} {part!r} is not within {low} to {high}")
        found.update(range(first, last + 1, int(match[4] or 1)))
    return frozenset(found)


def _moment(local: datetime) -> datetime:
    """The local time as a moment in UTC; in a gap, the moment the gap ends."""
    zone, moment = local.tzinfo, local.astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return moment
    # In a gap the offset before it (fold 0) leads to a moment after it, and the offset after it (fold 1) to one before it.
    before, after = local.replace(fold=1).astimezone(UTC), local.replace(fold=0).astimezone(UTC)
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        if middle.astimezone(zone).utcoffset() == before.astimezone(zone).utcoffset():
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)
