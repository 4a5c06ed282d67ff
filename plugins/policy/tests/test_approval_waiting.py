"""Who waits for a run after decisions hears what became of all of them, whatever was under way meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from wakeful import Agent, action, hookimpl
from wakeful.testing import Gate, ScriptedModel, say
from wakeful.types import Answer, Run, RunEnded, RunStatus

BOTH = say(calls=[("pay", {"euros": 1}), ("pay", {"euros": 2})])
paid: list[int] = []


class Lingers:
    """Holds up what follows the second end of a run that waits for people."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.parked = 0

    @hookimpl
    async def turn_ended(self, run: Run, answer: Answer) -> None:
        self.parked += answer.status.parked
        if self.parked == 2 and answer.status.parked:
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


async def approved_one_by_one(
    app: Any, requests: Sequence[str], gate: Gate, work: Coroutine[Any, Any, Any]
) -> Any:
    """Approve the second call while the first is under way; wait for the run from then on."""
    one, other = requests
    await app.approvals.approve(one, by="ana")
    await gate.reached()
    await app.approvals.approve(other, by="ana")
    waiting = asyncio.ensure_future(work)
    for _ in range(3):  # as long as it takes to ask for a run
        await app.approvals.list()
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
