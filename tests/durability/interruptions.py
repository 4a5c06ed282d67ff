"""Runs that somebody cancels, and a server that goes away."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any

from sqlalchemy import make_url, select

from tests.durability.arena import (
    DWELL_S,
    Found,
    Repeats,
    World,
    failed,
    paid_twice,
    running,
    sound,
    statuses,
)
from tests.durability.children import LIMIT_S, Ended, Process, serve
from tests.durability.ports import free_port
from tests.durability.proxy import Line
from wakeful import App
from wakeful.store.tables import run

# ---- cancelling across processes


def cancels(world: World, count: int) -> Found:
    """Cancel runs that another process executes, that nobody executes any more, that wait for a person."""
    problems = list[str]()
    slow, held = Repeats((("dwell", {}), ("pay", {"euros": 1}))), Repeats((("pay", {"euros": 100}),))

    def send(thread: str) -> Callable[[App], Awaitable[str]]:
        async def doing(app: App) -> str:
            return (await app.send("agent", "Go", conversation=thread)).status.value

        return doing

    def cancel(run_id: str) -> Callable[[App], Awaitable[list[Any]]]:
        async def doing(app: App) -> list[Any]:
            asked = await app.cancel(run_id)
            answer = await app.resume(run_id)
            return [asked, answer.status.value, await app.cancel(run_id)]

        return doing

    for number in range(count):
        alive = world.process(send(f"alive{number}"), slow, seconds=LIMIT_S)
        told = world.process(cancel(world.until(running)), slow).ended()
        problems += _told("of a living process", told)
        if (ended := alive.ended()) != Ended("ok", "cancelled"):
            problems.append(f"the process whose run was cancelled {ended}")
        dead = world.process(send(f"dead{number}"), slow, seconds=LIMIT_S)
        run_id = world.until(running)
        dead.signal(signal.SIGKILL)
        dead.ended()
        problems += _told("of a dead process", world.process(cancel(run_id), slow, seconds=LIMIT_S).ended())
        world.process(send(f"parked{number}"), held).ended()
        parked = world.until(
            lambda conn: conn.execute(select(run.c.id).where(run.c.status == "awaiting_approval")).scalar()
        )
        problems += _told("that waits", world.process(cancel(parked), held).ended())
    problems += world.read(sound)
    if world.read(statuses) != {"cancelled": 3 * count}:
        problems.append(f"runs are {world.read(statuses)}")
    return {"problems": problems, "cancelled": 3 * count}


def _told(which: str, ended: Ended) -> Iterator[str]:
    if ended != Ended("ok", [True, "cancelled", False]):
        yield f"cancelling a run {which}: {ended}"


#: How often the line to a server is cut for a moment.
ROUNDS = 4


def outages(world: World, count: int, seed: int = 4) -> Found:
    """Cut the line to PostgreSQL in the middle of runs, for a second each time and once for ``count``."""
    rng, problems, told = Random(seed), list[str](), Counter[str]()  # noqa: S311  (moments are drawn)
    model = Repeats((("dwell", {}), ("pay", {"euros": 1})), times=4)
    server = make_url(world.url)
    port = free_port()
    line = Process(lambda: asyncio.run(Line(server.host or "", server.port or 5432, port).serve()))
    behind = World(
        server.set(host="127.0.0.1", port=port).render_as_string(hide_password=False), world.effects
    )
    lengths = [*([1.0] * ROUNDS), float(count)]
    for number, length in enumerate(lengths):

        async def send(app: App, thread: str = f"cut{number}") -> str:
            return (await app.send("agent", "Go", conversation=thread)).status.value

        sender = behind.process(send, model, seconds=DWELL_S)
        world.until(running)
        time.sleep(rng.random() * 0.15)
        line.signal(signal.SIGUSR1)
        time.sleep(length)
        line.signal(signal.SIGUSR2)
        ended = sender.ended()
        told["an answer" if ended.how == "ok" else "an error"] += 1
        if ended != Ended("ok", "completed") and "wakeful.types.errors.StoreError: " not in str(ended.value):
            problems.append(f"the process that lost the server {ended}")
        problems += failed("the process after it", behind.process(serve, model).ended())
    line.signal(signal.SIGTERM)
    line.ended()
    problems += world.read(sound)
    if world.read(statuses) != {"completed": len(lengths)}:
        problems.append(f"runs are {world.read(statuses)}")
    problems += paid_twice(world)
    return {"problems": problems, "outages": len(lengths), "longest": count, "callers got": told}
