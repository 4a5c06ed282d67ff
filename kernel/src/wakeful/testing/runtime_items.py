"""Checks of a runtime: accepting items, executing them, trying again, cancelling."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from wakeful.testing.runtime_world import RuntimeChecks, World, check
from wakeful.types import Claim, WorkStatus

S = WorkStatus


class ItemChecks(RuntimeChecks):
    """Items from submission to their end."""

    @check
    async def test_an_id_is_accepted_once(self, world: World) -> None:
        """Submitting a known id does nothing, whoever does it and whether or not the item has ended."""
        one, other = await world.runtime(), await world.runtime()
        answers = await asyncio.gather(*(at.submit(world.item("a")) for at in (one, other, one, other)))
        assert sorted(answers) == [False, False, False, True]
        await world.at(one, "a", S.DONE)
        assert await other.submit(world.item("a")) is False
        await world.looked()
        assert len(world.started("a")) == 1

    @check
    async def test_a_handler_gets_the_item_as_submitted(self, world: World) -> None:
        """Kind, key, payload and priority arrive; the first attempt is number 1."""
        runtime = await world.runtime(kinds=("work", "other"))
        item = world.item("a", "k", kind="other", priority=3, deep={"list": [1, "ä", None, True, 0.5]})
        await runtime.submit(item)
        await world.at(runtime, "a", S.DONE)
        [start] = world.started("a")
        got = start.claim.item
        assert (got.id, got.kind, got.key, got.payload, got.priority) == ("a", "other", "k", item.payload, 3)
        assert start.claim.attempt == 1
        assert start.claim.owner

    @check
    async def test_statuses_along_the_way(self, world: World) -> None:
        """Queued, delayed, running, done; None for an id nobody submitted."""
        runtime = await world.runtime(begin=False)
        await runtime.submit(world.item("a", wait=True))
        await runtime.submit(world.item("later", not_before=world.after(100)))
        assert await runtime.status("a") is S.QUEUED
        assert await runtime.status("later") is S.DELAYED
        assert await runtime.status("unknown") is None
        await world.begin(runtime)
        await world.at(runtime, "a", S.RUNNING)
        world.release("a")
        await world.at(runtime, "a", S.DONE)

    @check
    async def test_one_of_a_key_at_a_time(self, world: World) -> None:
        """While an item runs, others of its key wait, on every runtime; other keys go on."""
        one, other = await world.runtime(), await world.runtime()
        await one.submit(world.item("a", "k", wait=True))
        await world.at(one, "a", S.RUNNING)
        await other.submit(world.item("b", "k"))
        await one.submit(world.item("c", "k"))
        await world.looked()
        assert await one.status("b") is await one.status("c") is S.QUEUED
        world.release("a")
        for item_id in "abc":
            await world.at(one, item_id, S.DONE)

    @check
    async def test_better_priorities_start_first(self, world: World) -> None:
        """Of what waits, the smallest number starts first."""
        runtime = await world.runtime(begin=False)
        for priority in (20, 10, 1, 2):
            await runtime.submit(world.item(f"p{priority}", priority=priority))
        await world.begin(runtime, concurrency=1)
        await world.at(runtime, "p20", S.DONE)
        assert [start.claim.item.id for start in world.starts] == ["p1", "p2", "p10", "p20"]

    @check
    async def test_no_more_at_once_than_told(self, world: World) -> None:
        """Items beyond the concurrency wait until one has ended."""
        runtime = await world.runtime(concurrency=3)
        names = [f"i{number}" for number in range(12)]
        for name in names:
            await runtime.submit(world.item(name, wait=True))
        await world.until(lambda: len(world.starts) == 3, "as many start as there is room for")  # noqa: PLR2004  (as many as may run at once)
        for name in names:
            world.release(name)
        for name in names:
            await world.at(runtime, name, S.DONE)
        assert world.most_at_once == 3  # noqa: PLR2004  (same)

    @check
    async def test_unknown_kinds_wait_for_who_knows_them(self, world: World) -> None:
        """An item without a handler stays queued, holds nothing up, and runs where there is one."""
        one = await world.runtime(kinds=("work",))
        await one.submit(world.item("strange", "k", kind="strange", priority=1))
        await one.submit(world.item("known", "k"))
        await world.at(one, "known", S.DONE)
        assert await one.status("strange") is S.QUEUED
        await world.runtime(kinds=("work", "strange"))
        await world.at(one, "strange", S.DONE)
        assert [start.runtime for start in world.started("strange")] == [1]

    @check
    async def test_what_fails_is_tried_again_after_growing_pauses(self, world: World) -> None:
        """Exceptions cost an attempt, the pauses grow, success ends it."""
        runtime = await world.runtime()
        await runtime.submit(world.item("a", fail=3))
        # Time moves while the queue works, too: in small steps, or a slow queue would blur the pauses.
        await world.until(lambda: world.tried("a", 4), "the fourth attempt", step=0.02)
        await world.at(runtime, "a", S.DONE)
        starts = world.started("a")
        assert [start.claim.attempt for start in starts] == [1, 2, 3, 4]
        moments = [start.at for start in starts]
        pauses = [later - earlier for earlier, later in pairwise(moments)]
        assert pauses == sorted(pauses)
        assert pauses[0] < pauses[-1]
        assert pauses[-1].total_seconds() <= self.longest_pause + world.runtimes[0].caps.timer_precision + 1

    @check
    async def test_a_hopeless_item_becomes_a_dead_letter(self, world: World) -> None:
        """After the most attempts it has failed and is not tried again; its key is free."""
        runtime = await world.runtime()
        await runtime.submit(world.item("a", "k", fail=1000))
        await world.at(runtime, "a", S.FAILED)
        assert [start.claim.attempt for start in world.started("a")] == list(range(1, self.most_attempts + 1))
        await runtime.submit(world.item("b", "k"))
        await world.at(runtime, "b", S.DONE)
        await world.clock.elapse(self.longest_pause)
        await world.looked()
        assert len(world.started("a")) == self.most_attempts

    @check
    async def test_a_cancellation_from_within_is_a_failure(self, world: World) -> None:
        """A handler that raises CancelledError though nobody cancelled the item is tried again."""
        runtime = await world.runtime(begin=False)
        attempts: list[int] = []

        async def handle(claim: Claim) -> None:
            attempts.append(claim.attempt)
            if claim.attempt == 1:
                raise asyncio.CancelledError

        await runtime.start({"work": handle}, concurrency=1)
        await runtime.submit(world.item("a"))
        await world.at(runtime, "a", S.DONE)
        assert attempts == [1, 2]
