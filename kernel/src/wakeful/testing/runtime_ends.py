"""Checks of a runtime: cancelling items, and stopping runtimes."""

from __future__ import annotations

import asyncio

from wakeful.testing.runtime_world import RuntimeChecks, World, check
from wakeful.types import WorkStatus

S = WorkStatus


class CancelChecks(RuntimeChecks):
    """Cancelling items in each of their statuses."""

    @check
    async def test_cancelling_what_waits(self, world: World) -> None:
        """It ends at once and never runs, queued or delayed; a second time there is nothing to cancel."""
        runtime = await world.runtime(begin=False)
        await runtime.submit(world.item("a"))
        await runtime.submit(world.item("b", not_before=world.after(5)))
        for item_id in "ab":
            assert await runtime.cancel(item_id) is True
            assert await runtime.status(item_id) is S.CANCELLED
            assert await runtime.cancel(item_id) is False
        await world.begin(runtime)
        await world.clock.elapse(10)
        await world.looked()
        assert not world.started("a")
        assert not world.started("b")

    @check
    async def test_cancelling_what_is_over_or_unknown(self, world: World) -> None:
        """Neither can be cancelled, and what is done stays done."""
        runtime = await world.runtime()
        await runtime.submit(world.item("a"))
        await world.at(runtime, "a", S.DONE)
        assert await runtime.cancel("a") is False
        assert await runtime.cancel("unknown") is False
        assert await runtime.status("a") is S.DONE

    @check
    async def test_a_cancelled_item_keeps_its_key_until_its_handler_returns(self, world: World) -> None:
        """Cancelling, while it cleans up, undisturbed by a second cancellation; then cancelled."""
        runtime = await world.runtime()
        await runtime.submit(world.item("a", "k", cleanup=True))
        await world.at(runtime, "a", S.RUNNING)
        await runtime.submit(world.item("b", "k"))
        assert await runtime.cancel("a") is True
        await world.until(lambda: world.interrupted == ["a"], "the handler hears of it")
        assert await runtime.cancel("a") is True
        await world.clock.elapse(self.lease_s / 2)
        await world.looked()
        assert await runtime.status("a") is S.CANCELLING
        assert not world.started("b")
        assert world.interrupted == ["a"]
        world.release("a", 2)
        await world.at(runtime, "a", S.CANCELLED)
        await world.at(runtime, "b", S.DONE)

    @check
    async def test_a_cancelled_item_ends_as_cancelled_however_its_handler_ends(self, world: World) -> None:
        """Returning or raising after a cancellation neither completes the item nor tries it again."""
        runtime = await world.runtime()
        for then in ("return", "raise"):
            await runtime.submit(world.item(then, wait=True, then=then))
            await world.at(runtime, then, S.RUNNING)
            assert await runtime.cancel(then) is True
            await world.at(runtime, then, S.CANCELLED)
            await world.clock.elapse(self.longest_pause)
            await world.looked()
            assert len(world.started(then)) == 1

    @check
    async def test_another_runtime_cancels(self, world: World) -> None:
        """Whoever executes an item hears of it within a lease."""
        one, other = await world.runtime(), await world.runtime(kinds=("other", "work"), begin=False)
        await one.submit(world.item("a", wait=True))
        await world.at(one, "a", S.RUNNING)
        before = world.clock.monotonic()
        assert await other.cancel("a") is True
        await world.at(one, "a", S.CANCELLED)
        assert world.clock.monotonic() - before <= self.lease_s
        assert world.interrupted == ["a"]


class StopChecks(RuntimeChecks):
    """Stopping runtimes and starting others."""

    @check
    async def test_a_draining_stop_waits(self, world: World) -> None:
        """What runs comes to its end, nothing else starts, what waits stays for others."""
        runtime = await world.runtime()
        await runtime.submit(world.item("a", "k", wait=True))
        await world.at(runtime, "a", S.RUNNING)
        await runtime.submit(world.item("b", "k"))
        stopping = asyncio.ensure_future(runtime.stop(drain=True))
        await world.clock.elapse(self.lease_s)
        assert await runtime.submit(world.item("c")) is True
        assert await runtime.status("a") is S.RUNNING
        assert not stopping.done()
        world.release("a")
        await world.until(stopping.done, "the stop ends when what ran has ended")
        assert await runtime.status("a") is S.DONE
        assert await runtime.status("b") is await runtime.status("c") is S.QUEUED
        assert len(world.starts) == 1

    @check
    async def test_an_impatient_stop_gives_items_back(self, world: World) -> None:
        """What ran is interrupted and runs elsewhere; the attempt does not count."""
        one = await world.runtime()
        await one.submit(world.item("a", wait=True))
        await world.at(one, "a", S.RUNNING)
        await one.stop(drain=False)
        assert world.interrupted == ["a"]
        assert await one.status("a") is S.QUEUED
        other = await world.runtime()
        world.release("a", 2)
        await world.at(other, "a", S.DONE)
        assert [(start.runtime, start.claim.attempt) for start in world.started("a")] == [(0, 1), (1, 1)]

    @check
    async def test_a_stop_does_not_revive_what_was_cancelled(self, world: World) -> None:
        """An item that still cleans up after its cancellation ends as cancelled."""
        one = await world.runtime()
        await one.submit(world.item("a", cleanup=True))
        await world.at(one, "a", S.RUNNING)
        await one.cancel("a")
        stopping = asyncio.ensure_future(one.stop(drain=False))
        await world.until(lambda: world.interrupted == ["a"], "the handler hears of it", step=0.0)
        world.release("a", 2)
        await world.until(stopping.done, "the stop ends")
        assert await one.status("a") is S.CANCELLED

    @check
    async def test_nothing_is_lost_between_stop_and_start(self, world: World) -> None:
        """What was accepted before, while and after everything stood still is executed by the next."""
        one = await world.runtime(concurrency=2)
        names = [f"i{number}" for number in range(20)]
        for name in names[:10]:
            await one.submit(world.item(name, turns=3))
        await one.stop(drain=False)
        for name in names[10:]:
            await one.submit(world.item(name, not_before=world.after(1)))
        other = await world.runtime()
        for name in names:
            await world.at(other, name, S.DONE)

    @check
    async def test_a_runtime_starts_again(self, world: World) -> None:
        """Stopping twice is stopping; afterwards it can be started anew."""
        runtime = await world.runtime()
        await runtime.stop(drain=True)
        await runtime.stop(drain=False)
        await runtime.submit(world.item("a"))
        await world.begin(runtime)
        await world.at(runtime, "a", S.DONE)
