"""What an action returned, as an :class:`ActionResult` whose outputs JSON can express."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import (
    AsyncIterator,
    Callable,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

import attrs

from wakeful.types import ActionResult, Final, Json, Spooled, canonical, clean_text, failure
from wakeful.types.artifacts import ITEM_CAP
from wakeful.types.json import DEPTH_LIMIT

#: Bytes, about, of an iterator's items from which on it is not drained here but by who stores them.
STREAM_BYTES = 50_000
#: Integers beyond this lose digits in most JSON readers, so they travel as strings.
_INT_LIMIT = 2**63
#: Columns named in a summary before it says how many there are.
_COLUMNS_SHOWN = 12


class Unserialisable(Exception):  # noqa: N818  (a signal within this package, not an error for users)
    """JSON cannot express a value; the text says which type, and where."""


class _Truncated:
    """Whether an iterator was longer than the cap."""

    seen = False


def to_result(value: Any) -> ActionResult:
    """Return ``value`` as a result.

    An :class:`ActionResult` stays what it is (its outputs become plain JSON), a :class:`Final` ends
    the run, None is a success without outputs, and everything else is the output ``result`` with a
    summary as message. Iterators are drained, up to 1,000,000 items; an output that is itself a long one
    stays an iterator, of JSON values, and so does an async iterator that :func:`begun` did not drain. In
    the outputs of an :class:`ActionResult` a ``Path`` stays one, and stands for the file's content.

    Args:
        value: strings, numbers, booleans, dates, decimals, enums, attrs and data classes, mappings,
            sequences, sets and iterators of these.

    Returns:
        A failed result with the code ``UNSERIALISABLE`` for anything else.
    """
    cut = _Truncated()
    try:
        if isinstance(value, ActionResult):
            outputs = {clean_text(str(name)): _output(item, cut) for name, item in value.outputs.items()}
            more = f"; cut at {ITEM_CAP:,} items" if cut.seen else ""
            return attrs.evolve(value, message=clean_text(value.message) + more, outputs=outputs)
        if isinstance(value, Final):
            return ActionResult(final=value)
        if value is None:
            return ActionResult()
        data = to_json(value, cut) if isinstance(value, PurePath) else _output(value, cut)
    except Unserialisable as error:
        return failure("UNSERIALISABLE", f"the action ran, but its result cannot be expressed: {error}")
    more = f"; cut at {ITEM_CAP:,} items" if cut.seen else ""
    return ActionResult(message=summary(data) + more, outputs={"result": data})


async def begun(value: Any) -> Any:
    """Return the items of a short async iterator as an iterator; of a long one, one that goes on."""
    if not isinstance(value, AsyncIterator):
        return value
    items: list[Any] = []
    room = STREAM_BYTES
    try:
        async for item in value:
            items.append(item)
            room -= _weight(item)
            if room < 0:
                return _on(items, value)
    except BaseException:
        await _closed(value)
        raise
    await _closed(value)
    return iter(items)


async def _on(items: list[Any], rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    try:
        for item in items:
            yield item
        items.clear()
        async for item in rest:
            yield item
    finally:
        await _closed(rest)


async def _closed(value: AsyncIterator[Any]) -> None:
    closing = getattr(value, "aclose", None)
    if closing is not None:
        await closing()


def _output(value: Any, cut: _Truncated) -> Json:
    """Return an output as JSON; a long iterator as an iterator of JSON values."""
    if isinstance(value, Spooled | Path):
        return value
    if isinstance(value, AsyncIterator):
        return _later(value)
    if not isinstance(value, Iterator):
        return to_json(value, cut)
    items: list[Json] = []
    room = STREAM_BYTES
    for item in value:
        items.append(_record(item))
        room -= _weight(items[-1])
        if room < 0:
            return chain(items, map(_record, value))
    return items


async def _later(value: AsyncIterator[Any]) -> AsyncIterator[Json]:
    try:
        async for item in value:
            yield _record(item)
    finally:
        await _closed(value)


def _record(item: Any) -> Json:
    """Return an item of an iterator as JSON: most are plain records already, and there may be millions."""
    if type(item) is dict:
        for name, value in item.items():
            kind = type(value)
            if type(name) is not str or not (
                (kind is str and value.isascii() and "\0" not in value)
                or value is None
                or kind is bool
                or (kind is int and -_INT_LIMIT <= value < _INT_LIMIT)
                or (kind is float and math.isfinite(value))
            ):
                return to_json(item)
        return item
    return to_json(item)


def _weight(item: Any) -> int:
    """Return about how many bytes an item is as JSON."""
    if isinstance(item, str):
        return len(item) + 3
    if isinstance(item, Mapping):
        return 2 + sum(len(str(name)) + 4 + _weight(value) for name, value in item.items())
    return 1 + sum(map(_weight, item)) if isinstance(item, list | tuple) else 8


def summary(data: Json) -> str:
    """Return a line about ``data`` that does not repeat it, e.g. ``142 rows, columns: id, name``.

    Nothing is known yet of what is still an iterator; who drains it says what it was.
    """
    if isinstance(data, list):
        if data and all(isinstance(item, dict) for item in data):
            names = list(dict.fromkeys(name for item in data for name in item))
            return f"{_count(len(data), 'row')}, columns: {_names(names)}"
        return _count(len(data), "item")
    if isinstance(data, dict):
        return f"1 record, fields: {_names(list(data))}" if data else "an empty record"
    return _count(len(data), "character") if isinstance(data, str) else ""


def to_json(value: Any, cut: _Truncated | None = None, *, depth: int = 0) -> Json:
    """Return ``value`` as plain JSON that keeps what it means.

    Decimals, dates, UUIDs and paths become strings; so do integers beyond 64 bits and floats that
    are not finite. A timedelta becomes seconds. Keys become strings. Sets are sorted.

    Raises:
        Unserialisable: JSON cannot express it, naming the type.
    """
    if depth > DEPTH_LIMIT:
        msg = f"it nests deeper than {DEPTH_LIMIT} levels, or contains itself"
        raise Unserialisable(msg)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return to_json(value.value, cut, depth=depth + 1)
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    cut = cut or _Truncated()
    fields = _fields(value)
    if fields is not None:
        return _object(fields, cut, depth)
    if isinstance(value, AbstractSet) and not isinstance(value, KeysView | ItemsView):
        return sorted((to_json(item, cut, depth=depth + 1) for item in value), key=canonical)
    if isinstance(value, Sequence | KeysView | ItemsView | ValuesView) and not isinstance(value, _BYTES):
        return [to_json(item, cut, depth=depth + 1) for item in value]
    if isinstance(value, Iterator):
        items = [to_json(item, cut, depth=depth + 1) for item in islice(value, ITEM_CAP)]
        cut.seen = cut.seen or (len(items) == ITEM_CAP and next(value, cut) is not cut)
        return items
    raise Unserialisable(_refusal(value))


_BYTES = (bytes, bytearray, memoryview)


def _refusal(value: Any) -> str:
    if isinstance(value, _BYTES):
        return "bytes are not text; decode them, or store them and return a reference"
    kind = type(value)
    return f"type {kind.__module__}.{kind.__qualname__} is neither plain data nor a class with fields"


def _integer(value: int) -> Json:
    return int(value) if -_INT_LIMIT <= value < _INT_LIMIT else str(value)


def _float(value: float) -> Json:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


_SCALARS: tuple[tuple[Any, Callable[[Any], Json]], ...] = (
    (str, lambda value: clean_text(str(value))),
    (int, _integer),
    (float, _float),
    (Decimal, lambda value: format(value, "f") if value.is_finite() else str(value)),
    ((datetime, date, time), lambda value: value.isoformat()),
    (timedelta, timedelta.total_seconds),
    ((UUID, PurePath), lambda value: clean_text(str(value))),
)


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """Return the named parts of a mapping or record, or None when it has none."""
    if isinstance(value, Mapping):
        return value
    cls = type(value)
    if isinstance(value, type):
        return None
    if attrs.has(cls):
        return {item.name: getattr(value, item.name) for item in attrs.fields(cls)}
    if dataclasses.is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, tuple):
        # Named tuples and rows of SQLAlchemy.
        named = getattr(value, "_asdict", None)
        return named() if named is not None else None
    dumped = getattr(value, "model_dump", None)  # pydantic and SQLModel
    return dumped() if callable(dumped) else None


def _object(fields: Mapping[Any, Any], cut: _Truncated, depth: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, item in fields.items():
        name = key if isinstance(key, str) else _key(key)
        name = clean_text(name)
        if name in found:
            raise Unserialisable("two keys of a mapping are written the same")
        found[name] = to_json(item, cut, depth=depth + 1)
    return found


def _key(key: Any) -> str:
    plain = to_json(key)
    return plain if isinstance(plain, str) else canonical(plain)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _names(names: list[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:_COLUMNS_SHOWN])
    return shown if len(names) <= _COLUMNS_SHOWN else f"{shown}, … ({len(names)} in all)"
