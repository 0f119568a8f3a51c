"""The OpenAPI document: valid, complete, and true of what the routes do."""

import re
from typing import Any

import pytest
from flask import Flask

from shared.forms import SearchSessions
from tests.web.conftest import Visitor
from web.operations import OPERATIONS
from web.reading import parameters_of


@pytest.fixture(scope="module")
def app(refusing_app: Flask) -> Flask:
    return refusing_app


PAGES = {"/", "/history", "/ops", "/docs", "/login", "/logout", "/static/{filename}", "/mcp"}  # which has a protocol of its own, and whatever is below /ops and /search


def document(who: Visitor) -> dict[str, Any]:
    found: dict[str, Any] = who.get("/openapi.json").get_json()
    return found


def walk(value: Any):
    yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(part)


def test_it_lists_exactly_the_routes(app: Flask, operator: Visitor):
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method)
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }

    described = {(path, method.upper()) for path, methods in document(operator)["paths"].items() for method in methods}

    assert described == {route for route in routes if route[0] not in PAGES and not route[0].startswith(("/ops/", "/search/"))}


def test_it_is_a_3_1_document_whose_references_resolve(operator: Visitor):
    found = document(operator)

    assert found["openapi"].startswith("3.1.")
    assert found["info"]["title"] == "session-search"
    assert found["info"]["version"]
    for part in walk(found):
        if isinstance(part, dict) and "$ref" in part:
            assert part["$ref"].removeprefix("#/components/schemas/") in found["components"]["schemas"]


def test_operation_ids_are_unique(operator: Visitor):
    ids = [described["operationId"] for methods in document(operator)["paths"].values() for described in methods.values()]

    assert len(ids) == len(set(ids))


def test_every_operation_names_its_kinds_of_credential_and_its_errors(operator: Visitor):
    found = document(operator)

    for operation in OPERATIONS:
        for method in operation.methods:
            described = found["paths"][operation.path][method.lower()]
            assert {kind for option in described["security"] for kind in option} == set(operation.kinds)
            assert str(operation.status) in described["responses"]
            assert {"400", "421"} <= set(described["responses"])
            if operation.kinds:
                assert {"401", "429"} <= set(described["responses"])
                assert ("403" in described["responses"]) == (len(operation.kinds) < 3 or method == "POST")
            if method == "POST":
                assert {"413", "415"} <= set(described["responses"])


def test_path_parameters_are_described(operator: Visitor):
    for path, methods in document(operator)["paths"].items():
        for described in methods.values():
            named = {p["name"] for p in described.get("parameters", ()) if p["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path))


def test_query_parameters_carry_the_limits_of_the_fields(operator: Visitor):
    described = document(operator)["paths"]["/v1/sessions/search"]["get"]
    parameters = {p["name"]: p for p in described["parameters"]}

    assert list(parameters) == list(parameters_of(SearchSessions))
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
    assert parameters["query"]["required"]
    assert parameters["scope"]["schema"]["enum"] == ["agent", "all", "self", "tree"]
    assert "callerAgent" in parameters
    assert "caller" not in parameters


def test_bodies_refuse_unknown_fields(operator: Visitor):
    schemas = document(operator)["components"]["schemas"]

    for operation in OPERATIONS:
        if "POST" in operation.methods:
            assert schemas[operation.body.__name__]["additionalProperties"] is False


def test_the_idempotency_key_is_described(operator: Visitor):
    described = document(operator)["paths"]["/v1/sessions/append"]["post"]

    assert [p["name"] for p in described["parameters"]] == ["Idempotency-Key"]


def test_the_reference_page_names_every_operation_and_field(operator: Visitor):
    page = operator.get("/docs").text

    for operation in OPERATIONS:
        assert f'id="{operation.name}"' in page
        assert operation.path in page
    for field in ("toEventId", "includeTools", "newSessionId", "pendingSessions", "nextCursor"):
        assert field in page
    assert "<script" not in page
