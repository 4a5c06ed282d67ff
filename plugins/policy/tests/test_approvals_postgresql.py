"""The same on PostgreSQL. Set WAKEFUL_TEST_POSTGRESQL to the URL of a database that may be emptied."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, Table, create_engine, select, text

import wakeful
from wakeful import Agent, action
from wakeful.testing import FakeClock, FakeIds, ScriptedModel, say
from wakeful.types import ApprovalRequest
from wakeful_policy.approvals.tables import attempt, metadata, request, told
from wakeful_policy.approvals.tables import rule as rule_table

URL = os.environ.get("WAKEFUL_TEST_POSTGRESQL", "")
pytestmark = pytest.mark.skipif(not URL, reason="WAKEFUL_TEST_POSTGRESQL is not set")


def engine() -> Engine:
    return create_engine(URL.replace("postgresql://", "postgresql+psycopg://", 1))


def everything(table: Table, conn: Connection) -> Any:
    return conn.execute(select(table)).all()


@pytest.fixture
def url() -> str:
    emptied = engine()
    with emptied.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    emptied.dispose()
    return URL


async def test_requests_are_stored_decided_once_and_forgotten(
    url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the folder of large contents is made where the process runs
    paid: list[str] = []

    @action(effect="external", output_trust="trusted")
    async def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    replies: list[Any] = [say(calls=[("pay", {"to": "größer \0"})]), "Asked.", "Paid."]
    people = [f"p{number}" for number in range(20)]
    desk = Agent(
        model=ScriptedModel(replies),
        actions=[pay],
        plugins=["policy", "approvals"],
        approvers=people,
        store=url,
    )
    async with wakeful.open(desk, clock=FakeClock(), ids=FakeIds()) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        tries = (app.approvals.approve(parked.pending[0], by=person) for person in ["eve \0", *people])
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, ApprovalRequest) for each in outcomes) == 1
        assert (await app.resume(parked.run_id)).text == "Paid."
        assert len(paid) == 1
        tried = await app.store.read(lambda conn: conn.execute(select(attempt)).all())
        assert len(tried) == 20
        await app.forget("c")
        for table in (request, attempt):
            found = await app.store.read(partial(everything, table))
            assert found == []
    looking = engine()
    with looking.connect() as connection:

        def mine(name: str | None, kind: str, _: object) -> bool:
            return kind != "table" or name in metadata.tables

        context = MigrationContext.configure(connection, opts={"include_name": mine})
        assert compare_metadata(context, metadata) == []
    looking.dispose()


async def test_rules_drafts_and_news(url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paid: list[int] = []

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    asks = {"action": "pay", "verdict": "require_approval"}
    stages = {"action": "pay", "args": {"euros": {"above": 100}}, "verdict": "stage"}
    replies: list[Any] = [say(calls=[("pay", {"euros": 5})]), "Asked.", "Paid."]
    replies += [say(calls=[("pay", {"euros": 6}), ("pay", {"euros": 200})]), "One is paid, one a draft."]
    desk = Agent(
        model=ScriptedModel(replies),
        actions=[pay],
        plugins=["policy", "approvals"],
        settings={"policy": {"rules": [asks, stages]}},
        approvers=["ana"],
        store=url,
    )
    clock = FakeClock()
    async with wakeful.open(desk, clock=clock, ids=FakeIds()) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        rule = {"args": {"euros": {"below": 10}}}
        await app.approvals.approve(parked.pending[0], by="ana", rule=rule)
        assert (await app.resume(parked.run_id)).text == "Paid."
        answer = await app.send("agent", "Pay", conversation="c")
        assert (answer.text, answer.pending, paid) == ("One is paid, one a draft.", (), [5, 6])
        (draft,) = await app.approvals.list()
        news = app.approvals.news("chat")
        assert (await anext(news)).id == draft.id
        following, told_rows = asyncio.ensure_future(anext(news)), partial(everything, told)
        for _ in range(1_000):
            if await app.store.read(told_rows):
                break
        await app.approvals.approve(draft.id, by="ana")
        await app.resume(answer.run_id)
        for _ in range(1_000):
            clock.advance(1)  # it looks again
            await app.store.read(told_rows)
            if following.done():
                break
        settled = await following
        assert (settled.id, settled.status, paid) == (draft.id, "approved", [5, 6, 200])
        await news.aclose()
        await app.forget("c")
        assert len(await app.store.read(partial(everything, rule_table))) == 1  # it outlives the conversation
        assert await app.store.read(partial(everything, told)) == []
