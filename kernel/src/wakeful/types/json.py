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
