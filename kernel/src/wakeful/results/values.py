"""Values as compact markdown: tables for records, bullets for fields, fences for long text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wakeful.results.media import media_of
from wakeful.types import Json, canonical

#: Strings up to this many characters without a line break stand on the line of their name.
INLINE = 200


def output(name: str, value: Json) -> str:
    """Return one output as a bullet, with its value beside or below it; media as their type and size."""
    medium = media_of(value)
    if medium is not None:  # its bytes are no use to a model as text
        named = f", media:{medium.ref[:12]}" if medium.ref else ""
        return f"- `{name}`: <{medium.type}, {medium.size:,} bytes{named}>"
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return f"- `{name}` ({len(value)}):\n\n{table(value)}"
    if isinstance(value, Mapping) and value and all(_scalar(item) for item in value.values()):
        fields = "\n".join(f"  - `{key}`: {scalar(item)}" for key, item in value.items())
        return f"- `{name}`:\n{fields}"
    if isinstance(value, str) and ("\n" in value or len(value) > INLINE):
        return f"- `{name}`:\n{fence(value)}"
    return f"- `{name}`: {scalar(value)}"


def table(rows: list[Mapping[str, Json]]) -> str:
    """Return records as a table; the columns are those of all rows, in order of first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = "| " + " | ".join(_cell(column) for column in columns) + " |"
    rule = "|" + "---|" * len(columns)
    body = ("| " + " | ".join(_cell(row.get(column, "")) for column in columns) + " |" for row in rows)
    return "\n".join((head, rule, *body))


def fence(text: str) -> str:
    """Return ``text`` between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


def scalar(value: Json) -> str:
    """Return a value on one line: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else canonical(value)


def _scalar(value: Json) -> bool:
    return (
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and "\n" not in value)
    )


def _cell(value: Json) -> str:
    return scalar(value).replace("|", "\\|").replace("\n", "\\n") if value is not None else "null"
