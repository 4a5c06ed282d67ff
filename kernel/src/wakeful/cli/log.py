"""The log of wakeful as lines on standard error; a traceback only if one was asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wakeful.cli.failures import traceback_wanted
from wakeful.cli.output import note


class _Lines(logging.Handler):
    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record in one line: message, then the type and text of its exception."""
        error = record.exc_info[1] if record.exc_info else None
        said = f" ({type(error).__name__}: {error})" if error is not None else ""
        self._show(" ".join(f"note: {record.getMessage()}{said}".split()))
        if error is not None and traceback_wanted():
            note(logging.Formatter().formatException((type(error), error, error.__traceback__)))


@contextmanager
def log_lines(show: Callable[[str], None] = note) -> Iterator[None]:
    """Hand warnings of wakeful's log to ``show`` instead of printing them as they are.

    Args:
        show: prints a line.
    """
    log = logging.getLogger("wakeful")
    handler = _Lines(show)
    before = log.handlers, log.propagate
    log.handlers, log.propagate = [handler], False
    try:
        yield
    finally:
        log.handlers, log.propagate = before
