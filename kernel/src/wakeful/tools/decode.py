"""The model's bytes as JSON values, strictly: nothing is dropped, rounded or guessed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from wakeful.types import Json, canonical, nests_too_deep
from wakeful.types.json import DEPTH_LIMIT

#: Arguments beyond this are refused; large data travels by reference.
SIZE_LIMIT = 1_000_000
#: How such arguments are refused.
TOO_DEEP = f"nest deeper than {DEPTH_LIMIT} levels"


class Refused(Exception):  # noqa: N818  (a signal of which its catcher makes an error)
    """The text is not acceptable JSON; the text goes on after "arguments of x"."""


class Written(float):
    """A number whose float is not what was written, with the digits that were."""

    text: str


def decode(raw: str | bytes | Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the object that ``raw`` holds; empty text is an empty object.

    Raises:
        Refused: not JSON, not an object, a duplicate key, NaN or infinity, deeper than 64 levels or
            larger than 1,000,000 bytes.
    """
    text = raw if isinstance(raw, str | bytes) else _written_out(raw)
    value = parse(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise Refused(f"must be a JSON object, not {_NAMES.get(type(value), 'a number')}")
    return value


def _written_out(raw: Mapping[str, Json]) -> str:
    """Return a mapping as text, so that it is held to the same rules as what a model wrote."""
    try:
        return canonical(dict(raw))
    except RecursionError as error:
        raise Refused(TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise Refused(f"are not valid JSON: {str(error)[:80]}") from error


_NAMES: dict[type, str] = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def parse(raw: str | bytes) -> Json:
    """Return the JSON value that ``raw`` holds; numbers that a float cannot hold are :class:`Written`.

    Raises:
        Refused: see :func:`decode`.
    """
    size = len(raw) if isinstance(raw, bytes) or raw.isascii() else len(raw.encode("utf-8", "surrogatepass"))
    if size > SIZE_LIMIT:
        raise Refused(
            f"have {size:,} bytes; at most {SIZE_LIMIT:,} are accepted, so pass large data by reference"
        )
    try:
        value = json.loads(
            raw, parse_float=_number, parse_constant=_constant, object_pairs_hook=_without_duplicates
        )
    except json.JSONDecodeError as error:
        raise Refused(
            f"are not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except RecursionError as error:
        raise Refused(TOO_DEEP) from error
    except ValueError as error:  # bytes that are not text, or an integer of thousands of digits
        raise Refused(f"are not valid JSON: {str(error)[:80]}") from error
    check_depth(value)
    return value


def plain(value: Json) -> Json:
    """Return ``value`` with ordinary floats in place of :class:`Written`."""
    if isinstance(value, Written):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise Refused(f"are not valid JSON: the number {text[:40]} is out of range")
    # A number of very many digits is never exact; comparing it would only cost time.
    if len(text) <= 64 and Decimal(text) == Decimal(repr(value)):  # noqa: PLR2004  (digits; see above)
        return value
    written = Written(value)
    written.text = text
    return written


def _constant(name: str) -> float:
    raise Refused(f"are not valid JSON: {name} is not a JSON number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(f"name {twice[:60]!r} twice; say which value is meant")
    return found


def check_depth(value: Json) -> None:
    """Refuse a value that nests too deep.

    Raises:
        Refused: it does.
    """
    if nests_too_deep(value):
        raise Refused(TOO_DEEP)
