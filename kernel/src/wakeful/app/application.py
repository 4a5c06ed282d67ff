"""The application: agents over one store, for as long as it is open."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

from attrs import evolve

from wakeful.app.approvals import ApprovalDesk
from wakeful.app.background import Background, of_agent
from wakeful.app.build import Builder
from wakeful.app.definition import Agent, Blueprint
from wakeful.app.delegation import Delegation
from wakeful.app.desk import Input, known_run
from wakeful.app.engine import Engine
from wakeful.app.plugins import Ambient, Platform
from wakeful.app.report import AgentReport, report
from wakeful.app.runs import streamed
from wakeful.app.sources import read_source, settings_of_file
from wakeful.config import AppConfig
from wakeful.loop.agent import BuiltAgent
from wakeful.loop.ask import side_question
from wakeful.loop.live import EmitEvent
from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.contents import forget_conversation
from wakeful.store.engine import Store
from wakeful.system import SystemClock, SystemIds
from wakeful.types import (
    ActionChange,
    ActionContext,
    ActionResult,
    Answer,
    Clock,
    ConfigError,
    Event,
    IdSource,
    Json,
    Model,
    NotFoundError,
    Problem,
    Reply,
    Run,
    WorkRuntime,
    nearest,
)

log = logging.getLogger("wakeful")

#: Runs at once in one process. A run waits for models and actions most of the time.
CONCURRENCY = 500


async def _unheard(event: Event) -> None:
    """Nobody streams."""


class App:
    """Agents, ready to run. Made by :func:`open`; its methods are safe to call concurrently.

    Attributes:
        store: the database.
        approvals: the requests that wait for people.
        agents: the agents that could be built, by name.
    """

    def __init__(
        self, store: Store, ambient: Ambient, plans: Mapping[str, Blueprint], where: str, runtime: WorkRuntime
    ) -> None:
        """Keep what :func:`open` made; agents are built by it."""
        self.store = store
        self.agents: dict[str, BuiltAgent] = {}
        self._ambient, self._plans, self._where = ambient, plans, where
        self._problems: dict[str, tuple[Problem, ...]] = {}
        self._background = Background(ambient.clock)
        self.runtime = runtime
        self._engine = Engine(store, ambient, self.runtime, self._agent)
        self._delegation = Delegation(self._engine)
        self.approvals = ApprovalDesk(self.agents, store, self._engine.desk, ambient.clock)

    # ---- agents
    def names(self) -> tuple[str, ...]:
        """Return the names of all configured agents, also of those that could not be built."""
        return tuple(self._plans)

    def problems(self, agent: str) -> tuple[Problem, ...]:
        """Return why an agent could not be built; empty if it runs."""
        self._known(agent)
        return self._problems.get(agent, ())

    def describe(self, agent: str) -> AgentReport:
        """Return what an agent really gets.

        Raises:
            NotFoundError: there is no such agent.
            ConfigError: it could not be built.
        """
        return report(self._agent(agent), self._plans[agent])

    # ---- turns
    async def send(
        self,
        agent: str,
        text: str,
        *,
        conversation: str | None = None,
        user: str = "",
        options: Mapping[str, Mapping[str, Json]] | None = None,
        action_changes: Sequence[ActionChange] = (),
    ) -> Answer:
        """Run one turn and return its answer.

        Turns of one conversation run one after the other; others run at the same time.

        Args:
            agent: its name.
            text: the input.
            conversation: id of the thread to continue, or of a new one; None starts a new one.
            user: the authenticated user.
            options: plugin name to what holds for this run alone; each plugin says what it takes. What is for
                a plugin that the agent has not enabled is let pass; a name that nobody has is refused.
            action_changes: actions that this run, or sub-agents below it, may call beside its own, or not.

        Raises:
            NotFoundError, ConfigError: no such agent, or it could not be built; or the options or changes
                are wrong, and no run begins.
            StoreError: the database cannot be used.
        """
        own = self._engine.options(agent, options, action_changes)
        return await self._turn(agent, text, conversation, user, own, _unheard)

    async def stream(
        self,
        agent: str,
        text: str,
        *,
        conversation: str | None = None,
        user: str = "",
        options: Mapping[str, Mapping[str, Json]] | None = None,
        action_changes: Sequence[ActionChange] = (),
    ) -> AsyncIterator[Event]:
        """Run one turn and yield its events as they happen, ``RunEnded`` last.

        Leaving the loop early cancels the run. Arguments and errors as for :meth:`send`.
        """
        own = self._engine.options(agent, options, action_changes)
        start = partial(self._turn, agent, text, conversation, user, own)
        async with aclosing(streamed(start)) as events:
            async for event in events:
                yield event

    async def resume(self, run_id: str) -> Answer:
        """Go on with a run that waits for a person or was left by a process that ended; return its answer.

        Decisions wake their run by themselves; this waits for it. A run with nothing to go on with gives
        the answer it has.

        Raises:
            NotFoundError: there is no such run.
        """
        return await self._resume(run_id, _unheard)

    async def resume_stream(self, run_id: str) -> AsyncIterator[Event]:
        """Like :meth:`resume`, yielding events as they happen."""
        async with aclosing(streamed(partial(self._resume, run_id))) as events:
            async for event in events:
                yield event

    async def cancel(self, run_id: str) -> bool:
        """End a run as cancelled, in whatever process it runs; False if it has ended or is unknown."""
        return await self._engine.cancel(run_id)

    # ---- keeping house
    async def forget(self, conversation: str) -> bool:
        """Delete a conversation with all that belongs to it, artifacts and large contents included.

        Returns:
            False if there is no such conversation.

        Raises:
            ConversationBusyError: a run of it is in progress.
        """
        return await forget_conversation(self.store, conversation)

    # ---- inside
    async def _turn(
        self,
        name: str,
        text: str,
        conversation: str | None,
        user: str,
        options: Mapping[str, Mapping[str, Json]],
        emit: EmitEvent,
    ) -> Answer:
        self._agent(name)
        ids = self._ambient.ids
        thread = conversation or ids.new("conv")
        given = Input(ids.new("run"), thread, name, user, text, options)
        return await self._engine.turn(given, emit)

    async def _resume(self, run_id: str, emit: EmitEvent) -> Answer:
        found = await known_run(self.store, run_id)
        self._agent(found.agent)
        return await self._engine.resume(run_id, found.conversation_id, emit)

    async def delegate(self, name: str, args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        """Run a sub-agent for a call of a run in progress; what ``delegate_to_…`` does."""
        return await self._delegation.delegate(name, args, ctx)

    async def ask(self, run: Run, kind: str, text: str, *, alone: bool = False) -> Reply:
        """Answer a plugin's question to the model of a run in progress; see ``Services.ask``."""
        live = self._engine.runs.lives.get(run.id)
        if live is None:
            msg = f"run {run.id} is not in progress in this process"
            raise NotFoundError(msg)
        return await side_question(live, kind, text, alone=alone)

    def _known(self, agent: str) -> None:
        if agent not in self._plans:
            msg = f"{self._where}there is no agent {agent!r}{nearest(agent, self._plans)}"
            raise NotFoundError(msg)

    def _agent(self, name: str) -> BuiltAgent:
        self._known(name)
        if name in self._problems:
            raise ConfigError(self._problems[name])
        return self.agents[name]

    def _build(self, builder: Builder) -> None:
        for name, plan in self._plans.items():
            try:
                self.agents[name] = builder.build(plan)
            except ConfigError as error:
                self._problems[name] = error.problems

    async def _start(self, builder: Builder, concurrency: int) -> None:
        failed = await self._background.start(builder.platform.hooks)
        for name, used in builder.used.items():
            wrong = of_agent(failed, used, f"{self._where}agents.{name}")
            if wrong:
                self._problems[name] = self._problems.get(name, ()) + wrong
        await self.runtime.start(self._engine.handlers(), concurrency=concurrency)
        await self._engine.desk.send()
        await self.approvals.catch_up()

    async def _close(self, platform: Platform) -> None:
        await self._engine.close()
        await self._background.stop()
        closing: dict[int, object] = {id(plugin): plugin for plugin in platform.all()}
        for agent in self.agents.values():
            closing.update(
                (id(plugin), plugin) for plugin in (*agent.instances.values(), agent.model, agent.side)
            )
        for plugin in closing.values():
            close = getattr(plugin, "close", None)
            if inspect.iscoroutinefunction(close):
                try:
                    await close()
                except Exception:
                    log.exception("closing %s failed", type(plugin).__name__)
        await self.store.close()


@asynccontextmanager
async def open(  # noqa: A001  (the name users type: wakeful.open)
    source: str | Path | Agent | AppConfig = "wakeful.toml",
    *,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    model: Model | None = None,
    concurrency: int = CONCURRENCY,
    runtime: Callable[[Store, Clock], WorkRuntime] | None = None,
) -> AsyncIterator[App]:
    """Open the agents of a file, or one written in Python.

    An agent that cannot be built stops only itself: ``app.problems(name)`` says why, and using it
    raises the same.

    Args:
        source: path of a ``wakeful.toml``, or an :class:`Agent`, or a configuration that is loaded already.
        clock: where time comes from; default: the machine.
        ids: where ids come from; default: the machine.
        model: a model object that every agent asks instead of its own, e.g. a scripted one.
        concurrency: runs at once in this process; more wait their turn.
        runtime: makes what executes the work; default: the embedded one, whose queue is in the database.

    Raises:
        ConfigError: the file is missing or wrong; holds every problem.
        StoreError: the database cannot be used.
    """
    config, plans = read_source(source)
    if model is not None:
        plans = {name: evolve(plan, model=model) for name, plan in plans.items()}
    where = f"{config.path.name}: " if config.path else ""
    ambient = Ambient(clock or SystemClock(), ids or SystemIds(), config.folder, config.secrets)
    platform = Platform(ambient, settings_of_file(config), where)
    for plan in plans.values():
        platform.take(plan.config.plugins, plan.plugins)
    lineages = platform.hooks.lineages()
    url, files = config.store.url, config.store.files_folder
    store = await Store.open(url, lineages=lineages, clock=ambient.clock, files=files)
    made = runtime(store, ambient.clock) if runtime else EmbeddedRuntime(store, ambient.clock, owner_name())
    app = App(store, ambient, plans, where, made)
    try:
        builder = Builder(ambient, platform, store, app.ask, where, plans, app.delegate)
        app._build(builder)  # noqa: SLF001  (made here)
        await app._start(builder, concurrency)  # noqa: SLF001  (made here)
        yield app
    finally:
        await app._close(platform)  # noqa: SLF001  (made here)
