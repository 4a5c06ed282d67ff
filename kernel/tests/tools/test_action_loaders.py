from typing import Any

import pytest

from wakeful import Action, ActionContext, ActionResult
from wakeful.tools.arguments import check_arguments
from wakeful.tools.loaders import action_from_data
from wakeful.types import DeclarationError, Effect, Json, Trust


async def run(args: Any, context: ActionContext) -> ActionResult:
    return ActionResult(outputs=dict(args))


def load(**definition: Json) -> Action:
    return action_from_data(definition, run, owner="catalogue")


def param(name: str, value_type: Any = "Scalar", **more: Json) -> Json:
    entry = {"name": name, "type": "Input", "value_type": value_type, "is_array": False, "required": False}
    return {**entry, "description": None, "default": None, **more}


CODES = [
    {"code": "SUCCESS", "success": True, "description": "Sent"},
    {"code": "SUCCESS_SAVED", "success": None, "description": "Saved"},
    {"code": "NO_CHANGES", "success": None, "description": None},
    {"code": "Completed", "description": None},
    {"code": "NO_RESULTS", "success": None, "description": None},
    {"code": "SUCCESS_BUT_NOT", "success": False, "description": None},
]


async def test_a_catalogue_entry_becomes_an_action() -> None:
    act = load(
        name="File Storage: List Objects",
        description="List files.",
        category=None,
        params=[
            param("Path", required=True, description="folder", default="/"),
            param("Limit", default="50"),
            param("Deep", default="false"),
            param("Colour", default="#000000"),
            param("Names", is_array=True, default="Content Items"),
            param("Options", "Simple Object"),
            param("Query", "Other"),
            param("Record", "BaseEntity Sub-Class"),
            param("Both", type="Both"),
            param("Objects", "Simple Object", type="Output", is_array=True, description="files"),
        ],
        result_codes=CODES,
        source="somewhere",
    )
    assert (act.name, act.tool_name) == ("File Storage: List Objects", "file_storage_list_objects")
    assert (act.effect, act.output_trust, act.owner) == (Effect.EXTERNAL, Trust.UNTRUSTED, "catalogue")
    properties = act.schema["properties"]
    assert sorted(properties) == [
        "Both", "Colour", "Deep", "Limit", "Names", "Options", "Path", "Query", "Record",
    ]  # fmt: skip
    assert act.schema["required"] == ["Path"]
    scalar = ["string", "number", "boolean"]
    assert properties["Path"] == {"type": scalar, "default": "/", "description": "folder"}
    assert properties["Limit"] == {"type": scalar, "default": 50}
    assert properties["Deep"] == {"type": scalar, "default": False}
    assert properties["Colour"]["default"] == "#000000"
    assert properties["Names"] == {
        "type": "array",
        "items": {"type": scalar},
        "description": "(default: Content Items)",
    }
    assert properties["Options"] == {"type": "object"}
    assert properties["Query"] == properties["Record"] == {"type": "string"}
    assert [param.name for param in act.params if param.direction != "input"] == ["Both", "Objects"]
    assert [code.success for code in act.result_codes] == [True, True, True, True, False, False]
    args = check_arguments(act, '{"Path": "/", "Limit": 5, "Options": "{\\"a\\": 1}"}')
    assert isinstance(args, dict)
    assert (await act.run(args, None)).outputs == {"Path": "/", "Limit": 5, "Options": {"a": 1}}  # type: ignore[arg-type]  # no context is needed


@pytest.mark.parametrize(
    ("value_type", "default", "shown"),
    [
        ("Integer", "30", 30),
        ("number", "2.5", 2.5),
        ("Boolean", "true", True),
        ("string", "30", "30"),
        ("Object", '{"a": 1}', {"a": 1}),
        ("date", "2026-01-31", "2026-01-31"),
        (None, "30", "30"),
        ("Scalar", "007", "007"),
        ("Scalar", 7, 7),
    ],
)
def test_a_default_given_as_text_takes_the_declared_type(value_type: Any, default: Json, shown: Json) -> None:
    act = load(name="A", params=[param("p", value_type, default=default)])
    assert act.schema["properties"]["p"]["default"] == shown


@pytest.mark.parametrize(
    "definition", [{}, {"params": None}, {"params": []}, {"input_schema": {"type": "object"}}]
)
def test_no_parameters_is_fine(definition: dict[str, Json]) -> None:
    act = load(name="Ping", description=None, result_codes=None, **definition)
    assert act.schema["properties"] == {}
    assert check_arguments(act, "") == {}


def test_a_type_may_stand_where_the_direction_does() -> None:
    entries = [("a", "string"), ("b", "number|null"), ("c", "array"), ("d", "enum"), ("e", "Output")]
    act = load(name="A", params=[{"name": name, "type": kind, "required": True} for name, kind in entries])
    assert act.schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": ["number", "null"]},
        "c": {"type": "array", "items": {}},
        "d": {"type": "string"},
    }


def test_allowed_values_and_formats_are_declared() -> None:
    act = load(
        name="A",
        params=[
            param("to", format="email", value_type="string", role="destination"),
            param("level", "integer", allowed_values=["1", 2]),
        ],
    )
    assert act.schema["properties"]["to"]["format"] == "email"
    assert act.roles == {"to": "destination"}
    assert act.schema["properties"]["level"]["enum"] == [1, 2]


SCHEMA: dict[str, Json] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"city": {"type": "string", "description": "where"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@pytest.mark.parametrize("key", ["input_schema", "inputSchema", "parameters", "schema"])
def test_a_tool_with_a_json_schema_becomes_an_action(key: str) -> None:
    plain = {"name": "get-weather", "description": "Weather.", key: SCHEMA}
    for definition in (plain, {"type": "function", "function": plain}):
        act = action_from_data(definition, run)
        assert (act.tool_name, act.description) == ("get_weather", "Weather.")
        assert check_arguments(act, '{"city": "Bonn", "days": "2"}') == {"city": "Bonn", "days": 2}
        refusal = check_arguments(act, '{"city": "Bonn", "unit": "C"}')
        assert isinstance(refusal, ActionResult)
        assert refusal.code == "UNKNOWN_ARGUMENT"
        assert [(param.name, param.required) for param in act.params] == [("city", True), ("days", False)]


def test_data_never_says_how_far_to_trust_it() -> None:
    definition: Json = {"name": "A", "effect": "read", "output_trust": "trusted", "idempotent": True}
    act = action_from_data(definition, run)
    assert (act.effect, act.output_trust, act.reruns) == (Effect.EXTERNAL, Trust.UNTRUSTED, False)
    act = action_from_data(definition, run, effect="read", output_trust="trusted")
    assert (act.effect, act.output_trust) == (Effect.READ, Trust.TRUSTED)


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({}, "no name"),
        ({"name": "  "}, "no name"),
        ({"name": "…"}, "tool name is empty"),
        ({"name": "A", "params": "x"}, "not a list"),
        ({"name": "A", "params": [{"type": "Input"}]}, "parameter 1: has no name"),
        ({"name": "A", "params": [param("p"), param("p")]}, "'p': is declared twice"),
        ({"name": "A", "params": [param("p", type="Inptu")]}, "did you mean 'input'"),
        ({"name": "A", "result_codes": [{}]}, "result code has no code"),
        ({"name": "A", "schema": {"type": "array"}}, "of type 'array'"),
        ({"name": "A", "schema": {"properties": []}}, "'properties'"),
        ({"name": "A", "schema": {"properties": {"p": {"type": "strin"}}}}, "schema is not valid"),
        (
            {"name": "A", "schema": {"properties": {"p": {"$ref": "http://127.0.0.1:9/x"}}}},
            "schema is not valid",
        ),
    ],
)
def test_a_broken_definition_is_an_error_naming_the_action(definition: dict[str, Json], said: str) -> None:
    with pytest.raises(DeclarationError) as error:
        load(**definition)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
