"""A lane: an engine and the threads that use it, reached from an event loop in one hop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any, TypeVar

from sqlalchemy import Engine

from wakeful.store.errors import translate
from wakeful.store.urls import Target
from wakeful.types.errors import StoreError

T = TypeVar("T")


class Lane:
    """Threads over one engine.

    Args:
        target: the database, for messages.
        engine: what the functions handed in work with; disposed of by :meth:`end`.
        threads: how many functions run at once. One thread means they run one after the other.
        name: of the threads, for debuggers.
    """

    def __init__(self, target: Target, engine: Engine, threads: int, name: str) -> None:
        self.target, self.engine = target, engine
        self._threads = ThreadPoolExecutor(threads, name)
        self._running: set[Future[Any]] = set()
        self._ended = False

    async def run(self, fn: Callable[[], T], *, certain: bool = False) -> T:
        """Run ``fn`` on a thread of this lane.

        When the caller is cancelled, a function that has not begun never does, and one that has is waited
        for: afterwards nothing is half done and nothing runs on.

        Args:
            fn: what to run.
            certain: run it even if the caller is cancelled before it begins.

        Raises:
            StoreError: the lane has ended, or ``fn`` raised a driver's error about the database's state.
        """
        if self._ended:
            raise StoreError(f"{self.target.label}: the store is closed")
        job = self._threads.submit(fn)
        self._running.add(job)
        job.add_done_callback(self._running.discard)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            if certain or not job.cancel():
                rest = asyncio.wrap_future(job)
                await asyncio.wait((rest,))
                rest.exception()  # the cancellation is what the caller hears of
            raise
        except Exception as error:
            clear = translate(error, self.target)
            if clear is None:
                raise
            raise clear from error

    async def end(self, last: Callable[[], None], *, patience: float) -> None:
        """Let what runs come to its end, run ``last``, close the connections and end the threads.

        Args:
            last: what to do before the connections are closed.
            patience: seconds to wait for functions that are still running.
        """
        if self._ended:
            return
        self._ended = True
        jobs = tuple(self._running)

        def finish() -> None:
            wait_for(jobs, patience)
            last()
            self.engine.dispose()

        # Not a thread of the lane: those may be what is waited for.
        ender = ThreadPoolExecutor(1, "wakeful-close")
        try:
            await asyncio.shield(asyncio.wrap_future(ender.submit(finish)))
        finally:
            ender.shutdown(wait=False)
            self._threads.shutdown(wait=False)
