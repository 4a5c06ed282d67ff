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

from wakeful.loop.approved import as_checked, refused, stranded, take_rules
from wakeful.loop.below import HOLDING
from wakeful.loop.close import Put, Work, context, unfinished
from wakeful.loop.decisions import EXPIRED
from wakeful.loop.ends import STRANDED, Outcome
from wakeful.loop.execute import execute
from wakeful.loop.inner import Inner
from wakeful.loop.live import Live
from wakeful.loop.outcomes import outcome
from wakeful.loop.recorded import invocation_of, load_raw
from wakeful.loop.references import worsened
from wakeful.loop.statements import guard
from wakeful.loop.told import record
from wakeful.loop.unknown import reruns, settle_lost
from wakeful.store.tables import action_call
from wakeful.types import (
    ActionResult,
    FencedError,
    Invocation,
    Json,
    StoreError,
    Verdict,
    canonical,
    clean,
    failure,
)
from wakeful.waiting import outlast, settle, uncancel

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


log = logging.getLogger("wakeful")

#: Calls of a closed step that a person has decided, or said the outcome of, which is not told yet.
_DECIDED = ("approved", "rejected", "executing")
_DRAFT = Verdict.STAGE.name.lower()


async def decided(live: Live) -> bool:
    """Return whether there is a decision that :func:`carry_out` would act on."""
    if live.agent.approvals is None and not live.agent.delegates:
        return False
    query = select(action_call.c.key).where(*_due(live))
    return await live.store.read(lambda conn: conn.execute(query.limit(1)).first() is not None)


def _due(live: Live) -> Sequence[ColumnElement[bool]]:
    """Return which calls are to be carried out here, or told of."""
    c = action_call.c
    mine = [c.run_id == live.run.id, c.status.in_(_DECIDED)]
    if live.agent.approvals is None:  # what people have decided waits for the plugin that they told
        mine.append(c.approval_id.is_(None) | (c.status == "executing"))
    return mine


async def held(live: Live) -> list[str]:
    """Return the requests of the run's calls that no person has decided, as the journal knows them."""
    query = (
        select(action_call.c.approval_id)
        .where(action_call.c.run_id == live.run.id, *HOLDING)
        .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
    )
    return list(await live.store.read(lambda conn: conn.execute(query).scalars().all()))


async def carry_out(live: Live) -> Outcome | None:
    """Execute what was approved and tell the model what was not.

    A call that was claimed before a crash is not executed again, unless its action may be: what is known
    of it is told.

    Returns:
        How the run ends for now if all that was decided waits for a plugin that is off; None if it goes on.
    """
    await take_rules(live)
    calls = await _decided_calls(live)
    if not calls and await stranded(live):
        return STRANDED
    for inv, item in calls:
        if item["status"] == "rejected":
            await settle(record(live, inv, _rejected(item), [], "denied"))
        else:
            await _approved(live, inv, item)
    return None


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
        await record(live, inv, raw, puts, status)


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
        .where(*_due(live))
        .order_by(action_call.c.step, action_call.c.index_, action_call.c.inner)
    )
    found = await live.store.read(lambda conn: conn.execute(query).mappings().all())
    return [(invocation_of(dict(item), {}), dict(item)) for item in found]


async def _approved(live: Live, inv: Invocation, item: Mapping[str, Json]) -> None:
    """Claim, execute and record one approved call; a run that is cancelled meanwhile records that first.

    What no longer holds is never claimed, so that only what was executed counts as that.
    """
    puts: list[Put] = []
    if item["status"] == "executing":
        known, puts = await _begun(live, item)
        if known or not reruns(live, inv.action):
            await settle(record(live, inv, known, puts, "done" if known else "unknown"))
            return
    inv = as_checked(live, inv)
    refusal = await refused(live, inv, json.loads(item["reasons"]))
    if refusal is not None:
        live.update(outcomes=(*live.run.outcomes, outcome(inv, refusal, executed=False)))
        refusal = worsened(inv.provenance, refusal)
        await settle(record(live, inv, live.redactor.result(refusal), puts, "denied"))
        return
    _, cancelled = await outlast(_claim(live, inv))
    raw = unfinished("CANCELLED", started=False)
    if not cancelled:
        try:
            raw = live.redactor.result(await _run(live, inv, puts))
            _, cancelled = await outlast(live.journal.result(live.run, inv.key, raw, "executing", puts))
        except asyncio.CancelledError:
            uncancel()
            cancelled, raw = True, unfinished("CANCELLED", started=True)
    if cancelled and live.abandoned:
        raise asyncio.CancelledError
    status = "cancelled" if raw.code == "CANCELLED" else "done"
    _, again = await outlast(record(live, inv, raw, puts, status))
    if cancelled or again:
        raise asyncio.CancelledError


async def _claim(live: Live, inv: Invocation) -> None:
    """Mark the call as being executed, durably, before it is; its pending result is no longer its own.

    The arguments are stored as they run.
    """
    claim = update(action_call).where(action_call.c.key == inv.key)
    claim = claim.values(args=canonical(clean(inv.args)), status="executing", success=None, code="")
    claim = claim.values(result=None, result_ref=None)

    def write(conn: Connection) -> None:
        guard(conn, live.run)
        conn.execute(claim)

    await live.store.write(write, durable=True)


async def _run(live: Live, inv: Invocation, puts: list[Put]) -> ActionResult:
    action = live.agent.actions[inv.action]
    ctx = context(live, action, inv.key, puts)
    inner = Inner(live, (), Work(resumed=True))
    ctx.bind(inner, inv, live.emit)
    try:
        raw = await execute(action, inv.args, ctx, live.agent.middleware, live.redactor)
        result = worsened(inv.provenance, raw)
    finally:
        await outlast(inner.flush())
    live.update(outcomes=(*live.run.outcomes, outcome(inv, result, executed=True)))
    return result
