"""What an item of a conversation makes happen next, and the answers of runs as they are stored."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen
from sqlalchemy import Connection, Select, bindparam, select
from sqlalchemy import text as sql

from wakeful.app.desk import Input
from wakeful.loop.below import HOLDING, asked_below, key_of
from wakeful.loop.found import FOUND
from wakeful.loop.opening import busy
from wakeful.results import artifacts, attached
from wakeful.store.prepared import Prepared
from wakeful.store.records import usage_of
from wakeful.store.tables import action_call, run
from wakeful.store.work import inbox
from wakeful.types import Answer, Disposition, RunStatus, Verdict, WorkItem

_PARKED = ("awaiting_approval", "awaiting_feedback")
_ENDED = tuple(status.value for status in RunStatus if status.ended)
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
    .where(action_call.c.run_id == bindparam("run_"), *HOLDING)
    .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
)


@frozen
class Left:
    """A run to take up: one that another process left, or (``parked``) one that a person has decided on.

    Of one that is ``over``, only drafts that were decided are left to carry out, and to tell what people
    found out about calls whose outcome was unknown.
    """

    run_id: str
    agent: str
    parked: bool
    over: bool = False


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
            return Left(run_id, parked.agent, parked=True, over=RunStatus(parked.status).ended)
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
    return select(run.c.agent, run.c.status).where(run.c.id == run_id, run.c.status.in_(_PARKED))


def _decided(run_id: str) -> Select[Any]:
    """Return the query for a run with decisions that nobody has acted on: it waits, or left some behind."""
    draft = action_call.c.verdict == Verdict.STAGE.name.lower()
    left = run.c.status.in_(("completed", "failed", "limit_reached")) & draft
    # What became of a call is told whatever became of its run.
    left |= run.c.status.in_(_ENDED) & action_call.c.code.in_(FOUND)
    return (
        select(run.c.agent, run.c.status)
        .join(action_call, run.c.id == action_call.c.run_id)
        .where(run.c.id == run_id, run.c.status.in_(_PARKED) | left)
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
