"""The tables of work: items, what is to be submitted, and inputs that wait for their turn."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy import text as sql

from wakeful.store import columns as c
from wakeful.store.tables import KernelTable, table_of

#: As stored; ``delayed`` is a queued item whose time has not come.
ITEM_STATUSES = ("queued", "running", "cancelling", "done", "failed", "cancelled")
#: Statuses of an item that somebody holds, and with it its key.
HELD = ("running", "cancelling")
_IS_HELD = sql(f"status IN {HELD}")


class WorkItemRow(KernelTable, table=True):
    """A work item; the partial index allows one running item per key."""

    __tablename__ = "work_item"
    __table_args__ = (
        Index("uq_work_item_held", "key", unique=True, sqlite_where=_IS_HELD, postgresql_where=_IS_HELD),
        Index("ix_work_item_queue", "status", "priority", "not_before"),
        Index("ix_work_item_key", "key", "status", "priority", "created_at"),
        c.one_of("status", ITEM_STATUSES),
    )

    id: str = c.key()
    kind: str = c.text(None)
    key: str = c.text(None)
    payload: str = c.json()
    priority: int = c.number()
    not_before: datetime = c.moment()
    status: str = c.text("queued")
    owner: str = c.text()
    submitter: str = c.text()
    lease_until: datetime | None = c.moment(nullable=True)
    attempts: int = c.number()
    error: str = c.text()
    created_at: datetime = c.moment()
    updated_at: datetime = c.moment()


class Outbox(KernelTable, table=True):
    """A wake-up that was decided in a transaction and is submitted after it; ``item`` is JSON."""

    __tablename__ = "outbox"
    __table_args__ = (Index(None, "sent", "id"),)

    id: int | None = c.serial()
    item: str = c.json()
    sent: int = c.number()
    created_at: datetime = c.moment()


class Inbox(KernelTable, table=True):
    """An input of a conversation, in the order of arrival; ``run_id`` is the run that answers it."""

    __tablename__ = "inbox"
    __table_args__ = (Index(None, "conversation_id", "id"), Index(None, "run_id"))

    id: int | None = c.serial()
    conversation_id: str = c.text(None)
    agent: str = c.text(None)
    user: str = c.text()
    text: str = c.text()
    run_id: str = c.text(None)
    options: str = c.json()
    taken: int = c.number()
    created_at: datetime = c.moment()


work_item = table_of(WorkItemRow)
outbox = table_of(Outbox)
inbox = table_of(Inbox)

__all__ = ["inbox", "outbox", "work_item"]
