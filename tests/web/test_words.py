"""The small pure parts: schemas in words, times in, times and sizes and matches out."""

import pytest

from shared.errors import BadRequest
from web.times import milliseconds
from web.views import marked, minute, since, size, span
from web.wording import describe


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 50}, "a whole number from 1 to 50"),
        ({"type": "integer"}, "a whole number"),
        ({"type": "string", "minLength": 1, "maxLength": 512}, "a string of 1 to 512 characters"),
        ({"type": "string"}, "a string"),
        ({"type": "string", "pattern": "^a$", "description": "letters"}, "letters"),
        ({"type": "array", "minItems": 1, "maxItems": 1000}, "a list of 1 to 1000 items"),
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["all", "any"]}, "one of all, any"),
        ({"anyOf": [{"enum": ["user"]}, {"type": "null"}]}, "one of user or null"),
        ({"$ref": "CallerName"}, "an object"),
        ({"type": "number"}, "a number"),
    ],
)
def test_a_schema_in_words(schema, words):
    assert describe(schema) == words


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (None, None),
        (0, 0),
        (1_796_033_700_000, 1_796_033_700_000),
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-30T10:15:00.000Z", 1_796_033_700_000),
        ("2026-11-30T10:15:00+00:00", 1_796_033_700_000),
        ("2026-11-30T11:15:00+01:00", 1_796_033_700_000),
        ("2026-11-30T10:15:00", 1_796_033_700_000),
        ("2026-11-30", 1_795_996_800_000),
        ("2026-11-30T10:15:00.123456Z", 1_796_033_700_123),
        ("1969-12-31T23:59:59Z", 0),
        ("0001-01-01T00:00:00+14:00", 0),
    ],
)
def test_a_time_is_milliseconds_or_iso(value, ms):
    assert milliseconds("after", value) == ms


@pytest.mark.parametrize("value", ["noon", "2026-02-30", "12", "2026-11-30T25:00:00Z"])
def test_what_is_no_time_is_refused_by_name(value):
    with pytest.raises(BadRequest, match=r"^after must be") as refused:
        milliseconds("after", value)
    assert refused.value.field == "after"


@pytest.mark.parametrize(
    ("text", "highlights", "pieces"),
    [
        ("the ferry leaves", [[4, 9]], [("the ", ""), ("ferry", "match"), (" leaves", "")]),
        ("ferry", [[0, 5]], [("ferry", "match")]),
        ("ab", [[0, 1], [1, 2]], [("a", "match"), ("b", "match")]),
        ("no match", [], [("no match", "")]),
        ("🚢 ferry", [[2, 7]], [("🚢 ", ""), ("ferry", "match")]),
        ("", [], []),
    ],
)
def test_matches_are_cut_out_by_offsets_in_code_points(text, highlights, pieces):
    assert list(marked(text, highlights)) == pieces


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (None, "–"),
        (0, "0 ms"),
        (80, "80 ms"),
        (4_200, "4.2 s"),
        (42_000, "42 s"),
        (180_000, "3 min"),
        (7_200_000, "2 h"),
        (432_000_000, "5 d"),
    ],
)
def test_durations(ms, words):
    assert span(ms) == words


def test_times_and_how_long_ago():
    assert minute("2026-11-30T10:15:00.000Z") == "2026-11-30 10:15"
    assert minute(None) == "–"
    assert since("2026-11-30T10:15:00.000Z", 1_796_033_703_000) == "3.0 s ago"
    assert since("2026-11-30T10:15:00.000Z", 1_796_033_700_500) == "now"
    assert since(None, 0) == "never"


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (300 << 30, "300 GiB")]
)
def test_sizes(count, words):
    assert size(count) == words
