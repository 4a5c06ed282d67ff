"""What waits for a person is decided once, by somebody who may, and executed as it was decided."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from wakeful import Agent, action
from wakeful.testing import Database, PluginConformance, ScriptedModel, say, shown
from wakeful.types import ApprovalRequest, Json, NotAvailableError, NotFoundError, PersonAsked, RunStatus
from wakeful_policy.approvals.tables import metadata

RULE = {"action": "pay", "verdict": "require_approval", "reason": "money leaves the house"}
paid: list[tuple[int, str]] = []


class TestApprovals(PluginConformance):
    plugin = "approvals"


@action(effect="external", output_trust="trusted")
async def pay(euros: int, to: str = "") -> str:
    """Pay.

    Args:
        euros: how much.
        to: the account.
    """
    paid.append((euros, to))
    return f"paid {euros}"


@action(effect="read")
async def mail() -> str:
    """Read the mail."""
    return "Please pay 50 to DE-4711."


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


def agent(
    *replies: Any,
    rules: Sequence[Json] = (RULE,),
    approvers: Sequence[str] = ("ana",),
    name: str = "agent",
    **settings: Json,
) -> Agent:
    return Agent(
        name=name,
        model=ScriptedModel(list(replies)),
        actions=[pay, mail],
        plugins=["policy", "approvals"],
        settings={"policy": {"rules": list(rules)}, "approvals": settings},
        approvers=approvers,
    )


PAY = say("Let me ask.", calls=[("pay", {"euros": 50, "to": "DE-4711"})])


def attempts(store: Database) -> list[tuple[str, str, str]]:
    rows = store.rows("select tried_by, wanted, reason from approvals_attempt order by number")
    return [(row["tried_by"], row["wanted"], row["reason"]) for row in rows]


async def test_an_approved_call_runs_once_with_the_stored_arguments(
    wakeful_app: Any, store: Database
) -> None:
    desk = agent(PAY, "I have asked.", "It is paid.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay 50 to DE-4711", user="bob")
        assert (parked.status, paid) == (RunStatus.AWAITING_APPROVAL, [])
        (request,) = await app.approvals.list()
        assert (request.id, request.kind, request.args) == (
            parked.pending[0],
            "approval",
            {"euros": 50, "to": "DE-4711"},
        )
        await app.approvals.approve(request.id, by="ana")
        answer = await app.resume(parked.run_id)
        assert (answer.text, answer.status, paid) == ("It is paid.", RunStatus.COMPLETED, [(50, "DE-4711")])
        with pytest.raises(NotFoundError, match="already decided"):
            await app.approvals.approve(request.id, by="ana")
        assert await app.approvals.list() == ()
    assert attempts(store) == [("ana", "approve", "already approved")]
    (row,) = store.rows("select status, decided_by, basis, reason from approvals_request")
    assert (row["status"], row["decided_by"], row["reason"]) == ("approved", "ana", "money leaves the house")
    assert row["basis"]


async def test_only_approvers_and_the_assignee_decide_and_the_rest_is_recorded(
    wakeful_app: Any, store: Database
) -> None:
    desk = agent(PAY, "Asked.", "Paid.", rules=[{**RULE, "assignee": "cleo"}])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", user="bob", conversation="c")
        (held,) = parked.pending
        for person in ("bob", "eve", "", "Ana", "agent"):
            with pytest.raises(NotFoundError, match="not for"):
                await app.approvals.approve(held, by=person)
        with pytest.raises(NotFoundError):
            await app.approvals.approve("ask-forged", by="ana")
        with pytest.raises(NotFoundError):
            await app.approvals.answer(held, by="ana", answer="yes, pay")
        assert paid == []
        await app.approvals.approve(held, by="cleo")
        await app.resume(parked.run_id)
    assert paid == [(50, "DE-4711")]
    not_yours = "not this person's to decide"
    assert attempts(store) == [
        *((person, "approve", not_yours) for person in ("bob", "eve", "", "Ana", "agent")),
        ("ana", "approve", "there is no such request"),
        ("ana", "answer", "an answer is no approval"),
    ]


async def test_the_asking_user_decides_only_where_the_rule_says_so(wakeful_app: Any) -> None:
    desk = agent(PAY, "Asked.", "Paid.", rules=[{**RULE, "asker_decides": True}], approvers=())
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", user="bob")
        await app.approvals.approve(parked.pending[0], by="bob")
        await app.resume(parked.run_id)
    assert paid == [(50, "DE-4711")]


async def test_a_call_that_nobody_could_approve_is_denied(wakeful_app: Any, store: Database) -> None:
    desk = agent(PAY, "It cannot be done.", approvers=())
    async with wakeful_app(desk) as app:
        answer = await app.send("agent", "Pay", user="bob")
    assert (answer.status, paid) == (RunStatus.COMPLETED, [])
    assert "nobody may decide it; name approvers of the agent 'agent'" in shown(
        desk.model.requests[1].items[-1]
    )
    assert store.rows("select id from approvals_request") == []


async def test_free_text_approves_nothing(wakeful_app: Any) -> None:
    desk = agent(PAY, "I have asked.", "I cannot approve that.")
    async with wakeful_app(desk) as app:
        await app.send("agent", "Pay", conversation="c", user="ana")
        await app.send("agent", "yes, approve, go ahead", conversation="c", user="ana")
        assert len(await app.approvals.list()) == 1
    assert paid == []


async def test_a_rejection_is_told(wakeful_app: Any) -> None:
    desk = agent(PAY, "Asked.", "Then not.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        await app.approvals.reject(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Then not."
    assert paid == []
    assert "REJECTED" in shown(desk.model.requests[-1].items[-1])


async def test_many_deciders_execute_once(wakeful_app: Any) -> None:
    desk = agent(PAY, "Asked.", "Paid.", approvers=[f"p{n}" for n in range(20)])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        tries = (app.approvals.approve(parked.pending[0], by=f"p{n}") for n in range(20))
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, ApprovalRequest) for each in outcomes) == 1
        await app.resume(parked.run_id)
    assert paid == [(50, "DE-4711")]


@pytest.mark.parametrize(
    ("euros", "executed"), [(40, [(40, "DE-4711")]), (9_000, [])], ids=["allowed", "denied"]
)
async def test_edited_arguments_are_judged_again(
    wakeful_app: Any, store: Database, euros: int, executed: list[Any]
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
    wakeful_app: Any, rules: list[Json], void: bool
) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay")
    desk = agent("Done.", rules=rules)
    async with wakeful_app(desk) as app:
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Done."
    assert paid == ([] if void else [(50, "DE-4711")])
    assert ("APPROVAL_VOID" in shown(desk.model.requests[0].items[-1])) is void


async def test_thirty_days_and_restarts_later_it_is_still_there(wakeful_app: Any, clock: Any) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay")
    for _ in range(3):
        clock.advance(10 * 86_400)
        async with wakeful_app(agent()) as app:
            assert [each.id for each in await app.approvals.list()] == list(parked.pending)
    async with wakeful_app(agent("Paid.")) as app:
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Paid."
    assert paid == [(50, "DE-4711")]


async def test_a_request_expires_and_the_run_goes_on_without_the_call(
    wakeful_app: Any, clock: Any, store: Database
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


async def test_the_card_says_where_each_value_came_from(wakeful_app: Any, store: Database) -> None:
    desk = agent(say(calls=["mail"]), say(calls=[("pay", {"euros": 7, "to": "DE-4711"})]), "Asked.")
    async with wakeful_app(desk) as app:
        await app.send("agent", "Pay 7 as the mail says")
    (row,) = store.rows("select provenance from approvals_request")
    euros, to = json.loads(row["provenance"])
    assert euros == {"argument": "euros", "from": "user"}
    assert (to["argument"], to["from"], to["source"], to["trust"]) == (
        "to",
        "outside",
        "action:Mail",
        "untrusted",
    )


async def test_requests_go_with_their_conversation(wakeful_app: Any, store: Database) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        with pytest.raises(NotFoundError):
            await app.approvals.approve(parked.pending[0], by="eve")
        await app.cancel(parked.run_id)
        await app.resume(parked.run_id)
        with pytest.raises(NotAvailableError):
            await app.approvals.approve(parked.pending[0], by="ana")
        await app.forget("c")
    assert store.rows("select id from approvals_request") == []
    assert store.rows("select number from approvals_attempt") == []


def test_the_migration_makes_the_tables_of_the_code(store: Database) -> None:
    engine = create_engine(store.url)
    with engine.connect() as connection:

        def mine(name: str | None, kind: str, _: object) -> bool:
            return kind != "table" or name in metadata.tables

        context = MigrationContext.configure(connection, opts={"include_name": mine})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


async def test_a_call_of_a_sub_agent_waits_for_its_own_approvers(wakeful_app: Any) -> None:
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


async def test_two_parked_runs_of_one_conversation_and_a_turn_in_between(wakeful_app: Any) -> None:
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


async def test_requests_of_one_step_are_decided_one_by_one(wakeful_app: Any) -> None:
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


async def test_a_draft_is_confirmed_later(wakeful_app: Any) -> None:
    async with wakeful_app(agent(PAY, "A draft.", "Sent.", rules=[{**RULE, "verdict": "stage"}])) as app:
        parked = await app.send("agent", "Pay")
        (draft,) = await app.approvals.list()
        assert draft.kind == "draft"
        await app.approvals.approve(draft.id, by="ana")
        assert (await app.resume(parked.run_id)).text == "Sent."
    assert paid == [(50, "DE-4711")]


async def test_whoever_streams_a_run_hears_that_a_person_is_asked(wakeful_app: Any) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        events = [event async for event in app.stream("agent", "Pay")]
    (told,) = [event for event in events if isinstance(event, PersonAsked)]
    assert told.request.id in events[-1].answer.pending
