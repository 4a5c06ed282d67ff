"""Type hints of action parameters: a JSON schema for the model and a loader for Python.

One walk over the hint gives both, so that what is declared and what is loaded cannot differ.
A loader gets a value that already passed the schema.
"""

from __future__ import annotations

import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from wakeful.tools.records import record_shape
from wakeful.tools.shapes import PLAIN, Place, Shape, annotate, json_type, nullable, types_of
from wakeful.types import Json

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
_NONE = (None, type(None))
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)

_ADVICE: tuple[tuple[type, str], ...] = (
    (timedelta, "use a number and say the unit in its name"),
    (PurePath, "use str and check the path in the action"),
    (bytes, "use str, or pass a reference to stored bytes"),
)


def shape_of(hint: Any, place: Place) -> Shape:
    """Return the shape of a resolved type hint.

    Args:
        hint: the hint, without forward references at its top.
        place: where it stands.

    Raises:
        DeclarationError: it cannot be expressed, naming the place and what to use instead.
    """
    origin = get_origin(hint)
    if origin is Annotated:
        return annotate(shape_of(get_args(hint)[0], place), hint.__metadata__)
    try:
        if hint in PLAIN:
            return PLAIN[hint]
    except TypeError as error:  # an unhashable hint, e.g. a list used as a type
        raise place.refuse(hint, "use a type") from error
    for alias in ("__supertype__", "__value__"):  # NewType, and ``type X = ...``
        if hasattr(hint, alias):
            return shape_of(getattr(hint, alias), place)
    return _generic(hint, origin or hint, place)


def _generic(hint: Any, base: Any, place: Place) -> Shape:
    args = get_args(hint)
    if base is Literal:
        return _literal(args, place)
    if base in {Union, types.UnionType}:
        return _union(hint, args, place)
    if base in _MAPPINGS:
        return _mapping(hint, args, place)
    if base in _LISTS:
        return _sequence(hint, base, args, place)
    return _class(hint, place)


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


def _union(hint: Any, args: tuple[Any, ...], place: Place) -> Shape:
    members = [arg for arg in args if arg not in _NONE]
    shapes = [shape_of(member, place) for member in members]
    if int in members and float in members:
        # JSON has one kind of number: 5 stays an int and 5.5 a float, whichever the model writes.
        shapes = [shape for shape, member in zip(shapes, members, strict=True) if member not in {int, float}]
        shapes.append(Shape({"type": "number"}))
    joined = shapes[0] if len(shapes) == 1 else _either(hint, shapes, place)
    return joined if len(members) == len(args) else nullable(joined)


def _either(hint: Any, shapes: list[Shape], place: Place) -> Shape:
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


def _element(hint: Any, place: Place) -> Shape:
    """Return the shape of what is inside a container, where any JSON value may be declared."""
    return Shape({}) if hint is Any or hint is object else shape_of(hint, place)


def _mapping(hint: Any, args: tuple[Any, ...], place: Place) -> Shape:
    key, item = args or (str, Any)
    if key is not str:
        raise place.refuse(hint, "keys of a JSON object are strings: use dict[str, ...]")
    inner = _element(item, place.at("[value]"))
    schema: dict[str, Json] = {"type": "object"}
    if inner.schema:
        schema["additionalProperties"] = inner.schema
    return Shape(schema, lambda value: {name: inner.load(part) for name, part in value.items()})


def _sequence(hint: Any, base: Any, args: tuple[Any, ...], place: Place) -> Shape:
    build = _LISTS[base]
    if base is tuple and args and args[-1] is not Ellipsis:
        return _fixed_tuple(hint, args, place)
    inner = _element(args[0] if args else Any, place.at("[]"))
    schema: dict[str, Json] = {"type": "array", "items": inner.schema}
    if base in _SETS:
        schema["uniqueItems"] = True
    return Shape(schema, lambda value: build([inner.load(part) for part in value]))


def _fixed_tuple(hint: Any, args: tuple[Any, ...], place: Place) -> Shape:
    parts = [_element(arg, place.at(f"[{index}]")) for index, arg in enumerate(args)]
    if any(part.schema != parts[0].schema for part in parts):
        raise place.refuse(hint, "its items differ; use a class with named fields")
    schema: dict[str, Json] = {
        "type": "array",
        "items": parts[0].schema,
        "minItems": len(parts),
        "maxItems": len(parts),
    }
    return Shape(schema, lambda value: tuple(p.load(v) for p, v in zip(parts, value, strict=True)))


def _class(hint: Any, place: Place) -> Shape:
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return _enum_class(hint, place)
        for kind, advice in _ADVICE:
            if issubclass(hint, kind):
                raise place.refuse(hint, advice)
        shape = record_shape(hint, place, shape_of)
        if shape is not None:
            return shape
    if hint is Any or hint is object:
        raise place.refuse("Any", "models send empty objects for it; use str, dict[str, Any] or a class")
    if isinstance(hint, typing.TypeVar):
        raise place.refuse(hint, "use a concrete type")
    raise place.refuse(hint, "use str, int, float, bool, a list, dict[str, ...], an Enum or an attrs class")


def _enum_class(hint: type[Enum], place: Place) -> Shape:
    known = {member.value: member for member in hint}
    if not known or not all(isinstance(value, str | int | float | bool) for value in known):
        raise place.refuse(hint, "its values must be strings, numbers or booleans")
    return _enum(known)
