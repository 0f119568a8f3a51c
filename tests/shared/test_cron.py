"""Crontab lines: when they are due, in their own zone, whatever the clocks do."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from shared.cron import BadCron, parse


def due(line: str, zone: str, after: str, count: int = 3) -> list[str]:
    """The next times as the zone's clocks show them, with their offset."""
    at_ms = round(datetime.fromisoformat(after).timestamp() * 1000)
    found = []
    for _ in range(count):
        at_ms = parse(line).next_after(at_ms, ZoneInfo(zone))
        found.append(datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone)).strftime("%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("line", "times"),
    [
        ("* * * * *", ["06-10 12:01 +0000", "06-10 12:02 +0000"]),
        ("*/15 * * * *", ["06-10 12:15 +0000", "06-10 12:30 +0000"]),
        ("5-10/5 3 * * *", ["06-11 03:05 +0000", "06-11 03:10 +0000"]),
        ("0 0,12 * * *", ["06-11 00:00 +0000", "06-11 12:00 +0000"]),
        ("0 3 * * 7", ["06-14 03:00 +0000", "06-21 03:00 +0000"]),
        ("0 3 * * 1-5", ["06-11 03:00 +0000", "06-12 03:00 +0000"]),
        ("0 0 1 1 *", ["01-01 00:00 +0000", "01-01 00:00 +0000"]),
        ("0 0 15 * 5", ["06-12 00:00 +0000", "06-15 00:00 +0000"]),  # either day, as in cron
        ("0 0 */2 * 5", ["06-19 00:00 +0000", "07-03 00:00 +0000"]),  # a star leaves the other field to decide
        ("30 23 31 12 *", ["12-31 23:30 +0000", "12-31 23:30 +0000"]),
    ],
)
def test_a_line_is_due_when_cron_says_so(line, times):
    assert due(line, "UTC", "2026-06-10T12:00:00+00:00", 2) == times


def test_the_time_is_that_of_the_named_zone():
    at_ms = parse("0 3 * * *").next_after(1_781_049_600_000, ZoneInfo("Pacific/Chatham"))  # 2026-06-10T00:00Z

    assert datetime.fromtimestamp(at_ms / 1000, ZoneInfo("UTC")).isoformat() == "2026-06-10T14:15:00+00:00"


def test_a_time_that_the_clocks_leave_out_runs_at_the_end_of_the_gap():
    assert due("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+00:00", 2) == ["03-29 03:00 +0200", "03-30 02:30 +0200"]


def test_a_time_that_comes_twice_runs_once():
    assert due("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+00:00", 2) == ["10-25 02:30 +0200", "10-26 02:30 +0100"]


def test_a_line_for_every_hour_runs_in_every_hour_there_is():
    spring = due("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00+00:00", 3)
    autumn = due("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00+00:00", 3)

    assert spring == ["03-29 01:30 +0100", "03-29 03:00 +0200", "03-29 03:30 +0200"]
    assert autumn == ["10-25 02:30 +0200", "10-25 02:30 +0100", "10-25 03:30 +0100"]


def test_the_29th_of_february_is_waited_for():
    assert due("0 0 29 2 *", "UTC", "2096-03-01T00:00:00+00:00", 1) == ["02-29 00:00 +0000"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "1/5 * * * *",
        "a * * * *",
        "1,,2 * * * *",
    ],
)
def test_what_is_no_crontab_line_is_refused(line):
    with pytest.raises(BadCron):
        parse(line)


def test_a_date_that_never_comes_is_refused():
    with pytest.raises(BadCron, match="no day"):
        parse("0 0 31 2 *").next_after(0, ZoneInfo("UTC"))
