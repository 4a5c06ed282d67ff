"""An event loop on a thread of its own, so that it goes on while the main thread waits for a person."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class LoopThread:
    """A running event loop; a context manager that ends it and what still runs on it."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wakeful-loop", daemon=True)

    def __enter__(self) -> Self:
        """Start the loop."""
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the loop and wait for its thread."""
        del kind, error, trace
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def call(self, work: Coroutine[Any, Any, T], *, interrupted: Callable[[], object] | None = None) -> T:
        """Run ``work`` on the loop and return its result.

        Args:
            work: what to run.
            interrupted: called on the loop at each Ctrl-C, after which the wait goes on; without it the
                work is cancelled and ``KeyboardInterrupt`` raised.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                if interrupted is None:
                    future.cancel()
                    raise
                self._loop.call_soon_threadsafe(interrupted)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._over.wait()
