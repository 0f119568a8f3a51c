"""Hosts and origins: a re-pointed name and a foreign form are refused before anything is looked at."""

import pytest
from flask import Flask

from tests.web.conftest import Visitor


@pytest.fixture(scope="module")
def app(refusing_app: Flask) -> Flask:
    return refusing_app


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8321",
        "localhost",
        "LOCALHOST:80",
        "[::1]",
        "[::1]:8321",
        "search.example",
        "search.example:443",
        "Search.Example",
    ],
)
def test_a_host_of_ours_is_served(nobody: Visitor, host: str):
    assert nobody.ask("GET", "/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example:8321",
        "evil.example:8321",
        "localhost.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "user:secret@localhost",
        "localhost, evil.example",
        "localhost evil.example",
        "localhost/evil.example",
        "localhost:80:80",
        "localhost:port",
        "localhost:123456",
        "127.1",
        "0.0.0.0",
        "[::]",
        "2130706433",
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/login", "/", "/ops", "/v1/sessions/search?query=a"])
def test_any_other_host_is_refused_on_every_path(platform: Visitor, host: str, path: str):
    answer = platform.ask("GET", path, headers={"Host": host})

    assert answer.status_code == 421


def test_the_refusal_of_a_host_is_a_problem_document_for_programs(platform: Visitor):
    answer = platform.ask("GET", "/v1/sessions/list", headers={"Host": "evil.example"})

    assert answer.mimetype == "application/problem+json"
    assert answer.get_json()["type"] == "urn:session-search:problem:wrong-host"


@pytest.mark.parametrize(
    ("line", "status"), [("http://evil.example/healthz", 421), ("http://localhost/healthz", 200), ("HTTP://user@localhost/healthz", 421)]
)
def test_a_request_line_in_absolute_form_must_name_the_same_host(nobody: Visitor, line: str, status: int):
    answer = nobody.ask("GET", "/healthz", headers={"Host": "localhost"}, environ_overrides={"RAW_URI": line})

    assert answer.status_code == status


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://localhost:1",
        "https://user@localhost",
        "localhost",
        "file://",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/v1/sessions/list", "/v1/ops/reindex", "/login", "/logout", "/nowhere"])
def test_a_post_from_a_foreign_page_is_refused(platform: Visitor, origin: str, path: str):
    answer = platform.post(path, headers={"Origin": origin})

    assert answer.status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost", "https://localhost", "HTTP://LOCALHOST"])
def test_a_post_from_a_page_of_ours_is_taken(platform: Visitor, origin: str):
    answer = platform.post("/v1/sessions/list", {"caller": {"agentId": "ada", "sessionKey": "k"}}, headers={"Origin": origin})

    assert answer.status_code == 200


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
def test_a_browser_that_tells_the_site_instead_of_the_origin_is_believed(platform: Visitor, site: str, status: int):
    answer = platform.post("/v1/sessions/list", {"caller": {"agentId": "ada", "sessionKey": "k"}}, headers={"Sec-Fetch-Site": site})

    assert answer.status_code == status


def test_reading_from_a_foreign_page_needs_no_refusal_for_the_browser_keeps_the_answer_from_it(platform: Visitor):
    answer = platform.ask("GET", "/v1/sessions/list?callerAgent=ada&callerSession=k", headers={"Origin": "http://evil.example"})

    assert answer.status_code == 200
    assert "Access-Control-Allow-Origin" not in answer.headers
