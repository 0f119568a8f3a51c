"""What one stored event says."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.errors import BadRequest
from shared.transcript import ABSENT, MAX_TIME_MS, check_id, iso, read_event, time_of
from tests.conftest import message


@pytest.mark.parametrize(
    ("given", "time_ms"),
    [
        (0, 0),
        (1_760_000_000_000, 1_760_000_000_000),
        (1_760_000_000_000.9, 1_760_000_000_000),
        (-1, -1),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-11-30T10:15:00.250Z", 1_796_033_700_250),
        ("2026-11-30T10:15:00,250Z", 1_796_033_700_250),
        ("2026-11-30T10:15:00.250000001Z", 1_796_033_700_250),
        ("2026-11-30T11:15:00+01:00", 1_796_033_700_000),
        ("2026-11-30T11:15:00+0100", 1_796_033_700_000),
        ("2026-11-30T10:15", 1_796_033_700_000),
        ("2026-11-30 10:15:00", 1_796_033_700_000),
        ("2026-11-30t10:15:00z", 1_796_033_700_000),
        (" 2026-11-30T10:15:00Z ", 1_796_033_700_000),
        ("2999-12-31T23:59:59Z", 32_503_679_999_000),
        ("9999-12-31T23:59:59Z", MAX_TIME_MS),
        (10**30, MAX_TIME_MS),
        (-(10**30), -MAX_TIME_MS - 1),
        (10**400, MAX_TIME_MS),
        (-(10**400), -MAX_TIME_MS - 1),
    ],
)
def test_a_time_is_a_number_of_milliseconds_or_an_iso_text(given, time_ms):
    assert time_of(given) == time_ms


@pytest.mark.parametrize(
    "given",
    [None, True, False, [], {}, "", "now", "1760000000000", "2026-13-01", "2026-02-30T00:00:00Z", "2026-11-30T25:00:00Z", "2026-W48-1",
     "20261130", "2026-11-30T10:15:00+99:00", "٢٠٢٦-11-30", math.nan, math.inf, -math.inf],
)  # fmt: skip
def test_what_is_no_time_is_told_apart(given):
    assert time_of(given) is None


@given(st.text() | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", fullmatch=True) | st.floats() | st.integers())
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
def test_no_value_makes_reading_a_time_fail(value):
    time_ms = time_of(value)

    assert time_ms is None or time_of(iso(time_ms)) == time_ms or time_ms in (-MAX_TIME_MS - 1, MAX_TIME_MS)


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_796_033_700_250, "2026-11-30T10:15:00.250Z"),
        (32_503_679_999_000, "2999-12-31T23:59:59.000Z"),
        (MAX_TIME_MS, "3084-12-12T12:41:28.831Z"),
        (-MAX_TIME_MS - 1, "0855-01-19T11:18:31.168Z"),
    ],
)
def test_a_time_is_shown_in_utc_with_milliseconds_and_four_digits_of_year(time_ms, text):
    assert iso(time_ms) == text


def test_an_event_tells_its_place_its_kind_and_its_time():
    event = read_event(message("e2", "text", "assistant", parentId="e1", timestamp=5, appendMode="side"))

    assert (event.id, event.parent_id, event.kind, event.role, event.time_ms, event.side) == ("e2", "e1", "message", "assistant", 5, True)
    assert event.node


def test_a_parent_that_is_not_named_is_not_the_same_as_none():
    assert read_event(message("a", "text")).parent_id is ABSENT
    assert read_event(message("a", "text", parentId=None)).parent_id is None


@pytest.mark.parametrize(
    ("payload", "node"),
    [
        (message("a", "text"), True),
        ({"type": "compaction", "id": "a"}, True),
        ({"type": "branch_summary", "id": "a"}, True),
        ({"type": "reset", "id": "a"}, True),
        ({"type": "custom", "id": "a"}, True),
        ({"type": "leaf", "id": "a", "targetId": "b"}, False),
        ({"type": "thought_bubble", "id": "a"}, False),
        ({"type": "compaction"}, False),
    ],
)
def test_only_events_of_known_types_with_an_id_stand_in_the_tree(payload, node):
    assert read_event(payload).node is node


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"type": 3, "id": "a"}, "events[7].type"),
        ({"type": None, "id": "a"}, "events[7].type"),
        (message(7, "text"), "events[7].id"),
        (message("", "text"), "events[7].id"),
        (message("é" * 129, "text"), "events[7].id"),
        (message("a", "text", parentId=3), "events[7].parentId"),
        ({"type": "leaf", "id": "a", "targetId": []}, "events[7].targetId"),
        (message("a", "text", timestamp="soon"), "events[7].timestamp"),
        (message("a", "text", timestamp=True), "events[7].timestamp"),
        ({"type": "message", "id": "a"}, "events[7].message"),
        ({"type": "message", "id": "a", "message": "hello"}, "events[7].message"),
        ({"type": "message", "id": "a", "message": {"content": "x"}}, "events[7].message.role"),
        ({"type": "message", "id": "a", "message": {"role": "", "content": "x"}}, "events[7].message.role"),
        ({"type": "message", "id": "a", "message": {"role": "user"}}, "events[7].message.content"),
    ],
)
def test_a_bad_event_is_refused_with_the_name_of_the_field(payload, field):
    with pytest.raises(BadRequest) as refused:
        read_event(payload, "events[7]")

    assert refused.value.field == field
    assert field in str(refused.value)


@pytest.mark.parametrize("event_id", ["a", "é" * 128, "x" * 256, "a\0b", "\U0001f4a1"])
def test_an_id_is_any_text_of_1_to_256_bytes(event_id):
    assert check_id(event_id, "id") == event_id
