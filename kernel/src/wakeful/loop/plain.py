"""Results as JSON can express them, whoever made them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from attrs import evolve

from wakeful.tools.values import Unserialisable, to_json, to_result
from wakeful.types import ActionResult, ErrorRecovery, InvalidParam, Json


def streams(result: ActionResult) -> bool:
    """Return whether an output is an iterator, which can be read only once."""
    return any(isinstance(value, Iterator | AsyncIterator) for value in result.outputs.values())


def plain(result: ActionResult) -> ActionResult:
    """Return ``result`` in plain JSON: numbers that are not finite become the texts NaN and Infinity.

    Functions marked with ``@action`` give such results by themselves; this is for actions built from data,
    stages of plugins and what an ``ActionError`` carries. What cannot be expressed at all fails the result
    with the code ``UNSERIALISABLE``; of a recovery it is left out.
    """
    made = to_result(result)
    return made if made.recovery is None else evolve(made, recovery=_recovery(made.recovery))


def _recovery(given: ErrorRecovery) -> ErrorRecovery:
    params = tuple(
        InvalidParam(
            str(each.param), str(each.reason), str(each.expected_format), _values(each.allowed_values)
        )
        for each in given.invalid_params
    )
    example = _values([given.valid_example])
    return evolve(given, invalid_params=params, valid_example=example[0] if example else None)


def _values(values: object) -> tuple[Json, ...]:
    try:
        return tuple(to_json(values))
    except Unserialisable:
        return ()
