"""The request log: a line a request, and nothing of what was asked."""

import io
import json
import logging

import pytest
from flask import Flask

from shared.logs import JsonLines
from tests.web.conftest import ADA, Visitor, message, say, services_of
from web.access import WithRequestId


@pytest.fixture
def lines():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(WithRequestId())
    root, before = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lambda: stream.getvalue().splitlines()
    root.removeHandler(handler)
    root.setLevel(before)


def test_a_request_is_one_line_with_its_route_status_time_and_id(operator: Visitor, lines):
    answer = operator.get("/v1/ops/jobs/none")

    found = [json.loads(line) for line in lines() if "request answered" in line]
    assert len(found) == 1
    assert found[0]["method"] == "GET"
    assert found[0]["route"] == "/v1/ops/jobs/<id:id>"
    assert found[0]["status"] == 404
    assert found[0]["duration_ms"] >= 0
    assert found[0]["request_id"] == answer.headers["X-Request-Id"]


@pytest.mark.parametrize("way", ["body", "address", "page", "unknown field", "key", "path", "idempotency key"])
def test_what_was_asked_never_reaches_the_log_and_forges_no_line(platform: Visitor, lines, way: str):
    words = "x\n2026-05-01 12:00:00 CRITICAL fake entry \x1b[2J"
    caller = {"callerAgent": "ada", "callerSession": "agent:ada:main"}

    {
        "body": lambda: platform.post("/v1/sessions/search", {"query": words, "caller": ADA}),
        "address": lambda: platform.get("/v1/sessions/search", query=words, **caller),
        "page": lambda: platform.get("/", query=words, **caller),
        "unknown field": lambda: platform.post("/v1/sessions/search", {words: 1}),
        "key": lambda: platform.post("/v1/sessions/put", {"agentId": "ada", "sessionKey": words}),
        "path": lambda: platform.get("/v1/" + words),
        "idempotency key": lambda: platform.post("/v1/sessions/append", {}, headers={"Idempotency-Key": "fake entry"}),
    }[way]()

    assert lines()
    assert not any("fake entry" in line for line in lines())
    assert all(line.startswith("{") and "\x1b" not in line for line in lines())


def test_a_method_of_ones_own_making_is_logged_as_other(platform: Visitor, lines):
    platform.ask("BREW", "/v1/sessions/search")

    assert '"method": "other"' in lines()[-1]


def test_two_answers_have_two_ids(nobody: Visitor):
    assert nobody.get("/healthz").headers["X-Request-Id"] != nobody.get("/healthz").headers["X-Request-Id"]


def test_what_the_kernel_logs_while_it_answers_carries_the_requests_id(app: Flask, platform: Visitor, lines):
    say(platform, message("a", "alpha"), message("b", "beta"))
    platform.post("/v1/sessions/rewind", {**ADA, "toEventId": "a"})
    (services_of(app).settings.data / "queue.sqlite").mkdir()

    answer = platform.post("/v1/sessions/search", {"query": "alpha", "caller": ADA})

    (found,) = [json.loads(line) for line in lines() if "queue not reached" in line]
    assert answer.status_code == 200
    assert found["request_id"] == answer.headers["X-Request-Id"]


def test_a_line_logged_outside_of_a_request_has_no_request_id(lines):
    logging.getLogger("elsewhere").warning("nobody asked")

    assert "request_id" not in json.loads(lines()[-1])


FORGED = 'x", "level": "critical", "message": "fake entry'


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Request-Id": FORGED},
        {"User-Agent": FORGED},
        {"Referer": FORGED},
        {"X-Forwarded-For": FORGED},
        {"Forwarded": FORGED},
        {"Cookie": f"session_search_sign_in={FORGED}"},
        {"Host": FORGED},
        {"Origin": FORGED},
        {"Authorization": FORGED},
        {"Authorization": f"Bearer {FORGED}"},
        {"Content-Type": FORGED},
        {"Accept": FORGED},
        {"Traceparent": FORGED},
        {"Transfer-Encoding": FORGED},
        {"X-HTTP-Method-Override": FORGED},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_no_header_reaches_the_log(platform: Visitor, lines, headers: dict[str, str]):
    answers = [platform.ask("POST", path, headers=headers) for path in ("/v1/sessions/list", "/login", "/nowhere")]

    found = [json.loads(line) for line in lines()]
    assert [one["request_id"] for one in found if one["message"] == "request answered"] == [one.headers["X-Request-Id"] for one in answers]
    assert all(answer.status_code < 500 for answer in answers)
    assert not any("fake entry" in line for line in lines())


@pytest.mark.parametrize("address", ["fake entry\n{}", "\u2028fake entry", "fake\x00 entry"])
def test_a_peers_address_reaches_no_log(platform: Visitor, lines, address: str):
    answer = platform.ask("GET", "/openapi.json", headers={"Authorization": "Bearer x"}, environ_overrides={"REMOTE_ADDR": address})

    assert answer.status_code == 401
    assert not any("fake" in line for line in lines())
