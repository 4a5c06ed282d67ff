"""Finding records by conditions that are built as expressions, never as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import sqlalchemy as sa
from attrs import frozen

from wakeful.types import ActionError, InvalidParam, Json
from wakeful_records.schema import Entity, Field, unknown_fields
from wakeful_records.values import bind, coerce, present

Op = Literal["eq", "ne", "gt", "ge", "lt", "le", "contains", "starts_with", "in", "is_null", "between"]
Scalar = str | int | float | bool

#: Most values of an ``in``; databases limit how many a statement may have.
_IN_LIMIT = 500
_MOMENT = "%Y-%m-%d %H:%M:%f"
_ESCAPE = "\\"


@frozen
class Filter:
    """One condition.

    Args:
        field: a column of the entity.
        op: the comparison; contains and starts_with ignore case, ne includes null.
        value: a value; a list for in, [low, high] for between; for is_null true or false.
    """

    field: str
    op: Op = "eq"
    value: Scalar | list[Scalar] | None = None


@frozen
class Page:
    """Which records of the matching ones are wanted."""

    order_by: str = ""
    descending: bool = False
    limit: int = 20
    offset: int = 0


@frozen
class Found:
    """Records of one page, and how many match in all."""

    records: list[dict[str, Json]]
    total: int


def search(
    connection: sa.Connection, entity: Entity, filters: Sequence[Filter], text: str, page: Page
) -> Found:
    """Return the records that match all ``filters`` and have ``text`` in any text column.

    Raises:
        ActionError: UNKNOWN_ENTITY_FIELDS or INVALID_VALUE, with everything that is wrong.
    """
    conditions = _conditions(entity, filters, connection.dialect.name)
    if text:
        searched = [field for field in entity.fields.values() if field.kind == "text"]
        pattern = f"%{_escaped(text)}%"
        matching = [_like(entity.table.c[field.name], pattern, connection.dialect.name) for field in searched]
        conditions.append(sa.or_(sa.false(), *matching))
    columns = list(entity.table.c)
    query = sa.select(*columns).where(*conditions).order_by(*_order(entity, page))
    count = sa.select(sa.func.count()).select_from(entity.table).where(*conditions)
    total = connection.execute(count).scalar_one()
    rows = connection.execute(query.limit(page.limit).offset(page.offset)).all()
    return Found([record(entity, row) for row in rows], int(total))


def record(entity: Entity, row: Sequence[Any]) -> dict[str, Json]:
    """Return a row of the entity's visible columns as JSON values by name."""
    fields = entity.fields.values()
    return {field.name: present(value, field) for field, value in zip(fields, row, strict=True)}


def _order(entity: Entity, page: Page) -> list[Any]:
    columns = [entity.table.c[name] for name in entity.keys or tuple(entity.fields)]
    if not page.order_by:
        return [column.desc() if page.descending else column for column in columns]
    first = entity.table.c[entity.field(page.order_by).name]
    # The key breaks ties, so that pages neither repeat nor skip records.
    rest = [column for column in columns if column is not first] if entity.keys else []
    return [first.desc() if page.descending else first, *rest]


def _conditions(entity: Entity, filters: Sequence[Filter], dialect: str) -> list[Any]:
    unknown = [item.field for item in filters if entity.find(item.field) is None]
    if unknown:
        raise unknown_fields(entity, unknown)
    made, invalid = [], []
    for number, item in enumerate(filters):
        field = entity.field(item.field)
        try:
            made.append(_condition(entity.table.c[field.name], field, item, dialect))
        except ValueError as error:
            invalid.append(
                InvalidParam(
                    f"filters[{number}].value", f"{field.name} {item.op}", expected_format=str(error)
                )
            )
    if invalid:
        said = "; ".join(f"{item.param} ({item.reason}): expected {item.expected_format}" for item in invalid)
        raise ActionError("INVALID_VALUE", said, invalid=invalid)
    return made


def _condition(column: Any, field: Field, item: Filter, dialect: str) -> Any:
    op, value = item.op, item.value
    if op == "is_null" or (value is None and op in {"eq", "ne"}):
        wanted = value is not False if op == "is_null" else op == "eq"
        return column.is_(None) if wanted else column.is_not(None)
    if op in {"contains", "starts_with"}:
        if not isinstance(value, str) or field.kind in {"binary", "boolean"}:
            message = "a text, on a column that has texts"
            raise ValueError(message)
        pattern = f"{'%' if op == 'contains' else ''}{_escaped(value)}%"
        shown = column if field.kind == "text" else sa.cast(column, sa.Text)
        return _like(shown, pattern, dialect)
    if op in {"in", "between"}:
        values = _list(value, field, op)
        left = _comparable(column, field)
        return left.in_(values) if op == "in" else left.between(*values)
    left, right = _comparable(column, field), _operand(value, field)
    compared = {
        "eq": lambda: left == right,
        "ne": lambda: left.is_distinct_from(right),
        "gt": lambda: left > right,
        "ge": lambda: left >= right,
        "lt": lambda: left < right,
        "le": lambda: left <= right,
    }
    return compared[op]()


def _list(value: Json, field: Field, op: str) -> list[Any]:
    lengths = range(2, 3) if op == "between" else range(1, _IN_LIMIT + 1)
    if not isinstance(value, list) or len(value) not in lengths:
        message = "[low, high]" if op == "between" else f"a list of 1 to {_IN_LIMIT} values"
        raise ValueError(message)
    return [_operand(item, field) for item in value]


def _operand(value: Json, field: Field) -> Any:
    if value is None or isinstance(value, list):
        message = "one value, not null and not a list; use is_null or in"
        raise ValueError(message)
    if field.kind == "binary":
        message = "nothing: binary columns can only be tested with is_null"
        raise ValueError(message)
    bound = bind(coerce(value, field), field)
    return sa.func.strftime(_MOMENT, bound) if _is_moment(field) else bound


def _comparable(column: Any, field: Field) -> Any:
    return sa.func.strftime(_MOMENT, column) if _is_moment(field) else column


def _is_moment(field: Field) -> bool:
    # SQLite keeps moments as texts in several spellings; compared as texts they would be wrong.
    return not field.native and field.kind in {"datetime", "datetimetz"}


def _like(column: Any, pattern: str, dialect: str) -> Any:
    """Return a comparison that ignores case, also of letters beyond ASCII."""
    if dialect == "sqlite":
        return sa.func.casefold(column).like(pattern.casefold(), escape=_ESCAPE)
    return column.ilike(pattern, escape=_ESCAPE)


def _escaped(text: str) -> str:
    for character in (_ESCAPE, "%", "_"):
        text = text.replace(character, _ESCAPE + character)
    return text
