"""Acting on a reply: plan, run what may run, then close the step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from wakeful.loop.approved import take_rules
from wakeful.loop.below import WAITS
from wakeful.loop.close import Work, close, context, unwritten
from wakeful.loop.execute import execute
from wakeful.loop.inner import Inner
from wakeful.loop.live import Live
from wakeful.loop.plan import Planned, ask_people, plan, propose, unplanned
from wakeful.loop.references import worsened
from wakeful.types import ActionStarted, Call, CallJudged, Final, PersonAsked, Verdict
from wakeful.waiting import every, outlast, settle, stop, uncancel

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Calls of one step that run at the same time; more wait their turn.
PARALLEL = 32


@frozen
class Acted:
    """How a step's calls ended: what ends the run, if anything, whether it was cancelled, what they gave."""

    final: Final | None
    interrupted: bool = False
    planned: Sequence[Planned] = ()
    work: Work = field(factory=Work)


async def act(
    live: Live, calls: Sequence[Call], *, cut: bool, cancelled: bool, direct: bool = False
) -> Acted:
    """Carry out the calls of a recorded reply and close the step.

    Whatever happens, every call gets its result: cancellation and the time limit give the calls that
    had not finished a result that says so, and the step is closed before anything else.

    Args:
        live: the run.
        calls: of the reply, in its order.
        cut: the output limit cut the reply.
        cancelled: the run was cancelled already; nothing is executed.
        direct: no model wrote them; they name actions, not what an offer shows.
    """
    proposals, gone = await outlast(propose(live.agent, live.run, calls, cut=cut, direct=direct))
    judged: list[Planned] | None = None
    if not (cancelled or gone):
        try:
            await take_rules(live)
            judged = await plan(live.agent, live.run, proposals)  # a reviewer may take long
        except asyncio.CancelledError:
            uncancel()
    planned, late = await outlast(_store(live, unplanned(proposals) if judged is None else judged))
    return await finish_calls(live, planned, Work(), stopped=late or judged is None)


async def finish_calls(live: Live, planned: Sequence[Planned], work: Work, *, stopped: bool = False) -> Acted:
    """Run the judged calls that have no result yet, then close the step.

    Args:
        live: the run.
        planned: the step's calls, stored.
        work: what earlier executions have given.
        stopped: nothing is to be executed any more.

    Raises:
        asyncio.CancelledError: the run is given back; another process finishes the step.
    """
    interruption = "CANCELLED" if stopped else await _execute(live, planned, work)
    if interruption == "CANCELLED" and live.abandoned:
        late = await unwritten(live, work)
        if late is not None:
            await settle(live.store.write(lambda conn: live.journal.put_result(conn, live.run, *late)))
        raise asyncio.CancelledError
    final = await settle(close(live, planned, work, interruption))
    return Acted(final, interruption == "CANCELLED", planned, work)


async def _store(live: Live, planned: Sequence[Planned]) -> list[Planned]:
    run, agent = live.run, live.agent
    # On disk before anything changes, whatever happens to the power: were the plan lost, the model would be
    # asked again, and call once more what must not be, or mean something else by the same key.
    changes = any(item.result is None and agent.actions[item.invocation.action].changes for item in planned)
    async with live.store.transaction(durable=changes) as tx:
        stored = await ask_people(agent, tx, run, planned)
        now = live.clock.now()

        def write(conn: Connection) -> None:
            live.journal.plan(conn, run, stored, now)
            for item in stored:
                live.expires(conn, item.request)

        await tx.conclude(write)
    for item in stored:
        if item.judged.judgement.verdict is not Verdict.ALLOW:
            await live.emit(CallJudged(item.invocation, item.judged.judgement.verdict, item.judged.reason))
        if item.request is not None:
            await live.emit(PersonAsked(run.id, item.request))
    return stored


async def _execute(live: Live, planned: Sequence[Planned], work: Work) -> str:
    """Run what may run; return the code for calls that did not finish, empty if all did."""
    allowed = [item for item in planned if item.result is None and item.invocation.key not in work.results]
    if not allowed:
        return ""
    gate = asyncio.Semaphore(PARALLEL)
    code = ""
    inner = Inner(live, planned, work)
    alone = len(allowed) == 1
    tasks = [asyncio.ensure_future(_one(live, item, work, gate, inner, alone=alone)) for item in allowed]
    left = live.remaining
    try:
        await every(live.clock, None if left is None else max(left, 0.0), *tasks)
        if not all(task.done() for task in tasks):
            code = "RUN_LIMIT"
    except asyncio.CancelledError:
        uncancel()
        code = "CANCELLED"
    _, again = await outlast(stop(*tasks))
    failures = [task.exception() for task in tasks if task.done() and not task.cancelled()]
    for failure in filter(None, failures):
        raise failure  # of the store itself, which must not be lost
    return "CANCELLED" if again else code


async def _one(
    live: Live, item: Planned, work: Work, gate: asyncio.Semaphore, inner: Inner, *, alone: bool
) -> None:
    inv = item.invocation
    action = live.agent.actions[inv.action]
    async with gate:
        await live.emit(ActionStarted(inv))
        work.started.add(inv.key)
        puts = work.puts.setdefault(inv.key, [])
        ctx = context(live, action, inv.key, puts)
        ctx.bind(inner, inv, live.emit)
        try:
            raw = await execute(action, inv.args, ctx, live.agent.middleware, live.redactor)
            result = worsened(inv.provenance, raw)
        finally:
            await outlast(inner.flush())
        work.results[inv.key] = live.redactor.result(result)
        if result.code == WAITS and action.owner == "kernel":
            return  # stored already, so that the sub-agent's answer finds it
        if alone and action.reruns and not live.agent.stages:
            work.unwritten = inv.key  # the step closes at once, and one transaction takes both
            return
        await settle(live.journal.result(live.run, inv.key, work.results[inv.key], puts=puts))
