"""The OpenAPI 3.1 document of the table of operations."""

from collections.abc import Iterable
from typing import Any

import msgspec

from shared.tools import without_null
from web import answers
from web.errors import BY_STATUS
from web.reading import parameters_of
from web.wording import Schema

KINDS = ("platform", "agent", "operator")
_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_ABOUT = """Exact full-text search over agents' own past sessions.

Every error is `application/problem+json` with a stable `type`. 400 is a request that does not fit the schema here (not JSON, a
field unknown, missing, or of another type or size); 422 is one that fits it and still cannot be done (a query with nothing to search for,
a cursor of another request, a session that spawned itself; an unknown scope is one, too). What a caller may not see and what does not
exist get one and the same answer."""


def build(operations: Iterable[Any], version: str) -> dict[str, Any]:
    """The document: every operation with its fields, answers, errors and the kinds of credential it takes."""
    operations = list(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        for method in operation.methods:
            paths.setdefault(operation.path, {})[method.lower()] = _described(operation, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "session-search", "version": version, "description": _ABOUT, "license": {"name": "MIT", "identifier": "MIT"}},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(operation.group for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {kind: {"type": "http", "scheme": "bearer", "description": f"a token of kind {kind}"} for kind in KINDS},
        },
    }


def _described(operation: Any, method: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name + ("ByQuery" if method == "GET" and "POST" in operation.methods else ""),
        "summary": operation.summary,
        "tags": [operation.group],
        "security": [{kind: []} for kind in KINDS if kind in operation.kinds],
        "responses": {str(operation.status): _success(operation), **_failures(operation, method)},
    }
    if parameters := [*_path_parameters(operation), *(_query_parameters(operation) if method == "GET" else _beside_the_body(operation))]:
        described["parameters"] = parameters
    if method == "POST":
        schema = _ref(operation.body)
        described["requestBody"] = {"required": _needs_body(operation), "content": {"application/json": {"schema": schema}}}
    return described


def _success(operation: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"} if "json" in operation.media else {"type": "string"}
    if operation.answer:
        schema = _ref(operation.answer)
    if operation.compatible:
        schema = {"anyOf": [schema, _ref(operation.compatible)]}
    answer: dict[str, Any] = {"description": _sentence(operation.answer), "content": {operation.media.split(";")[0]: {"schema": schema}}}
    if operation.retry_after:
        answer["headers"] = {"Retry-After": {"description": "seconds; while `indexing` is true", "schema": {"type": "integer"}}}
    return answer


def _failures(operation: Any, method: str) -> dict[str, Any]:
    """The errors that an operation may answer, by status."""
    statuses = {400, 421, 500}
    if operation.kinds:
        statuses |= {401, 429, 503}
    if operation.kinds and operation.kinds != set(KINDS):
        statuses.add(403)
    if method == "POST":
        statuses |= {403, 413, 415}
    elif operation.body.__struct_fields__:
        statuses.add(414)
    if operation.body.__struct_fields__:
        statuses.add(422)
    statuses |= set(operation.errors)
    failures: dict[str, Any] = {str(status): {"description": BY_STATUS[status].title, "content": _PROBLEM} for status in sorted(statuses)}
    for status in statuses & {429, 503}:
        about = "seconds until it is worth asking again"
        failures[str(status)]["headers"] = {"Retry-After": {"description": about, "schema": {"type": "integer"}}}
    if operation.name == "readyz":
        failures["503"] = {"description": "Not ready", "content": {"application/json": {"schema": _ref(operation.answer)}, **_PROBLEM}}
    return failures


def _query_parameters(operation: Any) -> list[dict[str, Any]]:
    required = _required(operation.body)
    return [
        {"name": name, "in": "query", "required": name in required, **_parameter(schema)}
        for name, schema in parameters_of(operation.body).items()
    ]


def _path_parameters(operation: Any) -> list[dict[str, Any]]:
    if "{id}" not in operation.path:
        return []
    return [{"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{1,64}$"}}]


def _beside_the_body(operation: Any) -> list[dict[str, Any]]:
    """What a POST takes in its address and its headers."""
    return [*_compat(operation), *_header_parameters(operation)]


def _compat(operation: Any) -> list[dict[str, Any]]:
    if not operation.compatible:
        return []
    return [{"name": "compat", "in": "query", "required": False, **_parameter(parameters_of(operation.body)["compat"])}]


def _header_parameters(operation: Any) -> list[dict[str, Any]]:
    if not operation.idempotent:
        return []
    schema = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"}
    about = "makes a retried append safe: the same key and body answer alike for 24 hours, the same key with another body is a 409"
    return [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema, "description": about}]


def _parameter(schema: Schema) -> dict[str, Any]:
    """A field's schema as a query parameter's: null cannot be written there."""
    schema = without_null(schema)
    described = {"description": schema.pop("description")} if "description" in schema else {}
    return {**described, "schema": schema}


def _required(body: type[Any]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(body) if field.required}


def _needs_body(operation: Any) -> bool:
    return bool(_required(operation.body))


def _ref(struct: type[Any]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{struct.__name__}"}


def _schemas(operations: Iterable[Any]) -> dict[str, Any]:
    structs = [answers.Problem]
    for operation in operations:
        structs += [operation.body] if "POST" in operation.methods else []
        structs += [answer for answer in (operation.answer, operation.compatible) if answer]
    unique = list(dict.fromkeys(structs))
    return msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")[1]


def _sentence(struct: type[Any] | None) -> str:
    return (struct.__doc__ or "").strip().splitlines()[0] if struct else "A document"
