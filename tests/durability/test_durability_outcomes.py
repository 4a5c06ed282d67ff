"""A once call whose process ended is unknown and put to a person, wherever the call stands."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import wakeful
from tests.durability.children import fork
from wakeful import ActionContext, Agent, App, action
from wakeful.app.items import cancelling
from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.engine import Store
from wakeful.store.records import list_runs
from wakeful.store.tables import action_call, message
from wakeful.store.verify import verify
from wakeful.system import SystemClock
from wakeful.testing import ScriptedModel, say
from wakeful.testing.catalogue import actions
from wakeful.types import NotFoundError, Priority, RunStatus, WorkItem

FLOW = """
answer = "All is paid."

[types]
sums = "list"

[steps.first]
action = "bills"
output = { sums = "outputs.result" }
next = "second"

[steps.second]
for_each = "payload.sums"
action = "pay"
args = { euros = "item" }
"""


class Desk:
    """An agent that pays 2 euros once in its life: its process ends in the middle of that."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.paid, self.parent = url, folder / "paid", os.getpid()

    def actions(self) -> list[Any]:
        @action(effect="write", output_trust="trusted")
        async def pay(euros: int) -> str:
            """Pay.

            Args:
                euros: how much.
            """
            with self.paid.open("a") as file:
                file.write(f"{euros} ")
            if euros == 2 and os.getpid() != self.parent:
                os.kill(os.getpid(), signal.SIGKILL)
            return f"paid {euros}"

        @action(effect="write", output_trust="trusted")
        async def pay_all(ctx: ActionContext) -> str:
            """Pay everything; not to be done twice either."""
            for place in range(3):
                await ctx.call("pay", {"euros": place + 1}, inner=place)
            return "paid everything"

        @action(effect="read", output_trust="trusted")
        async def bills() -> list[int]:
            """Say what is to be paid."""
            return [1, 2, 3]

        return [pay, pay_all, bills, *actions()]

    def agent(self, *calls: tuple[str, Any], plugins: tuple[str, ...] = (), **options: Any) -> Agent:
        """Return the agent; its model makes these calls, and after the death is told."""
        model = ScriptedModel(["I know."] if self.paid.exists() else [say(calls=list(calls))])
        plugins = ("policy", "approvals", *plugins)
        return Agent(
            model=model, actions=self.actions(), plugins=plugins, store=self.url, approvers=["ana"], **options
        )

    def run(self, agent: Callable[[], Agent]) -> None:
        """Begin the turn, and die."""

        async def work() -> None:
            async with wakeful.open(agent()) as app:
                await app.send("agent", "Pay", conversation="c", user="bob")

        ended = fork(lambda: asyncio.run(work()))
        assert ended.how == "killed", ended.value

    async def unknown(self, app: App) -> list[tuple[str, Any]]:
        """Return key and arguments of the calls whose outcome nobody knows; the others have ended well."""
        c = action_call.c
        rows = await app.store.read(lambda conn: conn.execute(action_call.select().order_by(c.key)).all())
        assert {row.status for row in rows} <= {"unknown", "done", "cancelled"}
        return [(row.key, json.loads(row.args)) for row in rows if row.status == "unknown"]


def killed_in(desk: Desk, folder: Path, where: str) -> Callable[[], Agent]:
    """Return what makes the agent whose process ends in a call that stands there."""
    match where:
        case "a step":
            return lambda: desk.agent(("pay", {"euros": 1}), ("pay", {"euros": 2}))
        case "a call of the multiplexer":
            entries = [{"action_name": "pay", "parameters": {"euros": euros}} for euros in (1, 2)]
            return lambda: desk.agent(
                ("execute_discovered_action", {"actions": entries}),
                plugins=("multiplexer",),
                settings={"multiplexer": {"backend": "tools"}},
            )
        case "a loop":
            loop = {"action": "pay", "items": [1, 2, 3], "args": {"euros": "item"}}
            return lambda: desk.agent(("for_each", loop), plugins=("loops",))
        case _:
            file = folder / "flow.toml"
            file.write_text(FLOW)
            settings = {"flow": {"file": str(file)}}
            return lambda: desk.agent(plugins=("flow", "payload"), settings=settings, type="flow")


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("a step", "1/1"),
        ("a call of the multiplexer", "1/0/1"),
        ("a loop", "1/0/1"),
        ("a flow", "2/0/1"),
    ],
)
async def test_a_person_is_asked_what_became_of_it(url: str, tmp_path: Path, where: str, key: str) -> None:
    desk = Desk(url, tmp_path)
    agent = killed_in(desk, tmp_path, where)
    desk.run(agent)
    async with wakeful.open(agent()) as app:
        (run,) = await app.store.read(list_runs)
        answer = await app.resume(run.id)
        assert answer.status.ended
        lost = await desk.unknown(app)
        assert (f"{run.id}/{key}", {"euros": 2}) in lost
        requests = await app.approvals.list()
        assert [(each.key, each.args) for each in requests] == lost
        assert {each.kind for each in requests} == {"outcome"}
        told = await app.store.read(lambda conn: conn.execute(select(message.c["items"])).scalars().all())
        assert "a person is asked whether it did" in "".join(told) + answer.error
        with pytest.raises(NotFoundError, match="is not for 'ana' to decide, or not in this way"):
            await app.approvals.approve(requests[0].id, by="ana")
        for each in requests:
            await app.approvals.answer(each.id, by="ana", answer="took_effect")
            await app.resume(run.id)  # which tells of it, at the latest
        assert await app.approvals.list() == ()
        told = await app.store.read(lambda conn: conn.execute(select(message.c["items"])).scalars().all())
        assert "".join(told).count("ana found out that this call took effect") == len(requests)
        assert not await app.store.read(lambda conn: list(verify(conn)))
    assert desk.paid.read_text().split().count("2") == 1


async def test_both_are_asked_about_when_a_once_call_stands_in_another(url: str, tmp_path: Path) -> None:
    desk = Desk(url, tmp_path)
    desk.run(lambda: desk.agent(("pay_all", {})))
    async with wakeful.open(desk.agent()) as app:
        (run,) = await app.store.read(list_runs)
        assert (await app.resume(run.id)).status is RunStatus.COMPLETED
        lost = await desk.unknown(app)
        assert lost[:1] == [(f"{run.id}/1/0", {})]
        assert lost[-1:] == [(f"{run.id}/1/0/1", {"euros": 2})]
        assert [(each.key, each.args) for each in await app.approvals.list()] == lost
    assert desk.paid.read_text() == "1 2 "


async def test_a_run_that_is_cancelled_afterwards_asks_as_well(url: str, tmp_path: Path) -> None:
    desk = Desk(url, tmp_path)
    agent = killed_in(desk, tmp_path, "a loop")
    desk.run(agent)
    store = await Store.open(url, clock=SystemClock())
    (run,) = await store.read(list_runs)
    runtime = EmbeddedRuntime(store, SystemClock(), owner_name())  # which executes nothing
    payload = {"run": run.id, "cancel": True}
    await runtime.submit(WorkItem(cancelling(run.id), "resume", "c", payload, Priority.INTERACTIVE))
    await store.close()
    async with wakeful.open(agent()) as app:
        assert (await app.resume(run.id)).status is RunStatus.CANCELLED
        lost = await desk.unknown(app)
        assert (f"{run.id}/1/0/1", {"euros": 2}) in lost
        assert [(each.key, each.args) for each in await app.approvals.list()] == lost
    assert desk.paid.read_text().split().count("2") == 1
