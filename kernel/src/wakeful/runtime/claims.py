"""Statements about leases: finding items that can start, taking, renewing, ending and taking them over.

Each is one function of a connection that runs in a transaction, the same on SQLite and PostgreSQL but for one
thing: SQLite lets one process write at a time, PostgreSQL needs the keys locked while they are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from attrs import frozen
from sqlalchemy import ColumnElement, Connection, Select, case, exists, func, or_, select, tuple_, update
from sqlalchemy import text as sql

from wakeful.runtime.items import HELD
from wakeful.store.work import work_item
from wakeful.types import Claim, WorkItem, WorkStatus

#: Seconds in which an item is left to the process that submitted it, so that streams stay local.
AFFINITY_S = 2.0
#: Longest pause before a failed attempt is tried again, in seconds.
LONGEST_PAUSE = 60.0
#: The first number of the advisory locks on keys, apart from those of other programs: "wake" in ASCII.
_LOCKS = int.from_bytes(b"wake", "big")

_columns = work_item.c
_held, _first = work_item.alias("held"), work_item.alias("first_")
# In words, not as parameters: only so does SQLite use the partial index on what is held.
_FREE = ~exists().where(_held.c.key == _columns.key, sql("held.status IN ('running', 'cancelling')"))
_IS_HELD = sql("work_item.status IN ('running', 'cancelling')")


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
    if conn.execute(_claimable(lease, demand).limit(1)).first() is not None:
        return True, None
    waiting = (_columns.status == "queued", _columns.not_before > lease.now)
    query = select(func.min(_columns.not_before)).where(*waiting, _columns.kind.in_(demand.kinds))
    return False, conn.execute(query).scalar()


def claim(conn: Connection, lease: Lease, demand: Demand) -> list[Claim]:
    """Take items that can start now, best first, at most one of a key."""
    ids = _candidates(conn, lease, demand)
    if not ids:
        return []
    statement = (
        update(work_item)
        .where(_columns.id.in_(ids), _columns.status == "queued", _FREE)
        .values(
            status="running",
            owner=lease.owner,
            attempts=_columns.attempts + 1,
            lease_until=lease.until,
            updated_at=lease.now,
        )
        .returning(*_columns)
    )
    rows = {row["id"]: row for row in conn.execute(statement).mappings()}
    return [_claim(rows[item_id]) for item_id in ids if item_id in rows]


def renew(conn: Connection, lease: Lease, held: Collection[Claim]) -> dict[str, WorkStatus]:
    """Extend leases; returns the ids of those that are still held, with their status."""
    attempts = {claimed.item.id: claimed.attempt for claimed in held}
    statement = (
        update(work_item)
        .where(_columns.owner == lease.owner, _IS_HELD, _columns.id.in_(attempts))
        .values(lease_until=lease.until)
        .returning(_columns.id, _columns.attempts, _columns.status)
    )
    rows = conn.execute(statement).all()
    return {row.id: WorkStatus(row.status) for row in rows if attempts[row.id] == row.attempts}


def holders(conn: Connection) -> list[Holder]:
    """Return who holds items. Reads only."""
    cancelling = func.sum(case((_columns.status == "cancelling", 1), else_=0))
    query = select(_columns.owner, func.min(_columns.lease_until), cancelling)
    return [Holder(*row) for row in conn.execute(query.where(_IS_HELD).group_by(_columns.owner))]


def reap(conn: Connection, lease: Lease, dead: Collection[str] = ()) -> list[str]:
    """Take items from owners whose lease ran out or who are dead; returns those that are queued again.

    The attempt counts. The first one lost is tried again at once, later ones after a pause: perhaps it is
    the item that ends its process. After the most attempts it is given up.
    """
    lost = or_(_columns.lease_until < lease.now, _columns.owner.in_(dead))
    query = select(_columns.id, _columns.status, _columns.attempts).where(_IS_HELD, lost)
    again: list[str] = []
    # A row that is locked is being ended, or taken over, this moment.
    for row in conn.execute(query.order_by(_columns.id).with_for_update(skip_locked=True)).all():
        values: dict[str, Any] = {"owner": "", "submitter": "", "updated_at": lease.now}
        if row.status == "cancelling":
            values["status"] = "cancelled"
        elif row.attempts >= lease.most_attempts:
            values["status"] = "failed"
            values["error"] = "its process ended or stalled, on the last attempt"
        else:
            values["status"] = "queued"
            values["error"] = "its process ended or stalled"
            values["not_before"] = lease.now + (pause(row.attempts - 1) if row.attempts > 1 else timedelta())
            again.append(row.id)
        conn.execute(update(work_item).where(_columns.id == row.id).values(**values))
    return again


def end(conn: Connection, claimed: Claim, status: WorkStatus, now: datetime, error: str = "") -> bool:
    """Store how the last attempt ended; False if the item was taken over meanwhile, and nothing changed.

    An item that was cancelled while it ran ends as cancelled, however its handler returned.
    """
    values = {"status": _unless_cancelled(status), "owner": "", "error": error, "updated_at": now}
    return conn.execute(update(work_item).where(*_own(claimed)).values(**values)).rowcount == 1


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
    values = {
        "status": _unless_cancelled(WorkStatus.QUEUED),
        "owner": "",
        "submitter": "",
        "error": error,
        "not_before": not_before,
        "attempts": _columns.attempts if counts else _columns.attempts - 1,
        "updated_at": now,
    }
    return conn.execute(update(work_item).where(*_own(claimed)).values(**values)).rowcount == 1


def holds(conn: Connection, claimed: Claim) -> bool:
    """Return whether an attempt still has its item, and keep it so until the transaction ends.

    A handler asks first in a transaction that writes: a process that stalled and lost the item then writes
    nothing.
    """
    query = select(_columns.id).where(*_own(claimed)).with_for_update()
    return conn.execute(query).first() is not None


def _claimable(lease: Lease, demand: Demand) -> Select[tuple[str, str]]:
    """Return the query for ids and keys of items that could start now, best first, one of each key."""
    mine = or_(
        _columns.submitter.in_((lease.owner, "")),
        _columns.not_before <= lease.now - timedelta(seconds=AFFINITY_S),
    )
    # Of several items of a key the first by (priority, time, id) goes; the others wait for it. Items of
    # kinds that nobody here handles hold nobody up.
    order = (_first.c.priority, _first.c.created_at, _first.c.id)
    earlier = tuple_(*order) < tuple_(_columns.priority, _columns.created_at, _columns.id)
    due = (_first.c.not_before <= lease.now, _first.c.kind.in_(demand.kinds))
    waits = exists().where(_first.c.key == _columns.key, _first.c.status == "queued", earlier, *due)
    query = (
        select(_columns.id, _columns.key)
        .where(_columns.status == "queued", _columns.not_before <= lease.now)
        .where(_columns.kind.in_(demand.kinds), mine, _FREE, ~waits)
        .order_by(_columns.priority, _columns.not_before, _columns.created_at, _columns.id)
    )
    return query.where(_columns.key.not_in(demand.without)) if demand.without else query


def _candidates(conn: Connection, lease: Lease, demand: Demand) -> Sequence[str]:
    """Return what to take; on PostgreSQL with the keys locked, and without those another process has locked.

    Nobody waits for a key, so nobody waits in a circle; the lock ends with the transaction. Two keys whose
    hashes are alike stand in for each other, which costs the second one a moment.
    """
    query = _claimable(lease, demand).limit(demand.room)
    if conn.dialect.name == "postgresql":
        best = query.subquery()
        lock = func.pg_try_advisory_xact_lock(_LOCKS, func.hashtext(best.c.key))
        return conn.execute(select(best.c.id).where(lock)).scalars().all()
    return [row.id for row in conn.execute(query)]


def _claim(row: Any) -> Claim:
    item = WorkItem(row["id"], row["kind"], row["key"], json.loads(row["payload"]), row["priority"])
    return Claim(item, row["owner"], row["attempts"])


def _unless_cancelled(status: WorkStatus) -> ColumnElement[str]:
    return case((_columns.status == "cancelling", "cancelled"), else_=status.value)


def _own(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    return (
        _columns.id == claimed.item.id,
        _columns.owner == claimed.owner,
        _columns.attempts == claimed.attempt,
        _columns.status.in_(HELD),
    )
