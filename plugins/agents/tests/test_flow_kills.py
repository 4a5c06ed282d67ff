"""A flow of twenty steps, killed anywhere, goes on in another process and does nothing twice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import func, select

import wakeful
from plugins.agents.tests.twenty import agent, answer, flow
from tests.counts import THOROUGH, examples, profile
from tests.durability.children import AFFINITY_S, Ended, fork
from tests.durability.databases import VARIABLE, Databases, OnPostgresql, OnSqlite
from tests.durability.kills import KINDS, Counting, Point
from tests.durability.world import Effects
from wakeful.runtime import claims
from wakeful.store.engine import Store
from wakeful.store.tables import action_call, model_call, run
from wakeful.store.verify import verify
from wakeful.system import SystemClock

#: Points on each database; an everyday run takes a few of them.
POINTS = 50
#: Rows of the loop; in everyday runs the loop is shorter, and the rest of the flow the same.
ROWS = 1_000 if profile() == THOROUGH else 40
#: What the flow fails with where it was killed while it paid, which must not run twice.
UNKNOWN = "step s12: OUTCOME_UNKNOWN: "
LIMIT_S = 120.0


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    if request.param == "postgresql" and VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} names no database")
    made = OnSqlite(tmp_path) if request.param == "sqlite" else OnPostgresql.of_environment()
    yield made
    made.close()


def process(url: str, effects: Effects, file: str, doing: Any, point: Point | None = None) -> Ended:
    async def work() -> None:
        claims.AFFINITY_S = AFFINITY_S
        async with asyncio.timeout(LIMIT_S):
            async with wakeful.open(agent(url, effects, file=file)) as app:
                await doing(app)

    def counted() -> dict[str, int]:
        counting = Counting(point)
        counting.install()
        asyncio.run(work())
        return dict(counting.counts)

    return fork(counted)


async def send(app: wakeful.App) -> None:
    await app.send("agent", "Go", conversation="c")


async def serve(app: wakeful.App) -> None:
    query = select(run.c.status).where(run.c.agent == "agent", run.c.status == "running")
    while await app.store.read(lambda conn: conn.execute(query).first()) is not None:  # noqa: ASYNC110  (this one serves it)
        await asyncio.sleep(0.02)


def wrong(url: str, effects: Effects) -> list[str]:
    """Return what is wrong with a flow that was killed and went on."""

    async def look() -> list[str]:
        store = await Store.open(url, clock=SystemClock(), files=None)
        try:
            return await store.read(judged)
        finally:
            await store.close()

    def judged(conn: Any) -> list[str]:
        found = [str(each) for each in verify(conn)]
        ended = conn.execute(select(run).where(run.c.agent == "agent")).mappings().first()
        if ended is None:
            return [*found, "no run was kept"] if effects.counts() else found  # killed before it began
        paid = [count for (name, _), count in effects.counts().items() if name == "pay"]
        if ended["error"].startswith(UNKNOWN):
            return found + ([f"paid {paid}"] if sum(paid) > 1 else [])
        if (ended["status"], ended["text"], ended["error"]) != ("completed", answer(ROWS), ""):
            found.append(f"the run is {ended['status']} {ended['text']!r} {ended['error']!r}")
        if paid != [1]:
            found.append(f"paid {paid}")
        c = action_call.c
        inner = select(func.count(func.distinct(c.key))).where(c.parent.is_not(None), c.status == "done")
        if (rows := conn.execute(inner).scalar_one()) != ROWS:
            found.append(f"the loop ran {rows} times")
        asked = select(func.count()).where(model_call.c.run_id == ended["id"], model_call.c.reply != "[]")
        if (count := conn.execute(asked).scalar_one()) != 1:
            found.append(f"the model was asked {count} times")
        return found

    return asyncio.run(look())


def test_a_flow_killed_anywhere_goes_on(databases: Databases, tmp_path: Path) -> None:
    url, file = databases.make("whole"), flow(tmp_path, ROWS)
    whole = process(url, Effects(tmp_path / "whole"), file, send)
    assert whole.how == "ok", whole.value
    assert wrong(url, Effects(tmp_path / "whole")) == []
    databases.drop("whole")
    rng, killed, problems = Random(8), 0, list[str]()  # noqa: S311  (which points, not a secret)
    for number in range(examples(POINTS)):
        kind = rng.choice(KINDS)
        point = Point(kind, rng.randint(1, whole.value[kind]))
        effects = Effects(tmp_path / f"effects{number}")
        url = databases.make(f"p{number}")
        ended = process(url, effects, file, send, point)
        killed += ended.how == "killed"
        rest = process(url, effects, file, serve)
        if rest.how != "ok":
            problems.append(f"{point}: the process after it {rest}")
        problems += [f"{point}: {what}" for what in wrong(url, effects)]
        databases.drop(f"p{number}")
    assert problems == []
    assert killed
