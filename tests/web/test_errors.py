"""Every failure is an answer that says what is wrong; what nobody foresaw is logged once and told to nobody."""

import logging
import re
from typing import Any

import pytest
from flask import Flask, Response

from shared.errors import (
    BadCursor,
    BadForm,
    BadQuery,
    BadRequest,
    BadSettings,
    Conflict,
    Forbidden,
    NotFound,
    StoreDamaged,
    StoreFull,
    StoreUnavailable,
    TooManyRequests,
    Unauthorised,
    Unprocessable,
    UnreadableEvent,
    VisibilityUnknown,
)
from tests.web.conftest import Visitor
from web import admission
from web.errors import kind_of

ERRORS: list[tuple[Exception, int]] = [
    (BadForm("title is missing", "title"), 400),
    (BadRequest("title is wrong", "title"), 422),
    (BadCursor(), 422),
    (Unauthorised("no"), 401),
    (Forbidden("no"), 403),
    (NotFound("no such session"), 404),
    (Conflict("taken"), 409),
    (TooManyRequests("too often", 3), 429),
    (Unprocessable("spawnedBy names itself", "spawnedBy"), 422),
    (BadQuery("nothing searchable"), 422),
    (StoreUnavailable("a database is locked", "/data/x.sqlite"), 503),
    (StoreDamaged("a database is damaged", "/data/x.sqlite"), 503),
    (VisibilityUnknown("cannot be worked out"), 503),
    (UnreadableEvent("position 3", 3), 503),
    (StoreFull("full"), 507),
    (BadSettings("late"), 500),
    (KeyError("secret words"), 500),
    (RecursionError(), 500),
]


def failing(app: Flask, monkeypatch: pytest.MonkeyPatch, path: str, error: Exception) -> None:
    """A route that fails, open to everybody."""

    def fail() -> Response:
        raise error

    app.add_url_rule(path, "failing", fail)
    monkeypatch.setattr(admission, "OPEN", admission.OPEN | {"failing"})


@pytest.mark.parametrize(("error", "status"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_each_error_has_its_status_and_type(app: Flask, nobody: Visitor, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int):
    failing(app, monkeypatch, "/v1/failing", error)

    answer = nobody.get("/v1/failing")

    problem = answer.get_json()
    assert answer.status_code == status == problem["status"]
    assert answer.mimetype == "application/problem+json"
    assert re.fullmatch(r"urn:session-search:problem:[a-z-]+", problem["type"])
    assert problem["title"]
    assert problem["detail"]
    assert problem.get("field") == getattr(error, "field", None)
    assert ("Retry-After" in answer.headers) == (status in (429, 503))


@pytest.mark.parametrize("error", [error for error, status in ERRORS if status >= 500], ids=lambda error: type(error).__name__)
def test_what_went_wrong_inside_is_not_told(app: Flask, nobody: Visitor, monkeypatch: pytest.MonkeyPatch, error: Exception):
    failing(app, monkeypatch, "/v1/failing", error)

    answer = nobody.get("/v1/failing")

    for part in ("Traceback", "secret words", "sqlite", "/data", "position 3", ".py"):
        assert part not in answer.text


def test_an_unforeseen_error_is_logged_once_without_its_message(
    app: Flask, nobody: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    failing(app, monkeypatch, "/v1/failing", KeyError("secret words"))
    caplog.set_level(logging.INFO)

    answer = nobody.get("/v1/failing")

    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert vars(errors[0])["request_id"] == answer.headers["X-Request-Id"]
    assert "KeyError" in vars(errors[0])["raised"]
    assert not any("secret words" in str(vars(record)) for record in caplog.records)


def test_a_damaged_file_is_named_in_the_log_and_not_in_the_answer(
    app: Flask, nobody: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    failing(app, monkeypatch, "/v1/failing", StoreDamaged("a database is damaged", "/data/agents/ada.sqlite"))

    nobody.get("/v1/failing")

    assert [vars(record)["path"] for record in caplog.records if record.levelno == logging.WARNING] == ["/data/agents/ada.sqlite"]


def test_pages_fail_with_a_page(app: Flask, nobody: Visitor, monkeypatch: pytest.MonkeyPatch):
    failing(app, monkeypatch, "/failing", KeyError("secret words"))

    answer = nobody.get("/failing")

    assert answer.status_code == 500
    assert answer.mimetype == "text/html"
    assert "secret words" not in answer.text


@pytest.mark.parametrize(("path", "mimetype"), [("/v1/none", "application/problem+json"), ("/none", "text/html")])
def test_an_unknown_path_is_a_404_in_the_form_of_its_neighbours(platform: Visitor, path: str, mimetype: str):
    answer = platform.get(path)

    assert answer.status_code == 404
    assert answer.mimetype == mimetype


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/sessions/put", {"POST"}),
        ("GET", "/v1/sessions/append", {"POST"}),
        ("GET", "/v1/ops/reindex", {"POST"}),
        ("GET", "/v1/ops/jobs/retry", {"POST"}),
        ("GET", "/v1/ops/jobs/x/cancel", {"POST"}),
        ("POST", "/v1/ops/jobs", {"GET", "HEAD"}),
        ("DELETE", "/v1/sessions/search", {"GET", "HEAD", "POST"}),
        ("OPTIONS", "/v1/sessions/search", {"GET", "HEAD", "POST"}),
        ("TRACE", "/v1/sessions/search", {"GET", "HEAD", "POST"}),
        ("BREW", "/v1/sessions/search", {"GET", "HEAD", "POST"}),
        ("GET", "/logout", {"POST"}),
        ("POST", "/ops", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_a_path_does_not_take_is_a_405(operator: Visitor, method: str, path: str, allowed: set[str]):
    answer = operator.ask(method, path)

    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == allowed


def test_a_path_of_bytes_that_are_not_utf_8_is_a_404(platform: Visitor):
    assert platform.ask("GET", "/v1/ops/jobs/%FF").status_code in (403, 404)
    assert platform.ask("GET", "/%FF%00").status_code == 404


def test_the_kind_of_an_error_is_that_of_its_nearest_base():
    class Narrower(VisibilityUnknown):
        pass

    assert kind_of(Narrower("x")).status == 503


def test_every_answer_carries_the_strict_headers(platform: Visitor, nobody: Visitor):
    answers: list[Any] = [nobody.ask("GET", path, buffered=True) for path in ("/healthz", "/login", "/", "/static/style.css", "/v1/none")]
    answers += [platform.get(path) for path in ("/", "/none", "/v1/none", "/openapi.json", "/docs")]

    for answer in answers:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] in ("no-referrer", "same-origin")
        assert re.fullmatch("[0-9a-f]{16}", answer.headers["X-Request-Id"])
        assert answer.headers["Cache-Control"] == "no-store" or answer.request.path.startswith("/static/")
