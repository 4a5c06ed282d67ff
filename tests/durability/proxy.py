"""A line to a server that can be cut: TCP on loopback, forwarded by a process of its own."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from attrs import define, field

#: Bytes that are forwarded at once.
PIECE = 65_536


@define(eq=False)
class Line:
    """Forwards connections to a server until it is cut.

    Args:
        host, port: of the server.
        own: the port to listen on.
    """

    host: str
    port: int
    own: int
    _open: set[asyncio.StreamWriter] = field(factory=set, init=False)
    _server: asyncio.Server | None = field(default=None, init=False)
    _down: bool = field(default=False, init=False)

    async def serve(self) -> None:
        """Forward until SIGTERM; SIGUSR1 cuts the line and refuses new connections, SIGUSR2 mends it."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, self._cut)
        loop.add_signal_handler(signal.SIGUSR2, self._mend)
        loop.add_signal_handler(signal.SIGTERM, over.set)
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.own)
        await over.wait()
        self._cut()

    def _cut(self) -> None:
        self._down = True
        for writer in tuple(self._open):
            writer.transport.abort()

    def _mend(self) -> None:
        self._down = False

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._down:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection(self.host, self.port)
        self._open |= {writer, back}
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            for end in (writer, back):
                self._open.discard(end)
                end.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
    writer.transport.abort()
