"""Requests go with their runs: who was told of one hears that, and who decides it afterwards is refused."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from attrs import evolve

from wakeful.testing import Database, say
from wakeful.types import ApprovalRequest, NotAvailableError, RunStatus

LIMIT_S = 30
PAY = say("Let me ask.", calls=[("pay", {"euros": 50})])


async def first(app: Any, channel: str) -> ApprovalRequest:
    """Return what a channel is given first, and remember that it told it; fail where it would wait."""
    async with asyncio.timeout(LIMIT_S), aclosing(app.approvals.news(channel)) as news:
        request: ApprovalRequest = await anext(news)
        async with app.store.transaction() as tx:
            await app.agents[request.agent].approvals.told(tx, channel, request)
    return request


async def refused(app: Any, store: Database, request: str) -> None:
    """Make sure that nobody can decide a request, and that who tries is recorded."""
    for by in ("ana", "eve"):
        with pytest.raises(NotAvailableError, match="can no longer be decided"):
            await app.approvals.approve(request, by=by)
    tried = store.rows("select tried_by, wanted, reason from approvals_attempt order by number")
    assert tried == [
        {"tried_by": "ana", "wanted": "approve", "reason": "already void"},
        {"tried_by": "eve", "wanted": "approve", "reason": "not this person's to decide"},
    ]


async def test_a_request_of_a_run_that_was_cancelled_is_void(
    agent: Any, wakeful_app: Any, store: Database
) -> None:
    async with wakeful_app(agent(PAY, "Asked.", PAY, "Asked again.")) as app:
        parked = await app.send("agent", "Pay")
        assert (await first(app, "chat")).status == "pending"
        await app.cancel(parked.run_id)
        assert (await app.resume(parked.run_id)).status is RunStatus.CANCELLED
        closed = await first(app, "chat")
        assert (closed.id, closed.status, closed.decided_by) == (parked.pending[0], "void", "")
        await refused(app, store, closed.id)
        again = await app.send("agent", "Pay")
        assert (await first(app, "mail")).id == again.pending[0]  # it never hears of the other


async def test_a_request_of_a_run_that_failed_is_void(agent: Any, wakeful_app: Any, store: Database) -> None:
    async with wakeful_app(agent(PAY, say(error=RuntimeError("boom")))) as app:
        assert (await app.send("agent", "Pay")).status is RunStatus.FAILED
        (request,) = store.rows("select id, status from approvals_request")
        assert request["status"] == "void"
        await refused(app, store, request["id"])


async def test_a_request_of_a_run_that_ended_while_the_plugin_was_off_is_void_at_the_next_start(
    agent: Any, wakeful_app: Any, store: Database
) -> None:
    async with wakeful_app(agent(PAY, "Asked.")) as app:
        parked = await app.send("agent", "Pay")
        assert (await first(app, "chat")).status == "pending"
    async with wakeful_app(evolve(agent(), plugins=["policy"])) as app:
        await app.cancel(parked.run_id)
        assert (await app.resume(parked.run_id)).status is RunStatus.CANCELLED
    assert store.rows("select status from approvals_request") == [{"status": "pending"}]
    async with wakeful_app(agent()) as app:
        assert (await first(app, "chat")).status == "void"
        await refused(app, store, parked.pending[0])
