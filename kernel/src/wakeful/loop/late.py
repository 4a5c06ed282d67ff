"""Decisions on held calls: recording them, and carrying out what was approved.

A held call has its result already, so what comes of it enters as a row of kind ``late-result``, which
never counts as the user's words.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from wakeful.loop.close import Put, context, finish, merged, unfinished
from wakeful.loop.execute import execute
from wakeful.loop.journal import append_rows, save_state
from wakeful.loop.live import Live
from wakeful.policy import judge_one
from wakeful.store.tables import action_call
from wakeful.tools.arguments import check_arguments
from wakeful.types import (
    ActionEnded,
    ActionResult,
    ApprovalRequest,
    Approvals,
    Call,
    Invocation,
    Json,
    Row,
    RowKind,
    Text,
    Trust,
    Verdict,
    canonical,
    failure,
)
from wakeful.waiting import outlast, uncancel

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.store.engine import Store

#: Verdicts that even an approval does not override.
FINAL = frozenset({Verdict.DENY, Verdict.DEFER})


async def decide(
    store: Store, approvals: Approvals, request_id: str, *, yes: bool, by: str, args: Json = None
) -> ApprovalRequest | None:
    """Settle a request and mark its call, in one transaction; None if it was not to be had."""
    async with store.transaction() as tx:
        request = await approvals.settle(tx, request_id, yes=yes, by=by, args=args)
        if request is None:
            return None
        held = update(action_call).where(action_call.c.key == request.key, action_call.c.status == "held")
        status = "approved" if yes else "rejected"
        if await tx.exec(held.values(status=status, args=canonical(request.args))) != 1:
            return None
        return request


async def carry_out(live: Live) -> int:
    """Execute what was approved and tell the model what was not; returns how many were settled."""
    query = (
        select(action_call)
        .where(action_call.c.run_id == live.run.id, action_call.c.status.in_(("approved", "rejected")))
        .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
    )
    found = await live.store.read(lambda conn: conn.execute(query).mappings().all())
    for item in found:
        call = Call(item["call_id"], item["tool"], item["args"])
        args = json.loads(item["args"])
        inv = Invocation(item["key"], call, item["index_"], item["inner"], item["action"], args)
        await _settle_one(live, inv, approved=item["status"] == "approved")
    return len(found)


async def _settle_one(live: Live, inv: Invocation, *, approved: bool) -> None:
    """Claim, execute and record one decided call; a claim that somebody else has does nothing.

    A run that is cancelled meanwhile records what became of the call first.
    """
    claimed = "intended" if approved else "denied"
    decided = action_call.c.status.in_(("approved", "rejected"))
    claim = update(action_call).where(action_call.c.key == inv.key, decided).values(status=claimed)
    count, cancelled = await outlast(live.store.write(lambda conn: conn.execute(claim).rowcount))
    puts: list[Put] = []
    raw = failure("REJECTED", "a person rejected this call; it was not executed")
    if approved and cancelled:
        raw = unfinished("CANCELLED", started=False)
    elif approved and count:
        try:
            raw = live.redactor.result(await _run(live, inv, puts))
        except asyncio.CancelledError:
            uncancel()
            cancelled, raw = True, unfinished("CANCELLED", started=True)
    if count:
        _, again = await outlast(_record(live, inv, raw, puts, approved=approved))
        cancelled = cancelled or again
    if cancelled:
        raise asyncio.CancelledError


async def _run(live: Live, inv: Invocation, puts: list[Put]) -> ActionResult:
    action = live.agent.actions.get(inv.action)
    if action is None:
        return failure("ACTION_UNAVAILABLE", f"this agent no longer has an action {inv.action!r}")
    checked = check_arguments(action, inv.args)
    if isinstance(checked, ActionResult):
        return checked
    judged = await judge_one(live.agent.plugins, live.agent.reviewer, live.run, inv, live.agent.actions, ())
    if judged.invocation.refusal is not None:
        return judged.invocation.refusal
    if judged.judgement.verdict in FINAL:
        return failure(judged.judgement.code, judged.reason or "policy no longer allows this call")
    ctx = context(live, action, inv.key, puts)
    result = await execute(action, checked, ctx, live.agent.middleware, live.redactor)
    live.update(done=(*live.run.done, (inv.action, canonical(inv.args), result.success)))
    return result


async def _record(live: Live, inv: Invocation, raw: ActionResult, puts: list[Put], *, approved: bool) -> None:
    if approved:
        await live.journal.result(inv.key, raw, "cancelled" if raw.code == "CANCELLED" else "done")
    async with live.store.transaction() as tx:
        ended = await finish(live, tx, inv, raw, puts)
        row = _row(live, ended)

        def write(conn: Connection) -> tuple[Row, ...]:
            rows = append_rows(conn, live.run, [row], live.clock.now())
            save_state(conn, live.run.conversation, puts)
            return rows

        rows = await tx.run(write)
    live.append(rows)
    live.update(state=merged(live, puts))
    await live.emit(ended)


def _row(live: Live, ended: ActionEnded) -> Row:
    run, result = live.run, ended.result
    trust = result.trust or Trust.TRUSTED
    text = f"A person decided about the call {ended.invocation.key}:\n\n{ended.text}"
    meta = {"message_type": "action-result", "turn_added": run.turn, "actions": [ended.invocation.action]}
    source = result.source if trust else ""
    return Row(0, RowKind.LATE_RESULT, (Text("user", text),), run.id, run.turn, run.step, trust, source, meta)
