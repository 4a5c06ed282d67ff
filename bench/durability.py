"""Measure what durability costs: many conversations at once on one store, and the journal of one step.

    python bench/durability.py [--on sqlite] [--conversations 500] [--json]

Each case runs in a process of its own. A conversation is one turn of five steps (four with a call) against a
model that takes 50 to 250 ms, drawn with a fixed seed. Figures:

* ``errors``: turns that did not end well, of all;
* ``lag p99, ms``: how late a timer of 5 ms fires in the event loop while the conversations run;
* ``peak MB``: of the process, also for a tenth of the conversations, and what one more conversation takes;
* ``journal, ms`` and ``step, ms``: medians over the steps of one conversation alone: what the step waits for
  its transactions, and all of the step, with a model that answers at once.

PostgreSQL is measured where ``WAKEFUL_TEST_POSTGRESQL`` names a server. Exit code 1 if a figure is out of
the bounds that are promised.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wakeful  # noqa: E402  (the root must be importable first)
from tests.durability.databases import VARIABLE, OnPostgresql  # noqa: E402  (after the path is set)
from wakeful import Agent, App, action  # noqa: E402  (same)
from wakeful.store.engine import Store  # noqa: E402  (same)
from wakeful.types import (  # noqa: E402  (same)
    Call,
    Emit,
    Limits,
    Profile,
    Reply,
    Request,
    Result,
    RunStatus,
    StepStarted,
    Stop,
    Text,
    Usage,
)

STEPS = 5
SEED = 4
#: Seconds that the model takes at least, and at most.
LATENCY = (0.05, 0.25)
#: Seconds between two looks at the clock of the event loop.
TICK = 0.005
#: Bounds: the p99 of the lag and the journal of a step in ms; memory against a tenth of the conversations.
LAG_MS, JOURNAL_MS, RATIO, EACH_KB = 50.0, 2.0, 1.2, 100.0


class Model:
    """Asks for one call in each step but the last; waits as long as ``latency`` says."""

    profile = Profile("bench")

    def __init__(self, steps: int, latency: Callable[[], float]) -> None:
        self.steps, self.latency = steps, latency

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Give the next reply of the turn."""
        del emit  # nobody streams
        await asyncio.sleep(self.latency())
        number = sum(isinstance(item, Result) for item in request.items)
        if number == self.steps - 1:
            return Reply((Text("assistant", "Everything is in order."),), Usage(uncached=500, output=20))
        text = Text("assistant", f"Looking at part {number}.")
        call = Call(f"{conversation}-{number}", "look", json.dumps({"part": number}))
        return Reply((text, call), Usage(uncached=500, output=20), Stop.CALLS)


@action(effect="read", output_trust="trusted")
async def look(part: int) -> str:
    """Look at a part.

    Args:
        part: its number.
    """
    return f"Part {part}: " + "all is as it should be. " * 10


@asynccontextmanager
async def opened(url: str, steps: int, latency: Callable[[], float]) -> AsyncIterator[App]:
    """Open an application over a database."""
    agent = Agent(
        model=Model(steps, latency), actions=[look], store=url, limits=Limits(steps=steps, seconds=600)
    )
    async with wakeful.open(agent) as app:
        yield app


async def _lags(lags: list[float]) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(TICK)
        lags.append(time.perf_counter() - before - TICK)


async def many(url: str, conversations: int) -> dict[str, Any]:
    """Run conversations at once; gives the errors, the lag and the peak of memory."""
    rng = random.Random(SEED)  # noqa: S311  (a fixed workload)
    lags: list[float] = []
    async with opened(url, STEPS, partial(rng.uniform, *LATENCY)) as app:
        await app.send("agent", "Go", conversation="warm")
        watch = asyncio.create_task(_lags(lags))
        began = time.perf_counter()
        turns = (app.send("agent", "Go", conversation=f"c{number}") for number in range(conversations))
        answers = await asyncio.gather(*turns, return_exceptions=True)
        seconds = time.perf_counter() - began
        watch.cancel()
    wrong = [
        f"{type(answer).__name__}: {answer}" if isinstance(answer, BaseException) else answer.error
        for answer in answers
        if isinstance(answer, BaseException) or answer.status is not RunStatus.COMPLETED
    ]
    return {
        "errors": len(wrong),
        "first error": wrong[0] if wrong else "",
        "lag p99, ms": round(1000 * statistics.quantiles(lags, n=100)[98], 1),
        "steps a second": round(conversations * STEPS / seconds),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


async def one(url: str, steps: int) -> dict[str, float]:
    """Run one conversation alone; gives what a step waits for its transactions, and all of it."""
    write, spent = Store.write, 0.0

    async def timed(self: Store, fn: Callable[[Any], Any], *, durable: bool = False) -> Any:
        nonlocal spent
        began = time.perf_counter()
        try:
            return await write(self, fn, durable=durable)
        finally:
            spent += time.perf_counter() - began

    Store.write = timed  # type: ignore[method-assign]  # only in this process
    journal, whole = list[float](), list[float]()
    async with opened(url, steps, lambda: 0.0) as app:
        began = 0.0
        async for event in app.stream("agent", "Go"):
            if isinstance(event, StepStarted):
                now = time.perf_counter()
                if began:
                    journal.append(spent)
                    whole.append(now - began)
                began, spent = now, 0.0
    return {
        "journal, ms": round(1000 * statistics.median(journal), 2),
        "step, ms": round(1000 * statistics.median(whole), 2),
    }


def child(case: str, url: str, count: int) -> dict[str, Any]:
    """Run a case in a process of its own."""
    command = [
        sys.executable,
        str(Path(__file__)),
        "--case",
        case,
        "--url",
        url,
        "--conversations",
        str(count),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case} on {url.partition(':')[0]} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(database: str, conversations: int) -> dict[str, Any]:
    """Run the cases of one database; gives its figures and what is out of bounds."""
    few = max(1, conversations // 10)
    with tempfile.TemporaryDirectory() as folder:
        postgresql = OnPostgresql.of_environment() if database == "postgresql" else None

        def fresh(name: str) -> str:
            return f"sqlite:///{folder}/{name}.db" if postgresql is None else postgresql.make(name)

        try:
            small, large = child("many", fresh("few"), few), child("many", fresh("many"), conversations)
            alone = child("one", fresh("one"), 100)
        finally:
            if postgresql is not None:
                for name in ("few", "many", "one"):
                    postgresql.drop(name)
                postgresql.close()
    each = 1024 * (large["peak MB"] - small["peak MB"]) / (conversations - few)
    allowed = RATIO * small["peak MB"] + EACH_KB * conversations / 1024
    found = large | alone | {"peak MB of a tenth": small["peak MB"], "KB a conversation": round(each)}
    bounds = {
        "errors": large["errors"] == small["errors"] == 0,
        "lag": large["lag p99, ms"] < LAG_MS,
        "memory": large["peak MB"] <= allowed,
        "journal": database != "sqlite" or alone["journal, ms"] < JOURNAL_MS,
    }
    return found | {"out of bounds": [name for name, kept in bounds.items() if not kept]}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", choices=("sqlite", "postgresql"), help="this database only")
    parser.add_argument("--conversations", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", choices=("many", "one"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        work = many if args.case == "many" else one
        print(json.dumps(asyncio.run(work(args.url, args.conversations))))
        return 0
    databases = [args.on] if args.on else ["sqlite", *(["postgresql"] if os.environ.get(VARIABLE) else [])]
    found = {database: measure(database, args.conversations) for database in databases}
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        for name in found[databases[0]]:
            print(f"{name:20}" + "".join(f"{found[database][name]!s:>16}" for database in databases))
    return 1 if any(figures["out of bounds"] for figures in found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
