"""Classes with fields (attrs, dataclasses, TypedDict) as JSON objects with known properties."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_origin

import attrs

from wakeful.tools.docstrings import split_docstring
from wakeful.tools.shapes import Place, Shape
from wakeful.tools.values import Unserialisable, to_json
from wakeful.types import DeclarationError, Json

_UNSET: Any = object()


@attrs.frozen
class Member:
    """One field of a class: its JSON name, its keyword in the constructor, hint and default."""

    name: str
    keyword: str
    hint: Any
    required: bool
    default: Any = _UNSET
    description: str = ""


def record_shape(cls: type[Any], place: Place, shape_of: Callable[[Any, Place], Shape]) -> Shape | None:
    """Return the shape of a class with fields, or None when ``cls`` is not one.

    Args:
        cls: an attrs class, a dataclass or a TypedDict.
        place: where it is used, for messages.
        shape_of: how the hint of a field becomes a shape.

    Raises:
        DeclarationError: a field cannot be expressed, a hint cannot be resolved, or it is recursive.
    """
    if not (attrs.has(cls) or dataclasses.is_dataclass(cls) or _is_typed_dict(cls)):
        return None
    inner = place.within(cls)
    build: Callable[..., Any] = dict if _is_typed_dict(cls) else cls
    keywords: dict[str, str] = {}
    properties: dict[str, Json] = {}
    loaders: dict[str, Callable[[Json], Any]] = {}
    required: list[str] = []
    for member in _members(cls, inner):
        shape = shape_of(member.hint, inner.at(f".{member.name}"))
        properties[member.name] = _described(shape.schema, member)
        loaders[member.name], keywords[member.name] = shape.load, member.keyword
        if member.required:
            required.append(member.name)
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }

    def load(value: dict[str, Json]) -> Any:
        return build(**{keywords[name]: loaders[name](part) for name, part in value.items()})

    return Shape(schema, load)


def with_default(schema: dict[str, Json], default: Any) -> dict[str, Json]:
    """Return ``schema`` with its default, when JSON can express that."""
    try:
        shown = to_json(default)
    except Unserialisable:
        return schema
    return {**schema, "default": shown}


def _described(schema: dict[str, Json], member: Member) -> dict[str, Json]:
    shown = dict(schema)
    if member.description:
        shown.setdefault("description", member.description)
    return shown if member.default is _UNSET else with_default(shown, member.default)


def _members(cls: type[Any], place: Place) -> Iterator[Member]:
    hints = _hints(cls, place)
    _, texts = split_docstring(cls.__doc__)
    if _is_typed_dict(cls):
        for name, hint in hints.items():
            inner, required = _unwrap(hint, required=name in cls.__required_keys__)
            yield Member(name, name, inner, required, description=texts.get(name, ""))
    elif attrs.has(cls):
        for item in attrs.fields(cls):
            if item.init:
                yield _attrs_member(item, hints.get(item.name, Any), texts.get(item.name, ""))
    else:
        for part in dataclasses.fields(cls):
            if part.init:
                yield _dataclass_member(part, hints[part.name], texts.get(part.name, ""))


def _attrs_member(item: attrs.Attribute[Any], hint: Any, text: str) -> Member:
    name = item.alias or item.name
    required = item.default is attrs.NOTHING
    plain = not required and not isinstance(item.default, attrs.Factory)  # type: ignore[arg-type]  # attrs types it as a function
    text = str(item.metadata.get("description", text))
    return Member(name, name, hint, required, item.default if plain else _UNSET, text)


def _dataclass_member(item: dataclasses.Field[Any], hint: Any, text: str) -> Member:
    plain = item.default is not dataclasses.MISSING
    required = not plain and item.default_factory is dataclasses.MISSING
    text = str(item.metadata.get("description", text))
    return Member(item.name, item.name, hint, required, item.default if plain else _UNSET, text)


def _hints(cls: type[Any], place: Place) -> dict[str, Any]:
    try:
        module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        return typing.get_type_hints(cls, localns={**place.names, **module}, include_extras=True)
    except (NameError, AttributeError) as error:
        msg = f"{place.where}: {cls.__name__} has an unresolved type ({error}); import it at run time"
        raise DeclarationError(msg) from error


def _unwrap(hint: Any, *, required: bool) -> tuple[Any, bool]:
    """Strip ``Required`` and ``NotRequired``, which strings hide from ``__required_keys__`` before 3.14."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, required = _unwrap(get_args(hint)[0], required=required)
        return Annotated[(inner, *hint.__metadata__)], required
    if origin is typing.Required:
        return get_args(hint)[0], True
    if origin is typing.NotRequired:
        return get_args(hint)[0], False
    return hint, required


def _is_typed_dict(cls: type[Any]) -> bool:
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__required_keys__")
