"""A request's body or query into a checked struct; whatever is wrong with it is said by name, and nothing has happened yet.

JSON only, 4 MiB and 64 levels at most, unknown fields and repeated parameters refused. The read verbs take the same
fields as query parameters, the caller as `callerAgent`, `callerSession` and `sandboxed`.
"""

import functools
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec
from flask import Response, request
from werkzeug.exceptions import ClientDisconnected, HTTPException, RequestEntityTooLarge, UnsupportedMediaType

from shared import jsontext
from shared.errors import BadForm, BadQuery, BadRequest, Unprocessable
from shared.forms import MAX_ID_BYTES, MAX_KEY_BYTES, Body
from web.wording import Schema, describe

B = TypeVar("B", bound=Body)

MAX_BODY_BYTES = 4 << 20
MAX_PARAMETERS = 64
NO_QUERY = "this path takes no query parameters; its fields go into the body"
CALLER_PARAMETERS = {"callerAgent": "agentId", "callerSession": "sessionKey", "sandboxed": "sandboxed"}
_BYTE_LIMITS = {
    "session_key": MAX_KEY_BYTES,
    "spawned_by": MAX_KEY_BYTES,
    "session_keys": MAX_KEY_BYTES,
    "session_id": MAX_ID_BYTES,
    "new_session_id": MAX_ID_BYTES,
    "message_id": MAX_ID_BYTES,
    "to_event_id": MAX_ID_BYTES,
}


def read_body(shape: type[B]) -> B:
    """The JSON body of this request as `shape`; an absent body is an empty object where no field is required.

    `compat`, where the shape has it, may stand in the address instead, so that a client switches by address alone.
    raises: UnsupportedMediaType, RequestEntityTooLarge, BadForm naming the field and what it must be.
    """
    beside = _in_address(shape)
    data = read_bytes()
    if data is None:
        return convert(beside, shape)
    try:
        body = jsontext.loads(data)
        return convert({**body, **beside} if isinstance(body, dict) else body, shape)
    except jsontext.BadJson as e:
        raise BadForm(f"the body is no JSON that can be read: {e}") from None


def _in_address(shape: type[Body]) -> dict[str, Any]:
    """What of a body stands in the query string: `compat` or nothing. raises: BadForm for anything else there."""
    given = query_pairs() if request.query_string else []
    if not given:
        refuse_query()
        return {}
    if "compat" not in shape.__struct_fields__ or [name for name, _ in given] != ["compat"]:
        raise BadForm(NO_QUERY)
    return dict(given)


def refuse_query() -> None:
    """raises: BadForm for a query string beside a body."""
    if request.query_string:
        raise BadForm(NO_QUERY)


def read_bytes() -> bytes | None:
    """The bytes of this request's body, which says that it is JSON; None for a body that was left out.

    raises: UnsupportedMediaType, RequestEntityTooLarge, ClientDisconnected for half a body.
    """
    data = request.get_data(cache=False)
    if len(data) > MAX_BODY_BYTES:
        raise RequestEntityTooLarge
    if len(data) < (request.content_length or 0):
        raise ClientDisconnected
    if not data and not request.content_type:
        return None
    if request.mimetype != "application/json" or request.mimetype_params.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("Content-Type must be application/json, in UTF-8.")
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise UnsupportedMediaType("Content-Encoding must be left out: bodies are read as they are.")
    return data


def drain(answer: Response) -> Response:
    """What is left of the body is read and dropped: the server would close the connection instead, and lose the next request on it."""
    if answer.status_code >= 400 and (request.content_length or "Transfer-Encoding" in request.headers):
        with suppress(HTTPException):  # too long to be read, or the client is gone
            while request.stream.read(65536):
                pass
    return answer


def read_query(shape: type[B], pairs: Iterable[tuple[str, str]] | None = None) -> B:
    """The query parameters of this request as `shape`, by the same rules as its body."""
    given: dict[str, Any] = {}
    parameters = parameters_of(shape)
    for name, text in query_pairs() if pairs is None else pairs:
        if name not in parameters:
            raise BadForm(f"unknown query parameter {_quoted(name)}{_known({'properties': parameters})}", _short(name))
        if "array" in _types(parameters[name]):
            given.setdefault(name, []).append(text)
        elif name in given:
            raise BadForm(f"query parameter {name} is given more than once", name)
        else:
            given[name] = _value(name, text, parameters[name])
    if caller := {field: given.pop(name) for name, field in CALLER_PARAMETERS.items() if name in given}:
        given["caller"] = caller
        for name in ("callerAgent", "callerSession"):
            if CALLER_PARAMETERS[name] not in caller:
                raise BadRequest(f"{name} is missing: callerAgent and callerSession name the caller together", name)
    return convert(given, shape, in_query=True)


def query_pairs() -> list[tuple[str, str]]:
    """The query string's names and values in order; it must be UTF-8."""
    try:
        return parse_qsl(
            request.query_string.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except UnicodeDecodeError:
        raise BadForm("the query string is not percent-encoded UTF-8") from None
    except ValueError:
        raise BadForm(f"the query string has more than {MAX_PARAMETERS} parameters") from None


@functools.cache
def parameters_of(shape: type[Body]) -> dict[str, Schema]:
    """The query parameters that stand for a struct's fields, each with its schema."""
    properties = dict(schema_of(shape)["properties"])
    if properties.pop("caller", None) is None:
        return properties
    caller = _schemas(shape)["CallerName"]["properties"]
    return {**properties, **{name: caller[field] for name, field in CALLER_PARAMETERS.items()}}


def convert(value: Any, shape: type[B], in_query: bool = False) -> B:
    """A decoded value as `shape`.

    raises: BadForm naming the field; BadQuery and Unprocessable for a query out of its limits and an unknown scope.
    """
    try:
        made = msgspec.convert(_whole(value, shape), shape)
    except msgspec.ValidationError as e:
        raise _refusal(str(e), shape, in_query) from None
    _check_bytes(made)
    return made


def _whole(value: Any, shape: type[Body]) -> Any:
    """The value with 10.0 as 10 where a whole number belongs: to JSON they are one number."""
    if not isinstance(value, dict):
        return value
    floats = [name for name, part in value.items() if isinstance(part, float) and part.is_integer()]
    whole = [name for name in floats if "integer" in _types(schema_of(shape)["properties"].get(name, {}))]
    return {**value, **{name: int(value[name]) for name in whole}} if whole else value


@functools.cache
def _schemas(shape: type[Body]) -> dict[str, Schema]:
    return cast("dict[str, Schema]", msgspec.json.schema_components([shape], ref_template="{name}")[1])


def schema_of(shape: type[Body]) -> Schema:
    """The JSON schema of one struct."""
    return _schemas(shape)[shape.__name__]


_MISSING = re.compile(r"Object missing required field `(.+?)`(?: - at `\$\.?(.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$\.?([^`]*)`)?", re.DOTALL)
_AT = re.compile(r"(.*) - at `\$\.?([^`]*)`", re.DOTALL)


def _refusal(message: str, shape: type[Body], in_query: bool) -> BadRequest:
    """A validation message of msgspec in this program's words."""
    if found := _MISSING.fullmatch(message):
        path = _named(_join(found[2], found[1]), in_query)
        return BadForm(f"{path} is missing", path)
    if found := _UNKNOWN.fullmatch(message):
        return BadForm(f"unknown field {_quoted(_join(found[2], found[1]))}{_known(_schema_at(shape, found[2] or ''))}", _short(found[1]))
    if found := _AT.fullmatch(message):
        path = _named(found[2], in_query)
        detail = f"{path} must be {describe(_schema_at(shape, found[2]))}"
        return BadForm(detail, path) if ", got `" in found[1] else _out_of_limits(detail, path)
    return BadForm("the body must be a JSON object")


def _out_of_limits(detail: str, path: str) -> BadRequest:
    """A value of the right type and outside its limits: what the contract makes a 422 is one."""
    if path == "query":
        return BadQuery(detail)
    return Unprocessable(detail, path) if path == "scope" else BadForm(detail, path)


def _schema_at(shape: type[Body], path: str) -> Schema:
    """The schema of the field that a path such as `caller.agentId` or `events[3]` names."""
    schema = schema_of(shape)
    for step in re.findall(r"[^.\[\]]+", path):
        if "$ref" in schema:
            schema = _schemas(shape)[schema["$ref"]]
        schema = schema.get("properties", {}).get(step) or schema.get("items") or {}
    return _schemas(shape)[schema["$ref"]] if "$ref" in schema else schema


def _value(name: str, text: str, schema: Schema) -> Any:
    """A parameter's text as the JSON value that its field takes; what does not fit stays text and is refused with its field."""
    types = _types(schema)
    if "integer" in types and re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        return int(text)
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    return text


def _types(schema: Schema) -> set[str]:
    return {part.get("type", "object") for part in schema.get("anyOf", [schema])}


def _check_bytes(made: Body) -> None:
    for name in made.__struct_fields__:
        value = getattr(made, name)
        if isinstance(value, Body):
            _check_bytes(value)
        elif name in _BYTE_LIMITS and any(len(text.encode()) > _BYTE_LIMITS[name] for text in _texts(value)):
            field = msgspec.structs.fields(type(made))[made.__struct_fields__.index(name)].encode_name
            raise BadRequest(f"{field} must have at most {_BYTE_LIMITS[name]} bytes of UTF-8", field)


def _texts(value: Any) -> list[str]:
    """The strings that a field holds."""
    return [value] if isinstance(value, str) else [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _known(schema: Schema) -> str:
    names = ", ".join(schema.get("properties", ()))
    return f"; known are {names}" if names else "; none is known here"


def _named(path: str, in_query: bool) -> str:
    """A field's path as the caller wrote it."""
    names = {f"caller.{field}": name for name, field in CALLER_PARAMETERS.items()} if in_query else {}
    return names.get(path, path)


def _join(path: str | None, name: str) -> str:
    return f"{path}.{name}" if path else name


def _quoted(name: str) -> str:
    return f"“{_short(name)}”"


def _short(name: str) -> str:
    return name if len(name) <= 80 else name[:79] + "…"
