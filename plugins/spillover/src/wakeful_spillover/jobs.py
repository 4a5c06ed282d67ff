"""Queries run in a thread, for a limited time, and end when their run is cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from wakeful.types import ActionError

_T = TypeVar("_T")

#: Seconds that a stopped query gets to end before its thread is left behind.
GRACE_S = 5.0
#: Seconds between two interrupts of a query that has not ended.
AGAIN_S = 0.05
#: Queries at once; more wait their turn.
PARALLEL = 4


class Job:
    """One query, which another thread may stop. Real time: it guards real work."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._stopped = threading.Event()
        self._interrupt: Callable[[], None] | None = None
        self._lock = threading.Lock()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped, or its time is over."""
        return self._stopped.is_set() or time.monotonic() > self._deadline

    def check(self) -> None:
        """Go on only while there is time.

        Raises:
            ActionError: QUERY_STOPPED.
        """
        if self.stopped:
            raise stopped(self.seconds)

    def interruptible(self, interrupt: Callable[[], None] | None) -> None:
        """Let :meth:`stop` call ``interrupt``; None when there is nothing more to interrupt."""
        with self._lock:
            self._interrupt = interrupt
        if interrupt is not None:
            self.check()

    def stop(self) -> None:
        """Stop the query."""
        self._stopped.set()
        with self._lock:
            if self._interrupt is not None:
                self._interrupt()


class Runner:
    """Runs queries of one plugin instance."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._slots = asyncio.Semaphore(PARALLEL)

    async def run(self, work: Callable[[Job], _T], seconds: float | None = None) -> _T:
        """Run ``work`` in a thread and return what it returns.

        Args:
            work: gets its job, which it checks now and then.
            seconds: another time limit than usual.

        Raises:
            ActionError: what ``work`` raised, or QUERY_STOPPED.
            asyncio.CancelledError: after the query was stopped.
        """
        async with self._slots:
            limit = self._seconds if seconds is None else seconds
            job = Job(limit)
            task = asyncio.create_task(asyncio.to_thread(work, job), name="spillover")
            task.add_done_callback(_forget)
            try:
                done, _ = await asyncio.wait({task}, timeout=limit)
                if not done:
                    await _stop(job, task)
                    raise stopped(limit)
            except asyncio.CancelledError:
                await _stop(job, task)
                raise
            return task.result()


async def _stop(job: Job, task: asyncio.Task[object]) -> None:
    """Stop a query until it has ended: an engine forgets an interrupt that comes before it begins."""
    for _ in range(int(GRACE_S / AGAIN_S)):
        job.stop()
        if (await asyncio.wait({task}, timeout=AGAIN_S))[0]:
            return


def stopped(seconds: float) -> ActionError:
    """Return the error of a query that took too long."""
    return ActionError(
        "QUERY_STOPPED",
        f"the query was stopped after {seconds:g} s",
        retryable=False,
        suggestion="Filter first, ask for fewer columns or groups, or a narrower path.",
    )


def _forget(task: asyncio.Task[object]) -> None:
    """Take the outcome of a task that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
