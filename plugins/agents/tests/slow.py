"""The rules and changes of documents once more, as slow and plain as possible, to compare with."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence

from wakeful.types import Json, canonical

Place = tuple[str | int, ...]
NOTHING = object()


def everything(document: Json, at: Place = ()) -> dict[Place, Json]:
    """Return every place of a document with what stands there."""
    found: dict[Place, Json] = {at: document}
    if isinstance(document, dict):
        for key in document:
            found |= everything(document[key], (*at, key))
    if isinstance(document, list):
        for index in range(len(document)):
            found |= everything(document[index], (*at, index))
    return found


def spelled(pattern: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Yield the pattern with each ``**`` written as so many ``*``, up to a length."""
    deep = pattern.count("**")
    for counts in itertools.product(range(length + 1), repeat=deep):
        left = list(counts)
        out: list[str] = []
        for part in pattern:
            out += ["*"] * left.pop(0) if part == "**" else [part]
        if len(out) <= length:
            yield tuple(out)


def names(part: str, wanted: str | int) -> bool:
    hidden = isinstance(wanted, str) and wanted.startswith("_")
    if part == "*":
        return not hidden
    if part == "[*]":
        return isinstance(wanted, int)
    if part.startswith("["):
        return wanted == int(part[1:-1]) and isinstance(wanted, int)
    return part == wanted


def covers(pattern: Sequence[str], place: Place) -> bool:
    """Whether a pattern names a place or one above it, with no hidden name below what it names."""
    for concrete in spelled(pattern, len(place)):
        head, below = place[: len(concrete)], place[len(concrete) :]
        if all(names(*pair) for pair in zip(concrete, head, strict=True)) and not any(
            isinstance(part, str) and part.startswith("_") for part in below
        ):
            return True
    return False


def change(document: Json, kind: str, place: Place, value: Json) -> Json:
    """Return the document after one change, or NOTHING if it cannot be made."""
    old = everything(document).get(place, NOTHING)
    if (old is NOTHING) != (kind == "new"):
        return NOTHING
    if kind == "update":
        value = merge(old, value)
    if not place:
        return NOTHING if kind == "remove" else value
    after = copy.deepcopy(document)
    holder = everything(after).get(place[:-1], NOTHING)
    last = place[-1]
    if isinstance(last, int):
        if not isinstance(holder, list) or last > len(holder):
            return NOTHING
        after_list = holder[:last] + ([] if kind == "remove" else [value]) + holder[last + 1 :]
        holder[:] = after_list
        return after
    if not isinstance(holder, dict):
        return NOTHING
    if kind == "remove":
        del holder[last]
    else:
        holder[last] = value
    return after


def merge(old: Json, new: Json) -> Json:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {
        key: merge(old[key], new[key]) if key in old and key in new else {**old, **new}[key]
        for key in {**old, **new}
    }


def touched(before: Json, after: Json, kind: str, place: Place) -> set[tuple[Place, str]]:
    """Return what a change adds, updates and removes."""
    old, new = everything(before), everything(after)
    if kind == "remove":
        return {(each, "remove") for each in old if each[: len(place)] == place}
    found: set[tuple[Place, str]] = set()
    for each in {*old, *new}:
        if each[: len(place)] != place:
            continue
        if each not in old or each not in new:
            above = next((up for up in ups(each) if up in old and up in new), ())
            swapped = kinds(old[above]) != kinds(new[above])
            found.add((each, "update" if swapped else "add" if each in new else "remove"))
        elif kinds(old[each]) != kinds(new[each]) or (
            kinds(old[each]) == "leaf" and canonical(old[each]) != canonical(new[each])
        ):
            found.add((each, "update"))
    return found


def ups(place: Place) -> Iterator[Place]:
    return (place[:length] for length in range(len(place) - 1, -1, -1))


def kinds(value: Json) -> str:
    return "object" if isinstance(value, dict) else "list" if isinstance(value, list) else "leaf"
