"""The condition of ``while``: a place, an operator and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from wakeful.types import ActionError, Json, canonical
from wakeful_recovery.loops.templates import Scope, filled, names_last, referred


def _less(left: Json, right: Json) -> bool:
    try:
        return bool(left < right)
    except TypeError as error:
        what = f"{canonical(left)[:60]} and {canonical(right)[:60]} cannot be compared"
        raise ActionError("INVALID_CONDITION", what, retryable=True) from error


def _contains(left: Json, right: Json) -> bool:
    return right in left if isinstance(left, list | dict | str) else False


OPERATORS: Mapping[str, Callable[[Json, Json], bool]] = {
    "is_true": lambda left, _: bool(left),
    "is_false": lambda left, _: not left,
    "equals": lambda left, right: bool(left == right),
    "not_equals": lambda left, right: bool(left != right),
    "less_than": _less,
    "more_than": lambda left, right: _less(right, left),
    "contains": _contains,
    "is_empty": lambda left, _: left is None or left in ("", [], {}),
    "is_not_empty": lambda left, _: left is not None and left not in ("", [], {}),
}
#: Operators that take no second value.
ALONE = frozenset({"is_true", "is_false", "is_empty", "is_not_empty"})


@frozen
class Condition:
    """Whether another iteration follows. Before the first there is no ``last``, and it follows."""

    value: str
    operator: str
    operand: Json

    @classmethod
    def of(cls, args: Mapping[str, Json]) -> Condition:
        """Return the condition of a call.

        Raises:
            ActionError: an operator without its second value.
        """
        if args["operator"] not in ALONE and "operand" not in args:
            what = f"the operator {args['operator']} needs an operand"
            raise ActionError("INVALID_CONDITION", what, retryable=True)
        return cls(args["value"], args["operator"], args.get("operand"))

    @property
    def places(self) -> set[str]:
        """The places in the payload that it looks at."""
        return referred([self.value, self.operand])

    def holds(self, scope: Scope, *, first: bool) -> bool:
        """Return whether it holds; a place that is not there is nothing.

        Raises:
            ActionError: two values of kinds that cannot be compared.
        """
        if first and names_last(self.value):
            return True
        try:
            left = filled(self.value, scope)
        except ActionError:
            left = None
        return OPERATORS[self.operator](left, _number(filled(self.operand, scope), left))

    def missing(self, scope: Scope) -> str:
        """Return why its place is not there; empty if it is."""
        try:
            filled(self.value, scope)
        except ActionError as error:
            return error.message
        return ""

    def __str__(self) -> str:
        """Return it in words."""
        operand = "" if self.operator in ALONE else f" {canonical(self.operand)[:60]}"
        return f"{self.value} {self.operator}{operand}"


def _number(operand: Json, left: Json) -> Json:
    """Return an operand written as text as the number it is compared with."""
    if isinstance(operand, str) and isinstance(left, int | float) and not isinstance(left, bool):
        try:
            return float(operand)
        except ValueError:
            return operand
    return operand
