"""Checks of a runtime: timers and leases."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial

from wakeful.testing.runtime_world import RuntimeChecks, World, check
from wakeful.types import WorkRuntime, WorkStatus

S = WorkStatus
#: Seconds by which "just before" is before.
JUST = 0.001


class TimerChecks(RuntimeChecks):
    """Items with a time before which they do not start."""

    @check
    async def test_timers_are_neither_early_nor_late(self, world: World) -> None:
        """Not a moment early, and late by no more than the precision, whoever submitted the item."""
        gone, runtime = await world.runtime(), await world.runtime()
        await gone.submit(world.item("a", not_before=world.after(10)))
        await gone.stop(drain=True)
        world.runtimes.remove(gone)
        due = world.after(10)
        await world.clock.elapse(10 - JUST)
        await world.looked()
        assert not world.started("a")
        assert await runtime.status("a") is S.DELAYED
        await world.clock.elapse(JUST + runtime.caps.timer_precision)
        await world.until(lambda: bool(world.started("a")), "it starts within the precision", step=0.0)
        assert world.started("a")[0].at >= due

    @check
    async def test_many_timers(self, world: World) -> None:
        """Random moments, close together and far apart, two runtimes."""
        one, other = await world.runtime(concurrency=50), await world.runtime(concurrency=50)
        chance = random.Random(8)  # noqa: S311  (no secret)
        dues = {
            f"t{number}": world.after(chance.choice((0.2, 3, 40)) * chance.random()) for number in range(40)
        }
        for name, due in dues.items():
            await chance.choice((one, other)).submit(world.item(name, not_before=due))
        precision = timedelta(seconds=one.caps.timer_precision)
        for name, due in sorted(dues.items(), key=lambda pair: pair[1]):
            left = (due + precision - world.clock.now()).total_seconds()
            await world.clock.elapse(max(0.0, left))
            await world.until(partial(world.started, name), f"{name} starts", step=0.0)
        assert all(start.at >= dues[start.claim.item.id] for start in world.starts)

    @check
    async def test_only_what_waits_can_be_put_off(self, world: World) -> None:
        """Later or sooner; not what runs, has ended or is unknown."""
        runtime = await world.runtime()
        await runtime.submit(world.item("later", not_before=world.after(5)))
        await runtime.submit(world.item("sooner", not_before=world.after(5000)))
        await runtime.submit(world.item("running", wait=True))
        await world.at(runtime, "running", S.RUNNING)
        assert await runtime.reschedule("later", world.after(50)) is True
        assert await runtime.reschedule("sooner", world.after(0)) is True
        assert await runtime.reschedule("running", world.after(5)) is False
        assert await runtime.reschedule("unknown", world.after(5)) is False
        await world.at(runtime, "sooner", S.DONE)
        assert await runtime.reschedule("sooner", world.after(5)) is False
        await world.clock.elapse(10)
        await world.looked()
        assert not world.started("later")
        await world.at(runtime, "later", S.DONE)
        world.release("running")
        await world.at(runtime, "running", S.DONE)


class LeaseChecks(RuntimeChecks):
    """Runtimes that stand still. Skipped by those that serve a queue alone."""

    @check
    async def test_one_that_stands_still_loses_its_items(self, world: World) -> None:
        """Another executes them as the next attempt, and how the first one ended changes nothing."""
        one = await world.runtime()
        await one.submit(world.item("a", wait=True, stalls=True))
        await world.at(one, "a", S.RUNNING)
        world.stall(one)
        other = await world.runtime()
        before = world.clock.monotonic()
        await world.until(lambda: len(world.started("a")) > 1, "it is taken over")
        assert world.clock.monotonic() - before <= 2 * self.lease_s
        assert [(start.runtime, start.claim.attempt) for start in world.started("a")] == [(0, 1), (1, 2)]
        world.release("a")
        world.thaw(one)
        await world.clock.elapse(self.lease_s / 3)
        await world.looked()
        assert await other.status("a") is S.RUNNING
        world.release("a", 2)
        await world.at(other, "a", S.DONE)
        assert len(world.started("a")) == 2  # noqa: PLR2004  (twice)
        # The first one's handler was still there: nobody can take that back, only keep it from writing.
        world.overlaps.remove("a")

    @check
    async def test_one_that_works_keeps_its_items(self, world: World) -> None:
        """However long it takes, while others look on."""
        one = await world.runtime()
        await world.runtime()
        await one.submit(world.item("a", wait=True))
        await world.at(one, "a", S.RUNNING)
        until = world.clock.monotonic() + 5 * self.lease_s
        await world.until(lambda: world.clock.monotonic() > until, "five leases pass", step=0.5)
        assert await one.status("a") is S.RUNNING
        world.release("a")
        await world.at(one, "a", S.DONE)
        assert len(world.started("a")) == 1

    @check
    async def test_an_item_that_is_lost_on_every_attempt_is_given_up(self, world: World) -> None:
        """It may be what ends its processes."""
        first = await world.runtime()
        await first.submit(world.item("a", wait=True))
        runtime: WorkRuntime = first
        for attempt in range(1, self.most_attempts + 1):
            if attempt > 1:
                runtime = await world.runtime()
            await world.until(partial(world.tried, "a", attempt), f"attempt {attempt} starts", step=0.5)
            world.stall(runtime)
        last = await world.runtime()
        await world.at(last, "a", S.FAILED)
        world.overlaps.clear()
