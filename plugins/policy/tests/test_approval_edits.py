"""Edited arguments are checked when they are decided; what is judged is what runs."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from wakeful import Agent, action
from wakeful.testing import Database, ScriptedModel, say, shown
from wakeful.types import ConfigError, RunStatus

WAITS = {"action": "*", "verdict": "require_approval"}
DENIED = (
    {"action": "mail", "args": {"to": {"like": "*@evil.com"}}, "verdict": "deny"},
    {"action": "pay", "args": {"euros": {"equals": 900}}, "verdict": "deny"},
)
MAIL = ("mail", {"to": ["bob@ok.com"]})
PAY = ("pay", {"euros": 5})


@pytest.fixture
def done() -> list[Any]:
    return []


@pytest.fixture
def desk(done: list[Any]) -> Any:
    @action(effect="external", output_trust="trusted")
    async def mail(to: list[str]) -> str:
        """Mail."""
        done.append(to)
        return "sent"

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int) -> str:
        """Pay."""
        done.append(euros)
        return "paid"

    def make(*replies: Any, rules: Any = (WAITS, *DENIED)) -> Agent:
        return Agent(
            model=ScriptedModel(list(replies)),
            actions=[mail, pay],
            plugins=["policy", "approvals"],
            settings={"policy": {"rules": list(rules)}},
            approvers=["ana"],
        )

    return make


@pytest.mark.parametrize(
    ("call", "edit"),
    [(MAIL, {"to": '["x@evil.com"]'}), (PAY, {"euros": 900.0}), (PAY, {"euros": "900"})],
)
async def test_an_edit_gets_past_no_rule_by_how_it_is_written(
    desk: Any, done: list[Any], wakeful_app: Any, call: Any, edit: Any
) -> None:
    agent = desk(say(calls=[call]), "Asked.", "Denied.")
    async with wakeful_app(agent) as app:
        parked = await app.send("agent", "Go")
        await app.approvals.approve(parked.pending[0], by="ana", args=edit)
        assert (await app.resume(parked.run_id)).text == "Denied."
    assert done == []
    assert "POLICY_DENIED" in shown(agent.model.requests[-1].items[-1])


async def test_an_edit_is_stored_shown_and_run_as_its_action_takes_it(
    desk: Any, done: list[Any], wakeful_app: Any, store: Database
) -> None:
    async with wakeful_app(desk(say(calls=[PAY]), "Asked.", "Paid.")) as app:
        parked = await app.send("agent", "Go")
        decided = await app.approvals.approve(parked.pending[0], by="ana", args={"euros": "7"})
        assert decided.args == {"euros": 7}
        assert (await app.resume(parked.run_id)).text == "Paid."
    assert done == [7]
    assert store.rows("select args from action_call") == [{"args": '{"euros":7}'}]


async def test_an_edit_that_the_action_does_not_take_decides_nothing(
    desk: Any, done: list[Any], wakeful_app: Any
) -> None:
    async with wakeful_app(desk(say(calls=[PAY]), "Asked.", "Paid.")) as app:
        parked = await app.send("agent", "Go")
        with pytest.raises(ConfigError, match=r"args: .*'eurs'.*nothing is decided"):
            await app.approvals.approve(parked.pending[0], by="ana", args={"eurs": 7})
        assert [each.id for each in await app.approvals.list()] == list(parked.pending)
        await app.approvals.approve(parked.pending[0], by="ana", args={"euros": 7})
        assert (await app.resume(parked.run_id)).text == "Paid."
    assert done == [7]


async def test_what_is_judged_is_what_an_action_takes_that_has_changed_since(
    desk: Any, done: list[Any], wakeful_app: Any
) -> None:
    @action(effect="external", output_trust="trusted")
    async def mail(to: str) -> str:
        """Mail."""
        return to

    call = say(calls=[("mail", {"to": '["x@evil.com"]'})])
    async with wakeful_app(evolve(desk(call, "Asked."), actions=[mail])) as app:
        parked = await app.send("agent", "Go")
    agent = desk("Denied.")
    async with wakeful_app(agent) as app:
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Denied."
    assert done == []
    assert "POLICY_DENIED" in shown(agent.model.requests[-1].items[-1])


async def test_an_approval_that_was_void_counts_as_no_execution(
    desk: Any, done: list[Any], wakeful_app: Any, store: Database
) -> None:
    def once(*replies: Any, reason: str) -> Any:
        agent = desk(*replies, rules=[WAITS | {"reason": reason}])
        limits = {"max_executions": 1, "min_executions": 1}
        return evolve(agent, actions=[evolve(each, **limits) for each in agent.actions if each.name == "Pay"])

    call = say(calls=[PAY])
    async with wakeful_app(once(call, "Asked.", reason="one")) as app:
        parked = await app.send("agent", "Pay")
    async with wakeful_app(once(call, "Asked again.", "Paid.", reason="another")) as app:
        await app.approvals.approve(parked.pending[0], by="ana")
        again = await app.resume(parked.run_id)
        assert (again.text, again.status) == ("Asked again.", RunStatus.AWAITING_APPROVAL)
        await app.approvals.approve(again.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).error == ""
    assert done == [5]
    assert store.rows("select status, code from action_call order by key") == [
        {"status": "denied", "code": "APPROVAL_VOID"},
        {"status": "done", "code": "SUCCESS"},
    ]
