"""Flows that have to wait for a person, themselves or in a sub-agent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import wakeful
from tests.toys import Desk
from wakeful import Agent, App, action
from wakeful.testing import ScriptedModel, say
from wakeful.types import Answer, RunStatus

FLOW = """
answer = "{payload.done}"
[steps.first]
%s
output = { done = "%s" }
on_error = "sorry"
next = "second"
[steps.second]
action = "note"
[steps.sorry]
action = "note"
output = { done = "outputs.result" }
"""
noted: list[str] = []


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"


@action(effect="read", output_trust="trusted")
async def note() -> str:
    """Note."""
    noted.append("note")
    return "sorry"


def agent(folder: Path, step: str, source: str, **of: Any) -> Agent:
    noted.clear()
    (folder / "flow.toml").write_text(FLOW % (step, source), encoding="utf-8")
    return Agent(
        model=ScriptedModel([]), actions=[pay, note], plugins=["flow", Desk], type="flow", folder=folder, **of
    )


async def ended(app: App, answer: Answer) -> Answer:
    while answer.status is RunStatus.AWAITING_APPROVAL:
        await asyncio.sleep(0.01)
        answer = await app.resume(answer.run_id)
    return answer


@pytest.mark.parametrize(("yes", "text"), [(True, "paid 100"), (False, "sorry")])
async def test_a_flow_waits_for_the_decision_and_goes_on_with_its_outcome(
    tmp_path: Path, yes: bool, text: str
) -> None:
    step = 'action = "pay"\nargs = { euros = 100 }'
    async with wakeful.open(agent(tmp_path, step, "outputs.result")) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, len(answer.pending), noted) == (RunStatus.AWAITING_APPROVAL, 1, [])
        decide = app.approvals.approve if yes else app.approvals.reject
        await decide(answer.pending[0], by="ana")
        answer = await ended(app, answer)
    assert (answer.status, answer.text, noted) == (RunStatus.COMPLETED, text, ["note"])


async def test_a_flow_fails_with_what_a_person_said(tmp_path: Path) -> None:
    (tmp_path / "flow.toml").write_text('[steps.a]\naction = "pay"\nargs = { euros = 100 }', encoding="utf-8")
    subject = Agent(
        model=ScriptedModel([]), actions=[pay], plugins=["flow", Desk], type="flow", folder=tmp_path
    )
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go")
        await app.approvals.reject(answer.pending[0], by="ana")
        answer = await ended(app, answer)
    assert answer.error == "step a: REJECTED: a person rejected this call; it was not executed"


async def test_a_flow_waits_for_a_sub_agent_that_waits(tmp_path: Path) -> None:
    kid = Agent(
        model=ScriptedModel([say(calls=[("pay", {"euros": 100})]), "Held.", "All is paid."]),
        name="kid",
        actions=[pay],
        plugins=[Desk],
    )
    step = 'sub_agent = "kid"\nmessage = "Pay."'
    async with wakeful.open(agent(tmp_path, step, "text", sub_agents=[kid])) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, len(answer.pending), noted) == (RunStatus.AWAITING_APPROVAL, 1, [])
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await ended(app, answer)
    assert (answer.status, answer.text, noted) == (RunStatus.COMPLETED, "All is paid.", ["note"])


async def test_a_prompt_waits_for_the_calls_of_its_model(tmp_path: Path) -> None:
    lines: list[Any] = [say(calls=[("pay", {"euros": 100})]), "It is held.", "It is paid."]
    subject = agent(tmp_path, 'prompt = "Pay."', "text")
    async with wakeful.open(evolve(subject, model=ScriptedModel(lines))) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, len(answer.pending), noted) == (RunStatus.AWAITING_APPROVAL, 1, [])
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await ended(app, answer)
    assert (answer.status, answer.text, noted) == (RunStatus.COMPLETED, "It is paid.", ["note"])


LOOP = """
payload = { sums = [10, 100, 200, 20] }
answer = "{payload.paid} {payload.count} {payload.bad}"
[steps.all]
for_each = "payload.sums"
%s
output = { paid = "results", count = "count", bad = "errors" }
"""


async def test_a_loop_waits_for_the_decisions_about_its_items(tmp_path: Path) -> None:
    (tmp_path / "flow.toml").write_text(LOOP % 'action = "pay"\nargs = { euros = "item" }', encoding="utf-8")
    subject = Agent(
        model=ScriptedModel([]), actions=[pay], plugins=["flow", Desk], type="flow", folder=tmp_path
    )
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, len(answer.pending)) == (RunStatus.AWAITING_APPROVAL, 2)
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await app.resume(answer.run_id)
        assert (answer.status, len(answer.pending)) == (RunStatus.AWAITING_APPROVAL, 1)
        await app.approvals.reject(answer.pending[0], by="ana")
        answer = await ended(app, answer)
    assert answer.error == ""
    assert answer.text == (
        '["paid 10", "paid 100", null, "paid 20"] 3 [{"index": 2, "code": "REJECTED", '
        '"message": "a person rejected this call; it was not executed"}]'
    )


async def test_a_loop_over_sub_agents_waits_for_those_that_wait(tmp_path: Path) -> None:
    (tmp_path / "flow.toml").write_text(LOOP % 'sub_agent = "kid"\nmessage = "Pay {item}."', encoding="utf-8")
    kid = Agent(
        model=ScriptedModel([say(calls=[("pay", {"euros": 100})]), "Held.", "It is paid."]),
        name="kid",
        actions=[pay],
        plugins=[Desk],
    )
    subject = Agent(model=ScriptedModel([]), plugins=["flow"], type="flow", folder=tmp_path, sub_agents=[kid])
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go", options={"payload": {"document": {"sums": [1, 2]}}})
        assert (answer.status, len(answer.pending)) == (RunStatus.AWAITING_APPROVAL, 2)
        for request in answer.pending:
            await app.approvals.approve(request, by="ana")
        answer = await ended(app, answer)
    assert (answer.text, answer.error) == ('["It is paid.", "It is paid."] 2 []', "")
