"""Measure the embedded runtime: items per second, and how late timers are.

    python kernel/bench/runtime.py [--items 2000] [--timers 100] [--url postgresql://…]

Without a URL it measures SQLite in a fresh file; with one, also that database, which must be made for it: its
queue is emptied. A step is an item from its submission to its recorded end, with an empty handler.
"""

# ruff: noqa: INP001, T201  (a measuring command, no package; it prints its result)
from __future__ import annotations

import argparse
import asyncio
import secrets
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.engine import Store
from wakeful.system import SystemClock
from wakeful.types import Claim, WorkItem

CONCURRENCY = 50
#: Seconds over which timers are spread, and for which an idle runtime is watched.
SPREAD_S, IDLE_S = 5.0, 5.0


class Measured:
    """A runtime that notes when handlers begin."""

    def __init__(self, store: Store) -> None:
        self.clock = SystemClock()
        self.runtime = EmbeddedRuntime(store, self.clock, owner_name())
        self.late: dict[str, float] = {}
        self._left, self._over = 0, asyncio.Event()

    async def handle(self, claim: Claim) -> None:
        """Note the time."""
        self.late[claim.item.id] = self.clock.now().timestamp()
        self._left -= 1
        if self._left == 0:
            self._over.set()

    async def run(self, items: Sequence[WorkItem]) -> float:
        """Submit and execute the items; returns the seconds it took until all ends were stored."""
        self._left, self._over = len(items), asyncio.Event()
        begun = time.perf_counter()
        await self.runtime.start({"bench": self.handle}, concurrency=CONCURRENCY)
        await asyncio.gather(*(self.runtime.submit(item) for item in items))
        await self._over.wait()
        await self.runtime.stop(drain=True)
        return time.perf_counter() - begun


async def throughput(store: Store, count: int, keys: int) -> float:
    """Return items per second."""
    mark = secrets.token_hex(4)
    items = [WorkItem(f"{mark}-{number}", "bench", f"{mark}-{number % keys}") for number in range(count)]
    return count / await Measured(store).run(items)


async def lateness(store: Store, count: int) -> list[float]:
    """Return by how many milliseconds each timer was late, in order."""
    mark, measured = secrets.token_hex(4), Measured(store)
    due = [measured.clock.now() + timedelta(seconds=1 + SPREAD_S * number / count) for number in range(count)]
    items = [
        WorkItem(f"{mark}-{number}", "bench", f"{mark}-{number}", not_before=moment)
        for number, moment in enumerate(due)
    ]
    await measured.run(items)
    return sorted(
        1000 * (measured.late[item.id] - moment.timestamp()) for item, moment in zip(items, due, strict=True)
    )


async def idle(store: Store) -> float:
    """Return how many statements per second a runtime without work executes."""
    counted = 0
    runtime = Measured(store).runtime
    dialects: list[Any] = [store.writer.dialect, store._read_lane.engine.dialect]  # noqa: SLF001  (shows nowhere else)
    for dialect in dialects:

        def count(*details: Any, execute: Any = dialect.do_execute) -> None:
            nonlocal counted
            counted += 1
            execute(*details)

        dialect.do_execute = count
    await runtime.start({"bench": Measured(store).handle}, concurrency=CONCURRENCY)
    await asyncio.sleep(IDLE_S)
    await runtime.stop(drain=True)
    for dialect in dialects:
        del dialect.do_execute
    return counted / IDLE_S


async def measure(name: str, url: str, items: int, timers: int) -> None:
    """Print one database's figures."""
    store = await Store.open(url, clock=SystemClock())
    try:
        await throughput(store, 200, 200)  # warm: statements are compiled, pages are read
        wide, narrow = await throughput(store, items, items), await throughput(store, items, 10)
        late = await lateness(store, timers)
        print(f"{name}: {wide:,.0f} steps/s ({1000 / wide:.2f} ms each), {narrow:,.0f} steps/s with 10 keys")
        median, most = statistics.median(late), late[-1]
        print(f"{name}: timers late by {median:.1f} ms (median), {late[0]:.1f} to {most:.1f} ms")
        print(f"{name}: {await idle(store):.1f} statements/s idle")
    finally:
        await store.close()


async def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--timers", type=int, default=100)
    parser.add_argument("--url", default="", help="a database made for this, e.g. on PostgreSQL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        await measure("SQLite", f"sqlite:///{Path(folder) / 'bench.db'}", options.items, options.timers)
    if options.url:
        await measure(options.url.partition(":")[0], options.url, options.items, options.timers)


if __name__ == "__main__":
    asyncio.run(main())
