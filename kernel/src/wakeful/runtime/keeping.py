"""Keeping leases: renewing one's own, noticing what was cancelled or lost, taking over from the silent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

from attrs import define, field

from wakeful.runtime import claims, items
from wakeful.runtime.batches import Batch
from wakeful.runtime.held import Held, Why
from wakeful.runtime.owners import is_dead
from wakeful.store.engine import Store
from wakeful.types import Clock, StoreError, WorkStatus

log = logging.getLogger("wakeful")

#: Most seconds between looks at who holds what: how late a cancellation by another process is heard, and
#: the death of a process of this machine is seen.
WATCH_S = 1.0
#: How often items that ended long ago are deleted.
FORGET_EVERY = timedelta(hours=1)


@define(eq=False)
class Keeper:
    """Keeps the leases of one runtime.

    Args:
        store: the database.
        batch: writes what the runtime itself holds.
        clock: the time of leases.
        lease: makes a lease that begins now.
        running: what the runtime executes, by item id; it is changed from outside.
        wake: tells the runtime that there may be something to claim.
    """

    store: Store
    batch: Batch
    clock: Clock
    lease: Callable[[], claims.Lease]
    running: Mapping[str, Held]
    wake: Callable[[], None]
    _forgot: datetime | None = field(default=None, init=False)

    async def tick(self) -> None:
        """Look once, then wait for the next time.

        Raises:
            StoreError: the database cannot be used. Handlers whose lease has run out were interrupted.
        """
        lease = self.lease()
        length = (lease.until - lease.now).total_seconds()
        try:
            # First of all: a process that stalled keeps what nobody has taken meanwhile.
            if any((held.until - lease.now).total_seconds() <= length * 2 / 3 for held in self._mine()):
                await self._renew()
            await self._watch()
        except StoreError:
            self._give_up()
            raise
        await self._forget()
        passed = (self.clock.now() - lease.now).total_seconds()
        await self.clock.sleep(max(0.0, min(WATCH_S, length / 6) - max(0.0, passed)))

    def _mine(self) -> list[Held]:
        return [held for held in self.running.values() if held.why is not Why.LOST]

    async def _renew(self) -> None:
        mine, lease = self._mine(), self.lease()
        claimed = [held.claimed for held in mine]
        statuses = await self.batch.write(lambda conn: claims.renew(conn, lease, claimed))
        for held in mine:
            status = statuses.get(held.claimed.item.id)
            if status is None:
                held.interrupt(Why.LOST)
                continue
            held.until = lease.until
            if status is WorkStatus.CANCELLING:
                held.interrupt(Why.CANCELLED)

    async def _watch(self) -> None:
        lease = self.lease()
        holders = await self.store.read(claims.holders)
        if any(holder.cancelling for holder in holders if holder.owner == lease.owner) and self._mine():
            await self._renew()
        dead = [holder.owner for holder in holders if is_dead(holder.owner)]
        if not dead and all(holder.first >= lease.now for holder in holders):
            return
        # What runs here is renewed, however long the last look took: nobody takes it from itself.
        kept = [held.claimed.item.id for held in self._mine()]
        taken = await self.store.write(lambda conn: claims.reap(conn, lease, dead, kept))
        if taken:
            log.warning("taken over from processes that ended or stalled: %s", ", ".join(taken))
            self.wake()

    def _give_up(self) -> None:
        """Interrupt what has no lease any more: somebody else may have begun it."""
        now = self.clock.now()
        for held in self._mine():
            if held.until <= now:
                held.interrupt(Why.LOST)

    async def _forget(self) -> None:
        now = self.clock.now()
        if self._forgot is None:
            self._forgot = now
        if now - self._forgot >= FORGET_EVERY:
            self._forgot = now
            await self.store.write(partial(items.forget, now=now))
