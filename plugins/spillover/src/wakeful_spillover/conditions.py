"""Conditions on rows, as SQL with parameters; values are taken for what the column holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from attrs import frozen

from wakeful.types import ActionError, InvalidParam, Json
from wakeful_spillover.relation import JSON_KINDS, NUMBERS, Field, Relation, field_of

Op = Literal["eq", "ne", "gt", "ge", "lt", "le", "contains", "starts_with", "in", "is_null", "between"]
Scalar = str | int | float | bool

#: Most values of an ``in``, and most conditions of one query.
MANY = 500
_SIGNS = {"eq": "=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_BETWEEN = 2
_INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*")
_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@frozen
class Filter:
    """One condition.

    Args:
        column: a column; ``column.key`` looks inside an object.
        op: the comparison; ne includes rows without a value.
        value: a value; a list for in, [low, high] for between; for is_null true or false.
        case_sensitive: whether the case of texts matters.
    """

    column: str
    op: Op = "eq"
    value: Scalar | list[Scalar] | None = None
    case_sensitive: bool = False


@frozen
class Condition:
    """SQL and its parameters."""

    sql: str
    params: tuple[object, ...] = ()


def where(relation: Relation, filters: Sequence[Filter], match: str) -> Condition:
    """Return the condition that all, or any, of the filters hold.

    Raises:
        ActionError: UNKNOWN_COLUMN or INVALID_VALUE.
    """
    if not filters:
        return Condition("true")
    if len(filters) > MANY:
        raise _invalid("filters", f"there are more than {MANY}")
    made = [_condition(relation, item, f"filters[{place}]") for place, item in enumerate(filters)]
    joint = " OR " if match == "any" else " AND "
    return Condition(joint.join(f"({one.sql})" for one in made), tuple(p for one in made for p in one.params))


def _condition(relation: Relation, item: Filter, at: str) -> Condition:
    field = field_of(relation, item.column, f"{at}.column")
    value = item.value
    if item.op == "is_null":
        return Condition(_null(field) if value is not False else f"NOT ({_null(field)})")
    if item.op == "in":
        if not isinstance(value, list) or not value or len(value) > MANY:
            raise _invalid(f"{at}.value", f"in needs a list of 1 to {MANY} values")
        made = [_compare(field, "eq", one, item, at) for one in value]
        return Condition(" OR ".join(one.sql for one in made), tuple(p for one in made for p in one.params))
    if item.op == "between":
        if not isinstance(value, list) or len(value) != _BETWEEN:
            raise _invalid(f"{at}.value", "between needs [low, high]")
        low, high = _compare(field, "ge", value[0], item, at), _compare(field, "le", value[1], item, at)
        return Condition(f"{low.sql} AND {high.sql}", (*low.params, *high.params))
    if isinstance(value, list):
        raise _invalid(f"{at}.value", f"{item.op} needs one value, not a list")
    if value is None:
        if item.op in {"eq", "ne"}:
            return Condition(_null(field) if item.op == "eq" else f"NOT ({_null(field)})")
        raise _invalid(f"{at}.value", f"{item.op} needs a value")
    if item.op == "ne":
        equal = _compare(field, "eq", value, item, at)
        return Condition(f"({equal.sql}) IS NOT TRUE", equal.params)
    return _compare(field, item.op, value, item, at)


def _compare(field: Field, op: str, value: Scalar, item: Filter, at: str) -> Condition:
    if op in {"contains", "starts_with"}:
        return _text(field, op, str(value), item)
    if field.kind == "boolean":
        truth = _TRUTH.get(str(value).strip().lower())
        if truth is None:
            raise _invalid(f"{at}.value", f"{field.name} holds true or false, not {value!r}")
        return Condition(f"{field.sql} {_SIGNS[op]} ?", (truth,))
    number = None if isinstance(value, bool) else _number(value)
    if field.kind in NUMBERS:
        if number is None:
            raise _invalid(f"{at}.value", f"{field.name} holds numbers, not {value!r}")
        return Condition(f"{field.sql} {_SIGNS[op]} ?", (number,))
    # Where some values are numbers, a number written as a text is compared as one; equal are they either way.
    ordered = field.kind in JSON_KINDS and op in {"gt", "ge", "lt", "le"}
    if number is not None and (ordered or not isinstance(value, str)):
        return Condition(f"{field.number} {_SIGNS[op]} ?", (number,))
    return _text(field, op, str(value).lower() if isinstance(value, bool) else str(value), item)


def _text(field: Field, op: str, value: str, item: Filter) -> Condition:
    fold: Callable[[str], str] = (lambda sql: sql) if item.case_sensitive else (lambda sql: f"lower({sql})")
    left, right = fold(field.text), fold("CAST(? AS VARCHAR)")
    if op in {"contains", "starts_with"}:
        return Condition(f"{op}({left}, {right})", (value,))
    return Condition(f"{left} {_SIGNS[op]} {right}", (value,))


def _null(field: Field) -> str:
    if field.kind in JSON_KINDS:
        return f"({field.sql} IS NULL OR CAST({field.sql} AS VARCHAR) = 'null')"
    return f"{field.sql} IS NULL"


def _number(value: Json) -> int | float | None:
    if isinstance(value, int | float):
        return value
    if _INTEGER.fullmatch(value):
        return int(value)
    try:
        return float(value)
    except ValueError:
        return None


def _invalid(param: str, reason: str) -> ActionError:
    return ActionError("INVALID_VALUE", f"{param}: {reason}", invalid=[InvalidParam(param, reason)])
