import json
from typing import Any

import pytest

from wakeful import Action, ActionResult
from wakeful.tools.arguments import check_arguments
from wakeful.types import DeclarationError, Json


def of_schema(schema: Json) -> Action:
    async def run(args: Any, context: Any) -> ActionResult:
        return ActionResult()

    return Action("Given", "", schema, run)


def accepted(act: Action, raw: str | dict[str, Json]) -> dict[str, Json]:
    found = check_arguments(act, raw)
    assert isinstance(found, dict), found
    return found


def refused(act: Action, raw: str | dict[str, Json]) -> ActionResult:
    found = check_arguments(act, raw)
    assert isinstance(found, ActionResult), found
    assert not found.success
    assert "\n" not in found.message
    assert found.recovery is not None
    assert found.recovery.retryable
    return found


def test_schemas_of_others_refuse_unknown_names_unless_they_say_otherwise() -> None:
    properties = {
        "a": {"type": "object", "properties": {"b": {"type": "integer"}}},
        "free": {"type": "object"},
    }
    shut = of_schema({"type": "object", "properties": properties})
    assert accepted(shut, '{"a": {"b": 1}, "free": {"x": 1}}')
    assert refused(shut, '{"c": 1}').code == "UNKNOWN_ARGUMENT"
    assert refused(shut, '{"a": {"c": 1}}').code == "UNKNOWN_ARGUMENT"
    assert accepted(of_schema({"type": "object", "properties": {}, "additionalProperties": True}), '{"c": 1}')
    assert refused(of_schema({"type": "object"}), '{"c": 1}').code == "UNKNOWN_ARGUMENT"


def test_references_and_compositions_are_followed() -> None:
    act = of_schema(
        {
            "type": "object",
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}},
                }
            },
            "allOf": [
                {"properties": {"tree": {"$ref": "#/$defs/tree"}}},
                {"properties": {"m": {"type": "integer"}}},
            ],
        }
    )
    assert accepted(act, '{"tree": {"n": "1", "next": "{\\"n\\": \\"2\\"}"}, "m": "3"}') == {
        "tree": {"n": 1, "next": {"n": 2}},
        "m": 3,
    }
    assert refused(act, '{"other": 1}').code == "UNKNOWN_ARGUMENT"
    assert refused(act, '{"tree": {"next": {"m": 1}}}').code == "UNKNOWN_ARGUMENT"


COMPOSED = {
    "allOf": [{"properties": {"deep": {"type": "object", "properties": {"x": {"type": "integer"}}}}}],
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "type": "object",
}


def test_a_composed_schema_names_only_what_is_really_unknown() -> None:
    act = of_schema(COMPOSED)
    assert accepted(act, '{"a": "1", "deep": {"x": 1}}')
    wrong = refused(act, '{"a": "1", "deep": {"x": "y"}}')
    assert (wrong.code, "'deep.x' must be an integer" in wrong.message) == ("INVALID_ARGUMENT", True)
    assert refused(act, '{"a": "1", "deep": {"z": 1}}').code == "UNKNOWN_ARGUMENT"
    assert refused(act, '{"a": "1", "c": 1}').code == "UNKNOWN_ARGUMENT"
    assert refused(act, "{}").code == "MISSING_ARGUMENT"


def test_a_value_that_fits_no_branch_is_told_which_types_do() -> None:
    branches = [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}, {"$ref": "#/$defs/none"}]
    act = of_schema(
        {
            "type": "object",
            "$defs": {"none": {"type": "null"}},
            "properties": {"items": {"anyOf": branches}},
        }
    )
    wrong = refused(act, '{"items": {"a": 1}}')
    assert "'items' must be an array or null or a string, not {\"a\":1}" in wrong.message
    assert wrong.recovery is not None
    assert wrong.recovery.invalid_params[0].expected_format == "array or null or string"


def test_strings_within_strings_open_up_only_so_deep() -> None:
    tree = {"type": "object", "properties": {"n": {"$ref": "#/$defs/tree"}}}
    act = of_schema(
        {"type": "object", "$defs": {"tree": tree}, "properties": {"n": {"$ref": "#/$defs/tree"}}}
    )
    text = '{"n":' * 60 + "{}" + "}" * 60
    assert accepted(act, text)
    assert accepted(act, json.dumps({"n": '{"n": {}}'})) == {"n": {"n": {}}}
    for _ in range(8):
        text = '{"n":' * 60 + json.dumps(text) + "}" * 60
    assert refused(act, text).code == "INVALID_JSON"


def test_a_schema_that_refers_elsewhere_is_an_error_and_fetches_nothing() -> None:
    act = of_schema({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}})
    with pytest.raises(DeclarationError, match="action 'Given': its schema is not valid"):
        check_arguments(act, "{}")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "format": "email"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
        {"type": "string", "minLength": 9},
        {"type": "integer", "minimum": 5},
        {"type": "integer", "exclusiveMinimum": 5},
        {"enum": [3, 4]},
        {"type": "array", "items": {"type": "string", "format": "uuid"}, "minItems": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        COMPOSED,
    ],
)
def test_an_example_is_valid_or_absent(part: Json) -> None:
    act = of_schema({"type": "object", "properties": {"p": part}, "required": ["p"]})
    recovery = refused(act, "{}").recovery
    assert recovery is not None
    if recovery.valid_example is not None:
        accepted(act, recovery.valid_example)
