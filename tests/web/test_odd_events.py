"""What an event may hold that nobody expects, sent as bytes: it is stored and found as it is, or refused by name with nothing stored."""

import json
from typing import Any

import pytest

from tests.web.conftest import ADA, Visitor

TAKEN = {  # an event's text or fields as JSON, and what history shows of its text
    "NUL": (r'{"content": "alpha\u0000beta"}', "alpha\N{REPLACEMENT CHARACTER}beta"),
    "a byte-order mark": ('{"content": "\ufeffalpha"}', "\ufeffalpha"),
    "line ends": (r'{"content": "alpha\r\nbeta\rgamma"}', "alpha\r\nbeta\rgamma"),
    "line and paragraph separators": ('{"content": "alpha\u2028beta\u2029gamma\x85"}', "alpha\u2028beta\u2029gamma\x85"),
    "half an emoji": (r'{"content": "alpha \ud83d beta"}', "alpha \N{REPLACEMENT CHARACTER} beta"),
    "brackets in a string": ('{"content": "' + "[" * 200_000 + ' alpha"}', "["),
    "a megabyte": ('{"content": "' + "x" * 1_000_000 + ' alpha"}', "x"),
    "a number of four thousand digits": ('{"content": "alpha", "n": ' + "9" * 4_000 + "}", "alpha"),
    "a field twice": ('{"content": "beta", "content": "alpha"}', "alpha"),
    "content that is none": ('{"content": {"a": [1, null]}}', None),
}
REFUSED = {
    "not a number": b'{"content": NaN}',
    "infinity": b'{"content": "alpha", "n": -Infinity}',
    "a number out of range": b'{"content": 1e999}',
    "a number of ten thousand digits": b'{"n": ' + b"9" * 10_000 + b', "content": "alpha"}',
    "bytes that are no UTF-8": b'{"content": "\xff\xfe"}',
    "an overlong NUL": b'{"content": "\xc0\x80"}',
    "a control character": b'{"content": "a\x01b"}',
    "200,000 arrays in each other": b'{"content": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "200,000 objects in each other": b'{"content": ' + b'{"a":' * 200_000 + b"1" + b"}" * 200_000 + b"}",
}
TIMES = ["0", "-1", '"1969-12-31T23:59:59Z"', '"2999-12-31T23:59:59.999Z"', "9" * 400, "-" + "9" * 400, "1e308"]


def send(platform: Visitor, *events: bytes) -> Any:
    """Appends events that are JSON already."""
    body = b'{"agentId": "ada", "sessionKey": "agent:ada:main", "events": [' + b", ".join(events) + b"]}"
    return platform.ask("POST", "/v1/sessions/append", data=body, content_type="application/json")


def event(event_id: str, message: bytes = b'{"content": "neighbour"}', **fields: str) -> bytes:
    """One event; the message's and the fields' values are JSON text."""
    told = b"".join(f', "{name}": {value}'.encode() for name, value in fields.items())
    return b'{"type": "message", "id": ' + json.dumps(event_id).encode() + told + b', "message": {"role": "user", ' + message[1:] + b"}"


def shown(platform: Visitor) -> list[tuple[str, str]]:
    answer = platform.post("/v1/sessions/history", {"sessionKey": ADA["sessionKey"], "caller": ADA})
    return [(message["id"], message["text"]) for message in answer.get_json().get("messages", [])]


@pytest.mark.parametrize(("message", "text"), TAKEN.values(), ids=TAKEN)
def test_odd_content_is_stored_as_it_is_beside_its_neighbours(platform, message, text):
    answer = send(platform, event("before"), event("odd", message.encode()), event("after"))

    assert (answer.status_code, answer.get_json()["appended"]) == (200, 3)
    found = dict(shown(platform))
    assert list(found) == ["before", *(["odd"] if text else []), "after"]
    assert found.get("odd", "").startswith(text or "")
    hits = platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA}).get_json()["results"]
    assert [hit["messageId"] for hit in hits] == (["odd"] if text else [])


@pytest.mark.parametrize("message", REFUSED.values(), ids=REFUSED)
def test_what_is_no_json_refuses_the_whole_call(platform, message):
    answer = send(platform, event("before"), event("odd", message), event("after"))

    assert answer.status_code == 400
    assert shown(platform) == []


@pytest.mark.parametrize("time", TIMES, ids=lambda time: time[:24])
def test_any_time_that_is_a_number_or_iso_is_taken(platform, time):
    """A number of 309 digits or more, which is no float, was answered with a 500."""
    assert send(platform, event("odd", timestamp=time)).status_code == 200

    assert [own for own, _ in shown(platform)] == ["odd"]


def test_parents_that_are_nowhere_in_another_session_or_below_their_children_lose_nothing(platform):
    elsewhere = {"type": "message", "id": "far", "message": {"role": "user", "content": "elsewhere"}}
    platform.post("/v1/sessions/append", {"agentId": "ada", "sessionKey": "agent:ada:other", "events": [elsewhere]})

    for own, parent in {"a": "far", "b": "b", "c": "d", "d": "c", "e": "ghost", "f": ""}.items():
        assert send(platform, event(own, parentId=json.dumps(parent))).status_code == 200

    assert [own for own, _ in shown(platform)] == list("abcdef")


@pytest.mark.parametrize("odd", ["", 7, None, [], "x" * 257])
def test_an_id_that_can_be_none_is_refused_by_name_and_null_is_none(platform, odd):
    answer = send(platform, event("before"), b'{"id": ' + json.dumps(odd).encode() + b', "message": {"role": "user", "content": "alpha"}}')

    assert answer.status_code == (200 if odd is None else 422)
    assert len(shown(platform)) == (2 if odd is None else 0)
    assert odd is None or answer.get_json()["field"] == "events[1].id"
