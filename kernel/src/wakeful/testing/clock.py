"""Time that moves only when a test says so."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import define, field

#: When fake time begins; any moment would do.
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
#: Turns of the event loop that whoever woke gets before time moves on.
SETTLE = 20


@define(eq=False)
class FakeClock:
    """A :class:`wakeful.types.Clock` for tests.

    Nothing ever really waits: a ``sleep`` ends when the test has moved time far enough, or never. Work
    that is limited by this clock therefore runs as long as it needs until the test says otherwise.

    Args:
        start: the first moment.
    """

    start: datetime = START
    _passed: float = field(default=0.0, init=False)
    _made: int = field(default=0, init=False)
    _sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(factory=list, init=False, repr=False)

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self.start + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._passed

    def sleep(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Wait until :meth:`advance` or :meth:`elapse` has moved time that far, counted from this call.

        Not from the first ``await``: who hands the sleep to a task read the time just now, and time that
        moved before the task began would be slept on top.
        """
        if seconds <= 0:
            return asyncio.sleep(0)
        self._made += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._passed + seconds, self._made, future))
        return _wait(future)

    @property
    def sleeping(self) -> int:
        """How many sleeps have not ended."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Move time at once; whoever slept that long wakes, the earliest first.

        Raises:
            ValueError: time does not run backwards.
        """
        if seconds < 0:
            raise ValueError(f"time runs forwards only; got {seconds:g} seconds")
        self._passed += seconds
        while self._sleepers and self._sleepers[0][0] <= self._passed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    async def elapse(self, seconds: float) -> None:
        """Let time pass from sleeper to sleeper, so that one who sleeps again in between wakes in order."""
        end = self._passed + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.advance(max(0.0, self._sleepers[0][0] - self._passed))
            await self._settle()
        self.advance(end - self._passed)
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(SETTLE):
            await asyncio.sleep(0)


async def _wait(future: asyncio.Future[None]) -> None:
    await future
