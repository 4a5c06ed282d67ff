"""Leases: finding items that can start, taking, renewing, ending and taking them over.

Each function runs in a transaction, the same on SQLite and PostgreSQL but for one thing: SQLite lets one
process write at a time, PostgreSQL needs the keys locked while they are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from attrs import frozen
from sqlalchemy import Connection

from wakeful.runtime import statements as s
from wakeful.types import Claim, WorkItem, WorkStatus

#: Seconds in which an item is left to the process that submitted it, so that streams stay local.
AFFINITY_S = 2.0
#: Longest pause before a failed attempt is tried again, in seconds.
LONGEST_PAUSE = 60.0


@frozen
class Lease:
    """Who claims, until when, and how often an item may be tried."""

    owner: str
    now: datetime
    until: datetime
    most_attempts: int


@frozen
class Demand:
    """What a runtime can execute: kinds it has handlers for, how many more, and keys it cannot take now."""

    kinds: Collection[str]
    room: int
    without: Collection[str] = ()

    @property
    def sought(self) -> s.Sought:
        """What of this is part of the statements."""
        return tuple(sorted(self.kinds)), tuple(sorted(self.without))


@frozen
class Holder:
    """What one owner holds: when its first lease runs out, and how many of its items were cancelled."""

    owner: str
    first: datetime
    cancelling: int


def pause(attempt: int) -> timedelta:
    """Return how long an item waits after its ``attempt``-th try failed: 1, 2, 4 … 60 seconds."""
    return timedelta(seconds=min(LONGEST_PAUSE, 2.0 ** (attempt - 1)))


def outlook(conn: Connection, lease: Lease, demand: Demand) -> tuple[bool, datetime | None]:
    """Return whether an item can start now, else when the next one falls due. Reads only."""
    if s.claimable(demand.sought).first(conn, _looking(lease, 1)) is not None:
        return True, None
    return False, s.next_due(demand.sought).first(conn, {"now_": lease.now}).due


def claim(conn: Connection, lease: Lease, demand: Demand) -> list[Claim]:
    """Take items that can start now, best first, at most one of a key."""
    statement = s.claimable_locked if conn.dialect.name == "postgresql" else s.claimable
    ids = [row.id for row in statement(demand.sought).all(conn, _looking(lease, demand.room))]
    values = {"owner_": lease.owner, "until_": lease.until, "now_": lease.now}
    if len(ids) > 1:
        found = list(conn.execute(s.CLAIM, values | {"ids_": ids}))
    else:
        found = [row for each in ids for row in s.CLAIM_ONE.all(conn, values | {"id_": each})]
    rows = {row.id: row for row in found}
    return [_claim(rows[item_id], lease.owner) for item_id in ids if item_id in rows]


def renew(conn: Connection, lease: Lease, held: Collection[Claim]) -> dict[str, WorkStatus]:
    """Extend leases; returns the ids of those that are still held, with their status."""
    attempts = {claimed.item.id: claimed.attempt for claimed in held}
    values = {"ids_": list(attempts), "owner_": lease.owner, "until_": lease.until}
    rows = conn.execute(s.RENEW, values).all()
    return {row.id: WorkStatus(row.status) for row in rows if attempts[row.id] == row.attempts}


def holders(conn: Connection) -> list[Holder]:
    """Return who holds items. Reads only."""
    return [Holder(*row) for row in conn.execute(s.HOLDERS)]


def reap(conn: Connection, lease: Lease, dead: Collection[str] = (), kept: Collection[str] = ()) -> list[str]:
    """Take items from owners whose lease ran out or who are dead; returns those that are queued again.

    The attempt counts. The first one lost is tried again at once, later ones after a pause: perhaps it is
    the item that ends its process. After the most attempts it is given up.

    Args:
        conn: where.
        lease: the time, and the most attempts.
        dead: owners that are known to be dead.
        kept: ids of items that are left alone.
    """
    again: list[str] = []
    for row in conn.execute(s.LOST, {"now_": lease.now, "dead_": list(dead), "kept_": list(kept)}).all():
        status, error, not_before = "queued", "its process ended or stalled", None
        if row.status == "cancelling":
            status = "cancelled"
        elif row.attempts >= lease.most_attempts:
            status, error = "failed", f"{error}, on the last attempt"
        else:
            again.append(row.id)
            not_before = lease.now + (pause(row.attempts - 1) if row.attempts > 1 else timedelta())
        values = {"status_": status, "error_": error, "not_before_": not_before, "now_": lease.now}
        conn.execute(s.TAKE, {"id_": row.id, **values})
    return again


def end(conn: Connection, claimed: Claim, status: WorkStatus, now: datetime, error: str = "") -> bool:
    """Store how the last attempt ended; False if the item was taken over meanwhile, and nothing changed.

    An item that was cancelled while it ran ends as cancelled, however its handler returned.
    """
    values = {"status_": status.value, "now_": now, "error_": error}
    return s.END.run(conn, _own(claimed) | values) == 1


def give_back(
    conn: Connection, claimed: Claim, not_before: datetime, now: datetime, error: str, *, counts: bool
) -> bool:
    """Queue an item again, unless it was cancelled; False as for :func:`end`.

    Args:
        conn: where.
        claimed: what was tried.
        not_before: when the next attempt may start.
        now: the time.
        error: why.
        counts: whether this attempt is one of the most attempts; else it is taken back.
    """
    values = {"status_": "queued", "not_before_": not_before, "now_": now, "error_": error}
    uncounted = {"uncounted_": 0 if counts else 1}
    return conn.execute(s.GIVE_BACK, {**_own(claimed), **values, **uncounted}).rowcount == 1


def holds(conn: Connection, claimed: Claim) -> bool:
    """Return whether an attempt still has its item, and keep it so until the transaction ends.

    A handler asks first in a transaction that writes: a process that stalled and lost the item then writes
    nothing.
    """
    return s.HOLDS.first(conn, _own(claimed)) is not None


def _looking(lease: Lease, most: int) -> dict[str, Any]:
    return {
        "now_": lease.now,
        "left_": lease.now - timedelta(seconds=AFFINITY_S),
        "owner_": lease.owner,
        "room_": most,
    }


def _claim(row: Any, owner: str) -> Claim:
    item = WorkItem(row.id, row.kind, row.key, json.loads(row.payload), row.priority)
    return Claim(item, owner, row.attempts)


def _own(claimed: Claim) -> dict[str, Any]:
    return {"id_": claimed.item.id, "owner_": claimed.owner, "attempt_": claimed.attempt}
