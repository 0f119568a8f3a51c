"""`?compat=openclaw`: a platform that calls OpenClaw's sessions.search switches by address."""

import msgspec
import pytest
from flask.testing import FlaskClient

from shared import forms
from tests.web.conftest import ADA, Visitor, message, say

PATH = "/v1/sessions/search?compat=openclaw"
NOON = "2026-06-01T12:00:00.123Z"


@pytest.fixture
def harbour(platform: Visitor) -> Visitor:
    say(platform, {**message("a1", "the ferry leaves at noon"), "timestamp": NOON}, message("a2", "no ferry, no ferry today", "assistant"))
    say(platform, message("g1", "grete keeps the ferry ledger"), agent="grete", key="agent:grete:main")
    return platform


def test_the_answer_has_their_fields_and_no_other(harbour: Visitor):
    answer = harbour.post(PATH, {"query": "ferry noon", "caller": ADA})

    assert answer.status_code == 200, answer.text
    hit = {"sessionKey": "agent:ada:main", "messageId": "a1", "role": "user", "timestamp": 1_780_315_200_123}
    body = answer.get_json()
    assert body == {"results": [{**hit, "sessionId": body["results"][0]["sessionId"], "snippet": "the ferry leaves at noon", "score": 1.0}]}
    assert msgspec.convert(body, forms.FoundForOpenclaw)


def test_scores_tell_the_place_in_the_answer_and_nothing_of_hidden_sessions(harbour: Visitor):
    before = harbour.post(PATH, {"query": "ferry", "caller": ADA}).get_json()
    say(harbour, *(message(f"h{n}", "ferry ferry ferry") for n in range(20)), agent="grete", key="agent:grete:main")

    after = harbour.post(PATH, {"query": "ferry", "caller": ADA}).get_json()

    assert [hit["score"] for hit in before["results"]] == [1.0, 0.5]
    assert after == before


def test_the_body_may_ask_for_the_shape_too_and_a_query_by_address_alike(harbour: Visitor):
    posted = harbour.post(PATH, {"query": "ferry", "caller": ADA})
    inside = harbour.post("/v1/sessions/search", {"query": "ferry", "caller": ADA, "compat": "openclaw"})
    got = harbour.get("/v1/sessions/search", query="ferry", compat="openclaw", callerAgent="ada", callerSession="agent:ada:main")

    assert posted.get_json() == inside.get_json() == got.get_json()


def test_indexing_and_truncated_are_there_only_where_they_are_true(harbour: Visitor):
    whole = harbour.post(PATH, {"query": "ferry", "caller": ADA}).get_json()
    harbour.post("/v1/sessions/rewind", {**ADA, "toEventId": "a1"})

    answer = harbour.post(PATH, {"query": "ferry", "caller": ADA})
    cut = harbour.post(PATH, {"query": "ferry OR noon", "caller": ADA, "match": "any", "limit": 1})

    assert set(whole) == {"results"}
    assert (answer.get_json()["indexing"], answer.headers["Retry-After"]) == (True, "1")
    assert [hit["messageId"] for hit in cut.get_json()["results"]] == ["a1"]


def test_more_hits_than_the_limit_are_truncated(harbour: Visitor):
    answer = harbour.post(PATH, {"query": "ferry", "caller": ADA, "limit": 1}).get_json()

    assert (len(answer["results"]), answer["truncated"]) == (1, True)


def test_a_secret_is_masked_in_a_snippet_too(harbour: Visitor):
    say(harbour, message("a3", "the ferry token is ghp_" + "a1B2" * 9))

    snippets = [hit["snippet"] for hit in harbour.post(PATH, {"query": "ferry token", "caller": ADA}).get_json()["results"]]

    assert snippets == ["the ferry token is [redacted:github-token]"]


@pytest.mark.parametrize("keys", [["agent:ada:main"], ["agent:grete:main"], ["agent:ada:main", "agent:grete:main", "nowhere"]])
def test_session_keys_narrow_to_what_is_seen_among_them(harbour: Visitor, keys: list[str]):
    say(harbour, message("b1", "another ferry"), key="agent:ada:other")

    found = harbour.post(PATH, {"query": "ferry", "caller": ADA, "sessionKeys": keys}).get_json()["results"]

    assert {hit["sessionKey"] for hit in found} == {"agent:ada:main"} & set(keys)


def test_a_key_beside_keys_narrows_to_what_both_hold(harbour: Visitor):
    asked = {"query": "ferry", "caller": ADA, "sessionKey": "agent:ada:main"}

    assert harbour.post(PATH, {**asked, "sessionKeys": ["agent:ada:main", "x"]}).get_json()["results"]
    assert harbour.post(PATH, {**asked, "sessionKeys": ["x"]}).get_json() == {"results": []}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("?compat=hermes", {}, "compat"),
        ("?compat=openclaw&compat=openclaw", {}, None),
        ("?compat=openclaw&limit=3", {}, None),
        ("?limit=3", {}, None),
        ("", {"sessionKeys": []}, "sessionKeys"),
        ("", {"sessionKeys": [f"k{n}" for n in range(201)]}, "sessionKeys"),
        ("", {"minScore": 0.5}, "minScore"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(harbour: Visitor, path: str, body: dict[str, object], field: str | None):
    answer = harbour.post("/v1/sessions/search" + path, {"query": "ferry", "caller": ADA, **body})

    assert answer.status_code == 400, answer.text
    assert answer.get_json().get("field") == field


def test_a_key_that_is_too_long_is_refused_in_a_list_as_well(harbour: Visitor):
    answer = harbour.post(PATH, {"query": "ferry", "caller": ADA, "sessionKeys": ["k", "é" * 257]})

    assert (answer.status_code, answer.get_json()["field"]) == (422, "sessionKeys")


def test_other_paths_take_no_compat(harbour: Visitor):
    assert harbour.post("/v1/sessions/list?compat=openclaw", {"caller": ADA}).status_code == 400


def test_the_search_page_keeps_its_own_shape(harbour: Visitor):
    client: FlaskClient = harbour.client
    path = "/?query=noon&callerAgent=ada&callerSession=agent:ada:main&compat=openclaw"

    page = client.get(path, headers={"Authorization": f"Bearer {harbour.token}"})

    assert page.status_code == 200
    assert "leaves at <mark>noon</mark>" in page.text
