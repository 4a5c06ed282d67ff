"""Executing runs: what a run in progress needs, from its first step to its end, wherever it came from."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from attrs import define, evolve, field
from sqlalchemy import Connection

from wakeful.app.desk import Desk
from wakeful.app.due import Left, stored_answer
from wakeful.app.items import withdrawn
from wakeful.app.plugins import Ambient
from wakeful.app.references import meant_by
from wakeful.app.runs import Runs
from wakeful.loop.agent import BuiltAgent
from wakeful.loop.below import deliver, open_below, stored_tally
from wakeful.loop.changes import changed
from wakeful.loop.ends import Outcome
from wakeful.loop.journal import Journal
from wakeful.loop.late import carry_out
from wakeful.loop.live import Live
from wakeful.loop.opening import Opened, store_context
from wakeful.loop.recover import give_up, recover
from wakeful.loop.redact import Redactor
from wakeful.loop.stored import stored_run, take_back
from wakeful.loop.turn import drive
from wakeful.plugins.delegated import DelegatedPlugins
from wakeful.plugins.hooks import AgentPlugins
from wakeful.results.below import answer_of
from wakeful.store.engine import Store
from wakeful.types import Action, Answer, Claim, ConfigError, EpochStarted, Run, RunStarted
from wakeful.waiting import outlast, uncancel

log = logging.getLogger("wakeful")

#: What comes before the first step of a run that is executed; it may end the run.
First = Callable[[Live], Awaitable[Outcome | None]]
#: Ends a run as cancelled, wherever it is.
Cancel = Callable[[str], Awaitable[bool]]


@define(eq=False)
class Execution:
    """Executes the runs of one application.

    Args:
        store, ambient, runs, desk: where, by which clock, what else runs, and who is woken.
        agent: finds an agent by name; raises what is wrong with it.
        cancel: ends another run.
    """

    store: Store
    ambient: Ambient
    runs: Runs
    desk: Desk
    agent: Callable[[str], BuiltAgent]
    cancel: Cancel
    _journal: Journal = field(init=False)
    _redactor: Redactor = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._journal = Journal(self.store, self.ambient.clock)
        self._redactor = Redactor.of(self.ambient.secrets)

    async def opened(
        self, agent: BuiltAgent, opened: Opened, parent: Live | None = None, *, cancelled: bool
    ) -> Answer:
        """Execute a run that was just opened; ``cancelled`` ends it at once."""
        view = opened.run
        live, late = await outlast(self._live(agent, view, parent))

        async def first(live: Live) -> Outcome | None:
            await live.emit(RunStarted(view.id, view.conversation, agent.name))
            if opened.new_epoch:
                await live.emit(EpochStarted(view.id, view.epoch.id, view.epoch.reason))
            return await _then(live, self.retrieve, cancelled=cancelled or late)

        return await self._drive(live, first)

    async def taken_up(
        self, agent: BuiltAgent, view: Run, then: First, parent: Live | None = None, *, cancelled: bool
    ) -> Answer:
        """Execute a run that was taken up, beginning with ``then``."""
        live, late = await outlast(self._live(agent, view, parent))

        async def first(live: Live) -> Outcome | None:
            try:
                await live.emit(RunStarted(view.id, view.conversation, agent.name))
                return await _then(live, then, cancelled=cancelled or late)
            except asyncio.CancelledError:
                if live.abandoned:
                    raise
                uncancel()
                return (await outlast(give_up(live)))[0]

        return await self._drive(live, first)

    async def drafts(self, left: Left, claim: Claim) -> Answer:
        """Carry out what was decided about drafts of a run that is over, and tell what people found out.

        It stays as it ended.
        """
        agent, run_id, now = self.agent(left.agent), left.run_id, self.ambient.clock.now()

        def begin(conn: Connection) -> Run:
            self.desk.hold(conn, claim)
            return take_back(conn, agent, run_id, now)

        view, cancelled = await outlast(self.store.write(begin))
        live, late = await outlast(self._live(agent, view, None))
        if not (cancelled or late):
            await self._carry_out(live)
        answer, _ = await outlast(self.store.read(lambda conn: stored_answer(conn, run_id)))
        return answer or withdrawn(run_id, view.conversation)

    async def _carry_out(self, live: Live) -> None:
        with self.runs.showing(live):
            try:
                await carry_out(live)
            except asyncio.CancelledError:
                if live.abandoned:
                    raise
                uncancel()

    async def retrieve(self, live: Live) -> None:
        """Retrieve context at the start of a turn and keep it for a resume."""
        fragments, failures = await live.agent.plugins.context(live.run)
        await live.note(failures)
        if fragments:
            live.update(context=fragments)
            await self.store.write(lambda conn: store_context(conn, live.run, fragments))

    async def recover(self, live: Live) -> Outcome | None:
        """Go on with a run whose process ended, from wherever its records stop."""
        if not live.run.step:
            await self.retrieve(live)
        return await recover(live)

    async def _drive(self, live: Live, first: First) -> Answer:
        with self.runs.showing(live):
            answer = await drive(live, first)
        await outlast(self._follow(live, answer))  # a run that has ended can no longer be cancelled
        return answer

    async def _follow(self, live: Live, answer: Answer) -> None:
        """See to the runs above and below one that has ended or waits for a person."""
        if live.run.parent:
            await self.desk.send()
        if live.agent.delegates and not answer.status.parked:
            for child in await self.store.read(lambda conn: open_below(conn, live.run.id)):
                await self.cancel(child)  # nobody is left to hear its answer

    async def _live(self, agent: BuiltAgent, view: Run, parent: Live | None) -> Live:
        clock, emit = self.ambient.clock, self.runs.emitter(view.id)
        own = changed(agent, view, self._find)
        began = clock.monotonic()
        live = Live(own, self.store, self._journal, clock, self._redactor, emit, view, began, parent=parent)
        live.wake = self.desk.wake
        if view.parent:
            live.agent = evolve(own, plugins=DelegatedPlugins(own.plugins, live.above))
            live.ended = partial(self._deliver, live)
            if parent is None:
                live.ancestors = await self.store.read(partial(self._ancestors, view.parent))
        if (view.parent and parent is None) or (view.step and agent.delegates):
            shared = {run_id: each.tally for run_id, each in self.runs.lives.items()}
            live.tally = (
                await self.store.read(partial(stored_tally, run_id=view.id, shared=shared)) or live.tally
            )
        return live

    def _find(self, reference: str) -> list[Action]:
        """Return the actions that a run's caller added; what this process does not have is left out."""
        try:
            return meant_by(self.ambient.folder, reference)
        except ConfigError:
            log.exception("an action that the caller of a run added is not to be had here")
            return []

    def _deliver(self, live: Live, conn: Connection, answer: Answer) -> None:
        if not answer.status.parked:
            deliver(conn, live.run, answer_of(live.run, answer), self.desk.wake)

    def _ancestors(self, run_id: str, conn: Connection) -> tuple[tuple[AgentPlugins, Run], ...]:
        found: list[tuple[AgentPlugins, Run]] = []
        while run_id:
            live = self.runs.lives.get(run_id)
            agent, view = (
                (live.agent, live.run)
                if live
                else stored_run(conn, self.agent, run_id, self.ambient.clock.now())
            )
            found.append((agent.plugins, view))
            run_id = view.parent
        return tuple(found)


async def _then(live: Live, then: First, *, cancelled: bool) -> Outcome | None:
    if cancelled:
        raise asyncio.CancelledError
    return await then(live)
