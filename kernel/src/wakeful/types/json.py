"""JSON values and their one canonical spelling.

Everything that is compared, hashed or sent as a prefix goes through :func:`canonical`, so that
dictionary order, process and platform never influence the bytes a model sees.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

#: A value that JSON can express. ``Any`` on purpose: recursive aliases cost more than they catch.
Json = Any

#: Levels of nesting; what nests deeper is refused before anything walks over it.
DEPTH_LIMIT = 64

_TOO_DEEP = f"it nests deeper than {DEPTH_LIMIT} levels"

#: Made once: ``json.dumps`` would make an encoder for every call.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(value: Json) -> str:
    """Return ``value`` as JSON with sorted keys and no insignificant blanks.

    Args:
        value: anything :func:`json.dumps` accepts; ``NaN`` and infinities are refused.

    Raises:
        ValueError: for ``NaN`` or infinite numbers.
        TypeError: for objects that JSON cannot express.
    """
    return _encode(value)


def canonicalise(value: Json) -> Json:
    """Return a copy of ``value`` whose mappings are plain dicts in sorted key order."""
    return json.loads(canonical(value))


def read_json(text: str) -> Json:
    """Return the value that a text holds: text that somebody outside wrote, and may have made to do harm.

    Args:
        text: JSON, as :func:`json.loads` takes it.

    Raises:
        ValueError: it is not JSON, nests deeper than :data:`DEPTH_LIMIT` levels, or has an integer of
            thousands of digits.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    # Without enough brackets there is no need to walk.
    if text.count("[") + text.count("{") > DEPTH_LIMIT and nests_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def nests_too_deep(value: Json, left: int = DEPTH_LIMIT) -> bool:
    """Whether lists and objects stand in each other more than ``left`` times."""
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return left <= 0 or any(nests_too_deep(item, left - 1) for item in items)


def digest(text: str) -> str:
    """Return the sha256 of ``text`` (as UTF-8, lone surrogates kept) in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def clean_text(text: str) -> str:
    """Replace lone surrogates and NUL, which neither UTF-8 nor PostgreSQL can hold."""
    if text.isascii():
        return text.replace("\0", "�") if "\0" in text else text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "�")


def clean(value: Json) -> Json:
    """Apply :func:`clean_text` to every string in ``value``, keys included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value
