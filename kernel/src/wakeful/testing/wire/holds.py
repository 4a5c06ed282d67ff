"""Requests that stand still until a test lets them go, and tests that wait for requests."""

from __future__ import annotations

import asyncio

from attrs import define, field


@define
class Holds:
    """Where requests wait; everything here happens in the server's event loop.

    Attributes:
        held: how many requests have come to a hold so far.
        left: how many clients have gone away before they had their whole answer.
        closed: the server stops; nothing waits any more.
    """

    held: int = field(default=0, init=False)
    left: int = field(default=0, init=False)
    closed: bool = field(default=False, init=False)
    _open: asyncio.Event = field(factory=asyncio.Event, init=False)
    _closing: asyncio.Event = field(factory=asyncio.Event, init=False)
    _news: asyncio.Condition = field(factory=asyncio.Condition, init=False)

    async def hold(self) -> None:
        """Wait until the next :meth:`release`."""
        waiting = self._open
        async with self._news:
            self.held += 1
            self._news.notify_all()
        if not self.closed:
            await waiting.wait()

    async def pause(self, milliseconds: float) -> None:
        """Wait that long, or until the server stops."""
        try:
            await asyncio.wait_for(self._closing.wait(), milliseconds / 1000)
        except TimeoutError:
            return

    def release(self) -> int:
        """Let everyone go who is held now; later ones wait again. Return how many were ever held."""
        self._open.set()
        self._open = asyncio.Event()
        return self.held

    def close(self) -> None:
        """Let everyone go for good."""
        self.closed = True
        self._closing.set()
        self.release()

    async def gone(self) -> None:
        """Note that a client has gone away."""
        async with self._news:
            self.left += 1
            self._news.notify_all()

    async def reached(self, *, held: int = 0, left: int = 0) -> None:
        """Wait until that many requests have been held, and that many clients have gone away."""
        async with self._news:
            await self._news.wait_for(lambda: self.held >= held and self.left >= left)
