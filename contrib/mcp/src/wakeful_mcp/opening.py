"""Opening a connection to a server; whoever enters it must leave it in the same task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from wakeful.types import Clock
from wakeful_mcp.connection import Connection, LostError
from wakeful_mcp.log import Said
from wakeful_mcp.process import spoken
from wakeful_mcp.setup import Setup
from wakeful_mcp.web import Heard, reached


@asynccontextmanager
async def connected(setup: Setup, clock: Clock, masked: Callable[[str], str]) -> AsyncIterator[Connection]:
    """Connect to a server and greet it; the connection holds as long as the context is open.

    Args:
        setup: how it is reached.
        clock: what waits are measured by.
        masked: takes secrets out of what is logged.

    Raises:
        LostError: it cannot be reached, or ended while it was greeted.
        Exception: whatever else the library raises.
    """
    # Importing the library takes a second or two, in which others shall run.
    await asyncio.to_thread(__import__, "mcp.client.streamable_http")
    opened = _process(setup, clock, masked) if setup.kind == "stdio" else _address(setup, clock, masked)
    async with opened as connection:
        yield connection


@asynccontextmanager
async def _process(setup: Setup, clock: Clock, masked: Callable[[str], str]) -> AsyncIterator[Connection]:
    said = Said(setup.name, clock, masked)
    reasons: list[str] = []
    made: list[Connection] = []

    def ended(reason: str) -> None:
        reasons.append(reason)
        for each in made:
            each.end(reason or "it ended")

    running = spoken(
        setup.command,
        setup.args,
        setup.environment(),
        setup.cwd,
        limit=setup.max_bytes,
        clock=clock,
        said=said,
        ended=ended,
    )
    async with running as talk:
        try:
            async with _greeted((talk.read, talk.write)) as client:
                connection = Connection(setup, client, clock)
                made.append(connection)
                for reason in reasons:
                    connection.end(reason or "it ended")
                yield connection
        except Exception as error:
            if not made and reasons:
                await talk.settle()
                raise LostError(talk.how() or next(filter(None, reasons), "it ended")) from error
            raise
        if not connection.reason or connection.reason == "it ended":
            await talk.settle()
            connection.reason = talk.how() or connection.reason


@asynccontextmanager
async def _address(setup: Setup, clock: Clock, masked: Callable[[str], str]) -> AsyncIterator[Connection]:
    heard = Heard()
    try:
        streams = reached(
            setup.url,
            dict(setup.headers),
            limit=setup.max_bytes,
            timeout_s=setup.timeout_s,
            heard=heard,
            masked=masked,
        )
        async with streams as pair, _greeted(pair) as client:
            yield Connection(setup, client, clock, heard)
    except Exception as error:
        if heard.status:
            message = f"HTTP status {heard.status}"
            raise LostError(message) from error
        raise


@asynccontextmanager
async def _greeted(streams: tuple[Any, Any]) -> AsyncIterator[Any]:
    """Greet the server behind two streams; yields the library's client."""
    from mcp import Client
    from mcp.types import Implementation

    from wakeful import __version__

    @asynccontextmanager
    async def transport() -> AsyncIterator[tuple[Any, Any]]:
        yield streams

    about = Implementation(name="wakeful", version=__version__)
    async with Client(transport(), client_info=about, cache=None) as client:
        yield client
