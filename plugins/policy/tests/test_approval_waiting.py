"""Who waits for a run after decisions hears what became of all of them, whatever was under way meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from wakeful import Agent, action, hookimpl
from wakeful.testing import Gate, ScriptedModel, say
from wakeful.types import Answer, Run, RunEnded, RunStatus

BOTH = say(calls=[("pay", {"euros": 1}), ("pay", {"euros": 2})])
paid: list[int] = []


class Lingers:
    """Holds up what follows one of the ends of a run."""

    def __init__(self, gate: Gate, at: int = 2) -> None:
        self.gate = gate
        self.at = at
        self.ends = 0

    @hookimpl
    async def turn_ended(self, run: Run, answer: Answer) -> None:
        self.ends += 1
        if self.ends == self.at:
            await self.gate.wait()


def desk(verdict: str, plugin: Any, *replies: Any, gate: Gate | None = None) -> Agent:
    paid.clear()

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int) -> str:
        """Pay.

        Args:
            euros: how much.
        """
        if gate is not None:
            await gate.wait()
        paid.append(euros)
        return f"paid {euros}"

    return Agent(
        model=ScriptedModel(list(replies)),
        actions=[pay],
        plugins=["policy", "approvals", *([plugin] if plugin else [])],
        settings={"policy": {"rules": [{"action": "pay", "verdict": verdict}]}},
        approvers=["ana"],
    )


async def asked(app: Any) -> None:
    """Give others as long as it takes to ask for a run."""
    for _ in range(3):
        await app.approvals.list()


async def approved_one_by_one(
    app: Any, requests: Sequence[str], gate: Gate, work: Coroutine[Any, Any, Any]
) -> Any:
    """Approve the last call while what came before is under way; wait for the run from then on."""
    for each in requests[:-1]:
        await app.approvals.approve(each, by="ana")
    await gate.reached()
    await app.approvals.approve(requests[-1], by="ana")
    waiting = asyncio.ensure_future(work)
    await asked(app)
    gate.open()
    return await waiting


async def test_a_draft_that_is_confirmed_while_another_is_carried_out(wakeful_app: Any) -> None:
    gate = Gate()
    async with wakeful_app(desk("stage", None, BOTH, "Two drafts.", gate=gate)) as app:
        answer = await app.send("agent", "Pay both")
        drafts = [draft.id for draft in await app.approvals.list()]
        assert await approved_one_by_one(app, drafts, gate, app.resume(answer.run_id)) == answer
        assert paid == [1, 2]


async def test_a_call_that_is_approved_while_its_run_parks_again(wakeful_app: Any) -> None:
    gate = Gate()
    agent = desk("require_approval", Lingers(gate), BOTH, "Asked.", "One is paid.", "Both are paid.")
    async with wakeful_app(agent) as app:
        parked = await app.send("agent", "Pay both")
        answer = await approved_one_by_one(app, parked.pending, gate, app.resume(parked.run_id))
        assert (answer.status, answer.text, paid) == (RunStatus.COMPLETED, "Both are paid.", [1, 2])


async def test_a_stream_opened_while_its_run_parks_again_goes_on_to_the_end(wakeful_app: Any) -> None:
    gate = Gate()
    agent = desk("require_approval", Lingers(gate), BOTH, "Asked.", "One is paid.", "Both are paid.")
    async with wakeful_app(agent) as app:
        parked = await app.send("agent", "Pay both")

        async def heard() -> list[Any]:
            return [event async for event in app.resume_stream(parked.run_id)]

        events = await approved_one_by_one(app, parked.pending, gate, heard())
        ends = [event.answer for event in events if isinstance(event, RunEnded)]
        assert [(end.status, end.text) for end in ends] == [(RunStatus.COMPLETED, "Both are paid.")]


async def test_a_draft_that_is_confirmed_while_its_run_ends(wakeful_app: Any) -> None:
    gate = Gate()
    async with wakeful_app(desk("stage", Lingers(gate, at=1), BOTH, "Two drafts.")) as app:
        sending = asyncio.ensure_future(app.send("agent", "Pay both"))
        await gate.reached()
        drafts = await app.approvals.list()
        requests = [draft.id for draft in drafts]
        answer = await approved_one_by_one(app, requests, gate, app.resume(drafts[0].run))
        assert (answer, paid) == (await sending, [1, 2])


async def test_who_came_late_and_goes_away_does_not_wait_for_what_comes_after(wakeful_app: Any) -> None:
    gate, later = Gate(), Gate()
    slow = say("Both are paid.", wait=later)
    agent = desk("require_approval", Lingers(gate), BOTH, "Asked.", "One is paid.", slow)
    async with wakeful_app(agent) as app:
        parked = await app.send("agent", "Pay both")
        one, other = parked.pending
        await app.approvals.approve(one, by="ana")
        await gate.reached()
        await app.approvals.approve(other, by="ana")
        waiting = asyncio.ensure_future(app.resume(parked.run_id))
        await asked(app)
        waiting.cancel()
        await asked(app)
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        later.open()
        assert (await app.resume(parked.run_id)).status is RunStatus.COMPLETED
    assert paid == [1, 2]
