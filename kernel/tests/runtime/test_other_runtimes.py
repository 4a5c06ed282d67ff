"""The suite of the seam with a runtime of somebody else: a good one passes, each bad habit is found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime

import pytest

from kernel.tests.runtime.memory_runtime import Entry, MemoryRuntime
from wakeful.testing import FakeClock, RuntimeConformance, runtime_world
from wakeful.testing.runtime_world import Maker
from wakeful.types import Clock, WorkItem, WorkRuntime, WorkStatus


@asynccontextmanager
async def memory(kind: type[MemoryRuntime]) -> AsyncIterator[Maker]:
    async def make(clock: Clock) -> WorkRuntime:
        return kind(clock)

    yield make


class TestInMemory(RuntimeConformance):
    def queue(self, clock: FakeClock) -> AbstractAsyncContextManager[Maker]:
        return memory(MemoryRuntime)


class Forgetful(MemoryRuntime):
    async def submit(self, item: WorkItem) -> bool:
        self.entries.pop(item.id, None)
        return await super().submit(item)


class Crowded(MemoryRuntime):
    def startable(self) -> list[Entry]:
        return [each for each in self.entries.values() if each.status is WorkStatus.QUEUED and not each.task]


class Impatient(MemoryRuntime):
    async def reschedule(self, item_id: str, not_before: datetime) -> bool:
        return await super().reschedule(item_id, self.clock.now())


class Early(MemoryRuntime):
    async def submit(self, item: WorkItem) -> bool:
        new = await super().submit(item)
        self.entries[item.id].due = self.clock.now()
        return new


class Hasty(MemoryRuntime):
    async def cancel(self, item_id: str) -> bool:
        entry = self.entries.get(item_id)
        found = await super().cancel(item_id)
        if entry is not None and entry.status is WorkStatus.CANCELLING:
            entry.status, entry.task = WorkStatus.CANCELLED, None
        return found


class Stubborn(MemoryRuntime):
    def failed(self, entry: Entry) -> None:
        entry.status, entry.due = WorkStatus.QUEUED, self.clock.now()


class Careless(MemoryRuntime):
    async def stop(self, *, drain: bool) -> None:
        await super().stop(drain=drain)
        for entry in self.entries.values():
            if entry.status is WorkStatus.QUEUED and entry.due <= self.clock.now():
                entry.status = WorkStatus.DONE


FOUND_BY = {
    Forgetful: "test_an_id_is_accepted_once",
    Crowded: "test_no_more_at_once_than_told",
    Impatient: "test_only_what_waits_can_be_put_off",
    Early: "test_statuses_along_the_way",
    Hasty: "test_a_cancelled_item_keeps_its_key_until_its_handler_returns",
    Stubborn: "test_a_hopeless_item_becomes_a_dead_letter",
    Careless: "test_a_draining_stop_waits",
}


@pytest.mark.parametrize("kind", FOUND_BY)
def test_a_bad_habit_is_found(kind: type[MemoryRuntime], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_world, "LIMIT_S", 1.0)

    class Suite(RuntimeConformance):
        def queue(self, clock: FakeClock) -> AbstractAsyncContextManager[Maker]:
            return memory(kind)

    with pytest.raises(AssertionError):
        getattr(Suite(), FOUND_BY[kind])()
