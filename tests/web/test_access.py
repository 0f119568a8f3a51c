"""The request log: a line a request, and nothing of what was asked."""

import io
import json
import logging

import pytest

from shared.logs import JsonLines
from tests.web.conftest import ADA, Visitor


@pytest.fixture
def lines():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
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
