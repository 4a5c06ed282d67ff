"""Ctrl-C while a run is in progress: the run ends as cancelled, with everything recorded."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from attrs import define, field

from wakeful.cli.output import note

if TYPE_CHECKING:
    from wakeful.app import App


@define(eq=False)
class Interrupts:
    """What an interrupt means just now.

    Args:
        app: whose runs are cancelled.
        run_id: the run in progress; empty as long as there is none.
        count: interrupts so far.
    """

    app: App
    run_id: str = ""
    count: int = 0
    _task: asyncio.Task[object] | None = field(factory=asyncio.current_task)
    _cancelling: asyncio.Task[None] | None = None

    def interrupt(self) -> None:
        """Cancel the run; the second time, or without a run, the task that waits for it."""
        self.count += 1
        if self.count == 1 and self.run_id:
            self._cancelling = asyncio.ensure_future(self._cancel())
        else:
            self._give_up()

    async def _cancel(self) -> None:
        note("cancelling the run; Ctrl-C again gives up waiting for it")
        if not await self.app.cancel(self.run_id):
            self._give_up()

    def _give_up(self) -> None:
        if self._task is not None:
            self._task.cancel()


@contextmanager
def interruptible(app: App) -> Iterator[Interrupts]:
    """Let SIGINT cancel the run that the block follows, instead of ending the program; main thread only."""
    interrupts = Interrupts(app)
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        loop.call_soon_threadsafe(interrupts.interrupt)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
