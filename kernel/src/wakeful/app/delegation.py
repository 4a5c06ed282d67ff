"""Sub-agents: a run inside a call of another run, with a conversation, a transcript and limits of its own.

The call's key names the sub-agent's conversation, so that a call that runs again after a crash finds the
run that it had started. A sub-agent that has to wait for a person ends its part in the call; its answer
follows as a late result, in whatever process it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import define, evolve
from sqlalchemy import Connection

from wakeful.app.due import stored_answer
from wakeful.app.engine import Engine
from wakeful.app.kinds import DATA
from wakeful.loop.below import child_of, conversation_of, fence_of, hold, undone, waiting
from wakeful.loop.changes import KEY, OWN, changes_of, dump_changes, passed_on
from wakeful.loop.ends import Outcome
from wakeful.loop.live import Live
from wakeful.loop.opening import Opening, open_turn
from wakeful.loop.statements import guard
from wakeful.loop.stored import stored_run, take_up
from wakeful.results.below import answer_of
from wakeful.types import (
    DOCUMENT,
    ActionContext,
    ActionResult,
    Answer,
    ConversationBusyError,
    ErrorRecovery,
    FencedError,
    Json,
    NotFoundError,
    Provenance,
    Run,
    RunStatus,
    failure,
)
from wakeful.waiting import outlast, stop

if TYPE_CHECKING:
    from wakeful.loop.agent import BuiltAgent

#: Seconds between looks at a sub-agent's run that another process has taken.
LOOK_S: Final = 0.5


@define(eq=False)
class Delegation:
    """Runs sub-agents for the runs of one application."""

    engine: Engine

    async def delegate(self, name: str, args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        """Return what a sub-agent answers, or that its answer follows.

        Args:
            name: of the agent.
            args: message and payload.
            ctx: of the call; its key names the sub-agent's conversation.
        """
        parent = self.engine.runs.lives.get(ctx.run.id)
        if parent is None:
            return failure("SUB_AGENT_FAILED", f"run {ctx.run.id} is not in progress in this process")
        agent = self.engine.agent(name)
        found = await self.engine.store.read(lambda conn: child_of(conn, ctx.key))
        if found is None:
            limit = parent.tally.start()
            if limit:
                advice = ErrorRecovery(retryable=False, suggestion="Do the task without a sub-agent.")
                return failure("SUB_AGENT_LIMIT", f"{limit} was reached; {name} was not started", advice)
            run_id = self.engine.ambient.ids.new("run")
            answer = await self._guarded(run_id, parent, self._begin(run_id, agent, args, ctx, parent))
        else:
            run_id, status = found["id"], RunStatus(found["status"])
            answer = await self._again(run_id, status, agent, parent)
        # Decisions that came while it was running have found nobody to wake.
        while answer is not None and answer.status.parked and await self._decided(run_id):
            answer = await self._again(run_id, RunStatus.RUNNING, agent, parent)
        if answer is None or answer.status.parked:
            return await self._follows(run_id, ctx, parent)
        return await self._result(run_id, answer)

    async def _begin(
        self, run_id: str, agent: BuiltAgent, args: Mapping[str, Json], ctx: ActionContext, parent: Live
    ) -> Answer:
        engine, above = self.engine, parent.run
        worst = _worst(ctx, above)
        options = _handed_down(args, above, worst)
        now, secret = engine.ambient.clock.now(), engine.ambient.ids.secret()
        text = str(args["message"])
        opening = Opening(
            run_id,
            conversation_of(ctx.key),
            above.user,
            text,
            secret,
            now,
            options,
            above.priority,
            above,
            worst.trust,
            worst.source,
        )
        opened, cancelled = await outlast(engine.store.write(lambda conn: open_turn(conn, agent, opening)))
        return await engine.execution.opened(agent, opened, parent, cancelled=cancelled)

    async def _again(self, run_id: str, status: RunStatus, agent: BuiltAgent, parent: Live) -> Answer | None:
        """Go on with a run that an earlier process started; None if it goes on without this call."""
        if status is not RunStatus.RUNNING:
            return await self.engine.store.read(lambda conn: stored_answer(conn, run_id))
        try:
            return await self._guarded(run_id, parent, self._take_up(run_id, agent, parent))
        except (ConversationBusyError, NotFoundError):
            return await self.engine.store.read(lambda conn: stored_answer(conn, run_id))

    async def _take_up(self, run_id: str, agent: BuiltAgent, parent: Live) -> Answer:
        engine, now = self.engine, self.engine.ambient.clock.now()

        def begin(conn: Connection) -> Run:
            guard(conn, parent.run)
            return take_up(conn, agent, run_id, now)

        view, cancelled = await outlast(engine.store.write(begin))
        return await engine.execution.taken_up(agent, view, self._rest, parent, cancelled=cancelled)

    async def _rest(self, live: Live) -> Outcome | None:
        """Bring what is stored of a run to its end before it goes on."""
        return await self.engine.execution.recover(live)

    async def _guarded(self, run_id: str, parent: Live, work: Coroutine[Any, Any, Answer]) -> Answer | None:
        """Execute a run as a task of its own; it is given back when its parent is."""

        async def meant() -> bool:
            return not parent.abandoned

        task = asyncio.ensure_future(self.engine.runs.complete(run_id, work, meant))
        try:
            while not await self._within(task):
                if await self._lost(run_id):
                    self.engine.runs.forsake(run_id)
                    await stop(task)
                    return await self._elsewhere(run_id)
            return task.result()
        except FencedError:
            return await self._elsewhere(run_id)
        finally:
            await outlast(stop(task))

    async def _within(self, task: asyncio.Future[Answer]) -> bool:
        """Wait for the end of a task, but not for long; return whether it has come."""
        timer = asyncio.ensure_future(self.engine.ambient.clock.sleep(LOOK_S))
        try:
            either: set[asyncio.Future[Any]] = {task, timer}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(timer)
        return task.done()

    async def _lost(self, run_id: str) -> bool:
        """Return whether another process has taken a run that is executed here, e.g. to cancel it."""
        live = self.engine.runs.lives.get(run_id)
        if live is None:
            return False
        fence = await self.engine.store.read(lambda conn: fence_of(conn, run_id))
        return fence != live.run.fence

    async def _elsewhere(self, run_id: str) -> Answer | None:
        """Wait for a run that another process has taken, e.g. to cancel it."""
        while True:
            answer = await self.engine.store.read(lambda conn: stored_answer(conn, run_id))
            if answer is not None:
                return answer
            await self.engine.ambient.clock.sleep(LOOK_S)

    async def _decided(self, run_id: str) -> bool:
        return await self.engine.store.read(lambda conn: undone(conn, run_id))

    async def _follows(self, run_id: str, ctx: ActionContext, parent: Live) -> ActionResult:
        """Store that the answer follows, unless it has come meanwhile."""
        result = waiting(run_id)

        def write(conn: Connection) -> bool:
            return hold(conn, parent.run, ctx.key, run_id, result)

        if await self.engine.store.write(write):
            return result
        answer = await self.engine.store.read(lambda conn: stored_answer(conn, run_id))
        return result if answer is None else await self._result(run_id, answer)

    async def _result(self, run_id: str, answer: Answer) -> ActionResult:
        engine, now = self.engine, self.engine.ambient.clock.now()
        _, view = await engine.store.read(lambda conn: stored_run(conn, engine.agent, run_id, now))
        return answer_of(view, answer)


def _worst(ctx: ActionContext, above: Run) -> Provenance:
    """Return the least trusted of what a task is made of: what the run above has seen, and its arguments."""
    own = Provenance("", "", above.taint, f"agent:{above.agent.name}")
    worst = max((own, *ctx.provenance), key=lambda each: each.trust)
    return evolve(worst, source=worst.source or own.source)


def _handed_down(args: Mapping[str, Json], above: Run, worst: Provenance) -> dict[str, dict[str, Json]]:
    """Return the options of a sub-agent's run: what its parent hands down to it."""
    own: dict[str, Json] = {}
    if above.user_words:
        own["words"] = above.user_words
    changes = passed_on(changes_of(above.options))
    if changes:
        own[KEY] = dump_changes(changes)
    if DATA in args:
        marks = [["", int(worst.trust), worst.source]] if worst.trust else []
        own[DOCUMENT] = {"document": args[DATA], "marks": marks}
    return {OWN: own} if own else {}
