"""One attempt at an item: its handler as a task, and why it was interrupted."""

from __future__ import annotations

import asyncio
from datetime import datetime
from enum import Enum

from attrs import define, field

from wakeful.types import Claim, Handler


class Why(Enum):
    """Why a handler was interrupted."""

    CANCELLED = "somebody cancelled the item"
    STOPPED = "the runtime stops"
    LOST = "the lease was lost"


class How(Enum):
    """How an attempt came to its end."""

    RETURNED = "returned"
    RAISED = "raised"
    INTERRUPTED = "interrupted"


@define(eq=False)
class Held:
    """An item in the hands of this process.

    Args:
        claimed: the item and the attempt.
        until: when the lease runs out unless it is renewed.
    """

    claimed: Claim
    until: datetime
    why: Why | None = field(default=None, init=False)
    error: BaseException | None = field(default=None, init=False)
    _work: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    def start(self, handler: Handler) -> None:
        """Let the handler begin."""

        async def work() -> None:
            await handler(self.claimed)

        self._work = asyncio.create_task(work(), name=f"work item {self.claimed.item.id}")

    def interrupt(self, why: Why) -> None:
        """Ask the handler to stop, once: what it does to clean up is not disturbed again.

        Does nothing to a handler that has returned already. Losing the lease overrides another reason: then
        nothing may be written any more.
        """
        first = self.why is None
        over = self._work is None or self._work.done()
        if why is Why.LOST or (first and not over):
            self.why = why
        if first and self._work is not None:
            self._work.cancel()

    async def ended(self) -> How:
        """Wait until the handler has returned, and say how.

        When the waiting task is cancelled itself (the event loop is being closed), so is the handler.
        """
        work = self._work
        if work is None:
            raise RuntimeError("ask a started attempt only")
        closing = False
        while not work.done():
            try:
                await asyncio.wait((work,))
            except asyncio.CancelledError:
                closing = True
                self.interrupt(Why.STOPPED)
        if not work.cancelled():
            self.error = work.exception()
            return How.RETURNED if self.error is None else How.RAISED
        if self.why is None and closing:
            self.why = Why.STOPPED
        if self.why is None:
            # Nobody here asked for it: something the handler awaited was cancelled under it.
            self.error = asyncio.CancelledError("cancelled from within")
            return How.RAISED
        return How.INTERRUPTED
