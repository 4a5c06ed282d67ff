"""Runs on a runtime whose queue is not in the database: wake-ups go through the outbox, and none is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import wakeful
from kernel.tests.runtime.memory_runtime import MemoryRuntime
from tests.durability.children import fork
from tests.toys import Desk
from wakeful import Agent, action
from wakeful.store.engine import Store
from wakeful.store.records import list_runs
from wakeful.store.tables import message
from wakeful.store.work import outbox
from wakeful.testing import ScriptedModel, say
from wakeful.types import Clock, RunStatus, WorkItem

PAY = say(calls=[("pay", {"euros": 100})])


class Mortal(MemoryRuntime):
    """Its process ends before it accepts a wake-up of some kind."""

    last = ""

    async def submit(self, item: WorkItem) -> bool:
        if item.kind == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().submit(item)


def agent(url: str, *replies: Any) -> Agent:
    @action(effect="write", output_trust="trusted")
    async def pay(euros: int) -> str:
        """Pay.

        Args:
            euros: how much.
        """
        return f"paid {euros}"

    return Agent(model=ScriptedModel(list(replies)), actions=[pay], plugins=[Desk], store=url)


def memory(store: Store, clock: Clock) -> MemoryRuntime:
    return MemoryRuntime(clock)


def dying(last: str) -> Any:
    def make(store: Store, clock: Clock) -> Mortal:
        runtime = Mortal(clock)
        runtime.last = last
        return runtime

    return make


async def test_a_decision_wakes_the_run(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'wakeful.db'}"
    async with wakeful.open(agent(url, PAY, "Asked.", "It is paid."), runtime=memory) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        assert parked.status is RunStatus.AWAITING_APPROVAL
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "It is paid."
        assert await app.store.read(lambda conn: conn.execute(outbox.select()).all()) == []


async def test_an_input_survives_before_its_wake_up_is_accepted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'wakeful.db'}"

    async def work() -> None:
        async with wakeful.open(agent(url), runtime=dying("run")) as app:
            await app.send("agent", "Hello", conversation="c")

    assert fork(lambda: asyncio.run(work())).how == "killed"
    async with wakeful.open(agent(url, "Hello to you."), runtime=memory) as app:
        await ended(app, RunStatus.COMPLETED)


async def test_a_decision_survives_before_its_wake_up_is_accepted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'wakeful.db'}"

    async def work() -> None:
        async with wakeful.open(agent(url, PAY, "Asked."), runtime=dying("resume")) as app:
            parked = await app.send("agent", "Pay", conversation="c")
            await app.approvals.approve(parked.pending[0], by="ana")

    assert fork(lambda: asyncio.run(work())).how == "killed"
    async with wakeful.open(agent(url, "It is paid."), runtime=memory) as app:
        await ended(app, RunStatus.COMPLETED)
        rows = await app.store.read(lambda conn: conn.execute(message.select()).all())
        assert [row.kind for row in rows][-2:] == ["late-result", "assistant"]


async def ended(app: wakeful.App, status: RunStatus) -> None:
    """Wait until the one run has a status."""
    async with asyncio.timeout(30):
        while [run.status for run in await app.store.read(list_runs)] != [status]:  # noqa: ASYNC110  (the run ends by itself)
            await asyncio.sleep(0)
