"""Checks of JSON values that say everything that is wrong, with the nearest name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import isfinite

from wakeful.types import Json, nearest

#: How a kind of value is called in messages, and whether a value is one.
_KINDS: Mapping[str, Callable[[Json], bool]] = {
    "a string": lambda value: isinstance(value, str),
    "a list": lambda value: isinstance(value, list),
    "an object": lambda value: isinstance(value, dict),
    "an object or a string": lambda value: isinstance(value, dict | str),
    "true or false": lambda value: isinstance(value, bool),
    "a whole number from 0": lambda value: _number(value) and isinstance(value, int),
    "a number from 0": lambda value: _number(value),  # noqa: PLW0108  (defined below)
    "a number from 0 or null": lambda value: value is None or _number(value),
    "any value": lambda _: True,
}


def wrong(value: Json, fields: Mapping[str, str], path: str = "", required: Iterable[str] = ()) -> list[str]:
    """Return what is wrong with an object; an empty list means nothing.

    Args:
        value: what was read.
        fields: allowed key to the kind its value must have, e.g. ``a string``.
        path: where the object stands in its line, empty for the line itself.
        required: keys that must be there.
    """
    if not isinstance(value, dict):
        return [f"{path or 'the line'} must be an object, not {shown(value)}"]
    prefix = f"{path}." if path else ""
    found = []
    for key, item in value.items():
        if key not in fields:
            found.append(f"unknown key {prefix + key!r}{nearest(key, fields)}")
        elif not _KINDS[fields[key]](item):
            found.append(f"{prefix}{key} must be {fields[key]}, not {shown(item)}")
    found += [f"{prefix}{key} is missing" for key in required if key not in value]
    return found


def shown(value: Json) -> str:
    """Return a value as it would stand in a file, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004  (fits a line of a terminal)


def strict_json(text: str) -> Json:
    """Parse JSON as the standard has it: ``NaN`` and infinities are refused.

    Raises:
        ValueError: for anything else; also for nesting deeper than Python reads.
    """

    def refuse(word: str) -> Json:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _number(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= 0 and (isinstance(value, int) or isfinite(value))
