"""Decisions that come while their run goes on, or while it is handed over."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.toys import Desk
from wakeful import ActionContext, Agent, action
from wakeful.store.verify import verify
from wakeful.testing import Database, Gate, ScriptedModel, say
from wakeful.types import RunStatus, TextDelta

PAY = say("Let me ask.", calls=[("pay", {"euros": 100})])


def desk(gate: Gate, paid: list[str], *replies: Any) -> Agent:
    @action(effect="write", output_trust="trusted", idempotent=True)
    async def pay(euros: int, ctx: ActionContext) -> str:
        """Pay.

        Args:
            euros: how much.
            ctx: the call.
        """
        await gate.wait()
        paid.append(ctx.key)
        return f"paid {euros}"

    return Agent(model=ScriptedModel(list(replies)), actions=[pay], plugins=[Desk])


async def ended(app: Any, run_id: str) -> Any:
    for _ in range(200):
        answer = await app.resume(run_id)
        if answer.status is RunStatus.COMPLETED:
            return answer
        await asyncio.sleep(0)
    return answer


async def test_a_decision_before_the_run_parks_is_carried_out(wakeful_app: Any, store: Database) -> None:
    pay, thinking, paid = Gate(), Gate(), list[str]()
    pay.open()
    agent = desk(pay, paid, PAY, say("I have asked.", wait=thinking), "It is paid.")
    async with wakeful_app(agent) as app:
        turn = asyncio.ensure_future(app.send("agent", "Pay", conversation="c"))
        await thinking.reached()
        (request,) = await app.approvals.list()
        await app.approvals.approve(request.id, by="ana")
        thinking.open()
        answer = await turn
        assert (answer.status, answer.text, answer.pending) == (RunStatus.COMPLETED, "It is paid.", ())
        assert not await app.store.read(lambda conn: list(verify(conn)))
    assert paid == ["run-1/1/0"]
    kinds = [row["kind"] for row in store.rows("SELECT kind FROM message ORDER BY seq")]
    assert kinds == ["user", "assistant", "result", "assistant", "late-result", "assistant"]


async def test_a_decision_in_the_last_moment_parks_the_run_and_wakes_it(wakeful_app: Any) -> None:
    pay, paid = Gate(), list[str]()
    pay.open()
    agent = desk(pay, paid, PAY, "I have asked.", "It is paid.")
    async with wakeful_app(agent) as app:
        async for event in app.stream("agent", "Pay", conversation="c"):
            if isinstance(event, TextDelta) and event.text == "I have a":
                (request,) = await app.approvals.list()
                await app.approvals.approve(request.id, by="ana")
        assert (await ended(app, "run-1")).text == "It is paid."
    assert paid == ["run-1/1/0"]


async def test_an_approved_call_survives_the_process_that_took_it_up(wakeful_app: Any) -> None:
    pay, paid = Gate(), list[str]()
    agent = desk(pay, paid, PAY, "I have asked.")
    async with wakeful_app(agent) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(parked.pending[0], by="ana")
        await pay.reached()  # the run is taken up, and this process ends
    assert paid == []
    opened, paid = Gate(), list[str]()
    opened.open()
    async with wakeful_app(desk(opened, paid, "It is paid.")) as app:
        answer = await ended(app, parked.run_id)
        assert answer.text == "It is paid."
        assert not await app.store.read(lambda conn: list(verify(conn)))
    assert paid == ["run-1/1/0"]
