"""Counting what failed tries of one model call used, also when the call is cut short by its caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from wakeful.types import Usage

# A context variable reaches through models that know nothing of each other and into the task in which a call
# with a time limit runs; the list is shared, so whoever began to count sees what was added before the end.
_counted: ContextVar[list[Usage] | None] = ContextVar("wakeful_failed_tries", default=None)


@contextmanager
def counting() -> Iterator[list[Usage]]:
    """Give the list of what failed tries use, for one question to a model.

    What is in it when a reply comes is part of the reply's usage.
    """
    used: list[Usage] = []
    token = _counted.set(used)
    try:
        yield used
    finally:
        _counted.reset(token)


def failed(usage: Usage | None) -> None:
    """Add what a try used that gave no reply; None if the provider said nothing."""
    used = _counted.get()
    if usage is not None and used is not None:
        used.append(usage)


def total(usages: Sequence[Usage]) -> Usage | None:
    """Return the sum, or None of nothing."""
    found: Usage | None = None
    for usage in usages:
        found = usage if found is None else found + usage
    return found
