"""Questions about a table: which rows, which columns, in which order, or summed up by groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from attrs import frozen

from wakeful.types import ActionError, InvalidParam
from wakeful_spillover.conditions import Filter, where
from wakeful_spillover.relation import JSON_KINDS, NUMBERS, Field, Relation, field_of, unknown

AggregateOp = Literal[
    "count", "sum", "avg", "min", "max", "median", "mode", "stddev", "variance", "distinct_count"
]

#: Aggregates of numbers only; texts that are numbers count, others are skipped.
_NUMERIC = frozenset({"sum", "avg", "median", "stddev", "variance"})
#: The most frequent value; of several the smallest, so that the answer is always the same.
_MODE = (
    "list_sort(list_transform(map_entries(histogram({0})), "
    "lambda e: struct_pack(n := -CAST(e.value AS BIGINT), v := e.key)))[1].v"
)
_SQL = {
    "avg": "favg({0})",
    "min": "min({0})",
    "max": "max({0})",
    "median": "median({0})",
    "mode": _MODE,
    "stddev": "stddev_samp({0})",
    "variance": "var_samp({0})",
    "distinct_count": "count(DISTINCT {0})",
    "count": "count({0})",
}


@frozen
class Aggregate:
    """One figure over rows; rows without a value are skipped and counted.

    Args:
        op: what to compute; stddev and variance are those of a sample.
        column: of what; may be left out for count, which then counts rows.
        name: what to call it.
    """

    op: AggregateOp
    column: str = ""
    name: str = ""


@frozen
class Question:
    """What is asked of a table; all parts may be left out."""

    columns: Sequence[str] = ()
    filters: Sequence[Filter] = ()
    match: str = "all"
    sort: Sequence[str] = ()
    group_by: Sequence[str] = ()
    aggregates: Sequence[Aggregate] = ()


@frozen
class Plan:
    """A question as SQL.

    Args:
        relation: all of its rows; ``rn`` numbers them in their order.
        page: the same with parameters for limit and offset at its end, cheap for few rows.
        count: how many rows there are.
        skipped: for each aggregate, how many rows had no value; None if none is about a column.
        names: of the aggregates.
        grouped: whether its rows are groups.
    """

    relation: Relation
    page: Relation
    count: Relation
    skipped: Relation | None = None
    names: tuple[str, ...] = ()
    grouped: bool = False


def plan(source: Relation, ask: Question) -> Plan:
    """Return a question as SQL.

    Raises:
        ActionError: UNKNOWN_COLUMN, INVALID_VALUE or WRONG_KIND.
    """
    condition = where(source, ask.filters, ask.match)
    rows = Relation(
        f"SELECT * FROM ({source.sql}) WHERE {condition.sql}",
        (*source.params, *condition.params),
        source.columns,
    )
    if ask.group_by or ask.aggregates:
        return _grouped(rows, ask)
    wanted = ask.columns or [name for name, _ in source.columns]
    fields = [field_of(source, name, "columns") for name in wanted]
    order = [_order(source, text) for text in ask.sort]
    shown = ", ".join(f"{field.sql} AS c{place}" for place, field in enumerate(fields))
    columns = tuple((field.name, field.kind) for field in fields)
    by = ", ".join([*order, "rn"])
    number = f"row_number() OVER (ORDER BY {by})" if order else "rn"
    return Plan(
        Relation(f"SELECT {shown}, {number} AS rn FROM ({rows.sql})", rows.params, columns),
        Relation(f"SELECT {shown} FROM ({rows.sql}) ORDER BY {by} LIMIT ? OFFSET ?", rows.params, columns),
        Relation(f"SELECT count(*) FROM ({rows.sql})", rows.params, ()),
    )


def _grouped(rows: Relation, ask: Question) -> Plan:
    groups = [field_of(rows, name, "group_by") for name in ask.group_by]
    aggregates = ask.aggregates or [Aggregate("count")]
    figures = [_figure(rows, item) for item in aggregates]
    columns = tuple((field.name, field.kind) for field in [*groups, *figures])
    _distinct([name for name, _ in columns])
    shown = ", ".join(f"{field.sql} AS c{place}" for place, field in enumerate([*groups, *figures]))
    keys = ", ".join(str(place + 1) for place in range(len(groups)))
    grouping = f" GROUP BY {keys}" if groups else ""
    inner = Relation(f"SELECT {shown} FROM ({rows.sql}){grouping}", rows.params, columns)
    order = [_order(inner, text) for text in ask.sort]
    by = ", ".join([*order, *(f"c{place} NULLS LAST" for place in range(len(groups)))]) or "c0"
    wanted = [_position(columns, name) for name in ask.columns] or list(range(len(columns)))
    picked = ", ".join(f"c{place} AS c{at}" for at, place in enumerate(wanted))
    kept = tuple(columns[place] for place in wanted)
    numbered = f"SELECT *, row_number() OVER (ORDER BY {by}) AS rn FROM ({inner.sql})"
    whole = f"SELECT {picked}, rn FROM ({numbered})"
    return Plan(
        Relation(whole, rows.params, kept),
        Relation(f"SELECT {picked} FROM ({inner.sql}) ORDER BY {by} LIMIT ? OFFSET ?", rows.params, kept),
        Relation(f"SELECT count(*) FROM ({inner.sql})", rows.params, ()),
        _skipped(rows, aggregates) if any(item.column for item in aggregates) else None,
        tuple(field.name for field in figures),
        bool(groups),
    )


def _skipped(rows: Relation, aggregates: Sequence[Aggregate]) -> Relation:
    counts = ", ".join(
        f"count(*) - count({_operand(rows, item)})" if item.column else "0" for item in aggregates
    )
    return Relation(f"SELECT {counts} FROM ({rows.sql})", rows.params, ())


def _operand(rows: Relation, item: Aggregate) -> str:
    field = field_of(rows, item.column, "aggregates")
    if item.op in _NUMERIC and field.kind not in NUMBERS:
        if field.kind == "boolean":
            return f"CAST({field.sql} AS BIGINT)"
        return field.number
    return field.text if field.kind in JSON_KINDS else field.sql


def _figure(rows: Relation, item: Aggregate) -> Field:
    if not item.column:
        if item.op != "count":
            reason = f"{item.op} needs a column"
            raise ActionError("INVALID_VALUE", reason, invalid=[InvalidParam("aggregates", reason)])
        return Field(item.name or "count", "integer", "count(*)", "count(*)")
    field = field_of(rows, item.column, "aggregates")
    name = item.name or f"{item.op}_{field.name}"
    whole = field.kind in {"integer", "boolean"}
    operand = _operand(rows, item)
    if item.op in {"count", "distinct_count"}:
        kind = "integer"
    elif item.op in _NUMERIC:
        kind = "integer" if item.op == "sum" and whole else "number"
    else:
        kind = "text" if field.kind in JSON_KINDS else field.kind
    if item.op == "sum":
        sql = f"sum({operand})" if whole else f"fsum({operand})"
    else:
        sql = _SQL[item.op].format(operand)
    return Field(name, kind, sql, sql)


def _order(relation: Relation, text: str) -> str:
    """Return ``-amount``, ``amount desc`` or ``amount`` as an order; rows without a value come last."""
    known = {name for name, _ in relation.columns}
    name, down = text.strip(), False
    if name not in known:
        word = name.casefold()
        if name.startswith("-"):
            name, down = name[1:].strip(), True
        elif word.endswith((" desc", " descending")):
            name, down = name.rsplit(None, 1)[0], True
        elif word.endswith((" asc", " ascending")):
            name = name.rsplit(None, 1)[0]
    field = field_of(relation, name, "sort")
    sql = field.text if field.kind in JSON_KINDS else field.sql
    return f"{sql} {'DESC' if down else 'ASC'} NULLS LAST"


def _position(columns: Sequence[tuple[str, str]], name: str) -> int:
    names = [column for column, _ in columns]
    if name not in names:
        raise unknown(name, names, "columns")
    return names.index(name)


def _distinct(names: Sequence[str]) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        reason = f"two columns of the answer are called {twice[0]!r}; give one another name"
        raise ActionError("INVALID_VALUE", reason, invalid=[InvalidParam("aggregates", reason)])


def values(row: Sequence[Any], columns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a row as a record; JSON kinds as what they say, numbers beyond all bounds as text."""
    import json

    record: dict[str, Any] = {}
    for (name, kind), value in zip(columns, row, strict=True):
        if kind in JSON_KINDS and isinstance(value, str):
            record[name] = json.loads(value)
        else:
            beyond = isinstance(value, float) and not math.isfinite(value)
            record[name] = str(value) if beyond else value
    return record
