"""Decisions of people on held calls: recorded once, together with the wake-up of the run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from wakeful.loop.ends import STRANDED
from wakeful.loop.found import store_found
from wakeful.loop.plan import EDITED
from wakeful.store.tables import action_call, run
from wakeful.types import (
    ApprovalRequest,
    Json,
    NotAvailableError,
    Priority,
    RunStatus,
    Tx,
    Verdict,
    WorkItem,
    canonical,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.store.engine import Store
    from wakeful.store.transaction import Transaction

#: Stores a wake-up in a transaction that is under way.
Wake = Callable[["Connection", WorkItem], None]

#: Settles a request in a transaction; None if it was not to be had.
Settle = Callable[[Tx], Awaitable[ApprovalRequest | None]]
#: Code of a call that nobody decided in time.
EXPIRED = "APPROVAL_EXPIRED"
_YES = frozenset({"approved", "answered"})


def expiring(request_id: str) -> str:
    """Return the id of the work item that ends a request when its time is over."""
    return f"expire:{request_id}"


async def decide(store: Store, settle: Settle, wake: Wake) -> ApprovalRequest | None:
    """Settle a request, mark its call and wake its run, in one transaction; None if it was not to be had.

    Args:
        store: the database.
        settle: what the plugin does; whatever it writes before it gives None is kept.
        wake: stores the wake-up.

    Raises:
        NotAvailableError: its run has ended.
    """
    with suppress(_LostError):
        async with store.transaction(durable=True) as tx:
            request = await settle(tx)
            return None if request is None else await _decide(tx, request, wake)
    return None


class _LostError(Exception):
    """Somebody else decided first: what the plugin wrote meanwhile is undone."""


def gone(request: ApprovalRequest, status: RunStatus) -> bool:
    """Return whether a request went with its run; a draft outlives one that nobody cancelled."""
    return request.of_call and status.ended and (request.holds or status is RunStatus.CANCELLED)


async def _decide(tx: Transaction, request: ApprovalRequest, wake: Wake) -> ApprovalRequest:
    if not request.of_call:
        await tx.run(lambda conn: store_found(conn, request, wake))
        return request
    mine = (action_call.c.key == request.key, action_call.c.status == "held")
    found = await tx.all(select(action_call.c.args, action_call.c.reasons).where(*mine))
    if not found:
        raise _LostError
    values: dict[str, Json] = {"status": "approved" if request.status in _YES else "rejected"}
    if request.status == "expired":
        values["code"] = EXPIRED
    if (args := canonical(request.args)) != found[0].args:
        edited = canonical([*json.loads(found[0].reasons), ["", EDITED, found[0].args]])
        values |= {"args": args, "reasons": edited}
    if why := await tx.run(lambda conn: over_with(conn, request.id)):
        raise NotAvailableError(why)
    if await tx.exec(update(action_call).where(*mine).values(**values)) != 1:
        raise _LostError
    (thread,) = await tx.all(select(run.c.conversation_id).where(run.c.id == request.run))
    item = WorkItem(
        f"resume:{request.id}", "resume", thread.conversation_id, {"run": request.run}, Priority.RESUME
    )
    await tx.run(lambda conn: wake(conn, item))
    return request


def over_with(conn: Connection, request_id: str) -> str:
    """Return why a held call can no longer be decided, which is the end of its run; empty if it can."""
    c = action_call.c
    query = select(c.run_id, c.action, c.verdict, run.c.status).join(run, run.c.id == c.run_id)
    found = conn.execute(query.where(c.approval_id == request_id, c.status == "held").limit(1)).first()
    if found is None:
        return ""
    status, draft = RunStatus(found.status), found.verdict == Verdict.STAGE.name.lower()
    if not (status is RunStatus.CANCELLED or (status.ended and not draft)):
        return ""
    return f"run {found.run_id} is {status.value}; its call {found.action} can no longer be decided"


def left_behind(conn: Connection, agents: Sequence[str]) -> list[WorkItem]:
    """Return wake-ups for the runs of agents that wait although people have decided.

    Whoever was woken by the decision had no plugin to carry it out, and left word of it. An id is good for
    one attempt.
    """
    query = (
        select(run.c.id, run.c.conversation_id, run.c.fence)
        .distinct()
        .join(action_call, action_call.c.run_id == run.c.id)
        .where(run.c.status.in_([status.value for status in RunStatus if status.parked]))
        .where(run.c.error == STRANDED.error)
        .where(run.c.agent.in_(agents), action_call.c.approval_id.is_not(None))
        .where(action_call.c.status.in_(("approved", "rejected")))
    )
    return [
        WorkItem(
            f"resume:{each.id}:{each.fence}",
            "resume",
            each.conversation_id,
            {"run": each.id},
            Priority.RESUME,
        )
        for each in conn.execute(query)
    ]


def asked_by(conn: Connection, request_id: str) -> str:
    """Return the agent whose held call a request is about; empty if there is none."""
    query = select(run.c.agent).join(action_call, action_call.c.run_id == run.c.id)
    return conn.execute(query.where(action_call.c.approval_id == request_id).limit(1)).scalar() or ""
