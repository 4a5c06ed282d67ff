"""Several real processes over one database: who may write, who decides, who is cancelled.

    python -m tests.durability.contests stalls --count 100
    python -m tests.durability.contests turns --count 1000 --on postgresql

Prints what was wrong, and figures, as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from attrs import define, frozen
from sqlalchemy import Connection, select

import wakeful
from tests.durability.children import LIMIT_S, Ended, Process, fork, serve
from tests.durability.databases import Databases, OnPostgresql, OnSqlite
from tests.durability.world import Effects
from tests.toys import Desk
from wakeful import ActionContext, Agent, App, action
from wakeful.runtime import claims
from wakeful.store.engine import Store
from wakeful.store.tables import action_call, message, run, step
from wakeful.store.verify import verify
from wakeful.store.work import work_item
from wakeful.system import SystemClock
from wakeful.types import (
    Action,
    Call,
    Emit,
    NotFoundError,
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
            await asyncio.sleep(seconds)
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
        self, doing: Callable[[App], Awaitable[Any]], model: Repeats, seconds: float = 0.0
    ) -> Process:
        """Start a process that does something with an application."""

        async def work() -> Any:
            claims.AFFINITY_S = 0.0
            plan = Agent(model=model, actions=self.actions(seconds), plugins=[Desk], store=self.url)
            async with asyncio.timeout(LIMIT_S * 3), wakeful.open(plan) as app:
                app.runtime.lease_s = LEASE_S
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


def _sound(conn: Connection) -> list[str]:
    return [str(problem) for problem in verify(conn)]


def _statuses(conn: Connection) -> dict[str, int]:
    return dict(Counter(conn.execute(select(run.c.status)).scalars()))


def _running(conn: Connection) -> str:
    latest = select(run.c.id, run.c.status).order_by(run.c.id.desc()).limit(1)
    found = conn.execute(latest).first()
    return found.id if found is not None and found.status == "running" else ""


def _all(conn: Connection) -> list[str]:
    """Return everything that runs have written, in a form to compare."""
    tables = (message, run, step, action_call)
    return [repr(sorted(map(tuple, conn.execute(select(table)).all()), key=repr)) for table in tables]


def _failed(name: str, ended: Ended) -> Iterator[str]:
    if ended.how != "ok":
        yield f"{name} {ended.how}: {ended.value}"


# ---- a process that stalls


def stalls(world: World, count: int, seed: int = 4) -> Found:
    """Stop a process in the middle of a run, let another finish it, and wake the first."""
    rng, problems = Random(seed), list[str]()  # noqa: S311  (moments are drawn, not secrets)
    model = Repeats((("dwell", {}), ("pay", {"euros": 1})), times=4)
    for number in range(count):

        async def send(app: App, thread: str = f"stalled{number}") -> str:
            return (await app.send("agent", "Go", conversation=thread)).status.value

        stalled = world.process(send, model, seconds=0.01)
        world.until(_running)
        while True:
            time.sleep(rng.random() * 0.15)
            stalled.signal(signal.SIGSTOP)
            if world.writable():
                break
            stalled.signal(signal.SIGCONT)
        other = world.process(serve, model)
        problems += _failed("the process that took over", other.ended())
        before = world.read(_all)
        stalled.signal(signal.SIGCONT)
        ended = stalled.ended()
        if ended != Ended("ok", "completed") and "wakeful.types.errors.StoreError: " not in str(ended.value):
            # An error is what it hears whose transaction PostgreSQL had to break off.
            problems.append(f"the process that woke {ended}")
        if world.read(_all) != before:
            problems.append(f"stall {number}: the process that woke has written")
    problems += world.read(_sound)
    statuses = world.read(_statuses)
    if statuses != {"completed": count}:
        problems.append(f"runs are {statuses}")
    problems += [
        f"{name} {key} happened {times} times"
        for (name, key), times in world.effects.counts().items()
        if name == "pay" and times > 1
    ]
    taken = world.read(lambda conn: len(conn.execute(select(run.c.id).where(run.c.fence > 0)).all()))
    return {"problems": problems, "stalls": count, "runs that were taken over": taken}


# ---- turns that two processes want


def turns(world: World, count: int) -> Found:
    """Let two processes send to the same conversations; no two runs of one may be at work at once."""
    threads = min(50, max(1, count // 4))
    each = count // 2 // threads

    async def sends(app: App) -> list[str]:
        async def talk(thread: str) -> list[str]:
            return [
                (await app.send("agent", f"Go {n}", conversation=thread)).status.value for n in range(each)
            ]

        told = await asyncio.gather(*(talk(f"thread{n}") for n in range(threads)))
        return [status for statuses in told for status in statuses]

    model = Repeats((("dwell", {}),), times=2)
    both = [world.process(sends, model, seconds=0.001) for _ in range(2)]
    problems, told = list[str](), Counter[str]()
    for process in both:
        ended = process.ended()
        problems += _failed("a process", ended)
        told.update(ended.value if ended.how == "ok" else [])
    problems += _failed("afterwards a process", world.process(serve, model).ended())
    problems += [*world.read(_sound), *_overlaps(world.effects.path)]
    wanted = 2 * each * threads
    if world.read(_statuses) != {"completed": wanted} or told != {"completed": wanted}:
        problems.append(f"of {wanted} turns: {world.read(_statuses)}, told {dict(told)}")
    return {"problems": problems, "turns": wanted, "conversations": threads}


def _overlaps(path: Path) -> Iterator[str]:
    """Give the moments at which a conversation was entered before it was left."""
    inside: dict[str, str] = {}
    for line in map(json.loads, path.read_text("utf-8").splitlines()):
        what, thread = line["action"].split(" ", 1)
        if what == "enter":
            if thread in inside:
                yield f"{line['key']} entered {thread} while {inside[thread]} was in it"
            inside[thread] = line["key"]
        elif inside.pop(thread, None) != line["key"]:
            yield f"{line['key']} left {thread} and was not in it"


# ---- many deciders


def deciders(world: World, count: int) -> Found:
    """Let ``count`` deciders in four processes decide the same ten requests."""
    model, parked = Repeats((("pay", {"euros": 100}),)), 10

    async def park(app: App) -> None:
        await asyncio.gather(*(app.send("agent", "Go", conversation=f"parked{n}") for n in range(parked)))

    def decide(place: int) -> Callable[[App], Awaitable[list[str]]]:
        async def doing(app: App) -> list[str]:
            won = await asyncio.gather(*(_approve(app, number) for number in range(place, count, 4)))
            await serve(app)
            return [request for requests in won for request in requests]

        return doing

    problems = [*_failed("parking", world.process(park, model).ended())]
    processes = [world.process(decide(place), model, seconds=0.01) for place in range(4)]
    wins = Counter[str]()
    for process in processes:
        ended = process.ended()
        problems += _failed("a decider", ended)
        wins.update(ended.value if ended.how == "ok" else [])
    problems += _failed("afterwards a process", world.process(serve, model).ended())
    problems += world.read(_sound)
    counted = {
        "decisions": sorted(wins.values()),
        "payments": sorted(world.effects.counts().values()),
        "late results": [1] * world.read(_late_results),
        "wake-ups": [1] * world.read(_resumes),
        "completed": [1] * world.read(_statuses).get("completed", 0),
    }
    problems += [f"{what}: {counts}" for what, counts in counted.items() if counts != [1] * parked]
    return {"problems": problems, "deciders": count, "parked runs": parked}


async def _approve(app: App, person: int) -> list[str]:
    """Approve everything, in an order of one's own; return what nobody else had decided."""
    requests, won = [request.id for request in await app.approvals.list()], list[str]()
    Random(person).shuffle(requests)  # noqa: S311  (an order is drawn, not a secret)
    for request in requests:
        try:
            await app.approvals.approve(request, by=f"person{person}")
            won.append(request)
        except NotFoundError:
            pass
    return won


def _late_results(conn: Connection) -> int:
    return len(conn.execute(select(message.c.seq).where(message.c.kind == "late-result")).all())


def _resumes(conn: Connection) -> int:
    return len(conn.execute(select(work_item.c.id).where(work_item.c.id.like("resume:%"))).all())


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
        told = world.process(cancel(world.until(_running)), slow).ended()
        problems += _told("of a living process", told)
        if (ended := alive.ended()) != Ended("ok", "cancelled"):
            problems.append(f"the process whose run was cancelled {ended}")
        dead = world.process(send(f"dead{number}"), slow, seconds=LIMIT_S)
        run_id = world.until(_running)
        dead.signal(signal.SIGKILL)
        dead.ended()
        problems += _told("of a dead process", world.process(cancel(run_id), slow, seconds=LIMIT_S).ended())
        world.process(send(f"parked{number}"), held).ended()
        parked = world.until(
            lambda conn: conn.execute(select(run.c.id).where(run.c.status == "awaiting_approval")).scalar()
        )
        problems += _told("that waits", world.process(cancel(parked), held).ended())
    problems += world.read(_sound)
    if world.read(_statuses) != {"cancelled": 3 * count}:
        problems.append(f"runs are {world.read(_statuses)}")
    return {"problems": problems, "cancelled": 3 * count}


def _told(which: str, ended: Ended) -> Iterator[str]:
    if ended != Ended("ok", [True, "cancelled", False]):
        yield f"cancelling a run {which}: {ended}"


CONTESTS: dict[str, Callable[[World, int], Found]] = {
    "stalls": stalls,
    "turns": turns,
    "deciders": deciders,
    "cancels": cancels,
}


def main() -> int:
    """Play a contest; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.durability.contests")
    parser.add_argument("contest", choices=CONTESTS)
    parser.add_argument("--on", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--count", type=int, default=5)
    args = parser.parse_args()
    with TemporaryDirectory(prefix="wakeful-contest-") as name:
        folder = Path(name)
        databases: Databases = OnSqlite(folder) if args.on == "sqlite" else OnPostgresql.of_environment()
        try:
            began = time.monotonic()
            url = databases.make("contest") + ("?timeout=2" if args.on == "postgresql" else "")
            world = World(url, Effects(folder / "effects"))
            found = CONTESTS[args.contest](world, args.count)
            found |= {"on": args.on, "seconds": round(time.monotonic() - began, 1)}
            databases.drop("contest")
        finally:
            databases.close()
    print(json.dumps(found, indent=1))
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
