"""What servers say on the side, in the log: bounded, in single lines, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable

from wakeful.types import Clock
from wakeful_mcp.definitions import readable

log = logging.getLogger("wakeful.mcp")

#: Longest line that is kept, in characters.
LINE = 400
#: Lines of one server in one window; more are counted.
LINES = 60
#: Seconds of a window.
WINDOW_S = 60.0
#: Lines that are kept to say how a server ended.
KEPT = 8


class Said:
    """The standard error of one process of a server.

    Args:
        server: its name.
        clock: for the windows.
        masked: takes secrets out of a text.
    """

    def __init__(self, server: str, clock: Clock, masked: Callable[[str], str]) -> None:
        self._server, self._clock, self._masked = server, clock, masked
        self._rest = b""
        self._kept: list[str] = []
        self._begin, self._count = clock.monotonic(), 0
        self._garbage = 0

    def hear(self, data: bytes) -> None:
        """Take a piece of standard error."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:LINE]  # a line that never ends is cut
        for line in lines:
            self._line(line)

    def _line(self, raw: bytes) -> None:
        text = " ".join(readable(self._masked(raw[: 4 * LINE].decode(errors="replace"))).split())[:LINE]
        if not text:
            return
        self._kept = [*self._kept, text][-KEPT:]
        if self._clock.monotonic() - self._begin >= WINDOW_S:
            self._left_out()
            self._begin, self._count = self._clock.monotonic(), 0
        self._count += 1
        if self._count <= LINES:
            log.info("%s: %s", self._server, text)

    def _left_out(self) -> None:
        if self._count > LINES:
            log.info("%s: … and %d more lines", self._server, self._count - LINES)

    def garbage(self, line: bytes) -> None:
        """Note something on standard output that is no message; the first time aloud."""
        self._garbage += 1
        if self._garbage == 1:
            text = readable(self._masked(line[:LINE].decode(errors="replace")))
            log.warning("%s: printed what is no message, which is ignored: %r", self._server, text[:80])

    def end(self) -> None:
        """Take what is left."""
        self._line(self._rest)
        self._rest = b""
        self._left_out()
        if self._garbage > 1:
            log.info("%s: printed %d lines that are no messages", self._server, self._garbage)

    def last(self) -> str:
        """Return the last words, which usually say why a server ended; empty if there are none."""
        return self._kept[-1][:200] if self._kept else ""
