"""What a person asks of an artifact on the command line, and how it is written there."""

from __future__ import annotations

from typing import Any, cast, get_args

from attrs import frozen

from wakeful.types import ConfigError, Problem, nearest
from wakeful_spillover.conditions import Filter, Op
from wakeful_spillover.rows import Aggregate, AggregateOp


@frozen
class Wanted:
    """What ``wakeful artifacts query`` was asked."""

    where: tuple[str, ...] = ()
    any: bool = False
    columns: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    path: str = ""
    grep: str = ""
    context: int = 0
    start: int = 1
    limit: int = 50


def filter_of(text: str) -> Filter:
    """Return ``amount gt 50000`` as a condition; values of in and between are separated by commas.

    Raises:
        ConfigError: it is none.
    """
    ops = get_args(Op)
    words = text.split()
    place = next((at for at, word in enumerate(words) if at and word in ops), 0)
    if not place:
        near = nearest(words[1], ops) if len(words) > 1 else ""
        raise ConfigError([Problem("--where", f"{text!r}: expected COLUMN OP VALUE{near}")])
    column, op, value = " ".join(words[:place]), words[place], " ".join(words[place + 1 :])
    if op == "is_null":
        return Filter(column, "is_null", value.lower() != "false")
    listed: Any = [part.strip() for part in value.split(",")] if op in {"in", "between"} else value
    return Filter(column, cast("Op", op), listed)


def aggregate_of(text: str) -> Aggregate:
    """Return ``sum amount`` as a figure.

    Raises:
        ConfigError: it is none.
    """
    op, _, column = text.strip().partition(" ")
    ops = get_args(AggregateOp)
    if op not in ops:
        raise ConfigError([Problem("--aggregate", f"{op!r} is not known{nearest(op, ops)}")])
    return Aggregate(cast("AggregateOp", op), column.strip())
