"""What contests are played in: a database, the world outside, and processes that share them."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from attrs import define, frozen
from sqlalchemy import Connection, select

import wakeful
from tests.durability.children import LIMIT_S, Ended, Process, fork
from tests.durability.people import desk
from tests.durability.world import Effects
from wakeful import ActionContext, Agent, App, action
from wakeful.runtime import EmbeddedRuntime, claims, owner_name
from wakeful.store.engine import Store
from wakeful.store.tables import action_call, message, run, step
from wakeful.store.verify import verify
from wakeful.system import SystemClock
from wakeful.types import (
    Action,
    Call,
    Clock,
    Emit,
    Profile,
    Reply,
    Request,
    Result,
    Stop,
    Text,
    Usage,
    canonical,
)

#: Seconds of a lease where processes stall.
LEASE_S = 0.8
#: Seconds of a lease where none may: longer than a loaded machine keeps a process waiting.
CALM_S = 30.0
#: Seconds that calls take where somebody must see a run in progress; to look takes a process of its own.
DWELL_S = 0.2


Found = dict[str, Any]


@define(eq=False)
class Repeats:
    """Asks for the same calls ``times`` times in a turn, then answers; remembers nothing."""

    calls: tuple[tuple[str, dict[str, int]], ...]
    times: int = 1
    profile: Profile = Profile("repeats")

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Give the next reply."""
        since = 0
        for item in request.items:
            new_turn = isinstance(item, Text) and item.role == "user" and item.text.startswith("Go")
            since = 0 if new_turn else since + isinstance(item, Result)
        if since >= self.times * len(self.calls):
            return Reply((Text("assistant", "Done."),), Usage(uncached=10, output=1))
        number = sum(isinstance(item, Call) for item in request.items)
        calls = [Call(f"c{number + n}", name, canonical(args)) for n, (name, args) in enumerate(self.calls)]
        return Reply(tuple(calls), Usage(uncached=10, output=1), Stop.CALLS)


@frozen
class World:
    """A database, and a file that takes down what happens outside."""

    url: str
    effects: Effects

    def actions(self, seconds: float) -> tuple[Action, ...]:
        """Return a read that takes a while, and a payment that must happen once."""

        @action(effect="read", output_trust="trusted")
        async def dwell(ctx: ActionContext) -> str:
            """Take a while."""
            self.effects.add(f"enter {ctx.run.conversation}", ctx.key)
            try:
                await asyncio.sleep(seconds)
            finally:  # a process that closes leaves its runs to the others, in the middle of a call too
                self.effects.add(f"leave {ctx.run.conversation}", ctx.key)
            return "dwelt"

        @action(effect="write", output_trust="trusted")
        async def pay(euros: int, ctx: ActionContext) -> str:
            """Pay.

            Args:
                euros: how much.
                ctx: the call.
            """
            await asyncio.sleep(seconds)
            self.effects.add("pay", ctx.key)
            return "paid"

        return (dwell, pay)

    def process(
        self,
        doing: Callable[[App], Awaitable[Any]],
        model: Repeats,
        seconds: float = 0.0,
        lease_s: float = LEASE_S,
    ) -> Process:
        """Start a process that does something with an application."""

        def leased(store: Store, clock: Clock) -> EmbeddedRuntime:
            return EmbeddedRuntime(store, clock, owner_name(), lease_s)

        async def work() -> Any:
            claims.AFFINITY_S = 0.0
            plan = Agent(model=model, actions=self.actions(seconds), store=self.url, **desk())
            async with asyncio.timeout(LIMIT_S * 3), wakeful.open(plan, runtime=leased) as app:
                return await doing(app)

        return Process(lambda: asyncio.run(work()))

    def read(self, fn: Callable[[Connection], Any]) -> Any:
        """Return what a function finds in the database, as JSON."""

        async def look() -> Any:
            store = await Store.open(self.url, clock=SystemClock())
            try:
                return await store.read(fn)
            finally:
                await store.close()

        ended = fork(lambda: asyncio.run(look()))
        if ended.how != "ok":
            raise RuntimeError(f"looking {ended.how}: {ended.value}")
        return ended.value

    def writable(self) -> bool:
        """Return whether anybody can write: SQLite's lock is held by a process that stops while it writes."""
        if not self.url.startswith("sqlite"):
            return True

        def begin() -> None:
            connection = sqlite3.connect(self.url.removeprefix("sqlite:///"), timeout=0, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
            connection.close()

        return fork(begin).how == "ok"

    def until(self, fn: Callable[[Connection], Any]) -> Any:
        """Wait until the database says so."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if found := self.read(fn):
                return found
            time.sleep(0.02)
        raise RuntimeError(f"waited {LIMIT_S:g} s in vain for {fn.__name__}")


def sound(conn: Connection) -> list[str]:
    return [str(problem) for problem in verify(conn)]


def statuses(conn: Connection) -> dict[str, int]:
    return dict(Counter(conn.execute(select(run.c.status)).scalars()))


def running(conn: Connection) -> str:
    latest = select(run.c.id, run.c.status).order_by(run.c.id.desc()).limit(1)
    found = conn.execute(latest).first()
    return found.id if found is not None and found.status == "running" else ""


def written(conn: Connection) -> list[str]:
    """Return everything that runs have written, in a form to compare."""
    tables = (message, run, step, action_call)
    return [repr(sorted(map(tuple, conn.execute(select(table)).all()), key=repr)) for table in tables]


def failed(name: str, ended: Ended) -> Iterator[str]:
    if ended.how != "ok":
        yield f"{name} {ended.how}: {ended.value}"


def paid_twice(world: World) -> list[str]:
    return [
        f"{name} {key} happened {times} times"
        for (name, key), times in world.effects.counts().items()
        if name == "pay" and times > 1
    ]
