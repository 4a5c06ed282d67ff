"""An engine: a llama.cpp server in a process of its own, started, watched, started again, ended."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from asyncio.subprocess import PIPE, Process

from attrs import asdict, frozen

from wakeful.types import Clock, ModelError
from wakeful.waiting import within

#: Bytes of what an engine said last that are kept for an error.
TAIL = 16_384
#: Seconds until the end of a process is known, after its connections broke.
NOTICE_S = 1.0
#: Longest part of an engine's own words in a message, in characters.
SAID = 200

_PREFIX = re.compile(r"^[\d.]+ ([A-Z]) \s*[\w~]*\s*[^:]*: (?:error [\w ]+: )?")


@frozen
class Setup:
    """What an engine is started with; engines of the same setup are one.

    Args:
        path, alias: the model's file, and its name in requests.
        context, slots, threads, cache_mib: as in the settings.
        template: text of the chat template; empty takes the file's.
    """

    path: str
    alias: str
    context: int
    slots: int
    threads: int
    cache_mib: int
    template: str = ""


@frozen
class Address:
    """Where an engine listens; the key keeps others on the machine out."""

    url: str
    key: str


class _Run:
    """One process of an engine."""

    def __init__(self, process: Process, key: str) -> None:
        self.process, self.key = process, key
        self.said = b""
        self.listening = asyncio.create_task(self._address(), name="llamacpp address")
        self.ended = asyncio.create_task(self._end(), name="llamacpp end")

    async def _address(self) -> str:
        """Return the address, empty if the process ends without one."""
        assert self.process.stdout is not None  # noqa: S101  (asked for as a pipe)
        line = await self.process.stdout.readline()
        return line.decode().removeprefix("listening ").strip()

    async def _end(self) -> str:
        """Return how the process ended, once it has."""
        assert self.process.stderr is not None  # noqa: S101  (asked for as a pipe)
        while piece := await self.process.stderr.read(4096):
            self.said = (self.said + piece)[-TAIL:]
        code = await self.process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        why = reason(self.said.decode(errors="replace"))
        return f"{how}: {why}" if why else how

    async def stop(self) -> None:
        """End the process and everything that watches it."""
        if self.process.returncode is None:
            self.process.kill()  # it holds nothing that is worth the time of asking
        if self.process.stdin is not None:
            self.process.stdin.close()
        await asyncio.wait({self.ended, self.listening})


def reason(said: str) -> str:
    """Return the first error an engine told of, else its last words; without times and names of functions."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if (found := _PREFIX.match(line)) and found[1] == "E"]
    line = (errors or lines[-1:] or [""])[0]
    return _PREFIX.sub("", line)[:SAID]


class Engine:
    """One engine, started when it is first needed or with the application, again after a crash.

    Args:
        setup: what it serves.
        clock: what waits are measured by.
        start_s: seconds a request waits until the model is loaded.
    """

    def __init__(self, setup: Setup, clock: Clock, start_s: float) -> None:
        self.setup = setup
        self._clock, self._start_s = clock, start_s
        self._run: _Run | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    async def begin(self) -> None:
        """Start the process, unless it runs. Does not wait until the model is loaded.

        Raises:
            OSError: it cannot be started.
        """
        await self._running()

    async def _running(self) -> _Run:
        async with self._starting:
            if self._closed:
                raise ModelError("network", "llamacpp: the engine was stopped with the application")
            if self._run is not None and self._run.ended.done():
                await self._run.stop()
                self._run = None
            if self._run is None:
                self._run = await self._spawn()
            return self._run

    async def _spawn(self) -> _Run:
        key = secrets.token_urlsafe(32)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the folder it is started in is none of its business
            "-m",
            "wakeful_llamacpp.serve",
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,  # Ctrl-C is for the application, which may want to end a turn first
        )
        run = _Run(process, key)
        # Not as arguments: those can be read by everybody on the machine.
        line = json.dumps({**asdict(self.setup), "key": key}).encode() + b"\n"
        if process.stdin is not None:
            process.stdin.write(line)
        return run

    async def address(self) -> Address:
        """Return where the engine listens, once it does.

        Raises:
            ModelError: it ended, or is not ready in time.
        """
        try:
            run = await self._running()
        except OSError as error:
            raise ModelError("unknown", f"llamacpp: the engine cannot be started: {error}") from error

        async def listening() -> str:
            return await asyncio.shield(run.listening)

        try:
            url = await within(self._clock, self._start_s, listening())
        except TimeoutError:
            what = f"llamacpp: {self.setup.alias} was not loaded within {self._start_s:g} seconds"
            raise ModelError("timeout", what, retryable=True) from None
        if not url:
            how = await run.ended
            raise ModelError("unknown", f"llamacpp: the engine did not start ({how})")
        return Address(f"{url}/v1", run.key)

    async def obituary(self, address: Address) -> str:
        """Return how the process that listened there ended; empty if it runs on."""
        run = self._run
        if run is None or run.key != address.key:
            return "it was started again meanwhile"
        await asyncio.wait({run.ended}, timeout=NOTICE_S)
        return run.ended.result() if run.ended.done() else ""

    async def stop(self) -> None:
        """End the process for good."""
        self._closed = True
        async with self._starting:
            run, self._run = self._run, None
        if run is not None:
            await run.stop()


class Engines:
    """The engines of one application, as its background service."""

    name = "llamacpp"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._engines: dict[Setup, Engine] = {}

    def __repr__(self) -> str:
        return f"Engines({len(self._engines)})"

    def of(self, setup: Setup, start_s: float) -> Engine:
        """Return the engine of a setup."""
        return self._engines.setdefault(setup, Engine(setup, self._clock, start_s))

    async def start(self) -> None:
        """Start all engines that models were bound to; they load their models meanwhile."""
        await asyncio.gather(*(engine.begin() for engine in self._engines.values()))

    async def stop(self) -> None:
        """End all engines."""
        await asyncio.gather(*(engine.stop() for engine in self._engines.values()))
