"""Channels hear of every request whenever their process ends: at least once, and again when it is settled."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from wakeful.testing import Database, say
from wakeful.types import ApprovalRequest, NotAvailableError

PAY = say("Let me ask.", calls=[("pay", {"euros": 50, "to": "DE-4711"})])


async def heard(app: Any, channel: str, count: int, *, finish: bool = True) -> list[ApprovalRequest]:
    """Return what a channel is given; unless it is to finish, it ends before it comes back for more."""
    found: list[ApprovalRequest] = []
    async with aclosing(app.approvals.news(channel)) as news:
        async for request in news:
            if len(found) == count:
                break
            found.append(request)
            if len(found) == count and not finish:
                break
    return found


async def test_what_a_channel_was_not_told_waits_for_it(
    agent: Any, wakeful_app: Any, clock: Any, store: Database
) -> None:
    desk = (PAY, "Asked.", PAY, "Asked.", "Paid.")
    async with wakeful_app(agent(*desk)) as app:
        first = await app.send("agent", "Pay 50", conversation="c", user="bob")  # and the process ends
    async with wakeful_app(agent(*desk)) as app:
        (told,) = await heard(app, "chat", 1, finish=False)
        assert (told.id, told.status, told.conversation, told.asker) == (
            first.pending[0],
            "pending",
            "c",
            "bob",
        )
        assert told.people == ("ana",)
        assert "euros = 50  (from the user's words)" in told.card
        assert "why: money leaves the house" in told.card
    async with wakeful_app(agent(*desk)) as app:  # it ended before it could say that it had told
        await app.send("agent", "Pay 50", conversation="c", user="bob")
        again = await heard(app, "chat", 2, finish=False)
        assert [each.id for each in again] == [told.id, "ask-2"]
    async with wakeful_app(agent(*desk)) as app:
        await app.approvals.approve(told.id, by="ana")
        settled, new = await heard(app, "chat", 2, finish=False)
        assert (settled.id, settled.status, settled.decided_by) == (told.id, "approved", "ana")
        assert (new.id, new.status) == ("ask-2", "pending")
        assert [each.id for each in await heard(app, "mail", 1, finish=False)] == ["ask-2"]  # its own memory
    assert store.rows("select channel, request_id, status from approvals_told order by number") == [
        {"channel": "chat", "request_id": told.id, "status": "approved"},
    ]


async def test_without_a_plugin_nobody_is_told(wakeful_app: Any) -> None:
    from wakeful import Agent
    from wakeful.testing import ScriptedModel

    async with wakeful_app(Agent(model=ScriptedModel([]))) as app:
        with pytest.raises(NotAvailableError, match="policy_approvals"):
            await heard(app, "chat", 1)
