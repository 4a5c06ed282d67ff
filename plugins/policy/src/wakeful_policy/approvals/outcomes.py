"""A call whose outcome nobody knows is a person's to find out: the answer is kept, and nothing runs again."""

from __future__ import annotations

import json
from typing import Final

from attrs import evolve, frozen
from sqlalchemy import insert, select

from wakeful.store.tables import action_call
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    Phase,
    Services,
    canonical,
    clean,
    digest,
)
from wakeful_policy.approvals.deciding import asked_already
from wakeful_policy.approvals.questions import DID_NOT, TOOK_EFFECT
from wakeful_policy.approvals.tables import request

#: Code of such a result.
UNKNOWN: Final = "OUTCOME_UNKNOWN"
_EXPECTED = {"type": "string", "enum": [TOOK_EFFECT, DID_NOT]}


@frozen
class OutcomeStage:
    """Files a request about each such call, in the transaction that tells the model.

    Args:
        agent: name of the agent.
        services: what the kernel does for the plugin.
    """

    agent: str
    services: Services
    phase: Phase = Phase.RECOVER
    name: str = "approvals"

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:  # noqa: ARG002  (as stages are called)
        """Return the result with word of the request."""
        if result.code != UNKNOWN or ctx.tx is None or await asked_already(ctx.tx, ctx.key, "outcome"):
            return result
        query = select(action_call.c.action, action_call.c.args).where(action_call.c.key == ctx.key)
        rows = await ctx.tx.all(query)
        if not rows:
            return result
        args, run = canonical(clean(json.loads(rows[0].args))), ctx.run
        values = {
            "id": self.services.ids.new("ask"),
            "conversation_id": run.conversation,
            "run_id": run.id,
            "step": run.step,
            "key": ctx.key,
            "kind": "outcome",
            "agent": self.agent,
            "asker": run.user,
            "action": rows[0].action,
            "args": args,
            "digest": digest(args),
            "reason": "the process ended while it ran: did it take effect?",
            "expected": canonical(_EXPECTED),
            "priority": run.priority,
            "created_at": self.services.clock.now(),
        }
        await ctx.tx.exec(insert(request).values(**values))
        return evolve(result, message=f"{result.message}; a person is asked whether it did")
