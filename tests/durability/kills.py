"""Ending this very process at a chosen point: nothing of it is in the kernel.

A point is the n-th of its kind: an await of the event loop that goes on, a statement about to be executed or
just executed, a commit about to happen or just done.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from typing import Any

from attrs import frozen
from sqlalchemy.engine.default import DefaultDialect

KINDS = ("await", "before statement", "after statement", "before commit", "after commit")


@frozen
class Point:
    """The ``number``-th point of a kind, from 1."""

    kind: str
    number: int


class Counting:
    """Counts the points that this process passes, and kills it at one of them.

    Args:
        point: where; None counts only.
    """

    def __init__(self, point: Point | None) -> None:
        self.point, self.counts = point, Counter[str]()
        self._lock = threading.Lock()

    def passes(self, kind: str) -> None:
        """Count one point."""
        with self._lock:
            self.counts[kind] += 1
            if self.point is not None and self.point == Point(kind, self.counts[kind]):
                os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Watch everything that this process does from now on."""
        run: Any = asyncio.events.Handle._run  # noqa: SLF001  (every callback of asyncio is a place to be killed at)
        commit: Any = DefaultDialect.do_commit
        execute: Any = DefaultDialect.do_execute
        passes = self.passes

        def counted_run(handle: Any) -> None:
            passes("await")
            run(handle)

        def counted_execute(dialect: DefaultDialect, *details: Any) -> None:
            passes("before statement")
            execute(dialect, *details)
            passes("after statement")

        def counted_commit(dialect: DefaultDialect, connection: Any) -> None:
            passes("before commit")
            commit(dialect, connection)
            passes("after commit")

        asyncio.events.Handle._run = counted_run  # type: ignore[assignment,method-assign]  # noqa: SLF001  (same)
        DefaultDialect.do_commit = counted_commit  # type: ignore[method-assign]  # every commit too
        DefaultDialect.do_execute = counted_execute  # type: ignore[method-assign]  # and every statement
