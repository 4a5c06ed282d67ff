"""The descriptor that stands inline for an artifact: what it is, a preview, what can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from wakeful.results.values import scalar
from wakeful.types import Json
from wakeful_spillover.shape import Shape

#: Rows or lines of a preview.
PREVIEW = 3
#: Characters that names of columns, or the shape of JSON, may take: so a descriptor has about 400 in all.
_NAMES = 170
#: Characters of one line of the preview, and of one cell.
_LINE, _CELL = 70, 24
#: Room without which the shape of JSON is not gone into further.
_LEAST = 14
_UNITS = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB"))

#: Which actions answer questions about a kind.
TOOLS = {
    "table": "artifact_rows, artifact_text, run_pipeline",
    "json": "artifact_json, artifact_text, run_pipeline",
    "text": "artifact_text, run_pipeline",
    "media": "",
}


def descriptor(handle: str, found: Shape, head: Sequence[Json], version: int = 1) -> str:
    """Return the text that stands for an output.

    Args:
        handle: without brackets.
        found: what the output is.
        head: its first records or lines; of JSON, the value itself.
        version: under its name; said if it is not the first.
    """
    again = f"version {version}, " if version > 1 else ""
    first = f"[{handle}] {found.kind}, {again}{_amount(found)}{size(found.size)}"
    if found.kind == "media":
        return f"{first}, {found.media}. It is kept; name [{handle}] to give it to people."
    lines = [first + _about(found, head)]
    lines += list(_preview(found, head))
    lines.append(f"Ask with {TOOLS[found.kind]}.")
    return "\n".join(lines)


def size(count: int) -> str:
    """Return a number of bytes for people: ``812 bytes``, ``19.7 KB``, ``20.0 MB``."""
    for limit, unit in _UNITS:
        if count >= limit:
            return f"{count / limit:.1f} {unit}"
    return f"{count} bytes"


def names(columns: Sequence[tuple[str, str]], room: int = _NAMES) -> str:
    """Return columns with their types, as many as fit: ``id integer, name text, … 12 more``."""
    shown: list[str] = []
    for name, kind in columns:
        word = f"{_cut(name, _CELL * 2)} {kind}"
        if shown and len(word) + 2 > room:
            return f"{', '.join(shown)}, … {len(columns) - len(shown)} more"
        room -= len(word) + 2
        shown.append(word)
    return ", ".join(shown)


def outline(value: Json, room: int = _NAMES) -> str:
    """Return the shape of JSON: names and kinds, the first element of lists, as deep as there is room."""
    if isinstance(value, Mapping):
        parts: list[str] = []
        for name, item in value.items():
            left = room - sum(map(len, parts)) - 2 * len(parts) - len(name)
            if left < _LEAST and parts:
                parts.append(f"… {len(value) - len(parts)} more")
                break
            parts.append(f"{_cut(name, _CELL * 2)}: {outline(item, left // 2)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        inside = outline(value[0], room - 8) if value and room > _LEAST else ""
        return f"[{len(value)}{' x ' + inside if inside else ''}]"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "null"}
    return kinds.get(type(value), "value")


def _amount(found: Shape) -> str:
    if found.rows is None:
        return ""
    noun = "row" if found.kind == "table" else "line"
    return f"{found.rows:,} {noun}{'' if found.rows == 1 else 's'}, "


def _about(found: Shape, head: Sequence[Json]) -> str:
    if found.kind == "table":
        at = f" at {found.path}" if found.path else ""
        return f"{at}: {names(found.columns)}"
    if found.kind == "json":
        return f": {outline(head[0])}" if head else ""
    return ""


def _preview(found: Shape, head: Sequence[Json]) -> list[str]:
    if found.kind == "json":
        return []
    lines = []
    for place, item in enumerate(islice(head, PREVIEW), 1):
        if found.kind == "table" and isinstance(item, Mapping):
            cells = (_cut(scalar(item.get(name)), _CELL) for name, _ in found.columns)
            lines.append(_cut(f"{place}: " + " | ".join(cells), _LINE))
        else:
            lines.append(_cut(f"{place}: {item}", _LINE))
    return lines


def _cut(text: str, limit: int) -> str:
    line = " ".join(text[: limit * 2].split())
    return line if len(line) <= limit and len(text) <= limit * 2 else f"{line[: limit - 1]}…"
