"""Shapes: a JSON schema together with the loader that makes Python of a value that fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from attrs import field, frozen

from wakeful.types import DeclarationError, Json, Param

#: How a decimal is written: a string, so that no digit is lost on the way.
DECIMAL_PATTERN = r"^-?[0-9]+(\.[0-9]+)?$"


def _same(value: Json) -> Json:
    return value


@frozen
class Shape:
    """What a hint means: the schema to declare and how a checked value becomes Python."""

    schema: dict[str, Json]
    load: Callable[[Json], Any] = _same


@frozen
class Place:
    """Where a hint stands, for messages, and the names its forward references may use."""

    where: str
    names: Mapping[str, Any] = field(factory=dict, repr=False)
    inside: tuple[Any, ...] = ()
    """The classes around the hint: one that comes again is recursive."""

    def at(self, step: str) -> Place:
        """Return the place one step further in."""
        return Place(f"{self.where}{step}", self.names, self.inside)

    def within(self, cls: Any) -> Place:
        """Return the place inside the class ``cls``; refuses one that contains itself."""
        if cls in self.inside:
            msg = f"{self.where}: {cls.__name__} contains itself, which cannot be declared; use a flat list"
            raise DeclarationError(msg)
        return Place(self.where, self.names, (*self.inside, cls))

    def refuse(self, hint: Any, advice: str) -> DeclarationError:
        """Return the error for a hint that JSON schema cannot express."""
        shown = getattr(hint, "__name__", None) if isinstance(hint, type) else None
        return DeclarationError(f"{self.where}: type {shown or hint} cannot be declared; {advice}")


#: Types that need no arguments.
PLAIN: dict[Any, Shape] = {
    str: Shape({"type": "string"}),
    int: Shape({"type": "integer"}),
    float: Shape({"type": "number"}, float),
    bool: Shape({"type": "boolean"}),
    None: Shape({"type": "null"}),
    type(None): Shape({"type": "null"}),
    datetime: Shape({"type": "string", "format": "date-time"}, datetime.fromisoformat),
    date: Shape({"type": "string", "format": "date"}, date.fromisoformat),
    time: Shape({"type": "string", "format": "time"}, time.fromisoformat),
    UUID: Shape({"type": "string", "format": "uuid"}, UUID),
    Decimal: Shape({"type": "string", "format": "decimal", "pattern": DECIMAL_PATTERN}, Decimal),
}


def annotate(shape: Shape, marks: tuple[Any, ...]) -> Shape:
    """Return ``shape`` with what ``Annotated`` says: a text, or a :class:`Param`."""
    schema = dict(shape.schema)
    for mark in marks:
        if isinstance(mark, str):
            schema["description"] = mark
        elif isinstance(mark, Param):
            schema.update(mark.schema or {})
            if mark.description:
                schema["description"] = mark.description
            if mark.format:
                schema["format"] = mark.format
    return Shape(schema, shape.load)


def nullable(shape: Shape) -> Shape:
    """Return ``shape`` with ``null`` allowed."""
    schema, load = dict(shape.schema), shape.load
    kind = schema.get("type")
    if kind is None:
        schema = {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
    else:
        schema["type"] = [*([kind] if isinstance(kind, str) else kind), "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    return Shape(schema, lambda value: None if value is None else load(value))


def json_type(value: Json) -> str:
    """Return the JSON-schema type of ``value``; whole floats count as integers, as JSON schema has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


def types_of(schema: Mapping[str, Json]) -> set[str]:
    """Return the JSON types that ``schema`` names; empty when it names none."""
    if "anyOf" in schema:
        return set().union(*(types_of(branch) for branch in schema["anyOf"]))
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)
