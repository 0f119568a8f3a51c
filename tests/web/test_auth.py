"""Credentials: closed by default, three kinds, each with its own routes."""

import time

import pytest
from flask import Flask

from shared.tokens import revoke_token, verify_token
from tests.web.conftest import ADA, Visitor, services_of, visitor
from web.operations import OPERATIONS, Operation


@pytest.fixture(scope="module")
def app(refusing_app: Flask) -> Flask:
    return refusing_app


OPEN = {"/healthz"}


def ask(who: Visitor, operation: Operation, method: str):
    return who.ask(method, operation.path.replace("{id}", "none"))


EVERY = [(operation, method) for operation in OPERATIONS for method in operation.methods]
NAMES = [f"{method} {operation.path}" for operation, method in EVERY]


@pytest.mark.parametrize(("operation", "method"), EVERY, ids=NAMES)
def test_nothing_but_healthz_answers_without_a_credential(nobody: Visitor, operation: Operation, method: str):
    answer = ask(nobody, operation, method)

    if operation.path in OPEN:
        assert answer.status_code == 200
    else:
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="session-search"'
        assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize(("operation", "method"), EVERY, ids=NAMES)
@pytest.mark.parametrize("kind", ["platform", "agent", "operator"])
def test_each_operation_is_closed_to_the_kinds_it_does_not_name(app: Flask, operation: Operation, method: str, kind: str):
    who = visitor(app, kind, **({"agent_id": "ada", "session_key": "agent:ada:main"} if kind == "agent" else {}))

    answer = ask(who, operation, method)

    if operation.kinds and kind not in operation.kinds:
        assert answer.status_code == 403
    else:
        assert answer.status_code not in (401, 403)


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/none", "/v1/sessions/none", "/v1/ops", "/v1/ops/none"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PUT", "DELETE", "TRACE"])
def test_paths_that_do_not_exist_tell_nothing_without_a_credential(nobody: Visitor, path: str, method: str):
    assert nobody.ask(method, path).status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer sst_unknown",
        "Basic dXNlcjpwYXNz",
        "Token {token}",
        "{token}",
        "Bearer {token} {token}",
        "Bearer {token},{token}",
        "Bearer\x00{token}",
        "Bearer {token}\x00",
        "Bearer é{token}",
        "Bearer " + "a" * 5000,
    ],
)
def test_a_header_that_is_no_good_bearer_is_a_401(platform: Visitor, header: str):
    answer = platform.ask("GET", "/v1/sessions/list", headers={"Authorization": header.replace("{token}", platform.token or "")})

    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(platform: Visitor, scheme: str):
    answer = platform.ask("GET", "/openapi.json", headers={"Authorization": f"{scheme} {platform.token}"})

    assert answer.status_code == 200


def test_a_token_in_the_address_is_no_credential(nobody: Visitor, platform: Visitor):
    answer = nobody.get("/v1/sessions/list", callerAgent="ada", callerSession="k", token=platform.token, access_token=platform.token)

    assert answer.status_code == 401


def test_a_revoked_token_is_refused_at_its_next_request(app: Flask, platform: Visitor):
    here = services_of(app)
    token_id = verify_token(here.store, platform.token or "", here.now_ms()).token_id
    assert platform.get("/openapi.json").status_code == 200

    revoke_token(here.store, token_id, here.now_ms())

    assert platform.get("/openapi.json").status_code == 401


def test_an_expired_token_is_refused(app: Flask):
    who = visitor(app, "operator", ttl_ms=1)

    time.sleep(0.01)

    assert who.get("/v1/ops/agents").status_code == 401


def test_an_agents_token_is_sealed_to_its_caller(ada: Visitor):
    answer = ada.post("/v1/sessions/list", {"caller": ADA})

    assert answer.status_code == 422
    assert answer.get_json()["field"] == "caller"
    assert ada.get("/v1/sessions/list", callerAgent="ada", callerSession="agent:ada:main").status_code == 422
    assert ada.get("/v1/sessions/list").status_code == 200


@pytest.mark.parametrize("path", ["/v1/sessions/search", "/v1/sessions/history", "/v1/sessions/list"])
def test_a_platform_has_to_name_a_caller(platform: Visitor, path: str):
    fields = {"/v1/sessions/search": {"query": "ferry"}, "/v1/sessions/history": {"sessionKey": "k"}}.get(path, {})

    answer = platform.post(path, fields)

    assert answer.status_code == 422
    assert answer.get_json()["field"] == "caller"


@pytest.mark.parametrize(
    ("operation", "method"), [pair for pair in EVERY if pair[0].acts], ids=[n for n, p in zip(NAMES, EVERY, strict=True) if p[0].acts]
)
def test_a_read_only_operator_looks_and_does_not_act(app: Flask, operation: Operation, method: str):
    who = visitor(app, "operator", read_only=True)

    answer = ask(who, operation, method)

    assert answer.status_code == 403
    assert "read-only" in answer.get_json()["detail"]
    assert who.get("/v1/ops/queue").status_code == 200


def test_a_sign_in_cookie_opens_no_route_for_programs(app: Flask, operator: Visitor):
    client = app.test_client()
    client.post("/login", data={"token": operator.token})

    assert client.get("/ops").status_code == 200
    assert client.get("/v1/ops/queue").status_code == 401
    assert client.post("/v1/ops/queue/pause").status_code == 401
    assert client.get("/metrics").status_code == 401
