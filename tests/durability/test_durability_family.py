"""A parent with three sub-agents at once, through a kill, a decision and a cancellation."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import wakeful
from tests.durability.children import AFFINITY_S, Process
from tests.durability.databases import VARIABLE, Databases, OnPostgresql, OnSqlite
from tests.durability.family import CONVERSATION, FINAL, KIDS, family
from tests.durability.world import Effects
from wakeful import App
from wakeful.loop.transcript import load_rows
from wakeful.runtime import claims
from wakeful.store.engine import Store
from wakeful.store.tables import action_call, run
from wakeful.store.verify import verify
from wakeful.system import SystemClock
from wakeful.types import RowKind, Trust

#: Seconds within which something must have happened; a machine under load takes its time.
PATIENCE = 40.0


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    if request.param == "postgresql" and VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} names no database")
    made = OnSqlite(tmp_path) if request.param == "sqlite" else OnPostgresql.of_environment()
    yield made
    made.close()


class World:
    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.fatal = url, folder / "fatal"
        self.effects = Effects(folder / "effects")

    def process(self, doing: Callable[[App], Any]) -> Process:
        async def opened() -> Any:
            claims.AFFINITY_S = AFFINITY_S
            async with asyncio.timeout(PATIENCE):
                async with wakeful.open(family(self.url, self.effects, self.fatal)) as app:
                    return await doing(app)

        return Process(lambda: asyncio.run(opened()))

    def read(self, query: Any) -> list[dict[str, Any]]:
        async def work() -> list[dict[str, Any]]:
            store = await Store.open(self.url, clock=SystemClock(), files=None)
            try:
                return await store.read(lambda conn: [dict(row) for row in conn.execute(query).mappings()])
            finally:
                await store.close()

        return asyncio.run(work())

    def statuses(self) -> dict[str, str]:
        return {row["agent"]: row["status"] for row in self.read(select(run.c.agent, run.c.status))}

    def until(self, happened: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, self.statuses()
            time.sleep(0.05)


async def send(app: App) -> str:
    return (await app.send("top", "Go, please", conversation=CONVERSATION, user="ana")).status.value


def cancel(run_id: str) -> Callable[[App], Any]:
    async def doing(app: App) -> bool:
        return await app.cancel(run_id)

    return doing


def serve_until(status: str) -> Callable[[App], Any]:
    async def doing(app: App) -> None:
        query = select(run.c.status).where(run.c.agent == "top")
        while await app.store.read(lambda conn: conn.execute(query).scalar()) != status:  # noqa: ASYNC110  (this one serves it)
            await asyncio.sleep(0.02)

    return doing


def decide(request_id: str) -> Callable[[App], Any]:
    async def doing(app: App) -> str:
        await app.approvals.approve(request_id, by="ana")
        await serve_until("completed")(app)
        return "decided"

    return doing


def test_a_family_survives_everything(databases: Databases, tmp_path: Path) -> None:
    world = World(databases.make("family"), tmp_path)
    try:
        first = world.process(send)
        held = select(action_call.c.key).where(action_call.c.status == "held")
        world.until(lambda: len(world.read(held)) == 2)  # the payment, and the call that delegated it
        world.until(lambda: set(world.statuses()) == {"top", *KIDS} and len(world.effects.counts()) == 1)
        (tmp_path / "armed").write_text("armed")
        (tmp_path / "armed").rename(world.fatal)  # whole, whoever looks
        assert first.ended().how == "killed"
        assert world.statuses() == {
            "top": "running",
            "asks": "awaiting_approval",
            "falls": "running",
            "stops": "running",
        }
        # Another process takes the parent up, and with it what was running below; one is cancelled there.
        second = world.process(serve_until("awaiting_approval"))
        ids = {row["agent"]: row["id"] for row in world.read(select(run.c.agent, run.c.id))}
        world.until(lambda: world.statuses()["falls"] == "completed")
        assert world.process(cancel(ids["stops"])).ended().value is True
        world.until(lambda: world.statuses()["top"] == "awaiting_approval")
        assert second.ended().how == "ok"
        (request,) = [
            row["approval_id"] for row in world.read(select(action_call)) if row["approval_id"] is not None
        ]
        # A person decides in a third; the answer comes up, and the parent ends.
        third = world.process(decide(request)).ended()
        assert (third.how, third.value) == ("ok", "decided")
        check(world, ids)
    finally:
        databases.drop("family")


def check(world: World, ids: dict[str, str]) -> None:
    assert world.statuses() == {
        "top": "completed",
        "asks": "completed",
        "falls": "completed",
        "stops": "cancelled",
    }
    runs = {row["agent"]: row for row in world.read(select(run))}
    assert {runs[kid]["parent_run"] for kid in KIDS} == {ids["top"]}
    assert {runs[kid]["parent_step"] for kid in KIDS} == {1}
    assert runs["top"]["text"] == FINAL
    counts = world.effects.counts()
    assert [count for (name, _), count in counts.items() if name == "pay"] == [1]
    assert [count for (name, _), count in counts.items() if name == "fall"] == [2]  # a fetch may run again

    async def work() -> None:
        store = await Store.open(world.url, clock=SystemClock(), files=None)
        try:
            assert await store.read(lambda conn: list(verify(conn))) == []
            rows = await store.read(lambda conn: load_rows(conn, CONVERSATION))
            below = {
                kid: await store.read(partial(load_rows, conversation_id=runs[kid]["conversation_id"]))
                for kid in KIDS
            }
        finally:
            await store.close()
        results = {row.meta["actions"][0]: row for row in rows if row.kind is RowKind.RESULT}
        assert {row.meta["message_type"] for row in results.values()} == {"sub-agent-result"}
        assert "SUB_AGENT_WAITS" in results["delegate_to_asks"].text
        assert "SUB_AGENT_CANCELLED" in results["delegate_to_stops"].text
        fallen = results["delegate_to_falls"]
        assert "I stood up." in fallen.text
        assert (fallen.trust, fallen.source) == (Trust.UNTRUSTED, "sub-agent:falls")
        (late,) = [row for row in rows if row.kind is RowKind.LATE_RESULT]
        assert "It is paid." in late.text
        assert late.meta["message_type"] == "sub-agent-result"
        for kid in KIDS:
            assert below[kid][0].kind is RowKind.NOTE
            assert below[kid][0].text == "Go"

    asyncio.run(work())
