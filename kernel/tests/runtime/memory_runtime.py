"""A runtime of somebody else: a queue in memory that one process serves, written from the protocol alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from attrs import define, evolve, field

from wakeful.types import Claim, Clock, Handler, RuntimeCaps, WorkItem, WorkStatus

S = WorkStatus


@define(eq=False)
class Entry:
    """An item with what became of it."""

    item: WorkItem
    due: datetime
    number: int
    status: WorkStatus = S.QUEUED
    attempts: int = 0
    task: asyncio.Task[None] | None = None


@define(eq=False)
class MemoryRuntime:
    """Executes items that are gone with the process."""

    clock: Clock
    most_attempts: int = 5
    entries: dict[str, Entry] = field(factory=dict)
    caps: RuntimeCaps = RuntimeCaps(
        strict_fifo=False, timer_precision=0.0, cross_process=False, preemptible=False
    )
    _handlers: dict[str, Handler] = field(factory=dict)
    _room: int = 0
    _wake: asyncio.Event = field(factory=asyncio.Event)
    _serving: asyncio.Task[None] | None = None
    _ends: set[asyncio.Task[None]] = field(factory=set)

    async def start(self, handlers: Mapping[str, Handler], *, concurrency: int) -> None:
        self._handlers, self._room = dict(handlers), concurrency
        self._serving = asyncio.create_task(self._serve())

    async def submit(self, item: WorkItem) -> bool:
        if item.id in self.entries:
            return False
        due = item.not_before or self.clock.now()
        self.entries[item.id] = Entry(item, due, len(self.entries))
        self._wake.set()
        return True

    async def reschedule(self, item_id: str, not_before: datetime) -> bool:
        entry = self.entries.get(item_id)
        if entry is None or entry.status is not S.QUEUED:
            return False
        entry.due = not_before
        self._wake.set()
        return True

    async def cancel(self, item_id: str) -> bool:
        entry = self.entries.get(item_id)
        if entry is None or entry.status.ended:
            return False
        if entry.status is S.QUEUED:
            entry.status = S.CANCELLED
        elif entry.status is S.RUNNING and entry.task is not None:
            entry.status = S.CANCELLING
            entry.task.cancel()
        return True

    async def status(self, item_id: str) -> WorkStatus | None:
        entry = self.entries.get(item_id)
        if entry is None:
            return None
        delayed = entry.status is S.QUEUED and entry.due > self.clock.now()
        return S.DELAYED if delayed else entry.status

    async def stop(self, *, drain: bool) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait({self._serving})
            self._serving = None
        for entry in self.entries.values():
            if not drain and entry.status is S.RUNNING and entry.task is not None:
                entry.task.cancel("stop")
        if self._ends:
            await asyncio.wait(set(self._ends))

    def startable(self) -> list[Entry]:
        """Return what may start now, best first, one of a key."""
        now, held = self.clock.now(), {e.item.key for e in self.entries.values() if e.task is not None}
        found: list[Entry] = []
        for entry in sorted(self.entries.values(), key=lambda each: (each.item.priority, each.number)):
            ready = entry.status is S.QUEUED and entry.due <= now and entry.item.kind in self._handlers
            if ready and entry.item.key not in held:
                held.add(entry.item.key)
                found.append(entry)
        return found[: max(0, self._room - len(self._ends))]

    async def _serve(self) -> None:
        while True:
            self._wake.clear()
            for entry in self.startable():
                entry.status, entry.attempts = S.RUNNING, entry.attempts + 1
                claim = Claim(evolve(entry.item, not_before=None), "memory", entry.attempts)
                entry.task = asyncio.ensure_future(self._handlers[entry.item.kind](claim))
                end = asyncio.create_task(self._end(entry, entry.task))
                self._ends.add(end)
                end.add_done_callback(self._ends.discard)
                end.add_done_callback(lambda _: self._wake.set())
            dues = [e.due for e in self.entries.values() if e.status is S.QUEUED and e.due > self.clock.now()]
            waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._wake.wait())]
            if dues:
                seconds = (min(dues) - self.clock.now()).total_seconds()
                waits.append(asyncio.ensure_future(self.clock.sleep(seconds)))
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()

    async def _end(self, entry: Entry, task: asyncio.Task[None]) -> None:
        await asyncio.wait({task})
        entry.task = None
        stopped = task.cancelled() and self._serving is None
        if entry.status is S.CANCELLING:
            entry.status = S.CANCELLED
        elif stopped:
            entry.status, entry.attempts = S.QUEUED, entry.attempts - 1
        elif not task.cancelled() and task.exception() is None:
            entry.status = S.DONE
        else:
            self.failed(entry)

    def failed(self, entry: Entry) -> None:
        """Try an item again after a pause, or give it up."""
        if entry.attempts >= self.most_attempts:
            entry.status = S.FAILED
            return
        entry.status = S.QUEUED
        entry.due = self.clock.now() + timedelta(seconds=2.0 ** (entry.attempts - 1))
