"""The supervisor of one server: connects when it is needed, again after a loss, ends with the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio

from wakeful.types import Clock, Json
from wakeful_mcp.connection import Connection, LostError, RefusedError, one_line
from wakeful_mcp.definitions import Definition
from wakeful_mcp.log import log
from wakeful_mcp.opening import connected
from wakeful_mcp.setup import Setup

#: Seconds between two attempts, at most; they begin with one second and double.
LONGEST_S = 60.0
#: Seconds in which a connection must be left when the application closes, before its task is cancelled.
LEAVE_S = 8.0


class DownError(Exception):
    """The server cannot be used now; its text says why."""


class ChangedError(Exception):
    """A tool is not what was accepted; its text says how."""


class Server:
    """One server, shared by all agents with the same setup.

    Its connection is entered and left in one task, which waits until somebody needs it. After a loss it is
    made again when it is needed again, at once the first time, then after 1, 2, 4, … seconds; a call that
    comes earlier fails at once.

    Args:
        setup: how it is reached.
        clock: what waits are measured by.
        masked: takes secrets out of texts.
    """

    def __init__(self, setup: Setup, clock: Clock, masked: Callable[[str], str]) -> None:
        self.setup = setup
        self._clock, self._masked = clock, masked
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._waiting: list[asyncio.Future[Connection]] = []
        self._trying = self._closed = False
        self._scope: anyio.CancelScope | None = None
        self._failures, self._not_before = 0, 0.0
        self._reason = ""

    async def tools(self) -> Mapping[str, Definition]:
        """Return what it offers now.

        Raises:
            DownError: it cannot be reached, or does not say.
        """
        try:
            return (await self._asked())[1]
        except RefusedError as error:
            raise DownError(self._masked(str(error))) from error

    async def call(self, pin: Definition, args: Mapping[str, Json], key: str) -> Any:
        """Call a tool, if it still is what was accepted.

        Args:
            pin: the tool as it was accepted.
            args: checked arguments.
            key: idempotency key.

        Raises:
            DownError: the server cannot be reached; nothing was called.
            ChangedError: the tool is not what was accepted; nothing was called.
            LostError: the connection ended before the answer came.
            RefusedError: the server refused the call.
        """
        connection, tools = await self._asked()
        found = tools.get(pin.name)
        if found is None:
            message = f"the server has no tool {pin.name!r} any more"
            raise ChangedError(message)
        if found.sha256 != pin.sha256:
            parts = [part for part in ("description", "schema") if getattr(found, part) != getattr(pin, part)]
            message = f"the {' and the '.join(parts)} of {pin.name!r} changed since a person accepted it"
            raise ChangedError(message)
        result = await connection.call(pin.name, args, key)
        self._failures = 0
        return result

    async def _asked(self) -> tuple[Connection, Mapping[str, Definition]]:
        """Return a connection and what it offers now; once more if the connection turns out to be dead."""
        for again in (True, False):
            connection = await self._connected()
            try:
                return connection, await connection.fresh()
            except LostError as error:
                if not again:
                    raise DownError(self._masked(str(error))) from error
        raise AssertionError  # pragma: no cover  (every branch above leaves)

    async def _connected(self) -> Connection:
        connection = self._connection
        if connection is not None and not connection.ended.is_set():
            return connection
        if self._closed:
            raise self._down()
        if self._wait > 0 and not self._trying:
            raise self._down()
        if self._task is None:
            self._task = asyncio.create_task(self._supervise(), name=f"mcp {self.setup.name}")
        future: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wanted.set()
        try:
            return await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    async def _supervise(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._closed:
                break
            was_up = False
            try:
                self._trying = True
                was_up = await self._hold()
            except Exception as error:  # noqa: BLE001  (whatever a server does is a reason, not an end)
                self._reason = self._masked(one_line(error))
            finally:
                self._trying = False
            self._lost(was_up=was_up)
        self._fail()

    async def _hold(self) -> bool:
        """Connect, hold the connection until it ends, leave it; return whether it was up."""
        connection: Connection | None = None
        was_up = False
        with anyio.CancelScope() as scope:
            self._scope = scope
            timer = asyncio.create_task(self._limit(scope), name=f"mcp {self.setup.name} limit")
            try:
                async with connected(self.setup, self._clock, self._masked) as connection:
                    await connection.fresh()
                    timer.cancel()
                    self._scope = None
                    was_up = True
                    self._publish(connection)
                    await connection.ended.wait()
            except Exception as error:  # noqa: BLE001  (told below, as a reason)
                self._reason = self._masked(one_line(error))
                if connection is not None:
                    connection.end(self._reason)
            finally:
                timer.cancel()
                self._connection = None
        if scope.cancelled_caught:
            self._reason = f"it was not ready within {self.setup.start_s:g} s"
        elif connection is not None and connection.reason:
            self._reason = self._masked(connection.reason)
        return was_up

    async def _limit(self, scope: anyio.CancelScope) -> None:
        await self._clock.sleep(self.setup.start_s)
        scope.cancel()

    def _publish(self, connection: Connection) -> None:
        self._connection, self._trying = connection, False
        for future in self._waiting:
            if not future.done():
                future.set_result(connection)
        self._waiting.clear()
        if self._closed:
            connection.end("it was stopped with the application")

    def _lost(self, *, was_up: bool) -> None:
        """Decide when it may be tried again, and tell who waits."""
        if self._closed:
            self._wanted.set()
            return
        self._failures += 1
        at_once = was_up and self._failures == 1
        wait = 0.0 if at_once else min(LONGEST_S, 2.0 ** (self._failures - 1))
        self._not_before = self._clock.monotonic() + wait
        log.warning("%s: %s", self.setup.name, self._reason)
        if at_once and self._waiting:
            self._wanted.set()
        else:
            self._fail()

    def _fail(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_exception(self._down())
        self._waiting.clear()

    @property
    def _wait(self) -> float:
        """Seconds until it may be tried again."""
        return self._not_before - self._clock.monotonic()

    def _down(self) -> DownError:
        """Return why it cannot be used now, and when it is tried again."""
        if self._closed:
            return DownError("it was stopped with the application")
        later = f"; it is tried again in {self._wait:.0f} s" if self._wait > 0 else ""
        return DownError(f"{self._reason}{later}")

    async def stop(self) -> None:
        """Leave the connection and end the task."""
        self._closed = True
        if self._connection is not None:
            self._connection.end("it was stopped with the application")
        if self._scope is not None:  # it is being greeted
            self._scope.cancel()
        self._wanted.set()
        task, self._task = self._task, None
        if task is None:
            return
        _, late = await asyncio.wait({task}, timeout=LEAVE_S)
        if late:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


class Hub:
    """The servers of one application, as its background service. None is started before it is needed.

    Args:
        clock: what waits are measured by.
    """

    name = "mcp"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._servers: dict[Setup, Server] = {}

    def __repr__(self) -> str:
        return f"Hub({len(self._servers)})"

    def of(self, setup: Setup, masked: Callable[[str], str]) -> Server:
        """Return the server of a setup."""
        if setup not in self._servers:
            self._servers[setup] = Server(setup, self._clock, masked)
        return self._servers[setup]

    async def start(self) -> None:
        """Nothing to do: a server is started by the first call of one of its tools."""

    async def stop(self) -> None:
        """End all servers."""
        servers, self._servers = self._servers, {}
        await asyncio.gather(*(server.stop() for server in servers.values()))
