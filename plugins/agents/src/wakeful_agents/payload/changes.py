"""Changing a document: every change of a batch is applied, or none is.

* ``new`` puts a value where nothing is; ``list[+]`` appends.
* ``update`` changes what is there: an object takes the given names over and keeps the others.
* ``replace`` puts a value in the place of what is there.
* ``remove`` takes away what is there.

What counts for the rules is what really changes, however it is spelled: replacing an object by one that
differs in a single name needs the right to that name alone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from wakeful.types import Json, canonical, nearest
from wakeful_agents.payload.paths import (
    DEPTH,
    MISSING,
    Missing,
    Path,
    PathError,
    Rule,
    allowed,
    look,
    parse_path,
    spell,
)

#: What a change may be.
KINDS: Final = ("new", "update", "replace", "remove")


@frozen
class Change:
    """One requested change of a document."""

    kind: str
    path: Path
    value: Json = None

    @classmethod
    def parse(cls, raw: Mapping[str, Json]) -> Change:
        """Read a change: an object with ``op``, ``path`` and, unless it removes, ``value``.

        Raises:
            PathError: something is missing, unknown or cannot be read.
        """
        kind, path = raw.get("op"), raw.get("path")
        if kind not in KINDS:
            raise PathError(f"unknown op {kind!r}{nearest(str(kind), KINDS)}")
        if not isinstance(path, str):
            raise PathError(f"{kind}: expected a path as text, got {path!r}")
        if kind != "remove" and "value" not in raw:
            raise PathError(f"{kind} {path!r}: the value is missing")
        return cls(kind, parse_path(path), raw.get("value"))

    def __str__(self) -> str:
        """Return what it does, without the value."""
        return f"{self.kind} {spell(self.path) or 'the document'}"


@frozen
class Applied:
    """A document after a batch, or what was refused: then the document is the one from before.

    Args:
        document: as it is afterwards.
        refused: one line for each change that was refused.
        touched: the highest places whose value is a new one.
        moved: lists whose items stand in other places now.
    """

    document: Json
    refused: tuple[str, ...] = ()
    touched: tuple[Path, ...] = ()
    moved: tuple[Path, ...] = ()


def apply(document: Json, changes: Sequence[Change], rules: Sequence[Rule]) -> Applied:
    """Apply a batch in its order, or none of it.

    Args:
        document: what stands now; :data:`MISSING` for none. It is not changed.
        changes: what is wanted.
        rules: which places may be written.

    Returns:
        The new document with the places that were written, or one line for each change that was refused.
    """
    working = MISSING if document is MISSING else copy.deepcopy(document)
    refused: list[str] = []
    touched: list[Path] = []
    moved: list[Path] = []
    for change in changes:
        try:
            path = _placed(working, change.path)
            value = _value(working, change, path)
            places = list(_touched(working, change, path, value))
            _permit(change, rules, places)
            working = _written(working, path, value)
            touched += _highest([place for place, _ in places])
            if change.kind == "remove" and path and isinstance(path[-1], int):
                moved.append(path[:-1])
        except PathError as error:
            refused.append(f"{change}: {error}")
    if refused:
        return Applied(document, tuple(refused))
    return Applied(working, (), tuple(touched), tuple(moved))


def _highest(places: Sequence[Path]) -> list[Path]:
    """Return the places that stand below none of the others."""
    known = set(places)
    return [place for place in places if not any(place[:length] in known for length in range(len(place)))]


def _placed(document: Json, path: Path) -> Path:
    """Return the path with an append turned into the index that it means."""
    out: list[str | int] = []
    for part in path:
        if part != -1:
            out.append(part)
            continue
        at = look(document, tuple(out))
        if not isinstance(at, list):
            raise PathError(f"there is no list at {spell(out) or 'the top'} to append to")
        out.append(len(at))
    return tuple(out)


def _value(document: Json, change: Change, path: Path) -> Json:
    """Return what will stand at the place; MISSING if it is removed."""
    found = look(document, path)
    if change.kind == "new":
        if found is not MISSING:
            raise PathError("something is there already; use update or replace")
        return copy.deepcopy(change.value)
    if found is MISSING:
        raise PathError("nothing is there; use new")
    if change.kind == "remove":
        return MISSING
    if change.kind == "update":
        return _merged(found, change.value)
    return copy.deepcopy(change.value)


def _merged(old: Json, new: Json) -> Json:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key, MISSING), item) for key, item in new.items()}}
    return copy.deepcopy(new)


def _touched(document: Json, change: Change, path: Path, value: Json) -> Iterator[tuple[Path, str]]:
    """Yield each place that a change adds, updates or removes, with the operation."""
    if change.kind == "remove":
        # The items behind one that is removed move up; that is part of removing it.
        yield from _all(path, look(document, path), "remove")
    else:
        yield from _differences(path, look(document, path), value)


def _differences(path: Path, old: Json, new: Json) -> Iterator[tuple[Path, str]]:  # noqa: C901  (one case each)
    if isinstance(old, Missing):
        if not isinstance(new, Missing):
            yield from _all(path, new, "add")
    elif isinstance(new, Missing):
        yield from _all(path, old, "remove")
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from _differences((*path, key), old.get(key, MISSING), new.get(key, MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            one = old[index] if index < len(old) else MISSING
            other = new[index] if index < len(new) else MISSING
            yield from _differences((*path, index), one, other)
    elif canonical(old) != canonical(new):
        yield path, "update"
        for place, _ in (*_all(path, old, "remove"), *_all(path, new, "add")):
            if place != path:
                yield place, "update"


def _all(path: Path, value: Json, operation: str) -> Iterator[tuple[Path, str]]:
    """Yield a place and every place below it."""
    if len(path) > DEPTH:
        raise PathError(f"deeper than {DEPTH} levels")
    yield path, operation
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _all((*path, key), item, operation)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _all((*path, index), item, operation)


def _permit(change: Change, rules: Sequence[Rule], touched: Sequence[tuple[Path, str]]) -> None:
    for path, operation in touched:
        if not allowed(rules, path, operation):
            where = "" if path == change.path else f" (it would {operation} {spell(path) or 'the document'})"
            raise PathError(f"this agent may not {operation} that place{where}")


def _written(document: Json, path: Path, value: Json) -> Json:
    """Return the document with ``value`` at a place; the document may be changed on the way."""
    if not path:
        return value
    *above, last = path
    holder = look(document, tuple(above))
    if holder is MISSING and not above:
        holder = document = [] if isinstance(last, int) else {}
    if isinstance(last, int):
        if not isinstance(holder, list):
            raise PathError(f"there is no list at {spell(above) or 'the top'}")
        if last > len(holder):
            raise PathError(f"the list has {len(holder)} items; the next place is [{len(holder)}]")
        if value is MISSING:
            del holder[last]
        else:
            holder[last : last + 1] = [value]
        return document
    if not isinstance(holder, dict):
        raise PathError(f"there is no object at {spell(above) or 'the top'}")
    if value is MISSING:
        del holder[last]
    else:
        holder[last] = value
    return document


def put(document: Json, path: Path, value: Json) -> tuple[Json, Path]:
    """Return the document with a value at a place, and the place with an append as the index that it means.

    Objects on the way are made as they are needed.

    Raises:
        PathError: something else stands on the way.
    """
    after = {} if document is MISSING else copy.deepcopy(document)
    for length in range(1, len(path)):
        path = (*_placed(after, path[:length]), *path[length:])
        if isinstance(path[length], str) and look(after, path[:length]) is MISSING:
            after = _written(after, path[:length], {})
    path = _placed(after, path)
    return _written(after, path, copy.deepcopy(value)), path
