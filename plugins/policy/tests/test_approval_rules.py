"""Rules that people add with a decision: they count at once, everywhere, and end nothing that waits."""

from __future__ import annotations

from typing import Any

import pytest

from wakeful.testing import Database, say, shown
from wakeful.types import ConfigError, Json, NotFoundError, RunStatus

RULE = {"action": "pay", "verdict": "require_approval", "reason": "money leaves the house"}


def pay(euros: int, to: str = "DE-4711") -> Any:
    return say(calls=[("pay", {"euros": euros, "to": to})])


TO = {"args": {"to": {"equals": "DE-4711"}}}


async def test_a_rule_added_with_an_approval_counts_for_the_calls_that_follow(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    replies = (pay(50), "Asked.", "Paid.", pay(60), "Paid without asking.", pay(70, "EVE"), "Asked again.")
    async with wakeful_app(agent(*replies)) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(parked.pending[0], by="ana", rule=TO)
        assert (await app.resume(parked.run_id)).text == "Paid."
        assert (await app.send("agent", "Pay", conversation="c")).text == "Paid without asking."
        other = await app.send("agent", "Pay", conversation="c")
        assert other.status is RunStatus.AWAITING_APPROVAL
    assert paid == [(50, "DE-4711"), (60, "DE-4711")]
    (row,) = store.rows("select agent, rule, request_id, added_by from approvals_rule")
    assert row["rule"] == '{"action":"pay","args":{"to":{"equals":"DE-4711"}},"verdict":"allow"}'
    assert (row["agent"], row["request_id"], row["added_by"]) == ("agent", "ask-1", "ana")


async def test_another_process_hears_of_it_and_so_does_one_that_is_running(
    agent: Any, paid: Any, wakeful_app: Any
) -> None:
    async with wakeful_app(agent(pay(50), "Asked.", pay(60), "Paid too.")) as first:
        parked = await first.send("agent", "Pay", conversation="c")
        async with wakeful_app(agent("Paid.")) as second:
            await second.approvals.approve(parked.pending[0], by="ana", rule=TO)
            await second.resume(parked.run_id)
        assert (await first.send("agent", "Pay", conversation="c")).text == "Paid too."
    assert paid == [(50, "DE-4711"), (60, "DE-4711")]


@pytest.mark.parametrize("rule", [TO, {**TO, "verdict": "deny"}, {"verdict": "deny"}], ids=str)
async def test_it_ends_nothing_that_waits(agent: Any, paid: Any, wakeful_app: Any, rule: Json) -> None:
    async with wakeful_app(agent(pay(1), "Asked.", pay(2), "Asked.", "One.", "Other.")) as app:
        first = await app.send("agent", "Pay", conversation="c")
        second = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(first.pending[0], by="ana", rule=rule)
        await app.resume(first.run_id)
        await app.approvals.approve(second.pending[0], by="ana")
        await app.resume(second.run_id)
    assert paid == [(1, "DE-4711"), (2, "DE-4711")]


async def test_a_rule_added_with_a_rejection_denies(agent: Any, paid: Any, wakeful_app: Any) -> None:
    desk = agent(pay(1), "Asked.", "Not.", pay(1), "Not again.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        await app.approvals.reject(parked.pending[0], by="ana", rule={**TO, "reason": "never to them"})
        await app.resume(parked.run_id)
        assert (await app.send("agent", "Pay", conversation="c")).status is RunStatus.COMPLETED
    assert paid == []
    assert "never to them" in shown(desk.model.requests[-1].items[-1])


async def test_it_counts_against_no_rule_that_denies_and_only_where_it_is_more_specific(
    agent: Any, paid: Any, wakeful_app: Any
) -> None:
    deny = {"action": "pay", "args": {"euros": {"above": 1_000}}, "verdict": "deny"}
    more = {"args": {"to": {"equals": "DE-4711"}, "euros": {"given": True}}}
    desk = agent(pay(50), "Asked.", "Paid.", pay(2_000), "Denied.", rules=[RULE, deny])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        await app.approvals.approve(parked.pending[0], by="ana", rule=more)
        await app.resume(parked.run_id)
        assert (await app.send("agent", "Pay", conversation="c")).status is RunStatus.COMPLETED
    assert paid == [(50, "DE-4711")]


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ([], "expected an object"),
        ({"verdict": "alow"}, "did you mean 'allow'"),
        ({"acton": "pay"}, "acton"),
        ({"action": "mail"}, "about pay"),
        ({"effect": "external"}, "about pay"),
        ({"args": {"to": {"equals": "EVE"}}}, "does not match the call"),
        ({"args": {"to": {}}}, "says nothing"),
        ({"confidence": 85}, "did you mean 0.85"),
    ],
    ids=str,
)
async def test_a_rule_that_is_none_decides_nothing(
    agent: Any, wakeful_app: Any, store: Database, rule: Json, says: str
) -> None:
    async with wakeful_app(agent(pay(50), "Asked.")) as app:
        parked = await app.send("agent", "Pay")
        with pytest.raises(ConfigError) as error:
            await app.approvals.approve(parked.pending[0], by="ana", rule=rule)
        assert says in str(error.value)
        assert [each.id for each in await app.approvals.list()] == list(parked.pending)
    assert store.rows("select rule from approvals_rule") == []


async def test_only_approvers_add_rules_and_the_rest_is_recorded(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    own = {**RULE, "assignee": "cleo", "asker_decides": True}
    async with wakeful_app(agent(pay(50), "Asked.", rules=[own])) as app:
        parked = await app.send("agent", "Pay", user="bob")
        for person in ("cleo", "bob"):
            with pytest.raises(NotFoundError):
                await app.approvals.approve(parked.pending[0], by=person, rule=TO)
    assert paid == []
    assert store.rows("select tried_by, reason from approvals_attempt") == [
        {"tried_by": "cleo", "reason": "only an approver adds rules"},
        {"tried_by": "bob", "reason": "only an approver adds rules"},
    ]
