"""How long outputs are, and looking into those that are in the file store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from attrs import evolve

from wakeful.types import Json, Spooled
from wakeful_spillover.describe import PREVIEW
from wakeful_spillover.shape import PARSE_CHARS, Shape, is_records

_CHUNK = 1 << 20
#: Characters of a text that its first lines are looked for in.
_HEAD = 10_000


def at_least(value: Json, enough: int) -> int:
    """Return a length in characters that a value has at least when it is shown; stops at ``enough``."""
    if isinstance(value, str):
        return len(value)
    length = 0
    if isinstance(value, Mapping):
        for name, item in value.items():
            length += len(name) + 2 + at_least(item, enough - length)
            if length >= enough:
                break
        return length
    if isinstance(value, list):
        for item in value:
            # Rows of a table do not repeat the names of their columns.
            inside = item.values() if isinstance(item, Mapping) else (item,)
            length += sum(1 + at_least(each, enough - length) for each in inside)
            if length >= enough:
                break
        return length
    return value.size if isinstance(value, Spooled) else 1


def loaded(path: Path, value: Spooled) -> Spooled:
    """Return the output with its value, if it is of a size to be looked into. Blocking."""
    if value.size > PARSE_CHARS or value.form not in {"json", "text"}:
        return value
    text = path.read_text(encoding="utf-8")
    return evolve(value, value=json.loads(text) if value.form == "json" else text)


def head_of_file(path: Path, form: str) -> list[Json]:
    """Return the first records or lines of a content. Blocking."""
    with path.open("rb") as content:
        raw = [content.readline(_CHUNK) for _ in range(PREVIEW)]
    lines = [line.decode(errors="replace").rstrip("\r\n") for line in raw if line]
    return [json.loads(line) for line in lines] if form == "records" else list(lines)


def head(found: Shape) -> list[Json]:
    """Return the first records or lines of a value that is at hand; of JSON, the value itself."""
    value = found.value
    if value is None:
        return []
    if found.kind == "json":
        return [value]
    if found.kind == "text":
        return list(str(value)[:_HEAD].split("\n")[:PREVIEW])
    if found.path and isinstance(value, Mapping):
        value = next(item for item in value.values() if is_records(item) and len(item) == found.rows)
    return list(islice(value, PREVIEW)) if isinstance(value, list) else []


def lines(path: Path) -> int:
    """Return how many lines a content has. Blocking."""
    count, last = 0, b""
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")
