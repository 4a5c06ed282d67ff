"""Checks of what hook implementations return, so that a wrong answer names its plugin at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from wakeful.plugins.hints import members
from wakeful.types import (
    Action,
    AgentType,
    BackgroundService,
    Fragment,
    Judgement,
    Lineage,
    Middleware,
    Phase,
    Provider,
    Reference,
    Relief,
    Section,
    Stage,
    Trust,
    Verdict,
)

_T = TypeVar("_T")

#: Characters of a value that an error shows; enough to recognise it.
SHOWN = 40

#: Attributes whose type matters for merging: sorting and joining would fail far from the plugin.
_FIELDS: dict[type, dict[str, type]] = {
    Section: {"name": str, "order": int, "text": str},
    Fragment: {"name": str, "order": int, "text": str, "trust": Trust},
    Stage: {"phase": Phase, "name": str},
    Middleware: {"order": int, "name": str},
    Relief: {"name": str, "order": int, "share": float, "until": float, "between_runs": bool},
    Provider: {"name": str},
    AgentType: {"name": str},
    Reference: {"name": str},
    BackgroundService: {"name": str},
    Lineage: {"owner": str, "locations": tuple, "depends_on": tuple},
    Judgement: {"verdict": Verdict, "reason": str, "code": str, "fallback": bool},
}
#: Values with a class of their own; everything else is a protocol, and any object with its members will do.
_VALUES = (Action, Fragment, Judgement, Lineage, Section, str)


def many(answer: object, wanted: type[_T]) -> tuple[_T, ...]:
    """Return the items of an answer; None means none, a generator is run to its end.

    Raises:
        TypeError: not a sequence, or an item that is not a ``wanted``; says what was got.
    """
    if answer is None:
        return ()
    expected = f"expected a sequence of {wanted.__name__}"
    # A set has no defined order, a mapping would lose its values, and a string is never meant.
    if isinstance(answer, str | bytes | Mapping | AbstractSet) or not isinstance(answer, Iterable):
        discard(answer)
        raise TypeError(f"{expected}, got {shown(answer)}")
    items = tuple(answer)
    for index, item in enumerate(items):
        try:
            one(item, wanted)
        except TypeError as error:
            msg = f"{expected}, but item {index}: {error}"
            raise TypeError(msg) from None
    return items


def one(answer: Any, wanted: type[_T]) -> _T:
    """Return ``answer`` if it is a ``wanted``: of that class, or with the members of that protocol.

    Raises:
        TypeError: says what was expected and what was got.
    """
    what = wanted.__name__
    if isinstance(answer, type):
        raise TypeError(f"expected a {what}, got the class {answer.__qualname__}; return an instance")
    if wanted in _VALUES:
        if not isinstance(answer, wanted):
            discard(answer)
            raise TypeError(f"expected a {what}, got {shown(answer)}")
    else:
        missing = [name for name in members(wanted) if not hasattr(answer, name)]
        if missing:
            discard(answer)
            raise TypeError(f"expected a {what}, got {shown(answer)}, which lacks {', '.join(missing)}")
    for name, kind in _FIELDS.get(wanted, {}).items():
        value = getattr(answer, name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{what}.{name}: expected {kind.__name__}, got {shown(value)}")
    checked: _T = answer
    return checked


def shown(value: object) -> str:
    """Return a short description of a value for an error: its type, and itself where it is small."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str | int | float):
        text = repr(value)
        return f"the {type(value).__name__} {text if len(text) <= SHOWN else text[:SHOWN] + '…'}"
    if inspect.iscoroutine(value):
        return "a coroutine"
    if isinstance(value, Sequence | AbstractSet | Mapping):
        return f"a {type(value).__name__}"
    return f"an object of type {type(value).__qualname__}"


def discard(value: object) -> None:
    """Close a coroutine that will not be awaited, so that Python does not complain about it later."""
    if inspect.iscoroutine(value):
        value.close()
