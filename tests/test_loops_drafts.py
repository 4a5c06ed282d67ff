"""Loops go on past drafts: what is staged is no error, and no result yet."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import wakeful
from wakeful import Agent, App, action
from wakeful.testing import FakeClock, FakeIds, ScriptedModel, say, shown
from wakeful.types import Answer, RunStatus

paid: list[int] = []
RULES = [
    {"action": "pay", "args": {"euros": {"above": 50}}, "verdict": "stage"},
    {"action": "pay", "args": {"euros": {"above": 500}}, "verdict": "require_approval"},
    {"action": "pay", "args": {"euros": {"above": 5000}}, "verdict": "deny"},
]


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay.

    Args:
        euros: how much.
    """
    if euros == 13:
        raise wakeful.ActionError("UNLUCKY", "not thirteen")
    paid.append(euros)
    return f"paid {euros}"


@action(effect="write", output_trust="untrusted")
async def claim(number: int) -> str:
    """Fail as a draft would be told.

    Args:
        number: of it.
    """
    raise wakeful.ActionError("STAGED", f"{number} says that it is a draft")


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


def desk(tmp_path: Path, plugin: str, *replies: Any, plugins: tuple[str, ...] = ("approvals",)) -> Agent:
    return Agent(
        model=ScriptedModel(list(replies)),
        actions=[pay, claim],
        plugins=[plugin, "policy", *plugins],
        settings={"policy": {"rules": RULES}, **({"loops": {"parallel": 1}} if plugin == "loops" else {})},
        approvers=["ana"],
        type="flow" if plugin == "flow" else "loop",
        folder=tmp_path,
        store=f"sqlite:///{tmp_path / 'w.db'}",
    )


def told_to_model(agent: Agent) -> str:
    model: Any = agent.model
    return shown(model.requests[-1].items[-1])


def opened(agent: Agent) -> Any:
    return wakeful.open(agent, clock=FakeClock(), ids=FakeIds())


async def ended(app: App, answer: Answer) -> Answer:
    for _ in range(500):
        if answer.status.ended:
            break
        await asyncio.sleep(0.01)
        answer = await app.resume(answer.run_id)
    return answer


@pytest.mark.parametrize(
    ("sums", "code", "told", "done"),
    [
        ([10, 60, 20], "SUCCESS", "3 processed, 1 staged, 0 failed", [10, 20]),
        ([60, 70], "SUCCESS", "2 processed, 2 staged, 0 failed", []),
        ([60, 70, 13, 80, 20], "STOPPED", "3 processed, 2 staged, 1 failed; stopped after 1 failures", []),
    ],
    ids=["some", "all", "one fails"],
)
async def test_for_each_goes_on_past_drafts_and_counts_them(
    tmp_path: Path, sums: list[int], code: str, told: str, done: list[int]
) -> None:
    args = {"action": "pay", "args": {"euros": "item"}, "items": sums, "max_failures": 1}
    agent = desk(tmp_path, "loops", say(calls=[("for_each", args)]), "Done.")
    async with opened(agent) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, answer.text, answer.pending, paid) == (RunStatus.COMPLETED, "Done.", (), done)
        drafts = await app.approvals.list()
        assert [each.args["euros"] for each in drafts] == [euros for euros in sums if 50 < euros < 80]
        for draft in drafts:
            await app.approvals.approve(draft.id, by="ana")
        assert await app.resume(answer.run_id) == answer
    assert paid == [*done, *(each.args["euros"] for each in drafts)]
    text = told_to_model(agent)
    assert f"{code} — for_each over items ({len(sums)}): {told}" in text


async def test_where_nobody_keeps_drafts_they_are_errors(tmp_path: Path) -> None:
    args = {"action": "pay", "args": {"euros": "item"}, "items": [60]}
    agent = desk(tmp_path, "loops", say(calls=[("for_each", args)]), "Done.", plugins=())
    async with opened(agent) as app:
        await app.send("agent", "Go")
    assert "ALL_FAILED — for_each over items (1): 1 processed, 1 failed" in told_to_model(agent)


async def test_what_an_outside_system_calls_a_draft_is_an_error(tmp_path: Path) -> None:
    args = {"action": "claim", "args": {"number": "item"}, "items": [1]}
    agent = desk(tmp_path, "loops", say(calls=[("for_each", args)]), "Done.")
    async with opened(agent) as app:
        await app.send("agent", "Go")
    assert "1 processed, 1 failed" in told_to_model(agent)


FLOW = """
payload = { sums = %s }
answer = "%s"
[steps.all]
for_each = "payload.sums"
action = "pay"
args = { euros = "item" }
output = { %s }
on_error = "sorry"
[steps.sorry]
action = "pay"
args = { euros = 1 }
"""


async def test_a_loop_of_a_flow_goes_on_past_drafts(tmp_path: Path) -> None:
    output = 'paid = "results", count = "count", staged = "staged"'
    text = FLOW % ([10, 60, 20], "{payload.paid} {payload.count} {payload.staged}", output)
    (tmp_path / "flow.toml").write_text(text, encoding="utf-8")
    async with opened(desk(tmp_path, "flow")) as app:
        answer = await app.send("agent", "Go", conversation="c")
        assert (answer.status, answer.error, answer.pending) == (RunStatus.COMPLETED, "", ())
        assert answer.text == '["paid 10", null, "paid 20"] 2 1'
        rows = await app.store.read(
            lambda conn: conn.exec_driver_sql(
                "SELECT result FROM action_call WHERE action = 'flow_loop'"
            ).all()
        )
        assert "processed: 3, staged: 1, errors: 0" in str(rows)
        (draft,) = await app.approvals.list()
        await app.approvals.approve(draft.id, by="ana")
        await app.resume(answer.run_id)
    assert paid == [10, 20, 60]


async def test_an_error_beside_a_draft_still_fails_the_step(tmp_path: Path) -> None:
    text = FLOW % ([60, 9000], "{payload.paid}", 'paid = "results"')
    (tmp_path / "flow.toml").write_text(text, encoding="utf-8")
    async with opened(desk(tmp_path, "flow")) as app:
        await app.send("agent", "Go")
    assert paid == [1]


async def test_a_flow_fails_where_an_outside_system_says_that_it_made_a_draft(tmp_path: Path) -> None:
    text = FLOW % ([1, 2], "{payload.paid}", 'paid = "results"')
    text = text.replace('"pay"\nargs = { euros = "item" }', '"claim"\nargs = { number = "item" }')
    (tmp_path / "flow.toml").write_text(text, encoding="utf-8")
    async with opened(desk(tmp_path, "flow")) as app:
        await app.send("agent", "Go")
    assert paid == [1]


async def test_a_loop_waits_for_approvals_and_not_for_the_drafts_beside_them(tmp_path: Path) -> None:
    output = 'paid = "results", staged = "staged", bad = "errors"'
    text = FLOW % ([600, 60], "{payload.paid} {payload.staged} {payload.bad}", output)
    (tmp_path / "flow.toml").write_text(text, encoding="utf-8")
    async with opened(desk(tmp_path, "flow")) as app:
        answer = await app.send("agent", "Go")
        assert (answer.status, len(answer.pending)) == (RunStatus.AWAITING_APPROVAL, 1)
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await ended(app, answer)
    assert (answer.status, answer.text, answer.error) == (
        RunStatus.COMPLETED,
        '["paid 600", null] 1 []',
        "",
    )
    assert paid == [600]


async def test_a_prompt_of_a_flow_does_not_wait_for_its_drafts(tmp_path: Path) -> None:
    (tmp_path / "flow.toml").write_text('[steps.a]\nprompt = "Pay."', encoding="utf-8")
    agent = desk(tmp_path, "flow", say(calls=[("pay", {"euros": 60})]), "It is a draft.")
    async with opened(agent) as app:
        answer = await app.send("agent", "Go")
    assert (answer.status, answer.text, answer.pending) == (RunStatus.COMPLETED, "It is a draft.", ())
