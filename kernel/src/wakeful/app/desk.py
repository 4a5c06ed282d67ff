"""What waits for a run: inputs in their order, wake-ups that go with them, answers as they are stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Protocol, runtime_checkable

from attrs import field, frozen
from sqlalchemy import Connection, Executable, Select, bindparam, insert, select, update
from sqlalchemy import text as sql

from wakeful.loop.below import asked_below, key_of
from wakeful.loop.opening import busy
from wakeful.results import artifacts, attached
from wakeful.store.engine import Store
from wakeful.store.prepared import Prepared
from wakeful.store.records import usage_of
from wakeful.store.tables import action_call, run
from wakeful.store.work import inbox, outbox, work_item
from wakeful.types import (
    Answer,
    Claim,
    Disposition,
    FencedError,
    Json,
    RunStatus,
    WorkItem,
    WorkRuntime,
    canonical,
    clean,
    clean_text,
)

#: Outbox rows that are sent in one go.
BATCH = 100

_ADD_INPUT = Prepared(insert(inbox))
_TAKE_INPUT = Prepared(
    update(inbox).where(inbox.c.run_id == bindparam("run_"), inbox.c.taken == 0).values(taken=1)
)
_WAITS = Prepared(select(inbox.c.id).where(inbox.c.run_id == bindparam("run_"), inbox.c.taken == 0))
_OLDEST = Prepared(
    select(*(inbox.c[name] for name in ("run_id", "conversation_id", "agent", "user", "text", "options")))
    .where(inbox.c.conversation_id == bindparam("conversation_"), inbox.c.taken == 0)
    .order_by(inbox.c.id)
    .limit(1)
)
# In words, not as a parameter: only so does SQLite use the partial index.
_RUNNING = Prepared(
    select(run.c.id, run.c.agent).where(
        run.c.conversation_id == bindparam("conversation_"), sql("run.status = 'running'")
    )
)
_RUN = Prepared(select(run).where(run.c.id == bindparam("run_")))
_HELD = Prepared(
    select(action_call.c.approval_id)
    .where(action_call.c.run_id == bindparam("run_"), action_call.c.status == "held")
    .where(action_call.c.approval_id.is_not(None))
    .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
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


@frozen
class Left:
    """A run to take up: one that another process left, or (``parked``) one that a person has decided on."""

    run_id: str
    agent: str
    parked: bool


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
            sent = update(outbox).where(outbox.c.id.in_([row.id for row in rows])).values(sent=1)
            await self.store.write(partial(_execute, sent))

    async def withdraw(self, run_id: str) -> bool:
        """Take back an input whose run has not begun; False if it has."""
        return await self.store.write(lambda conn: take(conn, run_id))


def _item(stored: dict[str, Json]) -> WorkItem:
    due = stored.pop("not_before", None)
    return WorkItem(**stored, not_before=datetime.fromisoformat(due) if due else None)


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
    holds = (work_item.c.key == found.conversation_id, work_item.c.status.in_(("running", "cancelling")))
    c = work_item.c
    row = conn.execute(select(c.id, c.kind, c.key, c.payload, c.priority).where(*holds)).first()
    holder = (
        None if row is None else WorkItem(row.id, row.kind, row.key, json.loads(row.payload), row.priority)
    )
    return Begun(RunStatus(found.status), found.conversation_id, holder)


def waits(conn: Connection, run_id: str) -> bool:
    """Return whether the input of a run has not been taken."""
    return _WAITS.first(conn, {"run_": run_id}) is not None


def next_due(conn: Connection, item: WorkItem) -> Input | Left | Answer | None:
    """Return what an item of a conversation makes happen next.

    Whoever holds the key may take over a run that is marked as running: its process has ended, or lost its
    lease. Inputs are taken in the order of the inbox, whatever order their items arrive in.

    Args:
        conn: a reading connection.
        item: of kind ``run`` or ``resume``; its key is the conversation, its payload names the run, and
            whether that is to end as cancelled.

    Returns:
        A run to take up, an input to answer, or, when nothing is left to do, the run's answer so far.
    """
    conversation, run_id = item.key, item.payload["run"]
    left = _RUNNING.first(conn, {"conversation_": conversation})
    if left is not None and (item.payload.get("cancel") or not delegated(conn, conversation)):
        return Left(left.id, left.agent, parked=False)
    if item.kind == "resume":
        parked = conn.execute(_parked(run_id) if item.payload.get("cancel") else _decided(run_id)).first()
        if parked is not None:
            return Left(run_id, parked.agent, parked=True)
    oldest = _OLDEST.first(conn, {"conversation_": conversation})
    if oldest is None or (oldest.run_id != run_id and not waits(conn, run_id)):
        return stored_answer(conn, run_id)
    run_id, conversation, agent, user, text, options = oldest
    return Input(run_id, conversation, agent, user, text, json.loads(options))


def delegated(conn: Connection, conversation: str) -> bool:
    """Return whether a run of a conversation is executed by the run that delegated it, as a part of it."""
    query = select(action_call.c.key).where(
        action_call.c.key == key_of(conversation), action_call.c.status == "intended"
    )
    return conn.execute(query).first() is not None


def gone_on(conn: Connection, left: Left, item: WorkItem) -> Answer | None:
    """Return the answer of a run that was to be taken up and no longer is as it was.

    A process that lost its lease may go on for a moment, until it notices or its run is taken up.

    Raises:
        ConversationBusyError: somebody executes the run.
    """
    found = stored_answer(conn, left.run_id)
    if found is None and left.parked:
        raise busy(item.key)
    still = found is None or (left.parked and found.status.parked)
    return None if still else found


def _parked(run_id: str) -> Select[Any]:
    """Return the query for a run that waits for a person."""
    return select(run.c.agent).where(
        run.c.id == run_id, run.c.status.in_(("awaiting_approval", "awaiting_feedback"))
    )


def _decided(run_id: str) -> Select[Any]:
    """Return the query for a parked run with decisions that nobody has acted on."""
    return (
        _parked(run_id)
        .join(action_call, run.c.id == action_call.c.run_id)
        .where(action_call.c.status.in_(("approved", "rejected", "executing")))
        .limit(1)
    )


def stored_answer(conn: Connection, run_id: str) -> Answer | None:
    """Return the answer of a run that has ended or waits for a person; None otherwise."""
    row = _RUN.first(conn, {"run_": run_id})
    if row is None or row.status == RunStatus.RUNNING.value:
        return None
    status = RunStatus(row.status)
    return Answer(
        text=row.text,
        status=status,
        run_id=run_id,
        conversation=row.conversation_id,
        disposition=Disposition(row.disposition),
        reaction=row.reaction,
        usage=usage_of(row._asdict()),
        artifacts=artifacts.named_stored(conn, row.conversation_id, row.text),
        media=attached.named_stored(conn, row.conversation_id, row.text),
        pending=() if status.ended else _asked(conn, run_id),
        error=row.error,
    )


def _asked(conn: Connection, run_id: str) -> tuple[str, ...]:
    """Return the requests of a run that wait for people, those of its sub-agents last."""
    own = (held.approval_id for held in _HELD.all(conn, {"run_": run_id}))
    return (*own, *asked_below(conn, run_id))
