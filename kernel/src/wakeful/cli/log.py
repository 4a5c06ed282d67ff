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
        """Show one record in one line: how its message begins, then how it or its traceback ends."""
        lines = [line for line in self.format(record).splitlines() if line.strip()]
        said = f" ({lines[-1].strip()})" if len(lines) > 1 else ""
        self._show(f"note: {lines[0] if lines else record.name}{said}")
        if traceback_wanted():
            for line in lines[1:]:
                note(line)


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
