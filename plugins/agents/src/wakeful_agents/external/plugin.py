"""The plugin: an agent whose steps another program proposes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

from attrs import define, field, frozen

from wakeful import hookimpl
from wakeful.types import (
    Action,
    AgentType,
    AgentView,
    Finish,
    Json,
    Next,
    Problem,
    Run,
    Services,
    Stepped,
    Wait,
)
from wakeful.waiting import within
from wakeful_agents.external import messages
from wakeful_agents.external.family import end_marked
from wakeful_agents.external.process import HarnessError, Process
from wakeful_agents.external.web import Service, available

#: Most harnesses at once in one process of the application.
PROCESSES: Final = 100


@frozen
class ExternalSettings:
    """Which program proposes the steps, and what it may take."""

    command: tuple[str, ...] = field(
        default=(), metadata={"help": "program and arguments; it runs in the folder of wakeful.toml"}
    )
    url: str = field(
        default="", metadata={"help": "an HTTP service instead of a program; needs `wakeful-agents[http]`"}
    )
    timeout_s: float = field(
        default=60.0, metadata={"help": "seconds within which each step must be proposed"}
    )
    environment: tuple[str, ...] = field(
        default=(),
        metadata={"help": "names of environment variables it is given beside PATH, HOME and the language"},
    )
    max_calls: int = field(default=32, metadata={"help": "most calls of one step"})
    max_line_bytes: int = field(default=1_000_000, metadata={"help": "longest line that it may send"})
    max_lines: int = field(
        default=1_000, metadata={"help": "most lines for one step, those of type `log` counted"}
    )
    max_mistakes: int = field(
        default=2,
        metadata={"help": "messages in a row that are told to be wrong; one more ends the run as failed"},
    )


class External:
    """Gives the agent type ``external``."""

    Settings = ExternalSettings

    def __init__(self, settings: ExternalSettings, services: Services) -> None:
        """Start nothing: a run starts its own harness."""
        self._type = ExternalType(settings, services)

    @hookimpl
    def agent_types(self) -> Sequence[AgentType]:
        """Give the type."""
        return [self._type]

    async def close(self) -> None:
        """End every harness."""
        await self._type.close()


@define(eq=False)
class ExternalType:
    """Asks a harness for each step of a turn."""

    settings: ExternalSettings
    services: Services
    name: str = field(default="external", init=False)
    service: Service | None = field(default=None, init=False)
    _processes: dict[str, Process] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        if self.settings.url:
            self.service = Service(self.settings.url, self.settings.max_line_bytes)

    def problems(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[Problem]:  # noqa: ARG002  (the protocol)
        """Return whether no program is named."""
        settings = self.settings
        if settings.url and settings.command:
            return [Problem("plugins.external", "command and url exclude each other")]
        if settings.url:
            if not settings.url.startswith(("http://", "https://")):
                what = f"expected an address like 'http://127.0.0.1:8000/step', got {settings.url!r}"
                return [Problem("plugins.external.url", what)]
            what = "needs the library httpx2: pip install 'wakeful-agents[http]'"
            return () if available() else [Problem("plugins.external.url", what)]
        if settings.command:
            return ()
        return [Problem("plugins.external.command", "expected a program, like ['python', 'harness.py']")]

    def actions(self) -> Sequence[Action]:
        """Nothing of its own."""
        return ()

    async def next_step(self, run: Run, last: Stepped | None) -> Next:
        """Tell the harness what came of its last step and return what it proposes."""
        if last is not None and not last.calls:
            return Finish()
        if self.service is not None:
            return await self._within(self._posted(run, last))
        if last is not None and self._news(run):
            await self.release(run.id)  # what a person decided is in the transcript, which a new one is given
        return await self._within(self._asked(run, last))

    async def _within(self, work: Coroutine[Any, Any, Next]) -> Next:
        """Return what the harness proposes, or how the run fails for it."""
        try:
            return await within(self.services.clock, self.settings.timeout_s, work)
        except TimeoutError:
            return Finish(error=f"the harness proposed nothing within {self.settings.timeout_s:g} seconds")
        except HarnessError as error:
            return Finish(error=str(error))

    async def release(self, run_id: str) -> None:
        """End the harness of a run."""
        process = self._processes.pop(run_id, None)
        if process is not None:
            await process.end()

    async def close(self) -> None:
        """End every harness."""
        await asyncio.gather(*(self.release(run_id) for run_id in list(self._processes)))
        if self.service is not None:
            await self.service.close()

    def _news(self, run: Run) -> bool:
        return run.rows[-1].kind.value == "late-result"

    async def _asked(self, run: Run, last: Stepped | None) -> Next:
        process = self._processes.get(run.id)
        if process is None:
            process = await self._start(run)
            await process.send(messages.turn(run, self.services.catalogue(run)))
        else:
            await process.send(messages.results(run, last.did if last else ()))
        mistakes = 0
        for _ in range(self.settings.max_lines):
            line = await process.line()
            try:
                meant = messages.read(line, run, self.settings.max_calls)
            except messages.BadMessageError as error:
                mistakes += 1
                if mistakes > self.settings.max_mistakes:
                    raise HarnessError(f"the harness sent {mistakes} wrong messages: {error}") from error
                told: dict[str, Json] = {"type": "error", "message": str(error)}
                await process.send(told)
                continue
            if isinstance(meant, Wait) and not any(did.held for did in (last.did if last else ())):
                raise HarnessError("the harness waits for a decision, and no call is held")
            if meant is not None:
                return meant
        raise HarnessError(f"the harness sent {self.settings.max_lines} lines without proposing a step")

    async def _posted(self, run: Run, last: Stepped | None) -> Next:
        assert self.service is not None  # noqa: S101  (the caller has looked)
        held = [did.invocation.call.id for did in (last.did if last else ()) if did.held]
        message = {**messages.turn(run, self.services.catalogue(run)), "held": held}
        most = self.settings.max_mistakes + 1
        for _ in range(most):
            try:
                meant = messages.read(await self.service.ask(message), run, self.settings.max_calls)
                if isinstance(meant, Wait) and not held:
                    raise HarnessError("the harness waits for a decision, and no call is held")
                if meant is not None:
                    return meant
                message |= {"error": "expected a step, an answer or a wait"}
            except messages.BadMessageError as error:
                message |= {"error": str(error)}
        raise HarnessError(f"the harness sent {most} wrong messages: {message['error']}")

    async def _start(self, run: Run) -> Process:
        if len(self._processes) >= PROCESSES:
            raise HarnessError(f"{PROCESSES} harnesses run already; no other one is started")
        settings = self.settings
        if run.step:  # what a process of the application that was killed has left of it
            await asyncio.to_thread(end_marked, run.id)
        process = await Process.start(
            settings.command,
            self.services.folder,
            settings.environment,
            settings.max_line_bytes,
            run.id,
        )
        self._processes[run.id] = process
        return process
