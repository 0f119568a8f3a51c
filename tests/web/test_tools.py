"""The definitions of the agents' tools: whole in every shape, few in tokens, and the same as what /openapi.json says."""

import json
import re
from typing import Any, get_args, get_type_hints

import jsonschema
import msgspec
import pytest

from shared import client, forms
from shared.tools import FORMATS, TOOLS, Tool, definitions, input_schema, output_schema, without_null
from web.documents import document
from web.operations import OPERATIONS

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what all model interfaces take


def parts(form: str, definition: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Name, description and the schema of what is asked, from one definition."""
    inner = definition["function"] if form == "openai" else definition
    return inner["name"], inner["description"], inner.get("parameters") or inner.get("input_schema") or inner["inputSchema"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_shape_tells_of_the_same_tools(form: Any):
    told = [parts(form, definition) for definition in definitions(form)]

    assert told == [(tool.name, tool.description, input_schema(tool)) for tool in TOOLS]
    assert all(NAME.fullmatch(name) for name, _, _ in told)


def test_each_shape_has_the_keys_that_its_interface_wants():
    keys = {form: set(definitions(form)[0]) for form in FORMATS}

    assert keys == {
        "openai": {"type", "function"},
        "openai-responses": {"type", "name", "description", "parameters", "strict"},
        "anthropic": {"name", "description", "input_schema"},
        "mcp": {"name", "title", "description", "inputSchema", "outputSchema", "annotations"},
    }


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schemas_are_valid_and_refer_to_nothing_outside(tool: Tool):
    for schema in (input_schema(tool), output_schema(tool)):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert all(reference.startswith("#/$defs/") for reference in re.findall(r'"\$ref": "([^"]+)"', json.dumps(schema)))
    assert "$ref" not in json.dumps(input_schema(tool)) and "(?" not in json.dumps(input_schema(tool))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_a_tool_is_asked_and_answers_is_what_openapi_says_of_its_operation(tool: Tool):
    operation = next(one for one in OPERATIONS if one.name == tool.verb)
    described = json.loads(document())
    posted = described["components"]["schemas"][operation.body.__name__]
    queried = {one["name"]: one for one in described["paths"][operation.path]["get"]["parameters"]}
    answered = described["components"]["schemas"][operation.answer.__name__]

    asked = input_schema(tool)
    for_programs = {"compat", "sessionKeys"} if tool.verb == "search" else set()  # not worth an agent's tokens
    assert {*asked["properties"], "caller", *for_programs} == set(posted["properties"])
    assert asked["required"] == posted.get("required", [])
    for name, schema in asked["properties"].items():
        told = {"description": queried[name]["description"]} if "description" in queried[name] else {}
        alike = {**told, **queried[name]["schema"]}
        assert {**schema, "pattern": None} == {**alike, "pattern": None}  # told in a form that every validator has
        assert ("pattern" in schema) == ("pattern" in alike)
    assert {name for name in output_schema(tool)["properties"] if name != "notice"} == set(answered["properties"])


def test_the_definitions_cost_a_conversation_little():
    assert all(len(json.dumps(definition)) < 2_200 for definition in definitions("anthropic"))
    assert all(len(tool.description) < 300 for tool in TOOLS)


@pytest.mark.parametrize(
    ("schema", "without"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, {"type": "integer"}),
        ({"anyOf": [{"type": "integer", "description": "a"}, {"type": "null"}], "description": "b"}, {"type": "integer", "description": "b"}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"type": "boolean", "default": False}, {"type": "boolean", "default": False}),
    ],
)
def test_a_field_that_may_be_left_out_is_not_offered_as_null(schema: dict[str, Any], without: dict[str, Any]):
    assert without_null(schema) == without


@pytest.mark.parametrize("name", ["Hit", "Found", "Message", "Page", "Session", "Sessions"])
def test_the_client_knows_every_field_of_an_answer(name: str):
    told = getattr(client, name)
    fields = msgspec.structs.fields(getattr(forms, name))

    assert told.__required_keys__ == {field.encode_name for field in fields if field.required}
    assert told.__optional_keys__ == {field.encode_name for field in fields if not field.required}


@pytest.mark.parametrize(
    ("told", "body", "apart"),
    [
        (client.Filters, forms.Search, {"query"}),
        (client.Window, forms.History, {"sessionKey"}),
        (client.Paging, forms.Listing, set()),
        (client.Caller, forms.CallerName, set()),
    ],
)
def test_the_client_names_every_field_that_may_be_asked(told: Any, body: Any, apart: set[str]):
    schema = msgspec.json.schema_components([body])[1][body.__name__]["properties"]

    assert set(get_type_hints(told)) | apart == set(schema)
    for name, hint in get_type_hints(told).items():
        offered = without_null(schema[name]).get("enum")
        assert offered is None or sorted(get_args(hint)) == offered
