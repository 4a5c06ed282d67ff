"""How long an approval holds, and for what: time, rules, edits, steps, turns and sub-agents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tests.durability.databases import VARIABLE, WITHOUT, OnPostgresql
from wakeful import Agent
from wakeful.store.maintain import upgrade
from wakeful.testing import Database, ScriptedModel, say, shown
from wakeful.types import Json, NotFoundError, RunStatus
from wakeful_policy.approvals.tables import LINEAGE

RULE = {"action": "pay", "verdict": "require_approval", "reason": "money leaves the house"}
PAY = say("Let me ask.", calls=[("pay", {"euros": 50, "to": "DE-4711"})])


@pytest.mark.parametrize(
    ("euros", "executed"), [(40, [(40, "DE-4711")]), (9_000, [])], ids=["allowed", "denied"]
)
async def test_edited_arguments_are_judged_again(
    agent: Any, paid: Any, wakeful_app: Any, store: Database, euros: int, executed: list[Any]
) -> None:
    deny = {"action": "pay", "args": {"euros": {"above": 1_000}}, "verdict": "deny", "reason": "too much"}
    desk = agent(PAY, "Asked.", "Done.", rules=[RULE, deny])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        edited = {"euros": euros, "to": "DE-4711"}
        await app.approvals.approve(parked.pending[0], by="ana", args=edited)
        await app.resume(parked.run_id)
    assert paid == executed
    (row,) = store.rows("select args, decided_args from approvals_request")
    assert row["args"] == '{"euros":50,"to":"DE-4711"}'
    assert row["decided_args"] == f'{{"euros":{euros},"to":"DE-4711"}}'


BOSS = {"action": "pay", "args": {"euros": {"above": 100}}, "verdict": "require_approval", "assignee": "boss"}


@pytest.mark.parametrize(
    ("later", "euros", "executed"),
    [
        ([RULE, BOSS], 60, [(60, "DE-4711")]),
        ([RULE, BOSS], 9_000, []),
        ([{**RULE, "reason": "other words"}, BOSS], 60, []),
        ([{"action": "pay", "verdict": "allow"}], 60, []),
    ],
    ids=["same rules", "others hold them", "changed since", "allowed since"],
)
async def test_an_approval_of_edited_arguments_rests_on_the_same_rules(
    agent: Any, paid: Any, wakeful_app: Any, later: list[Json], euros: int, executed: list[Any]
) -> None:
    own = {**RULE, "assignee": "clerk"}
    async with wakeful_app(agent(PAY, "Asked.", rules=[own, BOSS])) as app:
        parked = await app.send("agent", "Pay")
    desk = agent("Done.", rules=[own if each == RULE else each for each in later])
    async with wakeful_app(desk) as app:
        edited = {"euros": euros, "to": "DE-4711"}
        await app.approvals.approve(parked.pending[0], by="clerk", args=edited)
        await app.resume(parked.run_id)
    assert paid == executed
    assert ("APPROVAL_VOID" in shown(desk.model.requests[0].items[-1])) is (not executed)


@pytest.mark.parametrize(
    ("rules", "void"),
    [
        ([{**RULE, "assignee": "cleo"}], True),
        ([RULE, {"action": "mail", "verdict": "deny"}], False),
        ([], True),
        ([RULE, {**RULE, "args": {"euros": {"above": 10}}, "verdict": "allow"}], True),
    ],
    ids=["changed", "another", "removed", "a more specific one"],
)
async def test_an_approval_is_void_when_the_rules_that_matched_change(
    agent: Any, paid: Any, wakeful_app: Any, rules: list[Json], void: bool
) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay")
    desk = agent("Done.", rules=rules)
    async with wakeful_app(desk) as app:
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Done."
    assert paid == ([] if void else [(50, "DE-4711")])
    assert ("APPROVAL_VOID" in shown(desk.model.requests[0].items[-1])) is void


@pytest.fixture(params=["sqlite", "postgresql"])
def url(
    request: pytest.FixtureRequest, store: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Give a database of either kind with the tables of approvals."""
    if request.param == "sqlite":
        yield store.url
        return
    if VARIABLE not in os.environ:
        pytest.skip(WITHOUT)
    monkeypatch.chdir(tmp_path)  # the folder of large contents is made where the process runs
    server = OnPostgresql.of_environment()
    made = server.make("terms")
    upgrade(made, (LINEAGE,))
    yield made
    server.drop("terms")
    server.close()


async def test_thirty_days_ten_restarts_and_ten_turns_later_it_is_still_there(
    agent: Any, paid: Any, wakeful_app: Any, clock: Any, url: str
) -> None:
    def desk(*replies: Any) -> Agent:
        made: Agent = evolve(agent(*replies), store=url)
        return made

    async with wakeful_app(desk(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay", conversation="c")
    for day in range(3, 33, 3):
        clock.advance(3 * 86_400)
        async with wakeful_app(desk(f"Day {day}.")) as app:
            assert (await app.send("agent", "Hello", conversation="c")).text == f"Day {day}."
            assert [each.id for each in await app.approvals.list()] == list(parked.pending)
            assert (await app.resume(parked.run_id)).status is RunStatus.AWAITING_APPROVAL
    async with wakeful_app(desk("Paid.")) as app:
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Paid."
    assert paid == [(50, "DE-4711")]


async def test_a_request_expires_and_the_run_goes_on_without_the_call(
    agent: Any, paid: Any, wakeful_app: Any, clock: Any, store: Database
) -> None:
    async with wakeful_app(agent(PAY, "Asked.", expires_days=1)) as app:
        parked = await app.send("agent", "Pay")
    clock.advance(86_401)
    desk = agent("Nobody answered.", expires_days=1)
    async with wakeful_app(desk) as app:
        for _ in range(200):
            answer = await app.resume(parked.run_id)
            if answer.status.ended:
                break
            await asyncio.sleep(0.01)
        assert answer.text == "Nobody answered."
        with pytest.raises(NotFoundError):
            await app.approvals.approve(parked.pending[0], by="ana")
    assert paid == []
    assert "APPROVAL_EXPIRED" in shown(desk.model.requests[0].items[-1])
    assert store.rows("select status from approvals_request") == [{"status": "expired"}]


async def test_a_call_of_a_sub_agent_waits_for_its_own_approvers(
    agent: Any, paid: Any, wakeful_app: Any
) -> None:
    child = agent(PAY, "Held.", "Paid.", name="kid")
    chief = Agent(
        model=ScriptedModel([say(calls=[("delegate_to_kid", {"message": "Pay."})]), "I wait.", "All done."]),
        name="chief",
        sub_agents=[child],
    )
    async with wakeful_app(chief) as app:
        answer = await app.send("chief", "Go", conversation="c", user="bob")
        (held,) = answer.pending
        with pytest.raises(NotFoundError):
            await app.approvals.approve(held, by="bob")
        await app.approvals.approve(held, by="ana")
        for _ in range(500):
            answer = await app.resume(answer.run_id)
            if answer.status.ended:
                break
            await asyncio.sleep(0.01)
    assert (answer.text, paid) == ("All done.", [(50, "DE-4711")])


async def test_two_parked_runs_of_one_conversation_and_a_turn_in_between(
    agent: Any, paid: Any, wakeful_app: Any
) -> None:
    desk = agent(PAY, "Asked.", "Hello.", PAY, "Asked again.", "Paid the second.", "Paid the first.")
    async with wakeful_app(desk) as app:
        first = await app.send("agent", "Pay", conversation="c")
        assert (await app.send("agent", "Hi", conversation="c")).text == "Hello."
        second = await app.send("agent", "Pay once more", conversation="c")
        await app.approvals.approve(second.pending[0], by="ana")
        assert (await app.resume(second.run_id)).text == "Paid the second."
        await app.approvals.approve(first.pending[0], by="ana")
        assert (await app.resume(first.run_id)).text == "Paid the first."
    assert len(paid) == 2


async def test_requests_of_one_step_are_decided_one_by_one(agent: Any, paid: Any, wakeful_app: Any) -> None:
    both = say(calls=[("pay", {"euros": 1, "to": "A"}), ("pay", {"euros": 2, "to": "B"})])
    async with wakeful_app(agent(both, "Asked.", "One is paid.", "The other is not.")) as app:
        parked = await app.send("agent", "Pay both")
        one, other = parked.pending
        await app.approvals.approve(one, by="ana")
        answer = await app.resume(parked.run_id)
        assert (answer.status, answer.pending) == (RunStatus.AWAITING_APPROVAL, (other,))
        await app.approvals.reject(other, by="ana")
        assert (await app.resume(parked.run_id)).status is RunStatus.COMPLETED
    assert paid == [(1, "A")]
