"""Whether one value is what a condition on an argument says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fnmatch import translate
from functools import lru_cache

from wakeful.types import Json
from wakeful_policy.defaults import is_given
from wakeful_policy.settings import Condition


def leaves(value: Json) -> Iterator[Json]:
    """Yield the items of a list and of the lists in it; of anything else, and of an empty list, itself."""
    if isinstance(value, list | tuple) and value:
        for item in value:
            yield from leaves(item)
    else:
        yield value


def item_meets(value: Json, condition: Condition) -> bool:
    """Whether a value that is no list is what a condition says about values."""
    if not is_given(value):
        return False
    if condition.equals is not None and not same(value, condition.equals):
        return False
    if condition.one_of and not any(same(value, each) for each in condition.one_of):
        return False
    if condition.like and not any(map(_glob(condition.like.casefold()).match, _spellings(value))):
        return False
    return _within(value, condition)


def same(value: Json, named: str | float) -> bool:
    """Whether a value is what a rule names.

    If either is a number, both are compared as numbers, exactly; else as texts, regardless of case.
    """
    if _is_number(value) or _is_number(named):
        one, other = _number(value), _number(named)
        return one is not None and one == other
    return _text(value) == _text(named)


def _is_number(value: Json) -> bool:  # true is not 1
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Json) -> Decimal | None:
    """Return the number that a value is or spells, a float as it is written; NaN is none."""
    if not (isinstance(value, str) or _is_number(value)):
        return None
    try:
        found = Decimal(repr(value) if isinstance(value, float) else value)
    except ArithmeticError:
        return None
    return None if found.is_nan() else found


def _text(value: Json) -> str:
    return (("true" if value else "false") if isinstance(value, bool) else str(value)).casefold()


def _spellings(value: Json) -> set[str]:
    """Return a value as text; a whole number both with and without ``.0``, as equal numbers are the same."""
    found = {_text(value)}
    if _is_number(value) and (isinstance(value, int) or value.is_integer()):
        found |= {str(int(value)), f"{int(value)}.0"}
    return found


@lru_cache(maxsize=1_000)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _within(value: Json, condition: Condition) -> bool:
    if condition.above is None and condition.below is None:
        return True
    try:  # a whole number is compared as it is: a float may be too small for it
        number = value if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        return False
    above = condition.above is None or number > condition.above
    return above and (condition.below is None or number < condition.below)
