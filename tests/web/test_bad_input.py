"""Wrong fields, types, sizes, ids and encodings: each is a problem document that names it, and nothing is stored."""

import io
import json
from typing import Any

import pytest
from flask import Flask

from tests.web.conftest import ADA, Visitor


@pytest.fixture(scope="module")
def app(refusing_app: Flask) -> Flask:
    return refusing_app


EVENT = {"type": "message", "id": "e1", "message": {"role": "user", "content": "tide"}}
PUT, APPEND, REWIND, RESET = ({**ADA}, {**ADA, "events": [EVENT]}, {**ADA, "toEventId": None}, {**ADA})
SEARCH: dict[str, Any] = {"query": "tide", "caller": ADA}
HISTORY: dict[str, Any] = {"sessionKey": "agent:ada:main", "caller": ADA}
LIST: dict[str, Any] = {"caller": ADA}

CASES: list[tuple[str, dict[str, Any], dict[str, Any], int, str]] = [
    # verb, a good body, what is changed in it, status, field that the answer names
    *(
        (verb, good, {"agentId": bad}, 400, "agentId")
        for verb, good in (("put", PUT), ("append", APPEND), ("rewind", REWIND), ("reset", RESET), ("delete", PUT))
        for bad in (None, 7, "", "a/b", "..\\x", "a b", "é", "ada\n", "a" * 65, ["ada"], {"a": 1}, True)
    ),
    *((verb, good, {"agentId": ...}, 400, "agentId") for verb, good in (("put", PUT), ("append", APPEND), ("rewind", REWIND))),
    *(
        (verb, good, {"sessionKey": bad}, 400, "sessionKey")
        for verb, good in (("put", PUT), ("append", APPEND), ("rewind", REWIND), ("reset", RESET), ("delete", PUT), ("history", HISTORY))
        for bad in (None, 7, "", "k" * 513, ["k"], ...)
    ),
    *(
        (verb, good, {"sessionKey": "é" * 257}, 422, "sessionKey")
        for verb, good in (("put", PUT), ("append", APPEND), ("rewind", REWIND), ("reset", RESET), ("delete", PUT), ("history", HISTORY))
    ),
    ("put", PUT, {"kind": "a\nb"}, 422, "kind"),
    ("put", PUT, {"spawnedBy": ADA["sessionKey"]}, 422, "spawnedBy"),
    ("search", SEARCH, {"cursor": "made-up"}, 422, "cursor"),
    ("history", HISTORY, {"messageId": "a", "before": "b"}, 422, "messageId"),
    ("put", PUT, {"sessionid": "x"}, 400, "sessionid"),
    ("put", PUT, {"session_id": "x"}, 400, "session_id"),
    ("put", PUT, {"sessionId": None}, 400, "sessionId"),
    ("put", PUT, {"sessionId": ""}, 400, "sessionId"),
    ("put", PUT, {"sessionId": "é" * 129}, 422, "sessionId"),
    ("put", PUT, {"spawnedBy": ""}, 400, "spawnedBy"),
    ("put", PUT, {"spawnedBy": 5}, 400, "spawnedBy"),
    ("put", PUT, {"spawnedBy": "k" * 513}, 400, "spawnedBy"),
    ("put", PUT, {"spawnedBy": "é" * 257}, 422, "spawnedBy"),
    ("put", PUT, {"title": "t" * 301}, 400, "title"),
    ("put", PUT, {"title": 3}, 400, "title"),
    ("put", PUT, {"kind": None}, 400, "kind"),
    ("put", PUT, {"kind": ""}, 400, "kind"),
    ("put", PUT, {"kind": "k" * 65}, 400, "kind"),
    ("put", PUT, {"incognito": 1}, 400, "incognito"),
    ("put", PUT, {"incognito": "true"}, 400, "incognito"),
    ("put", PUT, {"incognito": None}, 400, "incognito"),
    ("append", APPEND, {"events": []}, 400, "events"),
    ("append", APPEND, {"events": [EVENT] * 1001}, 400, "events"),
    ("append", APPEND, {"events": {}}, 400, "events"),
    ("append", APPEND, {"events": None}, 400, "events"),
    ("append", APPEND, {"events": ...}, 400, "events"),
    ("append", APPEND, {"events": [EVENT, "e2"]}, 400, "events[1]"),
    ("append", APPEND, {"idempotencyKey": "x"}, 400, "idempotencyKey"),
    ("rewind", REWIND, {"toEventId": ...}, 400, "toEventId"),
    ("rewind", REWIND, {"toEventId": ""}, 400, "toEventId"),
    ("rewind", REWIND, {"toEventId": 1}, 400, "toEventId"),
    ("rewind", REWIND, {"toEventId": "é" * 129}, 422, "toEventId"),
    ("reset", RESET, {"newSessionId": ""}, 400, "newSessionId"),
    ("reset", RESET, {"newSessionId": 4}, 400, "newSessionId"),
    ("search", SEARCH, {"query": ...}, 400, "query"),
    ("search", SEARCH, {"query": None}, 400, "query"),
    ("search", SEARCH, {"query": 7}, 400, "query"),
    ("search", SEARCH, {"query": ["tide"]}, 400, "query"),
    ("search", SEARCH, {"query": ""}, 422, "query"),
    ("search", SEARCH, {"query": "t" * 4097}, 422, "query"),
    ("search", SEARCH, {"q": "tide"}, 400, "q"),
    ("search", SEARCH, {"scope": "everything"}, 422, "scope"),
    ("search", SEARCH, {"scope": "ALL "}, 422, "scope"),
    ("search", SEARCH, {"scope": ""}, 422, "scope"),
    ("search", SEARCH, {"scope": 1}, 400, "scope"),
    ("search", SEARCH, {"role": "system"}, 400, "role"),
    ("search", SEARCH, {"match": "none"}, 400, "match"),
    ("search", SEARCH, {"order": "newest"}, 400, "order"),
    ("search", SEARCH, {"group": "agent"}, 400, "group"),
    *(("search", SEARCH, {"limit": bad}, 400, "limit") for bad in (0, -1, 51, 10**30, "10", 1.5, True, [])),
    *(("history", HISTORY, {"limit": bad}, 400, "limit") for bad in (0, 201, "20", False)),
    *(("list", LIST, {"limit": bad}, 400, "limit") for bad in (0, 201, "20")),
    *(("search", SEARCH, {"after": bad}, 400, "after") for bad in (-1, 1.5, True, "", [], "9" * 41, 10**16)),
    *(("search", SEARCH, {"before": bad}, 422, "before") for bad in ("noon", "2026-13-01", "2026-02-30T10:00:00Z", "12")),
    ("search", SEARCH, {"cursor": ""}, 400, "cursor"),
    ("search", SEARCH, {"cursor": "c" * 9000}, 400, "cursor"),
    ("search", SEARCH, {"cursor": 5}, 400, "cursor"),
    ("search", SEARCH, {"sessionKey": ""}, 400, "sessionKey"),
    ("search", SEARCH, {"caller": None}, 400, "caller"),
    ("search", SEARCH, {"caller": "ada"}, 400, "caller"),
    ("search", SEARCH, {"caller": {**ADA, "agentId": "a/b"}}, 400, "caller.agentId"),
    ("search", SEARCH, {"caller": {"agentId": "ada"}}, 400, "caller.sessionKey"),
    ("search", SEARCH, {"caller": {**ADA, "sessionKey": "é" * 257}}, 422, "sessionKey"),
    ("search", SEARCH, {"caller": {**ADA, "sandboxed": "no"}}, 400, "caller.sandboxed"),
    ("search", SEARCH, {"caller": {**ADA, "owner": True}}, 400, "owner"),
    ("history", HISTORY, {"messageId": ""}, 400, "messageId"),
    ("history", HISTORY, {"messageId": "é" * 129}, 422, "messageId"),
    ("history", HISTORY, {"includeTools": "yes"}, 400, "includeTools"),
    ("history", HISTORY, {"before": 3}, 400, "before"),
    ("list", LIST, {"q": "ledger"}, 400, "q"),
    ("list", LIST, {"scope": "mine"}, 422, "scope"),
]


@pytest.mark.parametrize(("verb", "good", "change", "status", "field"), CASES)
def test_a_wrong_field_is_refused_by_name(
    platform: Visitor, verb: str, good: dict[str, Any], change: dict[str, Any], status: int, field: str
):
    body = {name: value for name, value in {**good, **change}.items() if value is not ...}

    answer = platform.post(f"/v1/sessions/{verb}", body)

    problem = answer.get_json()
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/problem+json"
    assert problem["field"] == field
    assert field in problem["detail"]
    assert problem["status"] == status
    assert {"type", "title", "status", "detail", "field"} == set(problem)


@pytest.mark.parametrize("verb", ["put", "append", "rewind", "reset", "delete"])
def test_a_refused_write_stores_nothing(platform: Visitor, operator: Visitor, verb: str):
    before = operator.get("/v1/ops/agents").get_json()

    platform.post(f"/v1/sessions/{verb}", {**APPEND, "agentId": "grete", "toEventId": None, "surprise": 1})

    assert operator.get("/v1/ops/agents").get_json() == before


BODIES: list[tuple[bytes, int, str]] = [
    (b"", 400, "a body is missing where a field is required"),
    (b"{", 400, "torn JSON"),
    (b"query=tide", 400, "a form that says it is JSON"),
    (b"[]", 400, "a list"),
    (b'"query"', 400, "a string"),
    (b"null", 400, "null"),
    (b'{"query": NaN}', 400, "NaN"),
    (b'{"query": "\xff"}', 400, "bytes that are not UTF-8"),
    (b'{"query": "tide"}{}', 400, "two documents"),
    ('{"query": "tide"}'.encode("utf-16"), 400, "UTF-16"),
    (b'{"query": ' + b"[" * 65 + b"]" * 65 + b"}", 400, "65 levels"),
    (b"[" * 100_000, 400, "a deep tower"),
    (b'{"a":' * 100_000, 400, "a deep tower of objects"),
]


@pytest.mark.parametrize(("body", "status", "why"), BODIES, ids=[case[2] for case in BODIES])
def test_a_body_that_cannot_be_read_is_refused(platform: Visitor, body: bytes, status: int, why: str):
    answer = platform.ask("POST", "/v1/sessions/search", data=body, content_type="application/json")

    assert answer.status_code == status, answer.text
    assert answer.get_json()["type"] == "urn:session-search:problem:bad-request"


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "text/json",
        "json",
    ],
)
def test_anything_but_json_is_a_415(platform: Visitor, content_type: str):
    answer = platform.ask("POST", "/v1/sessions/search", data=json.dumps(SEARCH), content_type=content_type)

    assert answer.status_code == 415
    assert answer.get_json()["type"] == "urn:session-search:problem:not-json"


def test_a_body_without_a_content_type_is_a_415(platform: Visitor):
    assert platform.ask("POST", "/v1/sessions/search", data=json.dumps(SEARCH)).status_code == 415


def test_a_packed_body_is_a_415(platform: Visitor):
    answer = platform.post("/v1/sessions/search", SEARCH, headers={"Content-Encoding": "gzip"})

    assert answer.status_code == 415


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON; charset=UTF-8"])
def test_json_in_utf_8_is_taken(platform: Visitor, content_type: str):
    answer = platform.ask("POST", "/v1/sessions/list", data=json.dumps(LIST), content_type=content_type)

    assert answer.status_code == 200


def test_a_body_of_more_than_4_mib_is_a_413(platform: Visitor):
    answer = platform.ask("POST", "/v1/sessions/list", data=b" " * ((4 << 20) + 1), content_type="application/json")

    assert answer.status_code == 413
    assert "4 MiB" in answer.get_json()["detail"]


def test_a_body_of_unstated_length_is_counted_while_it_is_read(platform: Visitor):
    class Endless(io.RawIOBase):
        sent = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.sent += len(buffer)
            buffer[:] = b" " * len(buffer)
            return len(buffer)

    body = Endless()

    answer = platform.ask(
        "POST",
        "/v1/sessions/list",
        content_type="application/json",
        environ_overrides={"wsgi.input": body, "wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )

    assert answer.status_code == 413
    assert body.sent < 8 << 20


def test_64_levels_are_taken(platform: Visitor):
    event = {**EVENT, "note": json.loads("[" * 61 + "]" * 61)}

    answer = platform.post("/v1/sessions/append", {"agentId": "deep", "sessionKey": "agent:deep:main", "events": [event]})

    assert answer.status_code == 200, answer.text


def test_a_post_takes_no_query_parameters(platform: Visitor):
    answer = platform.post("/v1/sessions/list?limit=3", LIST)

    assert answer.status_code == 400


def test_a_whole_number_may_be_written_with_a_point(platform: Visitor):
    body = b'{"limit": 2.0, "caller": {"agentId": "ada", "sessionKey": "k"}}'

    assert platform.ask("POST", "/v1/sessions/list", data=body, content_type="application/json").status_code == 200


QUERIES: list[tuple[str, int, str]] = [
    ("query=tide&callerAgent=ada", 422, "callerSession"),
    ("query=tide&callerSession=k", 422, "callerAgent"),
    ("query=tide&callerAgent=a/b&callerSession=k", 400, "callerAgent"),
    ("query=tide&callerAgent=ada&callerSession=k&sandboxed=maybe", 400, "sandboxed"),
    ("query=tide&callerAgent=ada&callerSession=k&sandboxed=1", 400, "sandboxed"),
    ("query=tide&callerAgent=ada&callerSession=k&limit=ten", 400, "limit"),
    ("query=tide&callerAgent=ada&callerSession=k&limit=51", 400, "limit"),
    ("query=tide&callerAgent=ada&callerSession=k&limit=%D9%A1", 400, "limit"),
    ("query=tide&callerAgent=ada&callerSession=k&limit=5&limit=6", 400, "limit"),
    ("query=tide&query=tide&callerAgent=ada&callerSession=k", 400, "query"),
    ("query=tide&callerAgent=ada&callerSession=k&q=tide", 400, "q"),
    ("query=tide&callerAgent=ada&callerSession=k&caller=ada", 400, "caller"),
    ("query=tide&callerAgent=ada&callerSession=k&scope=everything", 422, "scope"),
    ("query=tide&callerAgent=ada&callerSession=k&after=soon", 422, "after"),
    ("query=&callerAgent=ada&callerSession=k", 422, "query"),
    ("callerAgent=ada&callerSession=k", 400, "query"),
]


@pytest.mark.parametrize(("query", "status", "field"), QUERIES)
def test_query_parameters_obey_the_rules_of_bodies(platform: Visitor, query: str, status: int, field: str):
    answer = platform.ask("GET", "/v1/sessions/search?" + query)

    assert answer.status_code == status, answer.text
    assert answer.get_json()["field"] == field


@pytest.mark.parametrize("query", ["query=%FF", "query=%C3", "%FF=tide", "query=%ED%A0%80"])
def test_a_query_string_that_is_not_utf_8_is_refused(platform: Visitor, query: str):
    assert platform.ask("GET", "/v1/sessions/search?" + query).status_code == 400


def test_a_query_string_of_very_many_parameters_is_refused(platform: Visitor):
    assert platform.ask("GET", "/v1/sessions/search?" + "&".join(f"p{i}=1" for i in range(100))).status_code == 400


def test_a_very_long_address_is_a_414(platform: Visitor):
    answer = platform.ask("GET", "/v1/sessions/search?query=" + "a" * 9000)

    assert answer.status_code == 414
    assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("key", ["", "k" * 129, "a b", "é", "tab\there"])
def test_an_idempotency_key_has_1_to_128_printable_bytes(platform: Visitor, operator: Visitor, key: str):
    before = operator.get("/v1/ops/agents").get_json()

    answer = platform.post("/v1/sessions/append", {**APPEND, "agentId": "grete"}, headers={"Idempotency-Key": key})

    assert answer.status_code == 400
    assert answer.get_json()["field"] == "Idempotency-Key"
    assert operator.get("/v1/ops/agents").get_json() == before


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/ops/reindex", {"agent": "ada"}, "agent"),
        ("/v1/ops/reindex", {"force": "yes", "all": True}, "force"),
        ("/v1/ops/jobs/retry", {"state": "lost"}, "state"),
        ("/v1/ops/jobs/cancel", {"agentId": "a/b"}, "agentId"),
        ("/v1/ops/queue/pause", {"for": 3}, "for"),
    ],
)
def test_operators_input_is_checked_alike(operator: Visitor, path: str, body: dict[str, Any], field: str):
    answer = operator.post(path, body)

    assert answer.status_code == 400
    assert answer.get_json()["field"] == field


@pytest.mark.parametrize("path", ["/v1/ops/jobs/retry", "/v1/ops/jobs/cancel"])
@pytest.mark.parametrize("body", [None, {}, {"state": None}])
def test_acting_on_many_jobs_needs_a_filter(operator: Visitor, path: str, body: Any):
    assert operator.post(path, body).status_code == 422


@pytest.mark.parametrize("body", [None, {}, {"all": False}])
def test_a_reindex_names_what(operator: Visitor, body: Any):
    assert operator.post("/v1/ops/reindex", body).status_code == 422
