"""Paths that lead to nothing: how far they lead, and what is there instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from wakeful.types import ActionError, InvalidParam, Json, near
from wakeful_spillover.paths import Check, compiled_path, roots
from wakeful_spillover.relation import listed

#: Values at which names are collected, and names: enough for an error, whatever the size of the artifact.
_VALUES, _NAMES = 1_000, 1_000


def missing(
    path: str, values: Sequence[Json], check: Check, *, where: str = "path", at: str = "$"
) -> ActionError | None:
    """Return the error for a path with a name or a place in it that is nowhere; else None.

    A slice or ``*`` may well find nothing, and so may a filter, unless it compares what no element has.

    Args:
        path: a path that leads to nothing in any of the values.
        values: where it was looked for.
        check: called often; raises when time is over.
        where: the argument, for the message.
        at: how the message spells the place of the values.

    Raises:
        ActionError: what ``check`` raises.
    """
    written = f"{at}{path[1:]}" if path.startswith("$") else path
    return _Path(written, where).followed(compiled_path(path, check, where), values, at)


@frozen
class _Path:
    """A path as a message spells it, and the argument that it was."""

    path: str
    where: str

    def followed(self, query: Any, values: Sequence[Json], at: str) -> ActionError | None:
        """Go along a query, as far as it leads, and say what is missing there."""
        nodes = list(roots(values))
        for segment in query.segments:
            further = list(segment.resolve(nodes))
            if not further:
                there = [node.value for node in nodes[:_VALUES] if node.value is not None]
                return self._ended(segment, there, at) if there else None
            nodes, at = further, f"{at}{segment}"
        return None

    def _ended(self, segment: Any, there: list[Any], at: str) -> ActionError | None:
        deep = str(segment).startswith("..")
        for selector in segment.selectors:
            name, place = getattr(selector, "name", None), getattr(selector, "index", None)
            if name is not None:
                return self._no_name(name, there, at, deep=deep)
            if place is not None:
                return self._no_place(there, at)
            for compared in _compared(getattr(selector, "expression", None)):
                error = self.followed(compared, _children(there), f"{at}[*]")
                if error is not None:
                    return error
        return None

    def _no_name(self, name: str, there: list[Any], at: str, *, deep: bool) -> ActionError:
        names = list(_names(there, deep=deep))
        what = f"{name!r} is nowhere below {at}" if deep else f"{at} has no {name!r}"
        advice = f"There are: {listed(names)}." if names else ""
        if not deep and all(isinstance(value, list) for value in there):
            what = f"{at} is an array"
            advice = f"A path to its elements goes on with [*] or a number, from [0]. {advice}".rstrip()
        elif not names:
            what += ", nor anything else"
        return self._error(what, advice, near(name, names))

    def _no_place(self, there: list[Any], at: str) -> ActionError:
        longest = max((len(value) for value in there if isinstance(value, list)), default=None)
        if longest is not None:
            return self._error(f"{at} has {longest:,} element{'' if longest == 1 else 's'}, from [0]")
        names = list(_names(there, deep=False))
        return self._error(f"{at} is no array", f"There are: {listed(names)}." if names else "")

    def _error(self, what: str, advice: str = "", suggested: Sequence[str] = ()) -> ActionError:
        what = f"nothing is at {self.path}: {what}"
        invalid = [InvalidParam(self.where, what)]
        return ActionError("NOTHING_THERE", what, suggestion=advice, suggested=suggested, invalid=invalid)


def _compared(part: Any, *, inside: bool = False) -> Iterator[Any]:
    """Yield the queries in a filter whose values are compared or given to a function."""
    if hasattr(part, "query"):
        if inside and str(part).startswith("@"):
            yield part.query
        return
    inside = (
        inside or hasattr(part, "args") or getattr(part, "operator", "") in {"==", "!=", "<", ">", "<=", ">="}
    )
    for name in ("expression", "left", "right"):
        if hasattr(part, name):
            yield from _compared(getattr(part, name), inside=inside)
    for each in getattr(part, "args", ()):
        yield from _compared(each, inside=True)


def _children(values: Iterable[Any]) -> list[Json]:
    """Return what a filter looks at in values."""
    found: list[Json] = []
    for value in values:
        inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        found += list(inside)[:_VALUES]
    return found


def _names(values: Iterable[Json], *, deep: bool) -> Iterator[str]:
    """Yield the names at values, and in the elements of arrays; with ``deep`` all that are below."""
    seen: dict[str, None] = {}
    waiting = list(values)
    for looked, value in enumerate(waiting):
        if looked > _VALUES or len(seen) > _NAMES:
            break
        if isinstance(value, Mapping):
            seen |= dict.fromkeys(value)
            waiting += value.values() if deep else ()
        elif isinstance(value, list):
            waiting += [each for each in value[:_VALUES] if deep or isinstance(each, Mapping)]
    return iter(seen)
