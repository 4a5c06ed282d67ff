"""What is going on, on standard error: a line for each thing that happens, a spinner while nothing does."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import define, field

from wakeful.cli.output import note, put, short, terminal

#: Seconds of silence after which a spinner shows that something still happens.
SILENCE = 1.0
#: Seconds between two pictures of the spinner.
TICK = 0.1
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_FRAMES = "|/-\\"
_ERASE = "\r\x1b[2K"


@define(eq=False)
class Progress:
    """Lines and a spinner on standard error.

    Args:
        on: False prints nothing at all.
    """

    on: bool = True
    _what: str = ""
    _since: float = field(factory=time.monotonic)
    _shown: bool = False
    _frame: int = 0

    def line(self, text: str) -> None:
        """Print a line about something that happened."""
        if self.on:
            self.clear()
            note(text, dim=True)

    def during(self, what: str) -> None:
        """Say what happens from now on, in case it takes long; nothing is printed yet."""
        self.clear()
        self._what = what

    def clear(self) -> None:
        """Take the spinner away before something else is printed."""
        self._since = time.monotonic()
        if self._shown:
            self._shown = False
            put(_ERASE, sys.stderr)

    @asynccontextmanager
    async def spinning(self) -> AsyncIterator[None]:
        """Show the spinner in pauses, as long as the block lasts; only where a person looks."""
        if not self.on or not terminal(sys.stderr):
            yield
            return
        task = asyncio.ensure_future(self._spin())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            self.clear()

    async def _spin(self) -> None:
        utf8 = (sys.stderr.encoding or "").lower().startswith("utf")
        frames = FRAMES if utf8 else PLAIN_FRAMES
        while True:
            await asyncio.sleep(TICK)
            silent = time.monotonic() - self._since
            if self._what and silent >= SILENCE:
                self._frame = (self._frame + 1) % len(frames)
                put(f"{_ERASE}{frames[self._frame]} {short(self._what, 60)} {silent:.0f} s", sys.stderr)
                self._shown = True
