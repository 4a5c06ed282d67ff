"""Whether one value is what a condition on an argument says."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from fnmatch import translate
from functools import lru_cache

from wakeful.types import Json
from wakeful.types.words import hidden
from wakeful_policy.defaults import is_given
from wakeful_policy.settings import Condition

#: Characters of a text that are read as a forgiving reader takes them.
FOLDED = 20_000


def leaves(value: Json) -> Iterator[Json]:
    """Yield the items of a list and of the lists in it; of anything else, and of an empty list, itself."""
    if isinstance(value, list | tuple) and value:
        for item in value:
            yield from leaves(item)
    else:
        yield value


def item_meets(value: Json, condition: Condition, *, nearly: bool = False) -> bool:
    """Whether a value that is no list is what a condition says about values.

    ``nearly``: whether a text suffices that a forgiving reader takes for what is named.
    """
    if not is_given(value):
        return False
    if condition.equals is not None and not same(value, condition.equals, nearly=nearly):
        return False
    if condition.one_of and not any(same(value, each, nearly=nearly) for each in condition.one_of):
        return False
    if condition.like and not _is_like(value, condition.like, nearly=nearly):
        return False
    return _within(value, condition)


def same(value: Json, named: str | float, *, nearly: bool = False) -> bool:
    """Whether a value is what a rule names.

    If either is a number, both are compared as numbers, exactly; else as texts, regardless of case.
    """
    if _is_number(value) or _is_number(named):
        one, other = _number(value), _number(named)
        return one is not None and one == other
    text, wanted = _text(value), _text(named)
    return text == wanted or (nearly and _folded(text) == _folded(wanted))


def _is_like(value: Json, pattern: str, *, nearly: bool) -> bool:
    spelled, patterns = _spellings(value), {pattern.casefold()}
    if nearly:
        spelled, patterns = spelled | set(map(_folded, spelled)), patterns | set(map(_folded, patterns))
    return any(_glob(each).match(text) for each in patterns for text in spelled)


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    """Return a text as a forgiving reader takes it: compatible characters alike, nothing hidden or around."""
    text = text[:FOLDED]
    if not text.isascii():
        text = "".join(each for each in text if not hidden(each))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.split())[:FOLDED]  # one character may stand for many


def _is_number(value: Json) -> bool:  # true is not 1
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Json) -> Decimal | None:
    """Return the number that a value is or spells, a float as it is written; NaN is none."""
    if not (isinstance(value, str) or _is_number(value)):
        return None
    try:
        found = Decimal(repr(value) if isinstance(value, float) else value)
    except ArithmeticError:
        try:  # an exponent of many digits, perhaps: it is then nothing, or beyond everything
            found = Decimal(float(value))
        except ValueError:
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
    above, below = _number(condition.above), _number(condition.below)
    if above is None and below is None:
        return True
    number = _number(value)
    if number is None:
        return False
    return (above is None or number > above) and (below is None or number < below)
