"""The statements behind the embedded runtime, the same on SQLite and PostgreSQL.

Each is one function of a connection that runs in a transaction of its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from attrs import frozen
from sqlalchemy import ColumnElement, Connection, and_, exists, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from wakeful.store.work import work_item
from wakeful.types import Claim, WorkItem, WorkStatus, canonical

#: Seconds in which an item is left to the process that submitted it, so that streams stay local.
AFFINITY_S = 2.0
#: Statuses that hold an item's key.
HELD = ("running", "cancelling")

_columns = work_item.c


@frozen
class Lease:
    """Who claims, until when, and how often an item may be tried."""

    owner: str
    now: datetime
    until: datetime
    most_attempts: int


def submit(conn: Connection, item: WorkItem, owner: str, now: datetime) -> bool:
    """Store an item; False if its id is known."""
    if conn.execute(select(_columns.id).where(_columns.id == item.id)).first() is not None:
        return False
    values = {
        "id": item.id,
        "kind": item.kind,
        "key": item.key,
        "payload": canonical(item.payload),
        "priority": item.priority,
        "not_before": item.not_before or now,
        "submitter": owner,
        "created_at": now,
        "updated_at": now,
    }
    try:
        with conn.begin_nested():
            conn.execute(insert(work_item).values(**values))
    except IntegrityError:
        return False
    return True


def claimable(conn: Connection, lease: Lease, kinds: Collection[str], most: int) -> Sequence[str]:
    """Return ids of items that could start now, best first, one per key. Reads only."""
    held, first = work_item.alias("held"), work_item.alias("first")
    mine = or_(
        _columns.submitter.in_((lease.owner, "")),
        _columns.not_before <= lease.now - timedelta(seconds=AFFINITY_S),
    )
    free = ~exists().where(held.c.key == _columns.key, held.c.status.in_(HELD))
    # Of several items of a key the first by (priority, time, id) goes; the others wait for it.
    earlier = or_(
        first.c.priority < _columns.priority,
        and_(first.c.priority == _columns.priority, first.c.created_at < _columns.created_at),
        and_(
            first.c.priority == _columns.priority,
            first.c.created_at == _columns.created_at,
            first.c.id < _columns.id,
        ),
    )
    waits = exists().where(
        first.c.key == _columns.key, first.c.status == "queued", first.c.not_before <= lease.now, earlier
    )
    query = (
        select(_columns.id)
        .where(_columns.status == "queued", _columns.not_before <= lease.now, _columns.kind.in_(kinds))
        .where(mine, free, ~waits)
        .order_by(_columns.priority, _columns.not_before, _columns.created_at, _columns.id)
        .limit(most)
    )
    return conn.execute(query).scalars().all()


def claim(conn: Connection, lease: Lease, kinds: Collection[str], most: int) -> list[Claim]:
    """Take items that can start now. Another process may win one of them; the rest is taken."""
    taken: list[Claim] = []
    for item_id in claimable(conn, lease, kinds, most):
        held = work_item.alias("held")
        free = ~exists().where(held.c.key == _columns.key, held.c.status.in_(HELD))
        statement = (
            update(work_item)
            .where(_columns.id == item_id, _columns.status == "queued", free)
            .values(
                status="running",
                owner=lease.owner,
                attempts=_columns.attempts + 1,
                lease_until=lease.until,
                updated_at=lease.now,
            )
            .returning(*_columns)
        )
        try:
            with conn.begin_nested():
                row = conn.execute(statement).mappings().first()
        except IntegrityError:
            continue  # two processes, two items of one key: the other one was faster
        if row is not None:
            item = WorkItem(row["id"], row["kind"], row["key"], json.loads(row["payload"]), row["priority"])
            taken.append(Claim(item, lease.owner, row["attempts"]))
    return taken


def renew(conn: Connection, lease: Lease, ids: Collection[str]) -> dict[str, str]:
    """Extend the leases of items this owner holds; returns those still held, with their status."""
    statement = (
        update(work_item)
        .where(_columns.owner == lease.owner, _columns.status.in_(HELD), _columns.id.in_(ids))
        .values(lease_until=lease.until)
        .returning(_columns.id, _columns.status)
    )
    return {row.id: row.status for row in conn.execute(statement)}


def reap(conn: Connection, lease: Lease) -> list[str]:
    """Take items from owners whose lease ran out: queue them again, or give up after the most attempts."""
    expired = and_(_columns.status.in_(HELD), _columns.lease_until < lease.now)
    cancelled = update(work_item).where(expired, _columns.status == "cancelling")
    conn.execute(cancelled.values(status="cancelled", owner="", updated_at=lease.now))
    over = update(work_item).where(expired, _columns.attempts >= lease.most_attempts)
    error = "its owner stopped renewing the lease, on every attempt"
    conn.execute(over.values(status="failed", owner="", error=error, updated_at=lease.now))
    again = update(work_item).where(expired)
    again = again.values(status="queued", owner="", submitter="", updated_at=lease.now)
    return list(conn.execute(again.returning(_columns.id)).scalars())


def end(conn: Connection, claimed: Claim, status: WorkStatus, now: datetime, error: str = "") -> bool:
    """Store how an attempt ended; False if the item was taken over meanwhile."""
    statement = update(work_item).where(*_own(claimed))
    values = {"status": status.value, "owner": "", "error": error, "updated_at": now}
    return conn.execute(statement.values(**values)).rowcount == 1


def give_back(conn: Connection, claimed: Claim, not_before: datetime, error: str, *, counts: bool) -> bool:
    """Queue an item again, at ``not_before``; an attempt that does not count is taken back."""
    attempts = _columns.attempts if counts else _columns.attempts - 1
    statement = (
        update(work_item)
        .where(*_own(claimed))
        .values(
            status="queued", owner="", submitter="", error=error, not_before=not_before, attempts=attempts
        )
    )
    return conn.execute(statement).rowcount == 1


def reschedule(conn: Connection, item_id: str, not_before: datetime, now: datetime) -> bool:
    """Put a waiting item off."""
    statement = update(work_item).where(_columns.id == item_id, _columns.status == "queued")
    return conn.execute(statement.values(not_before=not_before, updated_at=now)).rowcount == 1


def cancel(conn: Connection, item_id: str, now: datetime) -> bool:
    """Cancel a waiting item at once, and ask the owner of a running one to."""
    queued = update(work_item).where(_columns.id == item_id, _columns.status == "queued")
    if conn.execute(queued.values(status="cancelled", updated_at=now)).rowcount:
        return True
    held = update(work_item).where(_columns.id == item_id, _columns.status.in_(HELD))
    return conn.execute(held.values(status="cancelling", updated_at=now)).rowcount == 1


def status(conn: Connection, item_id: str, now: datetime) -> WorkStatus | None:
    """Return where an item is."""
    query = select(_columns.status, _columns.not_before).where(_columns.id == item_id)
    row = conn.execute(query).first()
    if row is None:
        return None
    if row.status == "queued" and row.not_before > now:
        return WorkStatus.DELAYED
    return WorkStatus(row.status)


def next_due(conn: Connection, now: datetime) -> datetime | None:
    """Return when the next delayed item may start."""
    query = select(func.min(_columns.not_before)).where(
        _columns.status == "queued", _columns.not_before > now
    )
    found: datetime | None = conn.execute(query).scalar()
    return found


def _own(claimed: Claim) -> tuple[ColumnElement[bool], ...]:
    return (
        _columns.id == claimed.item.id,
        _columns.owner == claimed.owner,
        _columns.attempts == claimed.attempt,
        _columns.status.in_(HELD),
    )
