"""Questions about nested JSON: what is at a path, which keys, where something is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from wakeful.results.values import output as rendered
from wakeful.results.values import scalar
from wakeful.types import ActionResult, Json
from wakeful_spillover.answers import CELL, ROOM, answer, cut, fitting
from wakeful_spillover.describe import outline
from wakeful_spillover.jobs import Job
from wakeful_spillover.missing import missing
from wakeful_spillover.paths import found as at_path
from wakeful_spillover.patterns import compiled
from wakeful_spillover.tables import Stored


@frozen
class Asked:
    """A question about JSON.

    Args:
        path: where to look.
        keys: list keys instead of values.
        search: a pattern to be found in keys and values below the path.
        iterate: paths inside each thing found; a column each.
        root: how an error spells the place where the path begins.
    """

    path: str = "$"
    keys: bool = False
    search: str = ""
    iterate: Sequence[str] = ()
    root: str = "$"


def results(job: Job, value: Json, asked: Asked) -> tuple[str, list[Any]]:
    """Return what a question finds, all of it: a noun, and rows or values.

    Raises:
        ActionError: INVALID_PATH, INVALID_PATTERN or QUERY_STOPPED; NOTHING_THERE, with what there is.
    """
    nodes = list(at_path(asked.path, value, job.check))
    if not nodes and (error := missing(asked.path, [value], job.check, at=asked.root)):
        raise error
    if asked.search:
        pattern = compiled(asked.search)
        hits = [
            {"path": path, "value": item}
            for root, inside in nodes
            for path, name, item in _leaves(root(), inside)
            if pattern.search(name.encode()) or pattern.search(scalar(item).encode())
        ]
        return "matches", hits
    items = [item for _, item in nodes]
    if asked.iterate:
        # Of an array found as one thing, each element.
        each = items[0] if len(items) == 1 and isinstance(items[0], list) else items
        return "rows", _projected(job, each, asked.iterate)
    if asked.keys:
        return "keys", list(_keys(items))
    return "values", items


def answered(
    found: Stored, noun: str, items: list[Any], asked: Asked, start: int, limit: int
) -> ActionResult:
    """Return one page of what a question found."""
    if noun != "values":
        rows = fitting(items[start - 1 : start - 1 + limit])
        out = {noun: rows}
        return answer(found, out, start=start, shown=len(rows), total=len(items), noun=noun)
    if len(items) == 1 and isinstance(items[0], list | Mapping | str):
        return _one(found, items[0], start, limit)
    return _values(found, items, start, limit, f"value{'' if len(items) == 1 else 's'} at {asked.path}")


def _one(found: Stored, item: Any, start: int, limit: int) -> ActionResult:
    """Return a page of the only value: elements of an array, entries of an object, characters of a text."""
    if isinstance(item, list):
        return _values(found, item, start, limit, "elements")
    if isinstance(item, str):
        part = item[start - 1 : start - 1 + ROOM]
        return answer(
            found, {"value": part}, start=start, shown=len(part), total=len(item), noun="characters"
        )
    taken: dict[str, Json] = {}
    for name, value in list(item.items())[start - 1 : start - 1 + limit]:
        taken[name] = _short(value)
        if len(rendered("value", taken)) > ROOM:
            del taken[name]
            break
    return answer(found, {"value": taken}, start=start, shown=len(taken), total=len(item), noun="entries")


def _values(found: Stored, items: Sequence[Any], start: int, limit: int, noun: str) -> ActionResult:
    part = items[start - 1 : start - 1 + limit]
    if part and all(isinstance(item, Mapping) for item in part):
        rows: Sequence[Any] = fitting(part)
    else:
        rows, used = [], 0
        for item in part:
            short = _short(item)
            used += len(scalar(short)) + 3
            if rows and used > ROOM:
                break
            rows.append(short)
    return answer(found, {"values": rows}, start=start, shown=len(rows), total=len(items), noun=noun)


def _short(value: Json) -> Json:
    """Return a value, or its shape when it is long."""
    if isinstance(value, str):
        return cut(value, CELL)
    return (
        value
        if len(scalar(value)) <= CELL * 2
        else f"{outline(value, CELL)} ({len(scalar(value)):,} characters)"
    )


def _keys(items: Iterable[Any]) -> Iterator[dict[str, Json]]:
    """Yield each key with the kinds of its values and how often it occurs."""
    seen: dict[str, tuple[dict[str, None], int]] = {}
    for item in items:
        for each in item if isinstance(item, list) else [item]:
            if isinstance(each, Mapping):
                for name, value in each.items():
                    kinds, count = seen.get(name, ({}, 0))
                    kinds[outline(value, 0).partition("[")[0].partition("{")[0] or _container(value)] = None
                    seen[name] = (kinds, count + 1)
    for name, (kinds, count) in seen.items():
        yield {"key": name, "kind": " or ".join(kinds), "count": count}


def _container(value: Json) -> str:
    return "array" if isinstance(value, list) else "object"


def _leaves(path: str, value: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield path, key and value of everything below a value that holds nothing more."""
    waiting: list[tuple[str, str, Json]] = [(path, "", value)]
    while waiting:
        at, name, item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += [(f"{at}['{key}']", key, each) for key, each in reversed(list(item.items()))]
        elif isinstance(item, list):
            waiting += [(f"{at}[{place}]", name, item[place]) for place in range(len(item) - 1, -1, -1)]
        else:
            yield at, name, item


def _projected(job: Job, items: Sequence[Json], paths: Sequence[str]) -> list[dict[str, Json]]:
    """Return a row of parts for each item.

    Raises:
        ActionError: a part is in none of them.
    """
    rows: list[dict[str, Json]] = [{} for _ in items]
    for path in paths:
        there = not items
        for row, item in zip(rows, items, strict=True):
            values = [value for _, value in at_path(path, item, job.check, "iterate")]
            row[path] = values[0] if len(values) == 1 else (values or None)
            there = there or bool(values)
        if not there and (error := missing(path, items, job.check, where="iterate", at="@")):
            raise error
    return rows
