"""Decisions on held calls: recording them, and carrying out what was approved.

A held call has its result already, so what comes of it enters as a row of kind ``late-result``, which
never counts as the user's words.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from wakeful.loop.approved import FINAL, VOID, judged_again, take_rules, void
from wakeful.loop.below import HOLDING
from wakeful.loop.close import Put, Work, context, finish, merged, unfinished
from wakeful.loop.codec import dump_result
from wakeful.loop.decisions import EXPIRED
from wakeful.loop.execute import execute
from wakeful.loop.found import FOUND
from wakeful.loop.inner import Inner
from wakeful.loop.live import Live
from wakeful.loop.outcomes import outcome
from wakeful.loop.recorded import invocation_of, load_raw
from wakeful.loop.references import worsened
from wakeful.loop.statements import append_rows, close_nested, guard, save_state
from wakeful.loop.unknown import outcome_unknown, reruns, settle_lost
from wakeful.results import artifacts, attached
from wakeful.store.tables import action_call
from wakeful.tools.arguments import check_arguments
from wakeful.types import (
    ActionEnded,
    ActionResult,
    ApprovalRequest,
    FencedError,
    Invocation,
    Json,
    PersonAsked,
    Row,
    RowKind,
    StoreError,
    Text,
    Trust,
    Verdict,
    failure,
)
from wakeful.waiting import outlast, settle, uncancel

if TYPE_CHECKING:
    from sqlalchemy import Connection


log = logging.getLogger("wakeful")

#: Calls of a closed step that a person has decided, or said the outcome of, which is not told yet.
_DECIDED = ("approved", "rejected", "executing")
_DRAFT = Verdict.STAGE.name.lower()


async def decided(live: Live) -> bool:
    """Return whether there is a decision that :func:`carry_out` would act on."""
    if live.agent.approvals is None and not live.agent.delegates:
        return False
    query = select(action_call.c.key).where(
        action_call.c.run_id == live.run.id, action_call.c.status.in_(_DECIDED)
    )
    return await live.store.read(lambda conn: conn.execute(query.limit(1)).first() is not None)


async def held(live: Live) -> list[str]:
    """Return the requests of the run's calls that no person has decided, as the journal knows them."""
    query = (
        select(action_call.c.approval_id)
        .where(action_call.c.run_id == live.run.id, *HOLDING)
        .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
    )
    return list(await live.store.read(lambda conn: conn.execute(query).scalars().all()))


async def carry_out(live: Live) -> None:
    """Execute what was approved and tell the model what was not.

    A call that was claimed before a crash is not executed again, unless its action may be: what is known
    of it is told.
    """
    await take_rules(live)
    for inv, item in await _decided_calls(live):
        if item["status"] == "rejected":
            await settle(_record(live, inv, _rejected(item), [], "denied"))
        else:
            await _approved(live, inv, item)


async def drop(live: Live, *, drafts: bool) -> str:
    """Tell what became of decided calls that are not carried out, because their run ends before.

    Args:
        live: the run.
        drafts: of drafts as well; otherwise these are carried out although the run has ended.

    Returns:
        What prevented it, if anything did: a result that a plugin made can perhaps not be stored. The run
        ends nevertheless.
    """
    try:
        await _drop(live, drafts=drafts)
    except (StoreError, FencedError):
        raise
    except Exception as error:  # noqa: BLE001  (whatever a plugin made of a result, the run gets its end)
        log.warning("run %s: %s", live.run.id, live.redactor.text(traceback.format_exc()))
        return live.redactor.text(f"decided calls were not told of: {type(error).__name__}: {error}")
    return ""


async def _drop(live: Live, *, drafts: bool) -> None:
    for inv, item in await _decided_calls(live):
        if item["verdict"] == _DRAFT and not drafts:
            continue
        raw: ActionResult | None
        puts: list[Put] = []
        if item["status"] == "rejected":
            raw, status = _rejected(item), "denied"
        elif item["status"] == "approved":
            raw, status = unfinished("CANCELLED", started=False), "cancelled"
        else:
            raw, puts = await _begun(live, item)
            status = "done" if raw else "unknown"
        await _record(live, inv, raw, puts, status)


def _rejected(item: Mapping[str, Json]) -> ActionResult:
    if item["code"] == EXPIRED:
        return failure(EXPIRED, "nobody decided about this call in time; it was not executed")
    return failure("REJECTED", "a person rejected this call; it was not executed")


async def _begun(live: Live, item: Mapping[str, Json]) -> tuple[ActionResult | None, list[Put]]:
    """Return the result of an approved call whose process ended, if it had one, and what it put."""
    await settle_lost(live)  # calls inside it
    return await load_raw(live.store, item), [(put[0], put[1], put[2]) for put in json.loads(item["puts"])]


async def _decided_calls(live: Live) -> list[tuple[Invocation, Mapping[str, Json]]]:
    """Return the calls that people have decided and whose outcome is not told yet, with their records."""
    query = (
        select(action_call)
        .where(action_call.c.run_id == live.run.id, action_call.c.status.in_(_DECIDED))
        .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
    )
    found = await live.store.read(lambda conn: conn.execute(query).mappings().all())
    return [(invocation_of(dict(item), {}), dict(item)) for item in found]


async def _approved(live: Live, inv: Invocation, item: Mapping[str, Json]) -> None:
    """Claim, execute and record one approved call; a run that is cancelled meanwhile records that first."""
    puts: list[Put] = []
    if item["status"] == "executing":
        known, puts = await _begun(live, item)
        if known or not reruns(live, inv.action):
            await settle(_record(live, inv, known, puts, "done" if known else "unknown"))
            return
    _, cancelled = await outlast(_claim(live, inv))
    raw = unfinished("CANCELLED", started=False)
    if not cancelled:
        try:
            raw = live.redactor.result(await _run(live, inv, puts, json.loads(item["reasons"])))
            _, cancelled = await outlast(live.journal.result(live.run, inv.key, raw, "executing", puts))
        except asyncio.CancelledError:
            uncancel()
            cancelled, raw = True, unfinished("CANCELLED", started=True)
    if cancelled and live.abandoned:
        raise asyncio.CancelledError
    status = "cancelled" if raw.code == "CANCELLED" else "done"
    _, again = await outlast(_record(live, inv, raw, puts, status))
    if cancelled or again:
        raise asyncio.CancelledError


async def _claim(live: Live, inv: Invocation) -> None:
    """Mark the call as being executed, durably, before it is; its pending result is no longer its own."""
    claim = update(action_call).where(action_call.c.key == inv.key)
    claim = claim.values(status="executing", result=None, result_ref=None, success=None, code="")

    def write(conn: Connection) -> None:
        guard(conn, live.run)
        conn.execute(claim)

    await live.store.write(write, durable=True)


async def _run(
    live: Live, inv: Invocation, puts: list[Put], reasons: Sequence[Sequence[str]]
) -> ActionResult:
    action = live.agent.actions.get(inv.action)
    if action is None:
        return failure("ACTION_UNAVAILABLE", f"this agent no longer has an action {inv.action!r}")
    checked = check_arguments(action, inv.args)
    if isinstance(checked, ActionResult):
        return checked
    judged = await judged_again(live, inv, reasons)
    if judged.invocation.refusal is not None:
        return judged.invocation.refusal
    if judged.judgement.verdict in FINAL:
        return failure(judged.judgement.code, judged.reason or "policy no longer allows this call")
    why = void(live, judged, action, reasons)
    if why:
        return failure(VOID, f"the approval is void: {why}; it was not executed")
    ctx = context(live, action, inv.key, puts)
    inner = Inner(live, (), Work(resumed=True))
    ctx.bind(inner, inv, live.emit)
    try:
        result = worsened(inv, await execute(action, checked, ctx, live.agent.middleware, live.redactor))
    finally:
        await outlast(inner.flush())
    live.update(outcomes=(*live.run.outcomes, outcome(inv, result, executed=True)))
    return result


async def _record(
    live: Live, inv: Invocation, raw: ActionResult | None, puts: list[Put], status: str
) -> None:
    """Append the row that tells the outcome, unknown without a result, and end the call; one transaction."""
    request: ApprovalRequest | None = None
    async with live.store.transaction() as tx:
        if raw is None:
            raw, request = await outcome_unknown(live, tx, inv)
        success, code = raw.success, raw.code
        ended = await finish(live, tx, inv, raw, puts)
        row = _row(live, ended)

        def write(conn: Connection) -> tuple[Row, ...]:
            guard(conn, live.run)
            rows = append_rows(conn, live.run, [row], live.clock.now())
            values = {"status": status, "success": success, "code": code, "result_seq": rows[0].seq}
            values |= {"result": dump_result(raw)} if status == "denied" else {}
            conn.execute(update(action_call).where(action_call.c.key == inv.key).values(**values))
            close_nested(conn, live.run.id, [inv.key], rows[0].seq)
            attached.keep_all(conn, live.run.conversation, [ended.result])
            save_state(conn, live.run.conversation, puts)
            return rows

        rows = await tx.run(write)
    live.append(rows)
    live.update(state=merged(live, puts))
    await live.emit(ended)
    if request is not None:
        await live.emit(PersonAsked(live.run.id, request))


_TOLD = {"sub-agent-result": "The sub-agent answered", "person-answer": "A person answered"}


def _row(live: Live, ended: ActionEnded) -> Row:
    run, result = live.run, ended.result
    trust = result.trust or Trust.TRUSTED
    action = live.agent.actions.get(ended.invocation.action)
    kind = action.message_type if action else "action-result"
    what = _TOLD.get(kind, "A person decided about")
    what = "A person said what became of" if result.code in FOUND else what
    text = f"{what} the call {ended.invocation.key}:\n\n{ended.text}"
    meta = {"message_type": kind, "turn_added": run.turn, "actions": [ended.invocation.action]}
    meta |= artifacts.meta([result]) | attached.meta([result])
    source = result.source if trust else ""
    return Row(0, RowKind.LATE_RESULT, (Text("user", text),), run.id, run.turn, run.step, trust, source, meta)
