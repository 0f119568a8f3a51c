"""A JSON schema in words: the same words in an error's detail and on the reference page."""

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def describe(schema: Schema) -> str:
    """What a value must be, e.g. `a whole number from 1 to 50`."""
    if "anyOf" in schema:
        return " or ".join(describe(part) for part in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "pattern" in schema:
        return str(schema["description"])
    words = _BY_TYPE.get(schema.get("type", "object"))
    return words(schema) if words else _FIXED.get(schema.get("type", "object"), "an object")


def _string(schema: Schema) -> str:
    return "a string" + _between(schema, "minLength", "maxLength", "characters", " of ")


def _whole_number(schema: Schema) -> str:
    return "a whole number" + _between(schema, "minimum", "maximum", "", " from ")


def _list(schema: Schema) -> str:
    return "a list" + _between(schema, "minItems", "maxItems", "items", " of ")


_BY_TYPE: dict[str, Callable[[Schema], str]] = {"string": _string, "integer": _whole_number, "array": _list}
_FIXED = {"number": "a number", "boolean": "true or false", "null": "null"}


def _between(schema: Schema, low: str, high: str, unit: str, lead: str) -> str:
    """The limits of a value, where it has an upper one."""
    if high not in schema:
        return ""
    return f"{lead}{schema.get(low, 0)} to {schema[high]}" + (f" {unit}" if unit else "")
