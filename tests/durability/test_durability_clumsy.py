"""Plugins whose writes the database refuses in the middle of a run's transaction: nothing else is lost."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select

import wakeful
from tests.toys import Desk
from wakeful import ActionContext, ActionResult, Agent, action, hookimpl
from wakeful.store.tables import action_call, plugin_state
from wakeful.store.verify import verify
from wakeful.testing import ScriptedModel, say
from wakeful.types import Action, ApprovalRequest, Invocation, Judgement, Phase, Run, RunStatus, Tx

CALLS = say(calls=[("pay", {"euros": 100}), ("pay", {"euros": 1})])


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay.

    Args:
        euros: how much.
    """
    return f"paid {euros}"


class Requests(Desk):
    """Stores each request twice, which the database refuses."""

    async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
        await super().ask(tx, run, inv, judgement)
        return await super().ask(tx, run, inv, judgement)


class Results:
    """Stores something of each result twice."""

    name, phase = "twice", Phase.NORMALISE

    @hookimpl
    def result_stages(self) -> Any:
        return [self]

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        assert ctx.tx is not None
        row = {"conversation_id": ctx.run.conversation, "plugin": "twice", "key": ctx.key}
        for _ in range(2):
            await ctx.tx.exec(insert(plugin_state).values(**row))
        return result


async def played(url: str, plugin: type) -> list[tuple[str, str]]:
    """Run a turn that ends well, and return how its calls ended."""
    agent = Agent(model=ScriptedModel([CALLS, "I see."]), actions=[pay], plugins=[plugin], store=url)
    async with wakeful.open(agent) as app:
        answer = await app.send("agent", "Pay", conversation="c")
        assert (answer.status, answer.pending, answer.error) == (RunStatus.COMPLETED, (), "")
        assert await app.store.read(lambda conn: list(verify(conn))) == []
        assert await app.store.read(lambda conn: conn.execute(select(plugin_state)).all()) == []
        query = select(action_call.c.status, action_call.c.code).order_by(action_call.c.key)
        rows = await app.store.read(lambda conn: conn.execute(query).all())
    return [(row.status, row.code) for row in rows]


async def test_a_request_that_is_refused_denies_its_call_alone(url: str) -> None:
    assert await played(url, Requests) == [("denied", "POLICY_DENIED"), ("done", "SUCCESS")]


async def test_a_stage_that_is_refused_fails_its_result_alone(url: str) -> None:
    assert await played(url, Results) == [("done", "SUCCESS"), ("done", "SUCCESS")]
