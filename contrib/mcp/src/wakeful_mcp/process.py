"""A server in a process of its own: lines of JSON in and out, every buffer and wait with a limit.

The library has a transport for this. Here a line has a largest length, what is no message does no harm,
standard error goes to the log within bounds, and how the process ended is known.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio

from wakeful.types import Clock
from wakeful.waiting import within
from wakeful_mcp.log import Said

#: Bytes read at once.
CHUNK = 65_536
#: Seconds in which a server must take what is written to it.
WRITE_S = 20.0
#: Seconds a server gets to end by itself after its input closed, and then after SIGTERM.
GRACE_S = 1.0
#: Times the largest message after which a line is taken to have no end.
ENDLESS = 10
#: Bytes at the beginning and the end of an overlong message in which its id is looked for.
EDGE = 300
_POLL_S = 0.01
_FIRST = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*,')
_LAST = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*\}\s*$')


class Lines:
    """Cuts a stream into lines; of one that is too long it keeps the beginning and the end.

    Args:
        limit: longest line in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._cut = 0

    @property
    def endless(self) -> bool:
        """Whether the line that is being read is far beyond the limit."""
        return self._cut > ENDLESS * self._limit

    def feed(self, data: bytes) -> list[tuple[bytes, int]]:
        """Take a piece; return each finished line with its length if it was too long, else 0."""
        found = []
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._add(part)
            found.append((bytes(self._line), self._cut))
            self._line.clear()
            self._cut = 0
        self._add(rest)
        return found

    def _add(self, part: bytes) -> None:
        if self._cut:
            self._cut += len(part)
            self._line[EDGE:] = (bytes(self._line[EDGE:]) + part[-EDGE:])[-EDGE:]
            return
        self._line += part
        if len(self._line) > self._limit:
            self._cut = len(self._line)
            self._line = self._line[:EDGE] + self._line[-EDGE:]


def answered(edges: bytes) -> int | None:
    """Return the id of the request that an overlong message answers, if its ends show it."""
    found = _FIRST.search(edges) or _LAST.search(edges)
    return int(found[1]) if found else None


class Talk:
    """One process of a server and the streams by which the library speaks to it.

    Args:
        process: started, with pipes.
        limit: longest message in bytes.
        clock: what waits are measured by.
        said: where standard error goes.
        ended: called once, with the reason, when nothing more can come.
    """

    def __init__(
        self, process: Process, limit: int, clock: Clock, said: Said, ended: Callable[[str], None]
    ) -> None:
        self._process, self._limit, self._clock, self._said = process, limit, clock, said
        self._ended = ended
        self._into, self.read = anyio.create_memory_object_stream[Any](0)
        self.write, self._out = anyio.create_memory_object_stream[Any](0)
        work = {"reads": self._reads, "writes": self._writes, "listens": self._listens}
        self._tasks = [asyncio.create_task(each(), name=f"mcp {name}") for name, each in work.items()]

    async def _reads(self) -> None:
        """Hand on what the server writes, line by line, until it ends."""
        assert self._process.stdout is not None  # noqa: S101  (asked for as a pipe)
        lines = Lines(self._limit)
        try:
            async with self._into:
                while data := await self._process.stdout.read(CHUNK):
                    for line, cut in lines.feed(data):
                        message = self._message(line, cut)
                        if message is not None:
                            await self._into.send(message)
                    if lines.endless:
                        self._ended("it sent a message without end")
                        break
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            return
        finally:
            self._ended("")

    def _message(self, line: bytes, cut: int) -> Any:
        """Return the message in a line; None if there is none."""
        from mcp.shared.message import SessionMessage
        from mcp.types import ErrorData, JSONRPCError, jsonrpc_message_adapter

        if cut:
            about = f"a message of {cut:,} bytes, more than max_bytes = {self._limit:,}"
            request = answered(line)
            if request is None:
                self._ended(f"it sent {about}")
                return None
            error = ErrorData(code=TOO_LARGE, message=f"the answer is {about}")
            return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))
        if not line.strip():
            return None
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self._said.garbage(line)
            return None

    async def _writes(self) -> None:
        assert self._process.stdin is not None  # noqa: S101  (asked for as a pipe)
        try:
            async with self._out:
                async for message in self._out:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._process.stdin.write(text.encode() + b"\n")
                    await within(self._clock, WRITE_S, self._process.stdin.drain())
        except TimeoutError:
            self._ended("it does not read what is written to it")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            self._ended("")

    async def _listens(self) -> None:
        """Take standard error to its end, whatever is done with it: a full pipe would stop the server."""
        assert self._process.stderr is not None  # noqa: S101  (asked for as a pipe)
        with suppress(OSError):
            while data := await self._process.stderr.read(CHUNK):
                self._said.hear(data)
        self._said.end()

    async def stop(self) -> str:
        """End the process and everything that watches it; return how it ended."""
        try:
            with suppress(OSError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            for number in (signal.SIGTERM, signal.SIGKILL):
                if await self._exits():
                    break
                self._signal(number)
            await self._exits()
        finally:
            self._signal(signal.SIGKILL)  # also what it started itself, and if this wait was cut short
            for task in self._tasks[:2]:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=GRACE_S)
            self._tasks[2].cancel()
            for stream in (self.read, self.write, self._into, self._out):
                stream.close()
            # Nothing public closes the pipes that a grandchild may still hold.
            close = getattr(getattr(self._process, "_transport", None), "close", None)
            if callable(close):
                close()
        return self.how()

    def how(self) -> str:
        """Return how the process ended, with its last words; empty while it runs."""
        code = self._process.returncode
        if code is None:
            return ""
        ended = f"it ended with signal {-code}" if code < 0 else f"it ended with exit code {code}"
        last = self._said.last()
        return f"{ended}: {last}" if last else ended

    async def settle(self) -> None:
        """Wait a moment for the end of a process whose output ended, and for its last words."""
        await self._exits()
        await asyncio.wait({self._tasks[2]}, timeout=GRACE_S)

    async def _exits(self) -> bool:
        """Whether the process has ended after at most ``GRACE_S`` seconds."""
        # Not process.wait(), which also waits for pipes that others may hold.
        for _ in range(round(GRACE_S / _POLL_S)):
            if self._process.returncode is not None:
                return True
            await asyncio.sleep(_POLL_S)
        return self._process.returncode is not None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


#: Code of the error that stands for an answer that was not taken; not one of the protocol's.
TOO_LARGE = -31_900


@asynccontextmanager
async def spoken(
    command: str,
    args: tuple[str, ...],
    env: dict[str, str],
    cwd: Path,
    *,
    limit: int,
    clock: Clock,
    said: Said,
    ended: Callable[[str], None],
) -> AsyncIterator[Talk]:
    """Run a server as long as the context is open.

    Args:
        command: program, looked up in ``PATH`` of ``env``; with a slash, from ``cwd``.
        args: its arguments.
        env: its whole environment.
        cwd: the folder it runs in.
        limit: longest message in bytes.
        clock: what waits are measured by.
        said: where standard error goes.
        ended: called with a reason, or an empty one, when nothing more can come.

    Raises:
        OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        command, *args, env=env, cwd=cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    talk = Talk(process, limit, clock, said, ended)
    try:
        yield talk
    finally:
        with anyio.CancelScope(shield=True):
            await talk.stop()
