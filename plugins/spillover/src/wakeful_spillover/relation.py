"""A table to be queried: SQL with positions for names, so that no name of a column is ever SQL."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from wakeful.types import ActionError, InvalidParam, near
from wakeful_spillover.engine import quoted

#: Name of the number of a row, from 1, where a column is asked for.
NUMBER = "#"
#: DuckDB's types of what columns hold.
TYPES = {
    "text": "VARCHAR",
    "null": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "object": "JSON",
    "array": "JSON",
    "mixed": "JSON",
}
#: Kinds whose values are JSON text.
JSON_KINDS = frozenset({"object", "array", "mixed"})
NUMBERS = frozenset({"integer", "number"})
#: Names that an error tells, and characters of each.
_NAMED, _LONG = 40, 60


@frozen
class Relation:
    """A SELECT whose columns are ``c0``, ``c1`` …, and ``rn``, the number of the row.

    Args:
        sql: the SELECT.
        params: its parameters.
        columns: name and kind of each column.
    """

    sql: str
    params: tuple[object, ...]
    columns: tuple[tuple[str, str], ...]


@frozen
class Field:
    """A column, or something inside one, as SQL.

    Args:
        name: as it is shown.
        kind: of its values; ``mixed`` for what is inside an object.
        sql: its value, as JSON text for the JSON kinds.
        text: its value as a text; the same as ``sql`` for plain kinds.
    """

    name: str
    kind: str
    sql: str
    text: str

    @property
    def number(self) -> str:
        """Its value as a number; nothing where it is none, or NaN or infinite."""
        cast = f"TRY_CAST({self.text} AS DOUBLE)"
        return f"CASE WHEN isfinite({cast}) THEN {cast} END"


def field_of(relation: Relation, name: str, where: str) -> Field:
    """Return the column that a name means: exactly, in another case, or ``column.key`` inside an object.

    Args:
        relation: the table.
        name: as the model wrote it.
        where: the argument, for the message.

    Raises:
        ActionError: UNKNOWN_COLUMN, with the columns and the nearest.
    """
    if name == NUMBER:
        return Field(NUMBER, "integer", "rn", "CAST(rn AS VARCHAR)")
    place = _place(relation.columns, name)
    if place is not None:
        return _plain(relation.columns[place], f"c{place}")
    head, _, rest = name.partition(".")
    while rest:
        place = _place(relation.columns, head)
        if place is not None and relation.columns[place][1] in {"object", "mixed"}:
            pointer = quoted("/" + "/".join(_pointer(part) for part in rest.split(".")))
            return Field(
                name,
                "mixed",
                f"json_extract(c{place}, {pointer})",
                f"json_extract_string(c{place}, {pointer})",
            )
        more, _, rest = rest.partition(".")
        head = f"{head}.{more}"
    raise unknown(name, [column for column, _ in relation.columns], where)


def unknown(name: str, names: Sequence[str], where: str) -> ActionError:
    """Return the error for a column that is not there."""
    return ActionError(
        "UNKNOWN_COLUMN",
        f"there is no column {name!r}",
        suggestion=f"Columns: {listed(names)}.",
        suggested=near(name, names),
        invalid=[InvalidParam(where, f"there is no column {name!r}")],
    )


def listed(names: Sequence[str]) -> str:
    """Return the names that an error tells: the first, and how many more there are."""
    more = f", … {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(name[:_LONG] for name in names[:_NAMED]) + more


def _place(columns: Sequence[tuple[str, str]], name: str) -> int | None:
    names = [column for column, _ in columns]
    if name in names:
        return names.index(name)
    same = [place for place, column in enumerate(names) if column.casefold() == name.casefold()]
    return same[0] if len(same) == 1 else None


def _plain(column: tuple[str, str], sql: str) -> Field:
    name, kind = column
    if kind == "mixed":
        return Field(name, kind, sql, f"json_extract_string({sql}, '$')")
    return Field(name, kind, sql, sql if kind in {"text", "null"} else f"CAST({sql} AS VARCHAR)")


def _pointer(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
