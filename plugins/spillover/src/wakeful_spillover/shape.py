"""What an output is: a table, nested JSON, a text or a medium; and the content that is stored of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from wakeful.results.media import Media, media_of
from wakeful.results.writing import columns as columns_of
from wakeful.types import Json, Spooled, canonical, clean, clean_text, digest, read_json

#: Longest text, in characters, that is read as JSON to see whether it is.
PARSE_CHARS = 32_000_000
#: Records with lists and objects in them are a table from this number on.
MANY = 25
#: An object is a table with a few words around it when its one list of records is at least this share of it.
_SHARE = 0.5


@frozen
class Shape:
    """An output as it will be stored.

    Args:
        kind, form, rows, columns, path, media: as in :class:`wakeful_spillover.tables.Stored`.
        size: bytes of the content.
        hash: sha256 of the content.
        text: the content, unless it is in the file store or is bytes.
        content: the content of a medium that is not in the file store yet.
        ref: where the content is in the file store, if it is there already.
        value: the value, for the preview; None if it is only in the file store.
    """

    kind: str
    form: str
    size: int
    hash: str
    rows: int | None = None
    columns: tuple[tuple[str, str], ...] = ()
    path: str = ""
    media: str = ""
    text: str | None = None
    content: bytes = b""
    ref: str = ""
    value: Json = None


def shape(value: Json, kind: str = "") -> Shape:
    """Return what an output is.

    Args:
        value: a JSON value or what stands for one in the file store.
        kind: the kind it is said to be; taken where the value allows it.
    """
    medium = media_of(value)
    if medium is not None and kind in {"", "media"}:
        return _medium(medium)
    if isinstance(value, Spooled):
        return _spooled(value, kind)
    if isinstance(value, str):
        parsed = parsed_text(value) if kind != "text" else None
        return _text(value) if parsed is None else shape(parsed, kind)
    if kind == "text":
        return _text(json.dumps(value, ensure_ascii=False, indent=1))
    if is_records(value) and kind != "json":
        return _records(value)
    return _json(value, kind)


def is_records(value: Json) -> bool:
    """Return whether a value is a list of records."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def parsed_text(text: str) -> Json:
    """Return the list or object that a text is the JSON of; None if it is none."""
    start = text[:100].lstrip()[:1]
    if start not in ("{", "[") or len(text) > PARSE_CHARS:
        return None
    try:
        found = read_json(text)
    except ValueError:
        return None
    return found if isinstance(found, list | dict) and found else None


def line_count(text: str) -> int:
    """Return how many lines a text has; what ends with a line feed has no empty line after it."""
    return text.count("\n") + (not text.endswith("\n"))


def dump(item: Json) -> str:
    """Return a record or document as one line of JSON, its keys in their order."""
    return json.dumps(clean(item), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _medium(found: Media) -> Shape:
    if found.ref:
        return Shape("media", "bytes", found.size, found.ref, media=found.type, ref=found.ref)
    name = hashlib.sha256(found.content).hexdigest()
    return Shape("media", "bytes", found.size, name, media=found.type, content=found.content)


def _spooled(value: Spooled, kind: str) -> Shape:
    known: dict[str, Any] = {"size": value.size, "hash": value.ref, "ref": value.ref, "value": value.value}
    if value.form == "records":
        return Shape("table", "records", rows=value.rows, columns=value.columns, **known)
    if value.form == "bytes":
        return Shape("media", "bytes", media=value.media or "application/octet-stream", **known)
    if value.form == "json":
        path, rows = _table_in(value.value) if kind in {"", "table"} else ("", [])
        if path:
            return Shape("table", "json", rows=len(rows), columns=columns_of(rows), path=path, **known)
        return Shape("json", "json", **known)
    parsed = parsed_text(value.value) if kind != "text" and isinstance(value.value, str) else None
    if parsed is not None:
        found = shape(parsed, kind)
        if found.form == "json":  # the text is the JSON: stored once, as it came
            return Shape(found.kind, "json", rows=found.rows, columns=found.columns, path=found.path, **known)
        return found
    lines = line_count(value.value) if isinstance(value.value, str) else None
    return Shape("text", "text", rows=lines, **known)


def _text(value: str) -> Shape:
    text = clean_text(value)
    size = len(text.encode())
    return Shape("text", "text", size, digest(text), line_count(text), text=text, value=text)


def _records(value: list[Mapping[str, Json]]) -> Shape:
    text = "".join(f"{dump(item)}\n" for item in value)
    size = len(text.encode())
    return Shape(
        "table", "records", size, digest(text), len(value), columns_of(value), text=text, value=value
    )


def _json(value: Json, kind: str) -> Shape:
    text = canonical(clean(value))
    size = len(text.encode())
    path, rows = _table_in(value, size) if kind in {"", "table"} else ("", [])
    if path:
        columns = columns_of(rows)
        return Shape("table", "json", size, digest(text), len(rows), columns, path, text=text, value=value)
    return Shape("json", "json", size, digest(text), text=text, value=value)


def _flat(rows: list[Mapping[str, Json]]) -> bool:
    """Return whether records are a table rather than the children of a tree."""
    if len(rows) >= MANY:
        return True
    return len(rows) > 1 and not any(isinstance(each, list | dict) for row in rows for each in row.values())


def _table_in(value: Json, size: int = 0) -> tuple[str, list[Mapping[str, Json]]]:
    """Return path and rows of the one list of records that an object is mostly made of."""
    if not isinstance(value, Mapping):
        return "", []
    found = [(name, item) for name, item in value.items() if is_records(item) and _flat(item)]
    if len(found) != 1:
        return "", []
    (name, rows) = found[0]
    rest = [item for other, item in value.items() if other != name]
    if any(isinstance(item, list | dict) and item for item in rest):
        mine = len(canonical(rows))
        if mine < _SHARE * (size or len(canonical(value))):
            return "", []
    return f"$[{json.dumps(name, ensure_ascii=False)}]", rows
