"""The plugin: static text, the action that submits a plan, and the judge that waits for a person."""

from __future__ import annotations

from collections.abc import Sequence

from wakeful import ActionContext, ActionResult, action, hookimpl
from wakeful.types import (
    Action,
    Effect,
    Fragment,
    Invocation,
    Judgement,
    Run,
    Section,
    Verdict,
)
from wakeful_agents.plan.state import APPROVED, AWAITING, KEY, NONE, Planned, planned

#: Places of the text among the static sections, and of the status among the runtime state.
SECTION_ORDER, STATE_ORDER = 30, 20
#: Longest plan; a person has to read it.
PLAN_CHARS = 20_000
SUBMIT = "submit_plan"
CODE = "PLAN_NOT_APPROVED"

TEXT = """\
Plan mode is on. Before you change, fetch or send anything, look at what you need with actions that only \
read, write a plan and hand it in with submit_plan. A person decides about it; the runtime state says \
"plan: approved" once that has happened. Until then every action that changes, fetches or sends is refused, \
also inside sub-agents. After the approval carry out this plan; for anything else submit another one."""


class Plan:
    """Refuses effects until a person has approved a plan."""

    @hookimpl
    def prompt_sections(self) -> Sequence[Section]:
        """Give the rules, the same before and after an approval."""
        return [Section("plan", SECTION_ORDER, TEXT)]

    @hookimpl
    def prompt_state(self, run: Run) -> Sequence[Fragment] | None:
        """Say where the plan stands."""
        status = planned(run).status
        return [Fragment("plan", STATE_ORDER, f"plan: {AWAITING if status == NONE else status}")]

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Give the action that submits a plan."""
        return [submit_plan]

    @hookimpl
    def policy_verdict(self, run: Run, proposal: Invocation, action: Action) -> Judgement | None:
        """Refuse effects before the approval, and ask a person about the plan itself."""
        if proposal.action == SUBMIT and action.owner == "plan":
            if not run.agent.people:
                return None  # it is only handed in; a person decides with `wakeful plan approve`
            return Judgement(Verdict.REQUIRE_APPROVAL, "a person decides about the plan")
        return _refused(run, proposal, action)

    @hookimpl
    def policy_below(self, run: Run, proposal: Invocation, action: Action) -> Judgement | None:
        """Refuse effects of sub-agents before the approval."""
        return _refused(run, proposal, action)


def _refused(run: Run, proposal: Invocation, action: Action) -> Judgement | None:
    given = proposal.args if isinstance(proposal.args, dict) else {}
    harmless = action.effect is Effect.READ and not any(name in given for name in action.external_if_present)
    if harmless or planned(run).status == APPROVED:
        return None
    reason = f"{action.name} may run once a person has approved the plan; hand one in with {SUBMIT}"
    return Judgement(Verdict.DENY, reason, code=CODE)


@action(effect="read", output_trust="trusted", idempotent=True)
async def submit_plan(plan: str, ctx: ActionContext) -> ActionResult:
    """Hand in a plan for a person to approve. A new plan takes the place of the one before.

    Args:
        plan: what you will do, step by step, naming every change and everything that will be sent.
        ctx: the call.
    """
    text = plan.strip()
    if not text or len(text) > PLAN_CHARS:
        what = f"expected a plan of 1 to {PLAN_CHARS} characters, got {len(text)}"
        return ActionResult(success=False, code="INVALID_PLAN", message=what)
    if ctx.run.agent.people:
        # This call was held for a person: that it runs is the approval.
        ctx.put(KEY, Planned(APPROVED, text).dump())
        return ActionResult(code="SUCCESS_APPROVED", message="the plan is approved; carry it out")
    ctx.put(KEY, Planned(AWAITING, text).dump())
    return ActionResult(
        code="SUCCESS_SUBMITTED",
        message="the plan waits for a person; say so and end the turn, or go on reading",
    )
