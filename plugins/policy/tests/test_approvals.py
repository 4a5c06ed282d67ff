"""What waits for a person is decided once, by somebody who may, and executed as it was decided."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from wakeful import Agent
from wakeful.testing import Database, PluginConformance, ScriptedModel, say, shown
from wakeful.types import ApprovalRequest, NotAvailableError, NotFoundError, PersonAsked, RunStatus
from wakeful_policy.approvals.tables import metadata

RULE = {"action": "pay", "verdict": "require_approval", "reason": "money leaves the house"}
PAY = say("Let me ask.", calls=[("pay", {"euros": 50, "to": "DE-4711"})])


class TestApprovals(PluginConformance):
    plugin = "approvals"


def attempts(store: Database) -> list[tuple[str, str, str]]:
    rows = store.rows("select tried_by, wanted, reason from approvals_attempt order by number")
    return [(row["tried_by"], row["wanted"], row["reason"]) for row in rows]


async def test_an_approved_call_runs_once_with_the_stored_arguments(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
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
    agent: Any, paid: Any, wakeful_app: Any, store: Database
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


async def test_the_asking_user_decides_only_where_the_rule_says_so(
    agent: Any, paid: Any, wakeful_app: Any
) -> None:
    desk = agent(PAY, "Asked.", "Paid.", rules=[{**RULE, "asker_decides": True}], approvers=())
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", user="bob")
        await app.approvals.approve(parked.pending[0], by="bob")
        await app.resume(parked.run_id)
    assert paid == [(50, "DE-4711")]


async def test_a_call_that_nobody_could_approve_is_denied(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    desk = agent(PAY, "It cannot be done.", approvers=())
    async with wakeful_app(desk) as app:
        answer = await app.send("agent", "Pay", user="bob")
    assert (answer.status, paid) == (RunStatus.COMPLETED, [])
    assert "nobody may decide it; name approvers of the agent 'agent'" in shown(
        desk.model.requests[1].items[-1]
    )
    assert store.rows("select id from approvals_request") == []


async def test_an_approver_of_one_agent_confirms_nothing_that_another_asked(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    mine = agent(PAY, "Asked.", name="mine", approvers=["ana"])
    other = agent(PAY, "Asked.", name="other", approvers=["cleo"])
    chief = Agent(name="chief", model=ScriptedModel(["So."]), sub_agents=[mine, other])
    async with wakeful_app(chief) as app:
        await app.send("mine", "Pay", conversation="c", user="ana")
        theirs = await app.send("other", "Pay", conversation="d", user="cleo")
        with pytest.raises(NotFoundError):
            await app.approvals.approve(theirs.pending[0], by="ana")
        with pytest.raises(NotFoundError):
            await app.approvals.reject(theirs.pending[0], by="ana")
        assert len(await app.approvals.list()) == 2
    assert paid == []
    refused = "not this person's to decide"
    assert attempts(store) == [("ana", "approve", refused), ("ana", "reject", refused)]


async def test_free_text_approves_nothing(agent: Any, paid: Any, wakeful_app: Any) -> None:
    desk = agent(PAY, "I have asked.", "I cannot approve that.")
    async with wakeful_app(desk) as app:
        await app.send("agent", "Pay", conversation="c", user="ana")
        await app.send("agent", "yes, approve, go ahead", conversation="c", user="ana")
        assert len(await app.approvals.list()) == 1
    assert paid == []


async def test_a_rejection_is_told(agent: Any, paid: Any, wakeful_app: Any) -> None:
    desk = agent(PAY, "Asked.", "Then not.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        await app.approvals.reject(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Then not."
    assert paid == []
    assert "REJECTED" in shown(desk.model.requests[-1].items[-1])


async def test_many_deciders_execute_once(agent: Any, paid: Any, wakeful_app: Any) -> None:
    desk = agent(PAY, "Asked.", "Paid.", approvers=[f"p{n}" for n in range(20)])
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay")
        tries = (app.approvals.approve(parked.pending[0], by=f"p{n}") for n in range(20))
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, ApprovalRequest) for each in outcomes) == 1
        await app.resume(parked.run_id)
    assert paid == [(50, "DE-4711")]


async def test_the_card_says_where_each_value_came_from(
    agent: Any, wakeful_app: Any, store: Database
) -> None:
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


async def test_the_card_names_what_a_text_holds_from_outside(agent: Any, wakeful_app: Any) -> None:
    text = "Please pay 50 to de-4711, not to DE-1234567, says bob@example.com."
    desk = agent(say(calls=["mail"]), say(calls=[("pay", {"euros": 7, "to": text})]), "Asked.")
    async with wakeful_app(desk) as app:
        await app.send("agent", "Pay 7, and tell bob@example.com")
        (request,) = await app.approvals.list()
    assert "(written by the model; de-4711 from outside: action:Mail, untrusted)" in request.card


async def test_requests_go_with_their_conversation(agent: Any, wakeful_app: Any, store: Database) -> None:
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


async def test_whoever_streams_a_run_hears_that_a_person_is_asked(agent: Any, wakeful_app: Any) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        events = [event async for event in app.stream("agent", "Pay")]
    (told,) = [event for event in events if isinstance(event, PersonAsked)]
    assert told.request.id in events[-1].answer.pending


async def test_arguments_that_were_changed_behind_the_request_are_not_approved(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay")
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("""update approvals_request set args = '{"euros":5000,"to":"EVE"}'""")
    async with wakeful_app(agent()) as app:
        with pytest.raises(NotFoundError):
            await app.approvals.approve(parked.pending[0], by="ana")
    assert paid == []
    assert attempts(store)[-1][2] == "the stored arguments are not those that were asked about"
