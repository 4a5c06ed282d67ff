"""Comparing the type hints of a hook implementation with those of the hook."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from attrs import frozen


@frozen
class Hint:
    """A resolved type hint. Wrapped, because ``None`` is a hint too."""

    value: Any


def hint_of(function: Callable[..., Any], name: str) -> Hint | None:
    """Return the hint of one parameter (or ``return``), or None if there is none or it does not resolve.

    Each hint is resolved on its own, so that one that cannot be does not hide the others.
    """
    plain = inspect.unwrap(function)
    try:
        annotation = plain.__annotations__[name]
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        hints = get_type_hints(holder, globalns=getattr(plain, "__globals__", {}))
    except Exception:  # noqa: BLE001  (evaluating an annotation can raise anything; it is then not judged)
        return None
    return Hint(hints[name])


def hint_text(hint: Hint) -> str:
    """Return a hint as it would be written, with full module names."""
    return inspect.formatannotation(hint.value)


def fits(value: Any, target: Any) -> bool:
    """Return whether something hinted as ``value`` may be used where ``target`` is expected.

    Kind on doubt: only a clear contradiction is False.
    """
    if value == target or _open(value) or _open(target):
        return True
    if _is_union(value):
        return all(fits(part, target) for part in get_args(value))
    if _is_union(target):
        return any(fits(value, part) for part in get_args(target))
    value_class, target_class = _class_of(value), _class_of(target)
    if not isinstance(value_class, type) or not isinstance(target_class, type):
        return True
    if target_class is Sequence and issubclass(value_class, Iterable):
        # A generator, set aside as a list by the facade, is as good as a sequence.
        if issubclass(value_class, str | bytes | Mapping):
            return False
    elif _is_protocol(target_class):
        return all(hasattr(value_class, name) for name in methods(target_class))
    elif not issubclass(value_class, target_class):
        return False
    inner, wanted = get_args(value)[:1], get_args(target)[:1]
    return not inner or not wanted or fits(inner[0], wanted[0])


def methods(protocol: type) -> tuple[str, ...]:
    """Return the public methods of a protocol, in order."""
    return tuple(name for name, each in vars(protocol).items() if not name.startswith("_") and callable(each))


def members(protocol: type) -> tuple[str, ...]:
    """Return the public attributes and methods of a protocol, in order."""
    fields = [name for name in inspect.get_annotations(protocol) if not name.startswith("_")]
    return (*fields, *methods(protocol))


def _open(hint: Any) -> bool:
    return hint is Any or hint is object or isinstance(hint, TypeVar)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in {Union, types.UnionType}


def _class_of(hint: Any) -> Any:
    return get_origin(hint) or hint


def _is_protocol(cls: type) -> bool:
    return Protocol in cls.__bases__
