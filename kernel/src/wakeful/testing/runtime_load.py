"""Checks of a runtime: what holds under load."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from wakeful.testing.runtime_world import RuntimeChecks, World, check
from wakeful.types import WorkStatus

#: Shares of the items of a random history that are delayed, and of the steps that cancel or put one off.
DELAYED, MEDDLED = 0.3, 0.2


class LoadChecks(RuntimeChecks):
    """Many items, several runtimes, few keys.

    Attributes:
        seeds: how many random histories are played.
    """

    seeds = 3

    def test_random_histories(self) -> None:
        """Every item ends, none of a key overlap, whatever is submitted, put off, cancelled or fails."""
        for seed in range(self.seeds):
            _history(seed)(self)

    @check
    async def test_a_thousand_items_of_ten_keys(self, world: World) -> None:
        """Three runtimes execute each exactly once, one of a key at a time."""
        runtimes = [await world.runtime(concurrency=8) for _ in range(3)]
        names = [f"i{number}" for number in range(1000)]
        items = [world.item(name, f"k{number % 10}", turns=number % 4) for number, name in enumerate(names)]
        await asyncio.gather(*(runtimes[number % 3].submit(item) for number, item in enumerate(items)))
        await world.until(lambda: len(world.starts) == len(names), "all have started")
        for name in names:
            await world.at(runtimes[0], name, WorkStatus.DONE)
        assert sorted(start.claim.item.id for start in world.starts) == sorted(names)


def _history(seed: int) -> Callable[[RuntimeChecks], None]:
    async def play(_checks: RuntimeChecks, world: World) -> None:
        chance = random.Random(seed)  # noqa: S311  (no secret)
        runtimes = [await world.runtime(concurrency=chance.randint(1, 6)) for _ in range(3)]
        names, cancelled = [f"s{seed}-{number}" for number in range(60)], set()
        for name in names:
            await chance.choice(runtimes).submit(
                world.item(name, f"k{chance.randrange(5)}", **_any(chance, world))
            )
            victim = chance.choice(names)
            if chance.random() < MEDDLED and await chance.choice(runtimes).cancel(victim):
                cancelled.add(victim)
            if chance.random() < MEDDLED:
                await chance.choice(runtimes).reschedule(chance.choice(names), world.after(chance.random()))
        for name in names:
            await world.at(runtimes[0], name, WorkStatus.CANCELLED if name in cancelled else WorkStatus.DONE)
        # Whatever else happened, nobody stood still: an attempt beyond those that failed was not called for.
        failing = {start.claim.item.id for start in world.starts if start.claim.item.payload["fail"]}
        assert all(start.claim.attempt == 1 or start.claim.item.id in failing for start in world.starts)

    return check(play)


def _any(chance: random.Random, world: World) -> dict[str, Any]:
    options: dict[str, Any] = {
        "priority": chance.choice((1, 2, 10, 20)),
        "turns": chance.randrange(6),
        "fail": chance.choice((0, 0, 0, 1)),
    }
    if chance.random() < DELAYED:
        options["not_before"] = world.after(chance.uniform(-1, 3))
    return options
