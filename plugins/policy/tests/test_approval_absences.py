"""What people decide, or leave undecided, while the plugin is away is seen to when it is back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest
from attrs import evolve

from wakeful.testing import Database, say
from wakeful.types import NotFoundError, RunStatus

PAY = say("Let me ask.", calls=[("pay", {"euros": 50})])
DAY = 86_400
DIES = """
import asyncio, os, sys
import wakeful, wakeful.loop.late
from wakeful import Agent, action
from wakeful.testing import ScriptedModel, say


async def die(*_):
    os._exit(9)


@action(effect="external", output_trust="trusted")
async def pay(euros: int, to: str = "") -> str:
    "Pay."


async def main(store):
    wakeful.loop.late._claim = die
    rule = {"action": "pay", "verdict": "require_approval"}
    agent = Agent(
        model=ScriptedModel([say(calls=[("pay", {"euros": 50})]), "Asked."]),
        actions=[pay],
        plugins=["policy", "approvals"],
        settings={"policy": {"rules": [rule]}},
        approvers=["ana"],
        store=store,
    )
    async with wakeful.open(agent) as app:
        parked = await app.send("agent", "Pay")
        await app.approvals.approve(parked.pending[0], by="ana")
        await app.resume(parked.run_id)


asyncio.run(main(sys.argv[1]))
"""
RULE = ({"action": "pay", "verdict": "require_approval"},)


def without(agent: Any) -> Any:
    return evolve(agent, plugins=["policy"])


async def test_what_was_decided_waits_for_the_plugin_after_a_process_was_killed(
    agent: Any, paid: Any, wakeful_app: Any, store: Database
) -> None:
    command = [sys.executable, "-c", DIES, store.url]
    assert subprocess.run(command, check=False, env=dict(os.environ)).returncode == 9
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("update work_item set lease_until = '2020-01-01 00:00:00.000000'")
    (run,) = store.rows("select id from run")
    off = without(agent(rules=RULE))
    async with wakeful_app(off) as app:
        answer = await app.resume(run["id"])
        assert answer.status is RunStatus.AWAITING_APPROVAL
        assert "once a plugin that stores approvals is on again" in answer.error
    assert off.model.requests == []
    async with wakeful_app(agent("Paid.", rules=RULE)) as app:
        await settled(app, store, "completed")
    assert paid == [(50, "")]


async def tried(app: Any, store: Database, clock: Any) -> None:
    """Let the wake-up of an expiring request come to nothing."""
    for _ in range(500):
        (item,) = store.rows("select status from work_item where kind = 'expire'")
        if item["status"] in {"done", "failed"}:
            return
        clock.advance(60)
        await app.store.read(lambda conn: None)
    raise AssertionError(item)


async def settled(app: Any, store: Database, status: str) -> None:
    """Give the application as long as it takes to do what it finds at its start."""
    for _ in range(500):
        if store.rows("select status from run") == [{"status": status}]:
            return
        await app.store.read(lambda conn: None)
    raise AssertionError(store.rows("select status from run"))


@pytest.mark.parametrize("away", ["plugin", "agent"])
async def test_a_request_whose_time_ends_meanwhile_expires_at_the_next_start(
    agent: Any, wakeful_app: Any, store: Database, clock: Any, away: str
) -> None:
    async with wakeful_app(agent(PAY, "Asked.", expires_days=1)) as app:
        await app.send("agent", "Pay")
    clock.advance(2 * DAY)
    other = without(agent()) if away == "plugin" else agent(name="other")
    async with wakeful_app(other) as app:
        await tried(app, store, clock)
        assert store.rows("select status from approvals_request") == [{"status": "pending"}]
    async with wakeful_app(agent("Nobody decided.", expires_days=1)) as app:
        await settled(app, store, "completed")
    assert store.rows("select status from approvals_request") == [{"status": "expired"}]
    assert store.rows("select id from work_item where status = 'failed'") == []


async def test_nothing_expires_of_a_conversation_that_is_forgotten(
    agent: Any, wakeful_app: Any, store: Database
) -> None:
    async with wakeful_app(agent(PAY, "Asked.", expires_days=1)) as app:
        await app.send("agent", "Pay", conversation="c")
        await app.forget("c")
        assert store.rows("select id from work_item where kind = 'expire'") == []


async def test_a_decision_that_comes_too_late_ends_the_request(
    agent: Any, wakeful_app: Any, store: Database, clock: Any
) -> None:
    async with wakeful_app(agent(PAY, "Asked.", "Nobody decided.", expires_days=1)) as app:
        parked = await app.send("agent", "Pay")
        await app.runtime.cancel(f"expire:{parked.pending[0]}")  # its wake-up is lost
        clock.advance(2 * DAY)
        with pytest.raises(NotFoundError):
            await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Nobody decided."
    assert store.rows("select status from approvals_request") == [{"status": "expired"}]
    assert store.rows("select reason from approvals_attempt") == [{"reason": "its time is over"}]
