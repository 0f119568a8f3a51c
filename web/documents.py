"""The description of the interface: for programs at /openapi.json, for people at /docs, both from the table of operations."""

import functools
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from web.bodies import Nothing
from web.call import Call, Reply
from web.wording import Schema, describe


def openapi(call: Call[Nothing]) -> Reply:
    """The OpenAPI 3.1 document, made once a process."""
    return Reply(document())


@functools.cache
def document() -> bytes:
    """The encoded document of this program's own table."""
    from web.openapi import build
    from web.operations import OPERATIONS  # the table names this module's verb

    return msgspec.json.encode(build(OPERATIONS, program_version()))


def program_version() -> str:
    """The installed version; a copy that is not installed has none."""
    try:
        return version("session-search")
    except PackageNotFoundError:
        return "0"


@dataclass(frozen=True)
class Field:
    """One field of a body or an answer, in words."""

    name: str
    form: str
    required: bool
    about: str
    default: str = ""


@dataclass(frozen=True)
class Entry:
    """One operation, in words."""

    operation: Any
    fields: tuple[Field, ...]
    answer: tuple[Field, ...]
    kinds: tuple[str, ...]


@functools.cache
def reference() -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    """The table of operations for the reference page, by group."""
    from web.operations import OPERATIONS  # as above

    groups: dict[str, list[Entry]] = {}
    for operation in OPERATIONS:
        kinds = tuple(kind for kind in ("platform", "agent", "operator") if kind in operation.kinds)
        entry = Entry(operation, fields_of(operation.body), fields_of(operation.answer) if operation.answer else (), kinds)
        groups.setdefault(operation.group, []).append(entry)
    return tuple((name, tuple(entries)) for name, entries in groups.items())


def fields_of(struct: type[Any]) -> tuple[Field, ...]:
    """A struct's fields in words, in their order."""
    schema = msgspec.json.schema_components([struct], ref_template="{name}")[1][struct.__name__]
    required = set(schema.get("required", ()))
    return tuple(_field(name, part, name in required) for name, part in schema.get("properties", {}).items())


def _field(name: str, schema: Schema, required: bool) -> Field:
    form, about = describe(schema), _about(schema)
    return Field(name, form, required, "" if about == form else about, _default(schema))


def _about(schema: Schema) -> str:
    inner = [part.get("description", "") for part in schema.get("anyOf", ())]
    return str(schema.get("description") or next((text for text in inner if text), ""))


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value is None else msgspec.json.encode(value).decode()
