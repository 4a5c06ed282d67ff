"""Actions from data: catalogues of named parameters, and tools declared by a JSON schema.

Data may come from outside, so it never says how far to trust its own action: effect and trust are
the caller's, and silence is strict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wakeful.tools.arguments import checker_of
from wakeful.tools.coerce import coerce
from wakeful.tools.declare import checked_tool_name, effect_of, result_code, trust_of
from wakeful.tools.shapes import DECIMAL_PATTERN, json_type
from wakeful.types import (
    Action,
    DeclarationError,
    Effect,
    Json,
    Param,
    ResultCode,
    Trust,
    canonical,
    clean,
    nearest,
)
from wakeful.types.actions import Runner

#: Where MCP, Anthropic, OpenAI and others put the schema.
_SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters", "schema")
_DIRECTIONS = ("input", "output", "both")
_SCALAR: dict[str, Json] = {"type": ["string", "number", "boolean"]}
_TYPES: dict[str, dict[str, Json]] = {
    "scalar": _SCALAR,
    "simple object": {"type": "object"},
    "object": {"type": "object"},
    "array": {"type": "array", "items": {}},
    "integer": {"type": "integer"},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "float": {"type": "number"},
    "boolean": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "decimal": {"type": "string", "format": "decimal", "pattern": DECIMAL_PATTERN},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "date-time": {"type": "string", "format": "date-time"},
    "time": {"type": "string", "format": "time"},
    "email": {"type": "string", "format": "email"},
    "uuid": {"type": "string", "format": "uuid"},
}


def action_from_data(
    definition: Mapping[str, Json],
    run: Runner,
    *,
    owner: str = "",
    effect: Effect | str = Effect.EXTERNAL,
    output_trust: Trust | str = Trust.UNTRUSTED,
    tool_name: str | None = None,
) -> Action:
    """Return the action that ``definition`` describes.

    Two forms are read: ``name, description, category, params, result_codes``, and ``name,
    description`` with a JSON schema under ``input_schema``, ``inputSchema``, ``parameters`` or
    ``schema`` (also inside ``function``). A parameter of unknown type is a string; a result code
    that does not say what it means is a success by its name or a failure.

    Args:
        definition: plain data.
        run: async ``(arguments, context) -> ActionResult``.
        owner: who declared it, for collisions.
        effect: see :class:`Effect`.
        output_trust: see :class:`Trust`.
        tool_name: instead of the one derived from the name.

    Raises:
        DeclarationError: naming the action and the parameter.
    """
    data = clean(dict(definition))
    data = data["function"] if isinstance(data.get("function"), dict) else data
    name = data.get("name")
    if not isinstance(name, str) or not name.strip():
        raise DeclarationError(f"action of {owner or 'data'}: its definition has no name")
    schema, params = _schema_form(data, name) or _params_form(data, name)
    action = Action(
        name=name,
        description=_text(data, "description"),
        schema=schema,
        run=run,
        tool_name=checked_tool_name(name, tool_name),
        effect=effect_of(effect, name),
        output_trust=trust_of(output_trust, name),
        params=params,
        result_codes=tuple(_result_code(code, name) for code in data.get("result_codes") or ()),
        keywords=tuple(str(word) for word in data.get("keywords") or ()),
        category=_text(data, "category"),
        owner=owner,
    )
    checker_of(action)
    return action


def _schema_form(data: Mapping[str, Json], name: str) -> tuple[dict[str, Json], tuple[Param, ...]] | None:
    """Return schema and parameters of a definition with a JSON schema; None if it has none."""
    given = next((data[key] for key in _SCHEMA_KEYS if isinstance(data.get(key), dict)), None)
    if given is None:
        return None
    if given.get("type", "object") != "object":
        raise DeclarationError(f"action {name!r}: its schema is of type {given['type']!r}, not 'object'")
    schema = {"type": "object", "properties": {}, **{k: v for k, v in given.items() if k != "$schema"}}
    if not isinstance(schema["properties"], dict):
        raise DeclarationError(f"action {name!r}: 'properties' of its schema is not an object")
    required = schema.get("required") or ()
    params = tuple(
        Param(
            description=_text(part, "description"),
            format=_text(part, "format"),
            name=key,
            required=key in required,
            schema=part,
        )
        for key, part in schema["properties"].items()
        if isinstance(part, dict)
    )
    return schema, params


def _params_form(data: Mapping[str, Json], name: str) -> tuple[dict[str, Json], tuple[Param, ...]]:
    entries = data.get("params") or data.get("parameters") or ()
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise DeclarationError(f"action {name!r}: 'params' is not a list")
    params = tuple(_param(entry, name, number) for number, entry in enumerate(entries, 1))
    inputs = [param for param in params if param.direction != "output"]
    names = [param.name for param in inputs]
    twice = next((known for known in names if names.count(known) > 1), None)
    if twice is not None:
        raise DeclarationError(f"action {name!r}, parameter {twice!r}: is declared twice")
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {param.name: param.schema for param in inputs},
        "required": sorted(param.name for param in inputs if param.required),
        "additionalProperties": False,
    }
    return schema, params


def _param(entry: Json, action: str, number: int) -> Param:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise DeclarationError(f"action {action!r}, parameter {number}: has no name")
    name = entry["name"]
    direction, value_type = _direction(entry, f"action {action!r}, parameter {name!r}")
    schema = _value_schema(entry, value_type)
    description = _text(entry, "description")
    if entry.get("default") is not None:
        default = _default(schema, entry["default"])
        if _takes(schema, default):
            schema["default"] = default
        else:
            description = f"{description} (default: {str(entry['default'])[:60]})".strip()
    if description:
        schema["description"] = description
    return Param(
        description=description,
        role=_text(entry, "role"),
        format=_text(schema, "format"),
        name=name,
        direction=direction,
        required=entry.get("required") in {True, "true"},
        schema=schema,
    )


def _direction(entry: Mapping[str, Json], where: str) -> tuple[str, str]:
    """Return direction and type of the values; without ``value_type``, ``type`` may be either."""
    direction, value_type = _text(entry, "type").strip().lower(), _text(entry, "value_type").strip().lower()
    if direction in _DIRECTIONS:
        return direction, value_type
    if not direction or "value_type" not in entry:
        return "input", value_type or direction
    raise DeclarationError(f"{where}: no such direction {direction!r}{nearest(direction, _DIRECTIONS)}")


def _value_schema(entry: Mapping[str, Json], value_type: str) -> dict[str, Json]:
    """Return the schema of one parameter's values; an unknown type is a string."""
    kind, _, rest = value_type.partition("|")
    schema = dict(_TYPES.get(kind.strip(), {"type": "string"}))
    if rest.strip() == "null":
        schema["type"] = [*_listed(schema["type"]), "null"]
    if _text(entry, "format"):
        schema["format"] = _text(entry, "format")
    allowed = entry.get("allowed_values") or entry.get("enum")
    if allowed:
        schema["enum"] = [_default(schema, value) for value in allowed]
    return {"type": "array", "items": schema} if entry.get("is_array") else schema


def _default(schema: Mapping[str, Json], value: Json) -> Json:
    """Return a value that was given as text in the declared type, where that loses nothing.

    A scalar has no type of its own: there the text must be exactly how JSON writes the value.
    """
    if schema.get("type") != _SCALAR["type"]:
        return coerce(schema, value, schema)
    for kind in ("boolean", "number"):
        found = coerce({"type": kind}, value, schema)
        if found != value and canonical(found) == value:
            return found
    return value


def _takes(schema: Mapping[str, Json], value: Json) -> bool:
    kind, kinds = json_type(value), _listed(schema["type"])
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _listed(kind: Json) -> list[str]:
    return [kind] if isinstance(kind, str) else list(kind)


def _result_code(entry: Json, action: str) -> ResultCode:
    if isinstance(entry, str):
        return result_code(entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("code"), str) or not entry["code"]:
        raise DeclarationError(f"action {action!r}: a result code has no code")
    success = entry.get("success")
    return result_code(
        entry["code"],
        success=success if isinstance(success, bool) else None,
        description=_text(entry, "description"),
    )


def _text(data: Any, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
