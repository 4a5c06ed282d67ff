"""Schemas as given by others: references followed, objects closed, parts looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wakeful.types import Json

#: Keywords that add to what an object may hold, in the object itself.
_COMPOSED = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else", "$ref", "$dynamicRef", "dependentSchemas", "patternProperties")
#: References followed in a row before one is taken to lead in a circle.
_HOPS = 16


def resolve(schema: Any, root: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the schema behind local ``$ref``s; what cannot be followed is an empty schema."""
    for _ in range(_HOPS):
        if not isinstance(schema, Mapping):
            return {}
        target = schema.get("$ref")
        if not isinstance(target, str):
            return schema
        schema = _lookup(target, root)
    return {}


def _lookup(pointer: str, root: Mapping[str, Json]) -> Any:
    found: Any = root if pointer.startswith("#") else None
    for part in pointer.lstrip("#").split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found


def closed(schema: Mapping[str, Json], *, root: bool = False) -> dict[str, Json]:
    """Return ``schema`` with every object that names its properties closed to unknown ones.

    An object that says ``additionalProperties`` itself stays as it is, and so does one that is put
    together from several schemas, where closing one part would refuse the others' properties; only
    the root is then closed over all its parts.
    """
    shut = _inside(schema)
    composed = any(key in shut for key in (*_COMPOSED, *_CONDITIONAL))
    if "additionalProperties" in shut or "unevaluatedProperties" in shut:
        return shut
    if composed and root:
        shut["unevaluatedProperties"] = False
    elif not composed and (root or "properties" in shut):
        shut["additionalProperties"] = False
        shut.setdefault("properties", {})
    return shut


def _inside(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Close what ``schema`` says about the values inside, not ``schema`` itself."""
    shut = dict(schema)
    for key in ("properties", "patternProperties", "$defs", "definitions"):
        if isinstance(shut.get(key), Mapping):
            shut[key] = {name: _part(part, closed) for name, part in shut[key].items()}
    for key in ("items", "additionalProperties"):
        shut.update({key: _part(shut[key], closed)} if key in shut else {})
    for key in ("prefixItems", *_COMPOSED):
        # A branch beside properties, and any part of allOf, is one part of an object.
        whole = key == "prefixItems" or (key != "allOf" and "properties" not in shut)
        if isinstance(shut.get(key), list):
            shut[key] = [_part(part, closed if whole else _inside) for part in shut[key]]
    return shut


def _part(schema: Any, close: Callable[[Mapping[str, Json]], dict[str, Json]]) -> Any:
    return close(schema) if isinstance(schema, Mapping) else schema  # true and false are schemas too


def known_properties(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return the properties that an object schema names, those of its parts included."""
    return _collect(schema, schema, 0)


def _collect(schema: Any, root: Mapping[str, Json], depth: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if depth > _HOPS:
        return found
    here = resolve(schema, root)
    for key in (*_COMPOSED, "then", "else"):
        parts = here.get(key, [])
        for part in parts if isinstance(parts, list) else [parts]:
            found.update(_collect(part, root, depth + 1))
    found.update(here.get("properties") or {})
    return found


def schema_at(schema: Mapping[str, Json], path: list[Any]) -> Mapping[str, Json]:
    """Return the part of ``schema`` that describes the value at ``path``, empty when unknown."""
    here = resolve(schema, schema)
    for step in path:
        part: Any = None
        if isinstance(step, int):
            part = here.get("items")
        else:
            part = _collect(here, schema, 0).get(step, here.get("additionalProperties"))
        here = resolve(part, schema)
    return here
