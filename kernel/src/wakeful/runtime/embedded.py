"""The default runtime: asyncio over the store's own database, on one machine or several."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from logging import DEBUG, WARNING

from attrs import define, field
from sqlalchemy import Connection

from wakeful.runtime import claims, items
from wakeful.runtime.batches import Batch
from wakeful.runtime.held import Held, Why
from wakeful.runtime.keeping import Keeper
from wakeful.runtime.outcomes import Outcomes
from wakeful.store.engine import Store
from wakeful.types import Claim, Clock, Handler, RuntimeCaps, StoreError, WorkItem, WorkStatus
from wakeful.waiting import first, settle, stop

log = logging.getLogger("wakeful")

#: Seconds between looks at the queue for work that other processes submitted.
POLL_S = 0.5
#: Seconds before another look when another process took what this one saw.
CONTENDED_S = 0.02
#: First and longest pause, in seconds, after the queue could not be used.
PAUSES = (0.1, 5.0)


@define(eq=False)
class EmbeddedRuntime:
    """Executes items of one database; any number of processes may serve the same one.

    A claim is a lease. The holder renews it three times in its length; whoever finds one that ran out takes
    the item over, and one whose holder is a dead process of this machine at once. What a process submits is
    left to it for two seconds if it has room, so that whoever waits for a stream usually shares the process
    with the run. When the database cannot be used, looks are repeated with growing pauses, the end of an item
    is written as soon as it can be, and handlers whose lease runs out meanwhile are interrupted.

    Args:
        store: the database.
        clock: time of leases and timers; processes that share a database must agree on it to well within
            ``lease_s``.
        owner: this runtime, unique; :func:`wakeful.runtime.owner_name` makes one.
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
    _running: dict[str, Held] = field(factory=dict, init=False)
    # Two: rows that are new to all, and rows that only their holder writes; see Batch for why that matters.
    _submits: Batch = field(init=False)
    _ends: Batch = field(init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)
    _serving: asyncio.Task[None] | None = field(default=None, init=False)
    _keeping: asyncio.Task[None] | None = field(default=None, init=False)
    _wake: asyncio.Event = field(factory=asyncio.Event, init=False)
    _stopping: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._submits, self._ends = Batch(self.store), Batch(self.store)

    @property
    def caps(self) -> RuntimeCaps:
        """Return what it promises: items of a key start in any order, timers late by at most a poll."""
        return RuntimeCaps(
            strict_fifo=False, timer_precision=self.poll_s, cross_process=True, preemptible=False
        )

    async def start(self, handlers: Mapping[str, Handler], *, concurrency: int) -> None:
        """Begin to execute items of the kinds in ``handlers``.

        Raises:
            ValueError: no room for even one item.
            RuntimeError: it runs already.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        if self._serving is not None:
            raise RuntimeError("the runtime runs already; stop it before it is started again")
        self._handlers, self._concurrency = dict(handlers), concurrency
        self._stopping = False
        keeper = Keeper(self.store, self._ends, self.clock, self._lease, self._running, self.wake)
        self._serving = asyncio.create_task(self._forever(self._look), name="work queue")
        self._keeping = asyncio.create_task(self._forever(keeper.tick), name="work leases")

    async def submit(self, item: WorkItem) -> bool:
        """Store an item and wake this process; False if its id is known."""
        now = self.clock.now()
        row = items.row(item, self.submitter(item), now)
        new = await self._submits.write(lambda conn: items.insert(conn, row), sort=item.id)
        self.wake()
        return new

    def enlist(self, conn: Connection, item: WorkItem) -> bool:
        """Store an item in somebody else's transaction on the same database; :meth:`wake` follows it.

        The kernel stores inputs and decisions together with their wake-ups this way.
        """
        return items.submit(conn, item, self.submitter(item), self.clock.now())

    def holds(self, conn: Connection, claim: Claim) -> bool:
        """Return whether an attempt still has its item, and keep it so until the transaction ends."""
        return claims.holds(conn, claim)

    def submitter(self, item: WorkItem) -> str:
        """Return to whom an item should be left at first: this runtime if it can start it now, else ""."""
        at_once = item.not_before is None or item.not_before <= self.clock.now()
        able = item.kind in self._handlers and self._serving is not None and not self._stopping
        return self.owner if at_once and able and self._room() > 0 else ""

    def wake(self) -> None:
        """Look at the queue now: something was stored."""
        self._wake.set()

    async def reschedule(self, item_id: str, not_before: datetime) -> bool:
        """Put a waiting item off; False if it is not waiting."""
        now = self.clock.now()
        moved = await self.store.write(lambda conn: items.reschedule(conn, item_id, not_before, now))
        self.wake()
        return moved

    async def cancel(self, item_id: str) -> bool:
        """End an item, here or wherever it runs; False if it has ended or is unknown.

        After True it ends as cancelled, unless it has been forgotten by then.
        """
        now = self.clock.now()
        found = await self.store.write(lambda conn: items.cancel(conn, item_id, now))
        if found and item_id in self._running:
            self._running[item_id].interrupt(Why.CANCELLED)
        if found:
            self.wake()
        return found

    async def status(self, item_id: str) -> WorkStatus | None:
        """Return where an item is; None if the id is unknown."""
        now = self.clock.now()
        return await self.store.read(lambda conn: items.status(conn, item_id, now))

    async def stop(self, *, drain: bool) -> None:
        """Stop claiming; wait for what runs, or interrupt it and give it back, uncounted.

        A handler that does not heed the interruption is left alone after ``lease_s``: its lease is no longer
        renewed and somebody else takes the item over. Safe to call again, also without ``drain`` while an
        earlier call waits.
        """
        self._stopping = True
        if self._serving is not None:
            # A claim that is under way comes to its end and finds its handlers.
            self._serving.cancel()
            await asyncio.wait((self._serving,))
        if not drain:
            for held in tuple(self._running.values()):
                held.interrupt(Why.STOPPED)
        await self._emptied(patience=None if drain else self.lease_s)
        if self._keeping is not None:
            await stop(self._keeping)
        self._serving = self._keeping = None

    # ---- inside
    def _room(self) -> int:
        return self._concurrency - len(self._running)

    def _lease(self) -> claims.Lease:
        now = self.clock.now()
        return claims.Lease(self.owner, now, now + timedelta(seconds=self.lease_s), self.most_attempts)

    async def _forever(self, turn: Callable[[], Awaitable[None]]) -> None:
        """Repeat ``turn`` until this task is cancelled, whatever it raises."""
        shortest, longest = PAUSES
        pause = shortest
        while True:
            try:
                await turn()
            except StoreError as error:
                level = WARNING if pause == shortest else DEBUG  # one outage, one line
                log.log(level, "the work queue cannot be used yet: %s", error)
            except Exception:
                log.exception("the work queue failed unexpectedly; next try in %g s", pause)
            else:
                pause = shortest
                continue
            await self.clock.sleep(pause)
            pause = min(2 * pause, longest)

    async def _look(self) -> None:
        """Claim what can start, then wait until something may have changed."""
        self._wake.clear()
        lease = self._lease()
        again = lease.now + timedelta(seconds=self.poll_s)
        if self._room() > 0:
            # A key whose item was lost to somebody else while its handler still winds up here.
            lost = {held.claimed.item.key for held in self._running.values() if held.why is Why.LOST}
            demand = claims.Demand(tuple(self._handlers), self._room(), lost)
            # Looking costs no write lock; most looks find nothing.
            ready, due = await self.store.read(lambda conn: claims.outlook(conn, lease, demand))
            if ready:
                taken = await settle(self._take(demand))
                again = lease.now if taken else self.clock.now() + timedelta(seconds=CONTENDED_S)
            elif due is not None:
                again = min(again, due)
        await self._until(again)

    async def _take(self, demand: claims.Demand) -> int:
        lease = self._lease()
        taken = await self.store.write(lambda conn: claims.claim(conn, lease, demand))
        for claimed in taken:
            held = Held(claimed, lease.until)
            self._running[claimed.item.id] = held
            held.start(self._handlers[claimed.item.kind])
            task = asyncio.create_task(self._finish(held), name=f"end of work item {claimed.item.id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(taken)

    async def _finish(self, held: Held) -> None:
        try:
            how = await held.ended()
            await settle(Outcomes(self._ends, self.clock, self.most_attempts).record(held, how))
        finally:
            self._running.pop(held.claimed.item.id, None)
            self.wake()

    async def _emptied(self, patience: float | None) -> None:
        """Wait for what runs, at most ``patience`` seconds."""
        tasks = tuple(self._tasks)
        if not tasks:
            return
        everything = asyncio.ensure_future(asyncio.wait(tasks))
        limit = [] if patience is None else [asyncio.ensure_future(self.clock.sleep(patience))]
        try:
            await asyncio.wait((everything, *limit), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(everything, *limit)
        for item_id, held in self._running.items():
            log.error("work item %s does not stop; its lease runs out at %s", item_id, held.until)

    async def _until(self, moment: datetime) -> None:
        """Wait for a moment of the clock, or until something may have changed."""
        # Not for longer than a poll, should the clock have been set back.
        seconds = min(self.poll_s, (moment - self.clock.now()).total_seconds())
        if seconds <= 0 or self._wake.is_set():
            await asyncio.sleep(0)
            return
        woken = asyncio.ensure_future(self._wake.wait())
        try:
            await first(self.clock, seconds, woken)
        finally:
            await stop(woken)
