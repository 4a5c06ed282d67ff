"""Drafts block nothing: they outlive their run, are confirmed or dropped later, and run once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import Database, Gate, ScriptedModel, say, shown
from wakeful.types import ApprovalRequest, Json, ModelError, NotAvailableError, NotFoundError, RunStatus

STAGE = {"action": "pay", "verdict": "stage", "reason": "only as a draft"}
PAY = say("Let me draft.", calls=[("pay", {"euros": 50, "to": "DE-4711"})])


@pytest.fixture
def drafting(agent: Any) -> Any:
    def make(*replies: Any, rules: Sequence[Json] = (STAGE,), **options: Any) -> Agent:
        made: Agent = agent(*replies, rules=rules, **options)
        return made

    return make


async def test_a_draft_blocks_nothing_and_is_confirmed_after_its_run(
    drafting: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    desk = drafting(PAY, "It is a draft.", "Hello again.")
    async with wakeful_app(desk) as app:
        answer = await app.send("agent", "Pay", conversation="c", user="bob")
        assert (answer.status, answer.text, answer.pending) == (RunStatus.COMPLETED, "It is a draft.", ())
        (draft,) = await app.approvals.list()
        assert (draft.kind, draft.holds, paid) == ("draft", False, [])
        with pytest.raises(NotFoundError):
            await app.approvals.approve(draft.id, by="bob")
        await app.approvals.approve(draft.id, by="ana")
        assert await app.resume(answer.run_id) == answer  # carried out, and nobody was asked anything more
        assert (paid, len(desk.model.requests)) == ([(50, "DE-4711")], 2)
        with pytest.raises(NotFoundError):
            await app.approvals.approve(draft.id, by="ana")
        assert await app.approvals.list() == ()
        await app.send("agent", "Hi", conversation="c", user="bob")
    assert "STAGED" in shown(desk.model.requests[1].items[-1])
    told = [shown(item) for item in desk.model.requests[2].items]
    assert any("A person decided about the call run-1/1/0" in each and "paid 50" in each for each in told)
    assert [row["kind"] for row in store.rows("SELECT kind FROM message ORDER BY seq")][4:] == [
        "late-result",
        "user",
        "assistant",
    ]


async def test_a_draft_that_is_dropped_never_runs(drafting: Any, paid: Any, wakeful_app: Any) -> None:
    async with wakeful_app(drafting(PAY, "It is a draft.")) as app:
        answer = await app.send("agent", "Pay")
        (draft,) = await app.approvals.list()
        await app.approvals.reject(draft.id, by="ana")
        assert await app.resume(answer.run_id) == answer
    assert paid == []


async def test_many_confirm_and_one_does_in_another_process(
    drafting: Any, paid: Any, wakeful_app: Any
) -> None:
    async with wakeful_app(drafting(PAY, "It is a draft.")) as app:
        answer = await app.send("agent", "Pay")
        (draft,) = await app.approvals.list()
    async with wakeful_app(drafting()) as app:  # another process, whose model nobody asks
        tries = (app.approvals.approve(draft.id, by="ana") for _ in range(20))
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, ApprovalRequest) for each in outcomes) == 1
        await app.resume(answer.run_id)
        assert await app.approvals.list() == ()
    assert paid == [(50, "DE-4711")]


async def test_a_draft_beside_a_call_that_waits(drafting: Any, paid: Any, wakeful_app: Any) -> None:
    both = say(calls=[("pay", {"euros": 1, "to": "A"}), ("pay", {"euros": 2, "to": "B"})])
    waits = {"action": "pay", "args": {"euros": {"above": 1}}, "verdict": "require_approval"}
    desk = drafting(both, "One waits.", "The draft is sent.", "Both are done.", rules=[STAGE, waits])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay both")
        draft, held = await app.approvals.list()
        assert (draft.kind, held.kind, parked.pending) == ("draft", "approval", (held.id,))
        assert parked.status is RunStatus.AWAITING_APPROVAL
        await app.approvals.approve(draft.id, by="ana")
        still = await app.resume(parked.run_id)
        assert (still.status, still.pending, paid) == (RunStatus.AWAITING_APPROVAL, (held.id,), [(1, "A")])
        await app.approvals.approve(held.id, by="ana")
        assert (await app.resume(parked.run_id)).status is RunStatus.COMPLETED
    assert paid == [(1, "A"), (2, "B")]


async def test_a_draft_outlives_a_run_that_failed_but_not_one_that_was_cancelled(
    drafting: Any, paid: Any, wakeful_app: Any
) -> None:
    waits = {"action": "mail", "verdict": "require_approval"}
    both = say(calls=[("pay", {"euros": 1, "to": "A"}), "mail"])
    async with wakeful_app(drafting(PAY, ModelError("auth", "no key"), both, "Waiting.")) as app:
        failed = await app.send("agent", "Pay")
        assert failed.status is RunStatus.FAILED
        (draft,) = await app.approvals.list()
        await app.approvals.approve(draft.id, by="ana")
        assert (await app.resume(failed.run_id)).status is RunStatus.FAILED
    assert paid == [(50, "DE-4711")]
    async with wakeful_app(drafting(both, "Waiting.", rules=[STAGE, waits])) as app:
        parked = await app.send("agent", "Pay")
        assert await app.cancel(parked.run_id)
        await app.resume(parked.run_id)
        assert await app.approvals.list() == ()
        with pytest.raises(NotAvailableError):
            await app.approvals.approve("ask-2", by="ana")
    assert paid == [(50, "DE-4711")]


async def test_a_draft_of_a_sub_agent_is_confirmed_when_everything_is_over(
    drafting: Any, paid: Any, wakeful_app: Any
) -> None:
    child = drafting(PAY, "A draft.", name="kid")
    chief = Agent(
        model=ScriptedModel([say(calls=[("delegate_to_kid", {"message": "Pay."})]), "It is a draft."]),
        name="chief",
        sub_agents=[child],
    )
    async with wakeful_app(chief) as app:
        answer = await app.send("chief", "Go", conversation="c", user="bob")
        assert (answer.status, answer.pending) == (RunStatus.COMPLETED, ())
        (draft,) = await app.approvals.list()
        await app.approvals.approve(draft.id, by="ana")
        assert (await app.resume(draft.run)).text == "A draft."
    assert paid == [(50, "DE-4711")]


async def test_the_digest_lists_drafts_apart(drafting: Any, wakeful_app: Any, store: Database) -> None:
    async with wakeful_app(drafting(PAY, "A draft.", PAY, "Another.", "So.")) as app:
        await app.send("agent", "Pay")
        await app.send("agent", "Pay")
        drafts = await app.approvals.list()
    assert [each.kind for each in drafts] == ["draft", "draft"]
    assert store.rows("select kind, status from approvals_request") == [
        {"kind": "draft", "status": "pending"},
        {"kind": "draft", "status": "pending"},
    ]


@pytest.mark.parametrize("when", ["before", "during"])
async def test_a_confirmed_draft_runs_at_most_once_whenever_its_process_ends(
    wakeful_app: Any, store: Database, when: str
) -> None:
    gate, begun = Gate(), list[int]()

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int) -> str:
        """Pay."""
        begun.append(euros)
        await gate.wait()
        return f"paid {euros}"

    def desk(*replies: Any) -> Agent:
        return Agent(
            model=ScriptedModel(list(replies)),
            actions=[pay],
            plugins=["policy", "approvals"],
            settings={"policy": {"rules": [STAGE]}},
            approvers=["ana"],
        )

    async with wakeful_app(desk(say(calls=[("pay", {"euros": 1})]), "A draft.")) as app:
        answer = await app.send("agent", "Pay", conversation="c")
        (draft,) = await app.approvals.list()
        await app.approvals.approve(draft.id, by="ana")
        if when == "during":
            await gate.reached()
    gate.open()
    async with wakeful_app(desk("So.")) as app:
        assert (await app.resume(answer.run_id)).text == "A draft."
        asked = [each.kind for each in await app.approvals.list()]
    (call,) = store.rows("select status, code from action_call")
    ended = ("done", "SUCCESS") if when == "before" else ("unknown", "OUTCOME_UNKNOWN")
    assert (begun, (call["status"], call["code"])) == ([1], ended)
    assert asked == ([] if when == "before" else ["outcome"])
    assert store.rows("select count(*) as n from message where kind = 'late-result'") == [{"n": 1}]
