"""JSON in and out: what a transcript may hold."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.jsontext import MAX_LEVELS, BadJson, clean, dumps, loads


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a"', "a"),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (r'"\ud83d\udca1"', "\U0001f4a1"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\udca1\ud83d"', "\ufffd\ufffd"),
        (r'{"\ud83d": ["\ud83d"]}', {"\ufffd": ["\ufffd"]}),
        ('"\ud83d"', "\ufffd"),
        (r'"a\u0000b"', "a\0b"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1e5", 100_000.0),
        (" [1 , 2] ", [1, 2]),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('"[[[["', "[[[["),
    ],
)
def test_a_json_text_is_read(text, value):
    assert loads(text) == value


@pytest.mark.parametrize("text", ["", " ", "{", '{"a"}', "NaN", "Infinity", "-Infinity", "1e999", "[1,]", "'a'", "{} {}", b"\xff", b'"\xff"', "nul"])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(BadJson):
        loads(text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_is_bounded(opening, closing):
    def nested(levels):
        return opening * levels + "1" + closing * levels

    loads(nested(MAX_LEVELS))
    for levels in (MAX_LEVELS + 1, 100_000):
        with pytest.raises(BadJson, match="64 levels"):
            loads(nested(levels))


def test_many_brackets_that_are_not_nested_are_no_nesting():
    assert loads("[" + "[],{}," * 1_000 + "1]")[-1] == 1
    assert loads(json.dumps(["[{" * 1_000, '\\"[['])) == ["[{" * 1_000, '\\"[[']


@given(st.text() | st.binary())
@example("[" * 200_000)
@example('{"a":' * 200_000)
@example('"' + "\\" * 10_001)
def test_no_text_makes_reading_fail_in_another_way(text):
    try:
        value = loads(text)
    except BadJson as e:
        assert len(str(e)) < 200
    else:
        assert loads(dumps(value)) == value


@given(st.text(st.characters(exclude_categories=())))
def test_cleaned_text_can_be_written_as_utf8_and_keeps_the_rest(text):
    cleaned = clean(text)

    cleaned.encode()
    assert len(cleaned) == len(text)
    assert all(was == now or "\ud800" <= was <= "\udfff" for was, now in zip(text, cleaned, strict=True))


def test_an_error_quotes_nothing_of_the_text():
    with pytest.raises(BadJson) as refused:
        loads('{"password": "swordfish')

    assert "swordfish" not in str(refused.value)
