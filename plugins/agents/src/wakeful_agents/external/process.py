"""A harness as a subprocess: everything it can do wrong has a limit, and nothing of it stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import define, field

from wakeful.types import Json
from wakeful_agents.external.family import MARK, end_marked

#: Characters of what a harness wrote to standard error that its failure quotes.
QUOTED: Final = 300
#: Seconds in which a harness that ends may still say why.
LAST_WORDS_S: Final = 1.0
#: Bytes taken from standard error at once.
_CHUNK: Final = 4_096
#: Variables of the environment that every program may need; secrets are not among them.
_ENVIRONMENT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


class HarnessError(Exception):
    """The harness cannot go on; the text is the run's error."""


@define(eq=False)
class Process:
    """A running harness.

    Args:
        process: in a session of its own, so that what it starts ends with it.
        run: id of the run; everything that it starts inherits it as :data:`MARK`.
    """

    process: asyncio.subprocess.Process
    run: str
    _said: bytes = field(default=b"", init=False)
    _drain: asyncio.Task[None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._drain = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(
        cls, command: Sequence[str], folder: Path, names: Sequence[str], line_bytes: int, run: str
    ) -> Process:
        """Start a harness.

        Args:
            command: program and arguments.
            folder: where it runs.
            names: more variables of the environment that it is given.
            line_bytes: longest line that is read.
            run: id of the run.

        Raises:
            HarnessError: the program cannot be started.
        """
        env = {name: os.environ[name] for name in (*_ENVIRONMENT, *names) if name in os.environ}
        env[MARK] = run
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=folder,
                env=env,
                limit=line_bytes,
                start_new_session=True,
            )
        except OSError as error:
            raise HarnessError(f"the harness cannot be started: {error.strerror or error}") from error
        return cls(process, run)

    async def send(self, message: Mapping[str, Json]) -> None:
        """Write one message.

        Raises:
            HarnessError: it has ended.
        """
        assert self.process.stdin is not None  # noqa: S101  (made with a pipe)
        try:
            self.process.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
            await self.process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise HarnessError(await self._ended()) from error

    async def line(self) -> str:
        """Return the next line.

        Raises:
            HarnessError: it has ended, or the line is too long.
        """
        assert self.process.stdout is not None  # noqa: S101  (made with a pipe)
        try:
            line = await self.process.stdout.readline()
        except ValueError:
            raise HarnessError("the harness sent a line that is too long") from None
        except ConnectionError as error:
            raise HarnessError(await self._ended()) from error
        if not line.endswith(b"\n"):
            raise HarnessError(await self._ended())
        return line.decode("utf-8", "replace")

    async def end(self) -> None:
        """Kill it with everything it started, and wait for that."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await asyncio.to_thread(end_marked, self.run)
        self._drain.cancel()
        with suppress(asyncio.CancelledError):
            await self._drain
        # The pipes are closed first: whoever else still holds their other ends is not waited for.
        transport = getattr(self.process, "_transport")  # noqa: B009  (asyncio has no name for it)
        for number in range(3):
            transport.get_pipe_transport(number).close()
        await self.process.wait()
        transport.close()

    async def _listen(self) -> None:
        """Take what it writes to standard error, so that it never has to wait; keep the end of it."""
        assert self.process.stderr is not None  # noqa: S101  (made with a pipe)
        while chunk := await self.process.stderr.read(_CHUNK):
            self._said = (self._said + chunk)[-QUOTED:]

    async def _ended(self) -> str:
        """Return how it ended; a process that it left behind may hold its pipes, and is not waited for."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), LAST_WORDS_S)
        with suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._drain), LAST_WORDS_S)
        said = " ".join(self._said.decode("utf-8", "replace").split())
        code = self.process.returncode
        how = "closed its output" if code is None else f"ended with code {code}"
        return f"the harness {how}" + (f": {said}" if said else "")
