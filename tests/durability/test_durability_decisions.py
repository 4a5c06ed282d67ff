"""Decisions that come while their run goes on, or while it is handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.toys import Desk
from wakeful import ActionContext, Agent, action
from wakeful.app.items import cancelling
from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.verify import verify
from wakeful.testing import Database, FakeClock, Gate, ScriptedModel, say
from wakeful.types import ApprovalRequest, NotAvailableError, Notice, Priority, RunStatus, TextDelta, WorkItem

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


async def test_nobody_is_asked_for_a_run_that_has_ended(wakeful_app: Any) -> None:
    agent = desk(Gate(), [], PAY, "I have asked.")
    async with wakeful_app(agent) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        (request,) = await app.approvals.list()
        assert parked.pending == (request.id,)
        assert await app.cancel(parked.run_id)
        assert await app.resume(parked.run_id) == await app.resume(parked.run_id)
        assert (await app.resume(parked.run_id)).pending == ()
        assert await app.approvals.list() == ()
        for decide in (app.approvals.approve, app.approvals.reject):
            with pytest.raises(
                NotAvailableError, match=r"run run-1 is cancelled; its call pay can no longer"
            ):
                await decide(request.id, by="ana")


async def test_a_run_cancelled_in_the_middle_of_an_approved_call_says_what_is_known_of_it(
    wakeful_app: Any, store: Database, clock: FakeClock
) -> None:
    pay = Gate()
    async with wakeful_app(desk(pay, [], PAY, "I have asked.")) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(parked.pending[0], by="ana")
        await pay.reached()  # the run is taken up, and this process ends
    assert [row["status"] for row in store.rows("SELECT status FROM action_call")] == ["executing"]
    async with store.open() as other:  # a process that cancels the run before anybody takes it up
        item = WorkItem(
            cancelling("run-1"), "resume", "c", {"run": "run-1", "cancel": True}, Priority.INTERACTIVE
        )
        await EmbeddedRuntime(other, clock, owner_name()).submit(item)
    async with wakeful_app(desk(Gate(), [])) as app:
        assert (await app.resume("run-1")).status is RunStatus.CANCELLED
        assert not await app.store.read(lambda conn: list(verify(conn)))
    (call,) = store.rows("SELECT status, code FROM action_call")
    assert (call["status"], call["code"]) == ("unknown", "OUTCOME_UNKNOWN")
    kinds = [row["kind"] for row in store.rows("SELECT kind FROM message ORDER BY seq")]
    assert kinds == ["user", "assistant", "result", "assistant", "late-result"]


class Forgetful(Desk):
    """Cannot say what it asked."""

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        raise ValueError(f"nothing is known of {run_id}")


async def test_a_run_parks_with_what_it_asked_when_its_approvals_cannot_say(wakeful_app: Any) -> None:
    agent = desk(Gate(), [], PAY, "I have asked.")
    told = []
    async with wakeful_app(Agent(model=agent.model, actions=agent.actions, plugins=[Forgetful])) as app:
        async for event in app.stream("agent", "Pay", conversation="c"):
            told += [event] if isinstance(event, Notice) else []
        answer = await app.resume("run-1")
    assert (answer.status, answer.pending) == (RunStatus.AWAITING_APPROVAL, ("ask-run-1/1/0",))
    assert "nothing is known of run-1" in told[0].message
