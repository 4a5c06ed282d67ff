"""The default runtime: asyncio over the store's own database, on one machine or several."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta

from attrs import define, field

from wakeful.runtime import claims
from wakeful.store.engine import Store
from wakeful.types import Claim, Clock, Handler, RuntimeCaps, StoreError, WorkItem, WorkStatus
from wakeful.waiting import settle, stop

log = logging.getLogger("wakeful")

#: Seconds between looks at the queue for work that other processes submitted or that fell due.
POLL_S = 0.5
#: Longest pause before a failed attempt is tried again, in seconds.
LONGEST_PAUSE = 60.0


@define(eq=False)
class EmbeddedRuntime:
    """Executes items of one database; any number of processes may serve the same one.

    A claim is a lease. The holder renews it three times in its length; whoever finds one that ran out
    takes the item over. What a process submits is left to it for two seconds, so that whoever waits for a
    stream usually shares the process with the run.

    Args:
        store: the database.
        clock: time of leases and timers; processes that share a database must agree on it to well within
            ``lease_s``.
        owner: this process, unique.
        lease_s: seconds after which a silent owner loses its items.
        poll_s: seconds between looks at the queue.
        most_attempts: tries before an item becomes a dead letter.
    """

    store: Store
    clock: Clock
    owner: str
    lease_s: float = 30.0
    poll_s: float = POLL_S
    most_attempts: int = 5
    _handlers: Mapping[str, Handler] = field(factory=dict, init=False)
    _concurrency: int = field(default=0, init=False)
    _running: dict[str, tuple[Claim, asyncio.Task[None]]] = field(factory=dict, init=False)
    _given_back: set[str] = field(factory=set, init=False)
    _loops: list[asyncio.Task[None]] = field(factory=list, init=False)
    _wake: asyncio.Event = field(factory=asyncio.Event, init=False)
    _stopping: bool = field(default=False, init=False)

    @property
    def caps(self) -> RuntimeCaps:
        """Return what it promises: items of a key start in any order, timers late by at most a poll."""
        return RuntimeCaps(
            strict_fifo=False, timer_precision=self.poll_s, cross_process=True, preemptible=False
        )

    async def start(self, handlers: Mapping[str, Handler], *, concurrency: int) -> None:
        """Begin to execute items of the kinds in ``handlers``."""
        self._handlers, self._concurrency, self._stopping = dict(handlers), concurrency, False
        self._loops = [asyncio.ensure_future(self._serve()), asyncio.ensure_future(self._keep())]

    async def submit(self, item: WorkItem) -> bool:
        """Store an item and wake this process; False if its id is known."""
        new = await self.store.write(
            lambda conn: claims.submit(conn, item, self._submitter(item), self._now())
        )
        self.wake()
        return new

    def wake(self) -> None:
        """Look at the queue now: something was stored."""
        self._wake.set()

    async def reschedule(self, item_id: str, not_before: datetime) -> bool:
        """Put a waiting item off."""
        now = self._now()
        moved = await self.store.write(lambda conn: claims.reschedule(conn, item_id, not_before, now))
        self.wake()
        return moved

    async def cancel(self, item_id: str) -> bool:
        """End an item, here or wherever it runs."""
        found = await self.store.write(lambda conn: claims.cancel(conn, item_id, self._now()))
        if item_id in self._running:
            self._running[item_id][1].cancel()
        return found

    async def status(self, item_id: str) -> WorkStatus | None:
        """Return where an item is."""
        return await self.store.read(lambda conn: claims.status(conn, item_id, self._now()))

    async def stop(self, *, drain: bool) -> None:
        """Stop claiming, then wait for what runs, or interrupt it and give it back at once."""
        self._stopping = True
        self.wake()
        serving = self._loops[:1]
        await stop(*serving)
        tasks = [task for _, task in self._running.values()]
        if not drain:
            for item_id, (_, task) in list(self._running.items()):
                self._given_back.add(item_id)
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await stop(*self._loops)
        self._loops = []

    # ---- inside
    def _now(self) -> datetime:
        return self.clock.now()

    def _submitter(self, item: WorkItem) -> str:
        return self.owner if item.kind in self._handlers and not self._stopping else ""

    def _lease(self) -> claims.Lease:
        now = self._now()
        return claims.Lease(self.owner, now, now + timedelta(seconds=self.lease_s), self.most_attempts)

    async def _serve(self) -> None:
        """Claim whenever something may have changed."""
        while True:
            self._wake.clear()
            try:
                await self._claim()
            except StoreError as error:
                log.warning("the queue cannot be read: %s", error)
            await self._woken()

    async def _woken(self) -> None:
        timer = asyncio.ensure_future(self.clock.sleep(self.poll_s))
        wake = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait({timer, wake}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(timer, wake)

    async def _claim(self) -> None:
        room = self._concurrency - len(self._running)
        if room <= 0 or self._stopping:
            return
        kinds, lease = tuple(self._handlers), self._lease()
        # Looking costs no write lock; most looks find nothing.
        if not await self.store.read(lambda conn: claims.claimable(conn, lease, kinds, 1)):
            return
        taken = await self.store.write(lambda conn: claims.claim(conn, lease, kinds, room))
        for claimed in taken:
            task = asyncio.ensure_future(self._execute(claimed))
            self._running[claimed.item.id] = (claimed, task)

    async def _execute(self, claimed: Claim) -> None:
        item_id = claimed.item.id
        try:
            await self._handlers[claimed.item.kind](claimed)
        except asyncio.CancelledError:
            await settle(self._ended_early(claimed))
        except Exception as error:
            log.warning("work item %s failed (attempt %d)", item_id, claimed.attempt, exc_info=True)
            await settle(self._failed(claimed, f"{type(error).__name__}: {error}"))
        else:
            await settle(self._end(claimed, WorkStatus.DONE))
        finally:
            self._running.pop(item_id, None)
            self._given_back.discard(item_id)
            self.wake()

    async def _end(self, claimed: Claim, status: WorkStatus, error: str = "") -> None:
        now = self._now()
        await self.store.write(lambda conn: claims.end(conn, claimed, status, now, error))

    async def _ended_early(self, claimed: Claim) -> None:
        """Record a cancelled item as such; one that was interrupted goes back at once, uncounted."""
        if claimed.item.id in self._given_back:
            now = self._now()
            reason = "interrupted by a stop"
            await self.store.write(lambda conn: claims.give_back(conn, claimed, now, reason, counts=False))
        else:
            await self._end(claimed, WorkStatus.CANCELLED)

    async def _failed(self, claimed: Claim, error: str) -> None:
        if claimed.attempt >= self.most_attempts:
            await self._end(claimed, WorkStatus.FAILED, error)
            return
        pause = min(LONGEST_PAUSE, 2.0 ** (claimed.attempt - 1))
        again = self._now() + timedelta(seconds=pause)
        await self.store.write(lambda conn: claims.give_back(conn, claimed, again, error, counts=True))

    async def _keep(self) -> None:
        """Renew leases, notice what was cancelled or lost, and take over from the silent."""
        while True:
            await self.clock.sleep(self.lease_s / 3)
            try:
                await self._renew()
                await self._reap()
            except StoreError as error:
                log.warning("leases could not be renewed: %s", error)

    async def _reap(self) -> None:
        lease = self._lease()
        if await self.store.write(lambda conn: claims.reap(conn, lease)):
            self.wake()

    async def _renew(self) -> None:
        running = dict(self._running)
        if not running:
            return
        lease = self._lease()
        held = await self.store.write(lambda conn: claims.renew(conn, lease, list(running)))
        for item_id, (_, task) in running.items():
            if held.get(item_id) != "running":
                # Somebody cancelled it, or took it over while this process was stalled.
                task.cancel()
