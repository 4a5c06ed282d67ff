"""Coercion that loses nothing: only the spelling of a value changes, never what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from wakeful.tools.decode import Refused, Written, parse, plain
from wakeful.tools.schemas import known_properties, resolve
from wakeful.tools.shapes import json_type
from wakeful.types import Json

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.0+)?")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_WORDS = {"true": True, "false": False, "True": True, "False": False}
#: Largest exponent for which a float is written out as an integer.
_WHOLE_FLOAT = 1e100
#: Digits of a decimal that are written out.
_DIGITS = 100
_NUMBERS = ("integer", "number")
_MISS: Any = object()


def coerce(schema: Any, value: Json, root: Mapping[str, Json]) -> Json:
    """Return ``value`` in the type that ``schema`` declares, where that loses nothing.

    Args:
        schema: the schema of this value; ``true`` and unknown forms leave it alone.
        value: JSON.
        root: the schema in which references are looked up.
    """
    here = resolve(schema, root)
    for part in here.get("allOf", ()):
        value = coerce(part, value, root)
    branches = here.get("anyOf") or here.get("oneOf")
    if branches:
        value = _branch(branches, value, root)
    kinds = _kinds(here)
    if kinds and not _fits(value, kinds):
        found = [new for kind in kinds if (new := _convert(kind, value, here)) is not _MISS]
        value = found[0] if len(found) == 1 else value
    if "integer" in kinds and isinstance(value, float) and abs(value) < _WHOLE_FLOAT:
        value = _whole(value)
    return _inside(here, value, root)


def _kinds(schema: Mapping[str, Json]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _fits(value: Json, kinds: list[str]) -> bool:
    kind = json_type(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _branch(branches: list[Any], value: Json, root: Mapping[str, Json]) -> Json:
    """Coerce into the one branch that takes this type; else into the one that can have it."""
    taking = [branch for branch in branches if _fits(value, _kinds(resolve(branch, root)))]
    if taking:
        return coerce(taking[0], value, root) if len(taking) == 1 else value
    found = []
    for branch in branches:
        new = coerce(branch, value, root)
        if _fits(new, _kinds(resolve(branch, root))):
            found.append(new)
    return found[0] if len(found) == 1 else value


def _convert(kind: str, value: Json, schema: Mapping[str, Json]) -> Json:
    if isinstance(value, str):
        return _from_text(kind, value)
    if kind == "string" and schema.get("format") == "decimal" and json_type(value) in _NUMBERS:
        return _digits(value)
    return _MISS


def _from_text(kind: str, text: str) -> Json:
    if kind == "integer" and _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    if kind == "number" and len(text) <= 64 and _DECIMAL.fullmatch(text):  # noqa: PLR2004  (as many digits as decode() compares)
        return _exact_number(text)
    if kind == "boolean":
        return _WORDS.get(text, _MISS)
    if kind == "null" and text == "null":
        return None
    if kind in {"object", "array"} and text.lstrip()[:1] == ("{" if kind == "object" else "["):
        try:
            return parse(text)
        except Refused:
            return _MISS
    return _MISS


def _exact_number(text: str) -> Json:
    if _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    value = float(text)
    return value if Decimal(text) == Decimal(repr(value)) else _MISS


def _whole(value: float) -> Json:
    text = value.text if isinstance(value, Written) else repr(value)
    exact = Decimal(text)
    if exact == exact.to_integral_value():
        return int(exact)
    # The float may be whole although what was written is not: as text it is refused as it stands.
    return text if value.is_integer() else value


def _digits(value: float) -> Json:
    exact = Decimal(value.text if isinstance(value, Written) else repr(value))
    return format(exact, "f") if abs(exact.adjusted()) < _DIGITS else _MISS


def _inside(schema: Mapping[str, Json], value: Json, root: Mapping[str, Json]) -> Json:
    if isinstance(value, Mapping):
        known, other = known_properties_of(schema, root), schema.get("additionalProperties")
        return {name: coerce(known.get(name, other), item, root) for name, item in value.items()}
    if isinstance(value, list | tuple):
        first, rest = schema.get("prefixItems", []), schema.get("items")
        return [
            coerce(first[index] if index < len(first) else rest, item, root)
            for index, item in enumerate(value)
        ]
    return plain(value)


def known_properties_of(schema: Mapping[str, Json], root: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the properties of an object schema that is a part of ``root``."""
    found: Mapping[str, Json] = schema.get("properties") or {}
    return found if schema is not root else known_properties(root)
