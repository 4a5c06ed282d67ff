"""What kinds of values a condition compares, as far as that can be told before it is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from wakeful_agents.flow.expressions import Condition
from wakeful_agents.payload.paths import spell

#: Nothing is known of the value.
ANY: Final = "any"
_CONSTANTS: Final[Mapping[str, str]] = {"true": "boolean", "false": "boolean", "null": "null"}
_ORDERED: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
#: Kinds that have a length, and in which something may be.
_MANY: Final = (ANY, "text", "list", "object")


def mistakes(condition: Condition, types: Mapping[str, str]) -> Iterator[str]:
    """Yield what in a condition can never be decided.

    Args:
        condition: as it was read.
        types: what places of the payload are declared as.
    """
    for node in ast.walk(condition.tree):
        if isinstance(node, ast.Compare):
            parts = [_kind(part, types) for part in (node.left, *node.comparators)]
            for left, how, right in zip(parts, node.ops, parts[1:], strict=False):
                yield from (f"{condition.text!r}: {what}" for what in _compared(left, how, right))
        elif isinstance(node, ast.Call) and (kind := _kind(node.args[0], types)) not in _MANY:
            yield f"{condition.text!r}: a {kind} has no length"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            kind = _kind(node.operand, types)
            yield from () if kind in {ANY, "number"} else (f"{condition.text!r}: no {kind} is negative",)


def _compared(left: str, how: ast.cmpop, right: str) -> Iterator[str]:
    if isinstance(how, _ORDERED) and ANY not in {left, right}:
        if left != right or left not in {"number", "text", "list"}:
            yield f"a {left} and a {right} have no order"
    elif isinstance(how, ast.In | ast.NotIn):
        if right not in _MANY:
            yield f"nothing is in a {right}"
        elif right == "text" and left not in {ANY, "text"}:
            yield f"no {left} is in a text"


def _kind(node: ast.expr, types: Mapping[str, str]) -> str:
    if isinstance(node, ast.Constant):
        return {bool: "boolean", int: "number", float: "number", str: "text"}.get(type(node.value), "null")
    if isinstance(node, ast.List | ast.Tuple):
        return "list"
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return "boolean"
    if isinstance(node, ast.Call | ast.UnaryOp):
        return "number"
    if isinstance(node, ast.Name):
        return {**_CONSTANTS, "index": "number"}.get(node.id, ANY)
    path = _path(node)
    return ANY if path is None else types.get(spell(path), ANY)


def _path(node: ast.expr) -> tuple[str | int, ...] | None:
    """Return the place in the payload that an expression names; None if it names none."""
    if isinstance(node, ast.Name):
        return () if node.id == "payload" else None
    if isinstance(node, ast.Attribute):
        above, part = _path(node.value), node.attr
        return None if above is None else (*above, part)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        above, index = _path(node.value), node.slice.value
        return None if above is None or not isinstance(index, str | int) else (*above, index)
    return None
