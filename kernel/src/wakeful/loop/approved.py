"""Judging a call that a person has approved, before it runs: whether the approval holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from wakeful.loop.live import Live
from wakeful.loop.plan import BASIS, EDITED
from wakeful.policy import Judged, PersonReviewer, judge_one
from wakeful.types import Action, Invocation, KeepsRules, PluginError, StoreError, Verdict

#: Code of a call whose approval rests on rules that have changed.
VOID: Final = "APPROVAL_VOID"
#: Verdicts that even an approval does not override.
FINAL: Final = frozenset({Verdict.DENY, Verdict.DEFER})


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
