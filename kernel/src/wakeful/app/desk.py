"""What waits for a run: inputs in their order, wake-ups that go with them, answers as they are stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol, runtime_checkable

from attrs import field, frozen
from sqlalchemy import Connection, Executable, bindparam, delete, insert, select, update

from wakeful.app.items import item_of
from wakeful.store.engine import Store
from wakeful.store.prepared import Prepared
from wakeful.store.records import run_ids
from wakeful.store.tables import run
from wakeful.store.work import HELD, inbox, outbox, work_item
from wakeful.types import (
    Claim,
    FencedError,
    Json,
    NotFoundError,
    RunStatus,
    WorkItem,
    WorkRuntime,
    canonical,
    clean,
    clean_text,
    nearest,
)

#: Outbox rows that are sent in one go.
BATCH = 100

_ADD_INPUT = Prepared(insert(inbox))
_TAKE_INPUT = Prepared(
    update(inbox).where(inbox.c.run_id == bindparam("run_"), inbox.c.taken == 0).values(taken=1)
)


@runtime_checkable
class SharesDatabase(Protocol):
    """A runtime whose queue is in the same database, so that an item can be part of a transaction."""

    def enlist(self, conn: Connection, item: WorkItem) -> bool:
        """Store an item in a transaction that is under way."""
        ...

    def wake(self) -> None:
        """Look at the queue after that transaction."""
        ...

    def holds(self, conn: Connection, claim: Claim) -> bool:
        """Return whether an attempt still has its item, and keep it so until the transaction ends."""
        ...


@frozen
class Input:
    """An input of a conversation, the id of the run that will answer it, and what holds for that run."""

    run_id: str
    conversation: str
    agent: str
    user: str
    text: str
    options: Mapping[str, Mapping[str, Json]] = field(factory=dict)


@frozen(eq=False)
class Desk:
    """Stores inputs and wake-ups together, so that neither is ever without the other.

    Args:
        store: the database.
        runtime: what the wake-ups are for. One that shares the database enlists them in the same
            transaction; any other gets them from the outbox afterwards.
        now: the time.
    """

    store: Store
    runtime: WorkRuntime
    now: Callable[[], datetime]

    async def put(self, given: Input, item: WorkItem) -> None:
        """Store an input with its wake-up."""
        now = self.now()
        values = {
            "conversation_id": given.conversation,
            "agent": given.agent,
            "user": given.user,
            "text": clean_text(given.text),
            "run_id": given.run_id,
            "options": canonical(clean(dict(given.options))),
            "created_at": now,
        }

        def write(conn: Connection) -> None:
            _ADD_INPUT.run(conn, values)
            self.wake(conn, item)

        await self.store.write(write)
        await self.send()

    def wake(self, conn: Connection, item: WorkItem) -> None:
        """Store a wake-up in somebody else's transaction; :meth:`send` follows after it."""
        if isinstance(self.runtime, SharesDatabase):
            self.runtime.enlist(conn, item)
            return
        value = {
            "id": item.id,
            "kind": item.kind,
            "key": item.key,
            "payload": item.payload,
            "priority": item.priority,
            "not_before": item.not_before.isoformat() if item.not_before else None,
        }
        conn.execute(insert(outbox).values(item=canonical(value), created_at=self.now()))

    def hold(self, conn: Connection, claim: Claim) -> None:
        """Make sure, in a transaction that begins a run or takes one up, that this is still whose turn it is.

        Raises:
            FencedError: the process stalled, and its item was taken over.
        """
        if isinstance(self.runtime, SharesDatabase) and not self.runtime.holds(conn, claim):
            raise FencedError(f"work item {claim.item.id} was taken over by another process")

    async def send(self) -> None:
        """Submit what the outbox holds; also what a process left there that ended in between."""
        if isinstance(self.runtime, SharesDatabase):
            self.runtime.wake()
            return
        while rows := await self.store.read(_unsent):
            for row in rows:
                await self.runtime.submit(_item(json.loads(row.item)))
            sent = delete(outbox).where(outbox.c.id.in_([row.id for row in rows]))
            await self.store.write(partial(_execute, sent))

    async def withdraw(self, run_id: str) -> bool:
        """Take back an input whose run has not begun, a dead letter about it too; False if it has begun."""

        def write(conn: Connection) -> bool:
            taken = take(conn, run_id)
            if taken:
                conn.execute(_letter(item_of(run_id)))
            return taken

        return await self.store.write(write)

    async def bury(self, item_id: str) -> None:
        """Remove the dead letter about something that has been seen to since, if there is one."""
        await self.store.write(partial(_execute, _letter(item_id)))


async def known_run(store: Store, run_id: str) -> Any:
    """Return agent and conversation of a run, also of one that has not begun.

    Raises:
        NotFoundError: there is none; names the nearest.
    """
    query = select(run.c.agent, run.c.conversation_id).where(run.c.id == run_id)
    waiting = select(inbox.c.agent, inbox.c.conversation_id).where(inbox.c.run_id == run_id)
    found = await store.read(lambda conn: conn.execute(query.union_all(waiting)).first())
    if found is None:
        known = await store.read(lambda conn: run_ids(conn, 200))
        msg = f"there is no run {run_id!r}{nearest(run_id, known, limit=3)}"
        raise NotFoundError(msg)
    return found


def _item(stored: dict[str, Json]) -> WorkItem:
    due = stored.pop("not_before", None)
    return WorkItem(**stored, not_before=datetime.fromisoformat(due) if due else None)


def _letter(item_id: str) -> Executable:
    return delete(work_item).where(work_item.c.id == item_id, work_item.c.status == "failed")


def _unsent(conn: Connection) -> Sequence[Any]:
    query = select(outbox.c.id, outbox.c.item).where(outbox.c.sent == 0).order_by(outbox.c.id).limit(BATCH)
    return conn.execute(query).all()


def _execute(statement: Executable, conn: Connection) -> None:
    conn.execute(statement)


def take(conn: Connection, run_id: str) -> bool:
    """Mark an input as taken, in the transaction that starts its run; False if it was withdrawn."""
    return _TAKE_INPUT.run(conn, {"run_": run_id}) == 1


@frozen
class Begun:
    """A run that has begun: its status, its conversation, and the work item that holds that, if one does."""

    status: RunStatus
    conversation: str
    holder: WorkItem | None


def begun(conn: Connection, run_id: str) -> Begun | None:
    """Return where a run is; None if it has not begun."""
    found = conn.execute(select(run.c.status, run.c.conversation_id).where(run.c.id == run_id)).first()
    if found is None:
        return None
    holds = (work_item.c.key == found.conversation_id, work_item.c.status.in_(HELD))
    c = work_item.c
    row = conn.execute(select(c.id, c.kind, c.key, c.payload, c.priority).where(*holds)).first()
    holder = (
        None if row is None else WorkItem(row.id, row.kind, row.key, json.loads(row.payload), row.priority)
    )
    return Begun(RunStatus(found.status), found.conversation_id, holder)
