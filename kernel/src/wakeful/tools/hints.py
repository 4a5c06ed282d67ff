"""Type hints of action parameters: a JSON schema for the model and a loader for Python.

One walk over the hint gives both, so that what is declared and what is loaded cannot differ.
A loader gets a value that already passed the schema.
"""

from __future__ import annotations

import collections.abc as abc
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin
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

    def within(self, cls: Any) -> Place:  # noqa: ANN401  (any class)
        """Return the place inside the class ``cls``; refuses one that contains itself."""
        if cls in self.inside:
            msg = f"{self.where}: {cls.__name__} contains itself, which a tool schema cannot say; use a flat list"
            raise DeclarationError(msg)
        return Place(self.where, self.names, (*self.inside, cls))

    def refuse(self, hint: Any, advice: str) -> DeclarationError:  # noqa: ANN401  (any hint)
        """Return the error for a hint that JSON schema cannot express."""
        shown = getattr(hint, "__name__", None) if isinstance(hint, type) else None
        return DeclarationError(f"{self.where}: type {shown or hint} cannot be declared; {advice}")


_PLAIN: dict[Any, Shape] = {
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

_LISTS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Collection: list,
    abc.Iterable: list,
    tuple: tuple,
    set: set,
    abc.Set: set,
    abc.MutableSet: set,
    frozenset: frozenset,
}
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)

_ADVICE: tuple[tuple[type, str], ...] = (
    (timedelta, "use a number and say the unit in its name"),
    (PurePath, "use str and check the path in the action"),
    (bytes, "use str, or pass a reference to stored bytes"),
)


def shape_of(hint: Any, place: Place) -> Shape:  # noqa: ANN401  (any hint)
    """Return the shape of a resolved type hint.

    Args:
        hint: the hint, without forward references at its top.
        place: where it stands.

    Raises:
        DeclarationError: it cannot be expressed, naming the place and what to use instead.
    """
    try:
        if hint in _PLAIN:
            return _PLAIN[hint]
    except TypeError as error:  # an unhashable hint, e.g. a list used as a type
        raise place.refuse(hint, "use a type") from error
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return annotate(shape_of(args[0], place), hint.__metadata__)
    if hasattr(hint, "__supertype__"):
        return shape_of(hint.__supertype__, place)
    if hasattr(hint, "__value__"):
        return shape_of(hint.__value__, place)
    if origin is Literal:
        return _literal(args, place)
    if origin in {Union, types.UnionType}:
        return _union(hint, args, place)
    base = origin or hint
    if base in _MAPPINGS:
        return _mapping(hint, args, place)
    if base in _LISTS:
        return _sequence(base, args, place)
    return _class(hint, place)


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
    return "array" if isinstance(value, list) else "object"


def types_of(schema: Mapping[str, Json]) -> set[str]:
    """Return the JSON types that ``schema`` names; empty when it names none."""
    if "anyOf" in schema:
        return set().union(*(types_of(branch) for branch in schema["anyOf"]))
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def _literal(values: tuple[Any, ...], place: Place) -> Shape:
    known: dict[Any, Any] = {}
    for value in values:
        if isinstance(value, Enum):
            known[value.value] = value
        elif value is None or isinstance(value, str | int | bool):
            known[value] = value
        else:
            raise place.refuse(f"Literal[{value!r}]", "use strings, numbers or booleans")
    return _enum(known)


def _enum(known: Mapping[Any, Any]) -> Shape:
    """Return the shape of a closed set: JSON value to Python value, in declared order."""
    kinds = sorted({json_type(value) for value in known})
    schema: dict[str, Json] = {"enum": list(known), "type": kinds[0] if len(kinds) == 1 else kinds}
    return Shape(schema, lambda value: known[value])


def _union(hint: Any, args: tuple[Any, ...], place: Place) -> Shape:  # noqa: ANN401  (any hint)
    members = [arg for arg in args if arg not in {None, type(None)}]
    if int in members and float in members:
        # JSON has one kind of number: 5 stays an int and 5.5 a float, whichever the model writes.
        members.remove(int)
        shapes = [
            _PLAIN[float] if m is not float else Shape({"type": "number"}) for m in members if m is float
        ]
        shapes += [shape_of(member, place) for member in members if member is not float]
    else:
        shapes = [shape_of(member, place) for member in members]
    joined = shapes[0] if len(shapes) == 1 else _either(hint, shapes, place)
    return nullable(joined) if len(members) < len(args) and _has_none(args) else joined


def _has_none(args: tuple[Any, ...]) -> bool:
    return any(arg in {None, type(None)} for arg in args)


def _either(hint: Any, shapes: list[Shape], place: Place) -> Shape:  # noqa: ANN401  (any hint)
    by_type: dict[str, Shape] = {}
    for shape in shapes:
        kinds = types_of(shape.schema)
        taken = kinds | ({"integer"} if "number" in kinds else set())
        if not kinds or taken & by_type.keys():
            raise place.refuse(hint, "a model could not tell its members apart; use one of them")
        by_type.update(dict.fromkeys(taken, shape))
    simple = all(set(shape.schema) == {"type"} and isinstance(shape.schema["type"], str) for shape in shapes)
    if simple:
        schema: dict[str, Json] = {"type": sorted(shape.schema["type"] for shape in shapes)}
    else:
        schema = {"anyOf": [shape.schema for shape in shapes]}
    return Shape(schema, lambda value: by_type[json_type(value)].load(value))


def _element(hint: Any, place: Place) -> Shape:  # noqa: ANN401  (any hint)
    """Return the shape of what is inside a container, where any JSON value may be declared."""
    return Shape({}) if hint in {Any, object} else shape_of(hint, place)


def _mapping(hint: Any, args: tuple[Any, ...], place: Place) -> Shape:  # noqa: ANN401  (any hint)
    key, item = args or (str, Any)
    if key is not str:
        raise place.refuse(hint, "keys of a JSON object are strings: use dict[str, ...]")
    inner = _element(item, place.at("[value]"))
    schema: dict[str, Json] = {"type": "object"}
    if inner.schema:
        schema["additionalProperties"] = inner.schema
    return Shape(schema, lambda value: {name: inner.load(part) for name, part in value.items()})


def _sequence(base: Any, args: tuple[Any, ...], place: Place) -> Shape:  # noqa: ANN401  (any hint)
    build = _LISTS[base]
    if base is tuple and args and args[-1] is not Ellipsis:
        return _fixed_tuple(args, place)
    inner = _element(args[0] if args else Any, place.at("[]"))
    schema: dict[str, Json] = {"type": "array", "items": inner.schema}
    if base in _SETS:
        schema["uniqueItems"] = True
    return Shape(schema, lambda value: build([inner.load(part) for part in value]))


def _fixed_tuple(args: tuple[Any, ...], place: Place) -> Shape:
    parts = [_element(arg, place.at(f"[{index}]")) for index, arg in enumerate(args)]
    if any(part.schema != parts[0].schema for part in parts):
        raise place.refuse(tuple[args], "its items differ; use a class with named fields")
    schema: dict[str, Json] = {
        "type": "array",
        "items": parts[0].schema,
        "minItems": len(parts),
        "maxItems": len(parts),
    }
    return Shape(schema, lambda value: tuple(p.load(v) for p, v in zip(parts, value, strict=True)))


def _class(hint: Any, place: Place) -> Shape:  # noqa: ANN401  (any hint)
    from wakeful.tools.records import record_shape

    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return _enum_class(hint, place)
        for kind, advice in _ADVICE:
            if issubclass(hint, kind):
                raise place.refuse(hint, advice)
        shape = record_shape(hint, place)
        if shape is not None:
            return shape
    if hint in {Any, object}:
        raise place.refuse("Any", "models send empty objects for it; use str, dict[str, Any] or a class")
    if isinstance(hint, typing.TypeVar):
        raise place.refuse(hint, "use a concrete type")
    raise place.refuse(hint, "use str, int, float, bool, a list, dict[str, ...], an Enum or an attrs class")


def _enum_class(hint: type[Enum], place: Place) -> Shape:
    known = {member.value: member for member in hint}
    if not known or not all(isinstance(value, str | int | float | bool) for value in known):
        raise place.refuse(hint, "its values must be strings, numbers or booleans")
    return _enum(known)
