"""The plugin: an agent whose steps stand in a file, with no model between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen
from sqlalchemy import select

from wakeful import hookimpl
from wakeful.store.tables import action_call
from wakeful.types import (
    Action,
    ActionError,
    AgentType,
    AgentView,
    Json,
    Next,
    Problem,
    Reference,
    Referred,
    Run,
    Services,
    Stepped,
    Verdict,
)
from wakeful_agents.flow.advice import advise
from wakeful_agents.flow.engine import Engine, position
from wakeful_agents.flow.expressions import FlowError, fill, holes, places, written
from wakeful_agents.flow.files import read_file
from wakeful_agents.flow.filling import trust_of
from wakeful_agents.flow.loops import loop_action, scope_of
from wakeful_agents.payload.given import problems_of
from wakeful_agents.payload.held import held


@frozen
class FlowSettings:
    """Where the flow is."""

    file: str = field(
        default="flow.toml",
        metadata={"help": "the flow; a relative path starts at the folder of wakeful.toml"},
    )
    max_chars: int = field(
        default=1_000_000, metadata={"help": "longest payload of a run, as compact JSON; more fails the flow"}
    )


class Flows:
    """Gives the agent type ``flow``."""

    Settings = FlowSettings

    def __init__(self, settings: FlowSettings, services: Services) -> None:
        """Keep where the file is; only an agent of the type reads it."""
        path = services.folder / Path(settings.file).expanduser()
        self._type = FlowType(path, settings, services)

    @hookimpl
    def agent_types(self) -> Sequence[AgentType]:
        """Give the type."""
        return [self._type]

    @hookimpl
    def tool_references(self) -> Sequence[Reference]:
        """Let the flow's own calls say where their arguments came from."""
        return [FlowReference(self._type)]

    @hookimpl
    def option_problems(self, options: Mapping[str, Mapping[str, Json]]) -> Sequence[Problem]:
        """Refuse a payload that the flow could not begin with."""
        return problems_of(options)


class FlowType:
    """Decides the steps of a turn by a file."""

    name = "flow"

    def __init__(self, path: Path, settings: FlowSettings, services: Services) -> None:
        """Keep what the type needs; the file is read when an agent is built with it."""
        self._path, self._settings, self._services = path, settings, services
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """What goes through the flow; made of the file at first use."""
        if self._engine is None:
            flow = read_file(self._path, self._settings.file)
            self._engine = Engine(flow, self._services.files.get, self._waits, self._settings.max_chars)
        return self._engine

    def problems(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[Problem]:  # noqa: ARG002  (the protocol)
        """Return what in the flow does not fit the agent's actions and sub-agents.

        Raises:
            ConfigError: the file cannot be read, or everything that is wrong in it.
        """
        flow = read_file(self._path, self._settings.file)
        return advise(flow, actions, self._settings.file)

    def actions(self) -> Sequence[Action]:
        """Give the action that runs the loops."""
        return [loop_action(lambda: self.engine)]

    async def next_step(self, run: Run, last: Stepped | None) -> Next:
        """Return the next step of the flow."""
        return await self.engine.next_step(run, last)

    async def release(self, run_id: str) -> None:
        """Nothing is held."""

    async def _waits(self, run: Run) -> bool:
        """Return whether a call of a run waits for a person, or for a sub-agent that does; no draft does."""
        draft = action_call.c.verdict == Verdict.STAGE.name.lower()
        held = select(action_call.c.key).where(
            action_call.c.run_id == run.id, action_call.c.status == "held", ~draft
        )
        return bool(await self._services.read(held.limit(1)))


@frozen(eq=False)
class FlowReference:
    """Resolves ``flow.<step>.<argument>`` and ``flow.<step>[item].<argument>`` for the flow's own calls."""

    type: FlowType
    name: str = "flow"

    async def resolve(self, run: Run, path: str) -> Referred:
        """Return an argument of a step as the payload fills it, with the trust of what went into it.

        Raises:
            ActionError: the run is not at such a step.
        """
        at = position(run)
        if at is None:
            raise ActionError("INVALID_REFERENCE", "no flow runs here")
        step = self.type.engine.flow.steps[at.step]
        head, _, argument = path.removeprefix(".").partition(".")
        named, _, index = head.partition("[")
        template = {"message": step.message, "payload": step.args} if step.kind == "sub_agent" else step.args
        if named != step.name or argument not in template:
            raise ActionError("INVALID_REFERENCE", f"the flow is at {at.step}, which has no {path[:80]!r}")
        try:
            scope = await scope_of(run, step, int(index.rstrip("]")) if index else at.count)
            if step.kind == "sub_agent" and argument == "message":
                value, found = written(step.message, scope), holes(step.message)
            else:
                value, found = fill(template[argument], scope), places(template[argument])
        except (FlowError, ValueError) as error:
            raise ActionError("INVALID_REFERENCE", str(error)) from error
        document = held(run)
        worst = trust_of(document, found)
        return Referred(value, worst, document.source() if worst else "")
