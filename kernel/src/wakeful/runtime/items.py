"""Statements about items that nobody executes at the moment: submitting, waiting, ending, forgetting.

Each is one function of a connection that runs in a transaction, the same on SQLite and PostgreSQL.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from wakeful.store.prepared import Prepared
from wakeful.store.work import HELD, work_item
from wakeful.types import WorkItem, WorkStatus, canonical

#: How long the id of an item that ended well is remembered, so that submitting it again does nothing.
REMEMBERED = timedelta(days=30)
#: Rows that one :func:`forget` deletes at most, so that it never holds up writers for long.
FORGET_MOST = 500

_columns = work_item.c
_INSERT = {
    "sqlite": Prepared(sqlite.insert(work_item).on_conflict_do_nothing()),
    "postgresql": Prepared(postgresql.insert(work_item).on_conflict_do_nothing()),
}
_STATUS = Prepared(select(_columns.status, _columns.not_before).where(_columns.id == bindparam("id_")))


def submit(conn: Connection, item: WorkItem, submitter: str, now: datetime) -> bool:
    """Store an item, in a transaction that may store more; False if its id is known.

    Args:
        conn: where.
        item: the wake-up.
        submitter: the owner it is left to for a moment, "" for none.
        now: the time, and the item's ``not_before`` if it has none.

    Raises:
        TypeError: the payload is no JSON.
    """
    return insert(conn, row(item, submitter, now))


def row(item: WorkItem, submitter: str, now: datetime) -> dict[str, Any]:
    """Return the columns of a new item; arguments and errors as for :func:`submit`."""
    return {
        "id": item.id,
        "kind": item.kind,
        "key": item.key,
        "payload": canonical(item.payload),
        "priority": item.priority,
        "not_before": item.not_before or now,
        "submitter": submitter,
        "created_at": now,
        "updated_at": now,
    }


def insert(conn: Connection, values: dict[str, Any]) -> bool:
    """Store an item; False if its id is known."""
    return _INSERT[conn.dialect.name].run(conn, values) == 1


def reschedule(conn: Connection, item_id: str, not_before: datetime, now: datetime) -> bool:
    """Put a waiting item off, or forward; False if it is not waiting."""
    statement = update(work_item).where(_columns.id == item_id, _columns.status == "queued")
    # No longer left to whoever submitted it: that process may be gone when the time comes.
    values = {"not_before": not_before, "submitter": "", "updated_at": now}
    return conn.execute(statement.values(**values)).rowcount == 1


def cancel(conn: Connection, item_id: str, now: datetime) -> bool:
    """Cancel a waiting item at once and mark a running one; False if it has ended or is unknown."""
    status = case((_columns.status == "queued", "cancelled"), else_="cancelling")
    statement = update(work_item).where(_columns.id == item_id, _columns.status.in_(("queued", *HELD)))
    return conn.execute(statement.values(status=status, updated_at=now)).rowcount == 1


def status(conn: Connection, item_id: str, now: datetime) -> WorkStatus | None:
    """Return where an item is; None if the id is unknown."""
    row = _STATUS.first(conn, {"id_": item_id})
    if row is None:
        return None
    if row.status == "queued" and row.not_before > now:
        return WorkStatus.DELAYED
    return WorkStatus(row.status)


def forget(conn: Connection, now: datetime) -> int:
    """Delete some items that ended well before :data:`REMEMBERED`; returns how many.

    Dead letters stay until their run has ended.
    """
    over = or_(_columns.status == "done", _columns.status == "cancelled")
    old = select(_columns.id).where(over, _columns.updated_at < now - REMEMBERED).limit(FORGET_MOST)
    return conn.execute(delete(work_item).where(_columns.id.in_(old))).rowcount
