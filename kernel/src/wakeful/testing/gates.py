"""Places where a test holds work up."""

from __future__ import annotations

import asyncio

from attrs import define, field


@define(eq=False)
class Gate:
    """Work that waits here stands still until the test opens the gate.

    A scripted reply takes one as ``wait``; an action of a test awaits :meth:`wait`. ``arrived`` counts who
    came.
    """

    arrived: int = field(default=0, init=False)
    _open: asyncio.Event = field(factory=asyncio.Event, init=False, repr=False)
    _came: asyncio.Condition = field(factory=asyncio.Condition, init=False, repr=False)

    async def wait(self) -> None:
        """Arrive, and wait until the gate is open."""
        async with self._came:
            self.arrived += 1
            self._came.notify_all()
        await self._open.wait()

    async def reached(self, count: int = 1) -> None:
        """Wait until that many have arrived."""
        async with self._came:
            await self._came.wait_for(lambda: self.arrived >= count)

    def open(self) -> None:
        """Let everybody through, now and later."""
        self._open.set()
