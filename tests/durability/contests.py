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
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, select

from tests.durability.arena import (
    CALM_S,
    DWELL_S,
    Found,
    Repeats,
    World,
    failed,
    paid_twice,
    running,
    sound,
    statuses,
    written,
)
from tests.durability.children import Ended, serve
from tests.durability.databases import Databases, OnPostgresql, OnSqlite
from tests.durability.interruptions import cancels, outages
from tests.durability.world import Effects
from wakeful import App
from wakeful.store.tables import message, run
from wakeful.store.work import work_item
from wakeful.types import (
    NotFoundError,
)

# ---- a process that stalls


def stalls(world: World, count: int, seed: int = 4) -> Found:
    """Stop a process in the middle of a run, let another finish it, and wake the first."""
    rng, problems = Random(seed), list[str]()  # noqa: S311  (moments are drawn, not secrets)
    model = Repeats((("dwell", {}), ("pay", {"euros": 1})), times=4)
    for number in range(count):

        async def send(app: App, thread: str = f"stalled{number}") -> str:
            return (await app.send("agent", "Go", conversation=thread)).status.value

        stalled = world.process(send, model, seconds=DWELL_S)
        world.until(running)
        while True:
            time.sleep(rng.random() * 0.15)
            stalled.signal(signal.SIGSTOP)
            if world.writable():
                break
            stalled.signal(signal.SIGCONT)
        other = world.process(serve, model)
        problems += failed("the process that took over", other.ended())
        before = world.read(written)
        stalled.signal(signal.SIGCONT)
        ended = stalled.ended()
        if ended != Ended("ok", "completed") and "wakeful.types.errors.StoreError: " not in str(ended.value):
            # An error is what it hears whose transaction PostgreSQL had to break off.
            problems.append(f"the process that woke {ended}")
        if world.read(written) != before:
            problems.append(f"stall {number}: the process that woke has written")
    problems += world.read(sound)
    if world.read(statuses) != {"completed": count}:
        problems.append(f"runs are {world.read(statuses)}")
    problems += paid_twice(world)
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
        return [status for of_thread in told for status in of_thread]

    model = Repeats((("dwell", {}),), times=2)
    both = [world.process(sends, model, seconds=0.001, lease_s=CALM_S) for _ in range(2)]
    problems, told = list[str](), Counter[str]()
    for process in both:
        ended = process.ended()
        problems += failed("a process", ended)
        told.update(ended.value if ended.how == "ok" else [])
    problems += failed("afterwards a process", world.process(serve, model).ended())
    problems += [*world.read(sound), *_overlaps(world.effects.path)]
    wanted = 2 * each * threads
    if world.read(statuses) != {"completed": wanted} or told != {"completed": wanted}:
        problems.append(f"of {wanted} turns: {world.read(statuses)}, told {dict(told)}")
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

    problems = [*failed("parking", world.process(park, model, lease_s=CALM_S).ended())]
    processes = [world.process(decide(place), model, seconds=0.01, lease_s=CALM_S) for place in range(4)]
    wins = Counter[str]()
    for process in processes:
        ended = process.ended()
        problems += failed("a decider", ended)
        wins.update(ended.value if ended.how == "ok" else [])
    problems += failed("afterwards a process", world.process(serve, model).ended())
    problems += world.read(sound)
    counted = {
        "decisions": sorted(wins.values()),
        "payments": sorted(world.effects.counts().values()),
        "late results": [1] * world.read(_late_results),
        "wake-ups": [1] * world.read(_resumes),
        "completed": [1] * world.read(statuses).get("completed", 0),
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
            pass  # somebody else was first
    return won


def _late_results(conn: Connection) -> int:
    return len(conn.execute(select(message.c.seq).where(message.c.kind == "late-result")).all())


def _resumes(conn: Connection) -> int:
    return len(conn.execute(select(work_item.c.id).where(work_item.c.id.like("resume:%"))).all())


CONTESTS: dict[str, Callable[[World, int], Found]] = {
    "stalls": stalls,
    "turns": turns,
    "deciders": deciders,
    "cancels": cancels,
    "outages": outages,
}
#: How much of each: stalled processes, turns that two processes want, deciders, rounds of cancelling, and how
#: many seconds the server is away.
FULL = {"stalls": 100, "turns": 1000, "deciders": 20, "cancels": 40, "outages": 30}


def main() -> int:
    """Play one contest or all; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.durability.contests")
    parser.add_argument("contest", choices=[*CONTESTS, "all"], nargs="?", default="all")
    parser.add_argument("--on", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--count", type=int, help="how much of it; otherwise the full count of each")
    args = parser.parse_args()
    names = [name for name in CONTESTS if args.contest in {name, "all"}]
    if args.on == "sqlite" and args.contest == "all":
        names.remove("outages")  # there is no server
    wrong = False
    for name in names:
        found = _played(name, args.on, FULL[name] if args.count is None else args.count)
        print(json.dumps(found, indent=1), flush=True)
        wrong = wrong or bool(found["problems"])
    return 1 if wrong else 0


def _played(name: str, on: str, count: int) -> Found:
    with TemporaryDirectory(prefix="wakeful-contest-") as made:
        folder = Path(made)
        databases: Databases = OnSqlite(folder) if on == "sqlite" else OnPostgresql.of_environment()
        try:
            began = time.monotonic()
            url = databases.make("contest") + ("?timeout=2" if on == "postgresql" else "")
            found = CONTESTS[name](World(url, Effects(folder / "effects")), count)
            databases.drop("contest")
        finally:
            databases.close()
    return {"contest": name, "on": on, **found, "seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    sys.exit(main())
