"""A cursor is opaque, signed, and good for the caller and request it was made for only."""

import base64
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.cursors import MAX_CURSOR_CHARS, seal, unseal
from shared.errors import BadCursor

KEY = b"k" * 32
BOUND = ["search", "ada", None, False, 'a "query"']

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text("abé\0\U0001f4a1"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
    max_leaves=5,
)


@settings(max_examples=30)
@given(json_values)
def test_what_was_sealed_comes_back(content):
    cursor = seal(KEY, BOUND, content)

    assert unseal(KEY, BOUND, cursor) == content
    assert cursor.isascii() and "=" not in cursor


def test_a_cursor_tells_its_bearer_nothing():
    """It held scores and row numbers, which count what is hidden too, in plain base64."""
    cursor = seal(KEY, BOUND, ["relevance", -1.25, "secret id" * 30])

    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    assert b"secret" not in raw
    for start in range(len(raw)):
        with pytest.raises(zlib.error):
            zlib.decompress(raw[start:])


@settings(max_examples=30)
@given(json_values, json_values)
def test_a_cursor_bound_to_something_else_is_refused(bound, other):
    cursor = seal(KEY, ["search", bound], [1])

    if [bound] != [other] or type(bound) is not type(other):
        with pytest.raises(BadCursor):
            unseal(KEY, ["list", other], cursor)


def test_a_cursor_of_another_folder_is_refused():
    with pytest.raises(BadCursor):
        unseal(b"j" * 32, BOUND, seal(KEY, BOUND, [1]))


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_no_text_makes_reading_a_cursor_fail_in_another_way(text):
    with pytest.raises(BadCursor):
        unseal(KEY, BOUND, text)


@settings(max_examples=50)
@given(st.integers(0, 200), st.integers(1, 255))
def test_a_cursor_with_one_byte_changed_is_refused(at, difference):
    cursor = seal(KEY, BOUND, ["all", 0, [-1.5, -9, "id"], 7])
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    raw[at % len(raw)] ^= difference

    with pytest.raises(BadCursor):
        unseal(KEY, BOUND, base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode())


@pytest.mark.parametrize("cursor", ["", "A" * (MAX_CURSOR_CHARS + 1), "é", None, 3])
def test_a_cursor_out_of_bounds_is_refused(cursor):
    with pytest.raises(BadCursor):
        unseal(KEY, BOUND, cursor)
