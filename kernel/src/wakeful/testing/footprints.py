"""What an object holds, as text: to see whether one instance left a mark on another."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import Any

import attrs

#: How far references are followed; deeper structures belong to libraries.
DEPTH = 6


def footprint(plugin: object, package: str) -> str:
    """Return what a plugin's instance, its classes and its package's modules hold.

    Args:
        plugin: an instance.
        package: import name of the package whose modules are looked at.
    """
    parts = [_held(plugin, package, DEPTH, set())]
    for cls in type(plugin).__mro__[:-1]:
        parts += [f"class {cls.__qualname__}: {each}" for each in _containers(vars(cls), package)]
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and (name == package or name.startswith(f"{package}.")):
            parts += [f"module {name}: {each}" for each in _containers(vars(module), package)]
    return "\n".join(parts)


def _containers(names: Mapping[str, Any], package: str) -> list[str]:
    """Return the containers among the names of a class or module; functions and constants cannot change."""
    found = {
        key: value
        for key, value in names.items()
        if isinstance(value, list | dict | set | bytearray) and not key.startswith("__")
    }
    return [f"{key} = {_held(value, package, DEPTH, set())}" for key, value in sorted(found.items())]


def _held(value: Any, package: str, depth: int, seen: set[int]) -> str:
    if value is None or isinstance(value, str | bytes | int | float | bool | type):
        return repr(value)
    if depth == 0 or id(value) in seen:
        return "…"
    seen = {*seen, id(value)}
    if isinstance(value, Mapping):
        items = (
            f"{_held(k, package, depth - 1, seen)}: {_held(v, package, depth - 1, seen)}"
            for k, v in value.items()
        )
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple | AbstractSet | bytearray):
        inner = [_held(item, package, depth - 1, seen) for item in value]
        return f"[{', '.join(sorted(inner) if isinstance(value, AbstractSet) else inner)}]"
    if not _own(value, package):
        return type(value).__qualname__
    return f"{type(value).__qualname__}({_held(_fields(value), package, depth - 1, seen)})"


def _own(value: object, package: str) -> bool:
    """Whether the object is of a class of the package; libraries keep caches that are their own affair."""
    home = type(value).__module__
    return home == package or home.startswith(f"{package}.")


def _fields(value: object) -> dict[str, Any]:
    fields = dict(getattr(value, "__dict__", {}))
    cls: type[Any] = type(value)
    if attrs.has(cls):
        fields |= {field.name: getattr(value, field.name, None) for field in attrs.fields(cls)}
    return fields
