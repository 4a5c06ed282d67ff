"""Judging a call that a person has approved, before it runs: whether the approval holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from attrs import evolve
from sqlalchemy import select

from wakeful.loop.decisions import gone
from wakeful.loop.live import Live
from wakeful.loop.plan import BASIS, EDITED
from wakeful.policy import Judged, PersonReviewer, judge_one
from wakeful.store.tables import action_call
from wakeful.tools.arguments import check_arguments
from wakeful.types import (
    Action,
    ActionResult,
    Invocation,
    KeepsRules,
    PluginError,
    StoreError,
    Verdict,
    Voids,
    failure,
)

#: Code of a call whose approval rests on rules that have changed.
VOID: Final = "APPROVAL_VOID"
#: Verdicts that even an approval does not override.
FINAL: Final = frozenset({Verdict.DENY, Verdict.DEFER})


async def stranded(live: Live) -> bool:
    """Return whether people have decided about calls of a run, and the plugin that they told is off.

    A run that begins while it is off has no such calls.
    """
    if live.agent.approvals is not None or not live.run.fence:
        return False
    c = action_call.c
    decided = (c.approval_id.is_not(None), c.status.in_(("approved", "rejected")))
    query = select(c.key).where(c.run_id == live.run.id, *decided).limit(1)
    return await live.store.read(lambda conn: conn.execute(query).first() is not None)


async def void_requests(live: Live) -> None:
    """End what waits for people of a run that has ended: nobody can decide it any more."""
    slot = live.agent.approvals
    if not isinstance(slot, Voids) or not live.run.status.ended:
        return
    try:
        for request in await slot.pending(live.run.id):
            if gone(request, live.run.status):
                async with live.store.transaction() as tx:
                    await slot.void(tx, request.id)
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  (the next start ends them)
        await live.note((PluginError(live.agent.slot("policy_approvals"), "policy_approvals", error),))


async def take_rules(live: Live) -> None:
    """Read what people have added to the rules, before calls are judged."""
    slot = live.agent.approvals
    if not isinstance(slot, KeepsRules):
        return
    try:
        live.update(rules=await slot.rules())
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  (judges that need them deny)
        await live.note((PluginError(live.agent.slot("policy_approvals"), "policy_approvals", error),))
        live.update(rules=None)


def as_checked(live: Live, inv: Invocation) -> Invocation:
    """Return an approved call with its arguments as its action takes them; with a refusal if it does not."""
    action = live.agent.actions.get(inv.action)
    if action is None:
        gone = failure("ACTION_UNAVAILABLE", f"this agent no longer has an action {inv.action!r}")
        return evolve(inv, refusal=gone)
    checked = check_arguments(action, inv.args)
    if isinstance(checked, ActionResult):
        return evolve(inv, refusal=checked)
    return evolve(inv, args=checked)


async def refused(live: Live, inv: Invocation, reasons: Sequence[Sequence[str]]) -> ActionResult | None:
    """Return why an approved call is not executed; None if it is to be.

    Args:
        live: the run.
        inv: the call as :func:`as_checked` gives it: what is judged is what would run.
        reasons: what was stored when a person was asked.
    """
    judged = await judged_again(live, inv, reasons)
    if judged.invocation.refusal is not None:
        return judged.invocation.refusal
    if judged.judgement.verdict in FINAL:
        return failure(judged.judgement.code, judged.reason or "policy no longer allows this call")
    why = void(live, judged, live.agent.actions[inv.action], reasons)
    return failure(VOID, f"the approval is void: {why}; it was not executed") if why else None


async def judged_again(live: Live, inv: Invocation, reasons: Sequence[Sequence[str]]) -> Judged:
    """Judge an approved call: changed arguments as any others, those that were asked about by rules alone.

    What a person has decided is not reviewed again, and rules that people have added are about other calls.
    """
    agent = live.agent
    if _stored(reasons, EDITED) is not None:
        return await judge_one(agent.plugins, agent.reviewer, live.run, inv, agent.actions, ())
    run = evolve(live.run, rules=())
    return await judge_one(agent.plugins, PersonReviewer(), run, inv, agent.actions, ())


def void(live: Live, judged: Judged, action: Action, reasons: Sequence[Sequence[str]]) -> str:
    """Return why an approval holds no more; empty if it does.

    The rules that matched must be those that matched when a person was asked. Changed arguments must come
    under the same ones, or need nobody.
    """
    basis, asked = _stored(reasons, BASIS) or "", _stored(reasons, EDITED)
    now = judged.basis
    if asked is not None:
        inv = evolve(judged.invocation, args=json.loads(asked))
        run = evolve(live.run, rules=())
        now = Judged(inv, judged.judgement, live.agent.plugins.verdicts(run, inv, action, ())).basis
    if now != basis:
        return "the rules about this call have changed since a person was asked"
    if judged.basis != basis and judged.judgement.verdict is not Verdict.ALLOW:
        return "other rules hold the changed arguments than those that a person was asked for"
    return ""


def _stored(reasons: Sequence[Sequence[str]], kind: str) -> str | None:
    return next((text for _, each, text in reasons if each == kind), None)
