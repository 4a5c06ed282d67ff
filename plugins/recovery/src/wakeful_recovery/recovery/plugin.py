"""The plugin: a judge that stops calls which cannot succeed, a stage that teaches, and repaired names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve, frozen
from sqlalchemy import select

from wakeful.hookspecs import hookimpl
from wakeful.store.tables import action_call
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    Effect,
    Invocation,
    Judgement,
    NameRepair,
    Outcome,
    Phase,
    Run,
    Services,
    Stage,
    Verdict,
    canonical,
    clean,
)
from wakeful_recovery.recovery.advice import Failures, advised
from wakeful_recovery.recovery.breaker import RULES, blocked, identical, in_a_row
from wakeful_recovery.recovery.repair import NameRepairer
from wakeful_recovery.recovery.settings import RecoverySettings

#: Results of loops: what failed inside is said there, and a loop may try as often as it likes.
_LOOP = "loop-result"
#: How a call has ended in the journal.
_ENDED = frozenset({"done", "refused", "denied"})
#: The kernel's codes for calls that no judge sees.
_REFUSALS = frozenset(
    {
        "INVALID_ARGUMENT",
        "INVALID_JSON",
        "MISSING_ARGUMENT",
        "UNKNOWN_ACTION",
        "UNKNOWN_ARGUMENT",
        "UNKNOWN_TOOL",
    }
)


class Recovery:
    """Lets failed results say how to succeed, and ends what cannot. One instance for each agent."""

    Settings = RecoverySettings

    def __init__(self, settings: RecoverySettings, services: Services) -> None:
        """Keep the settings."""
        self._settings, self._services = settings, services

    @hookimpl
    def tool_repair(self) -> NameRepair | None:
        """Repair names of tools, unless the settings say otherwise."""
        return NameRepairer(self._settings.prefixes) if self._settings.repair_names else None

    @hookimpl
    def policy_verdict(self, run: Run, proposal: Invocation, action: Action) -> Judgement | None:
        """Deny a call that cannot succeed, with the rule's code; loops are exempt."""
        if action.message_type == _LOOP or proposal.parent:
            return None
        args, changes = canonical(clean(proposal.args)), _changing(self._services, run)
        found = blocked(run.outcomes, action.tool_name, args, self._settings, changes)
        return None if found is None else Judgement(Verdict.DENY, found.reason, code=found.code)

    @hookimpl
    def result_stages(self) -> Sequence[Stage]:
        """Give the stage that completes failed results."""
        return (Teacher(self._settings, self._services),)


@frozen(eq=False)
class Teacher:
    """The stage. Suggests nothing that the caller may not see."""

    settings: RecoverySettings
    services: Services
    phase: Phase = Phase.RECOVER
    name: str = "recovery"

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        """Return a failed result with what it needs to teach; others as they are."""
        if result.success:
            return result
        told = Failures()
        if action is None or action.message_type != _LOOP:
            result = await self._stopped(ctx, action, result)
            if action is not None and result.code not in RULES:
                told = await self._failures(ctx, action, result)
        return advised(result, action, self.services.catalogue(ctx.run), told, self.settings)

    async def _failures(self, ctx: ActionContext, action: Action, result: ActionResult) -> Failures:
        """Return how often the action of a failed call has failed by now, and this very call."""
        earlier, args, status = await _earlier(ctx)
        in_row = 1 + len(in_a_row(earlier, action.tool_name))
        refused = result.code in _REFUSALS
        if status != "done" and not refused:  # whoever denies a call decides anew each time
            return Failures(in_row)
        same = identical(earlier, action.tool_name, args, _changing(self.services, ctx.run))
        return Failures(in_row, 1 + sum(each.executed or refused for each in same))

    async def _stopped(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        """Return the refusal of wrong arguments or a wrong name under the breaker's code, if a rule applies.

        No judge sees such a call. What is wrong with it stays in the result.
        """
        if result.code not in _REFUSALS or ctx.tx is None:
            return result
        query = select(action_call.c.action, action_call.c.args)
        rows = await ctx.tx.all(query.where(action_call.c.key == ctx.key, action_call.c.status == "refused"))
        if not rows:
            return result
        ((name, args),) = rows
        changes = _changing(self.services, ctx.run)
        found = blocked(ctx.run.outcomes, name, args, self.settings, changes, refused=True)
        if found is None:
            return result
        title = action.name if action else name
        return evolve(result, code=found.code, message=f"{title} was not run: {found.reason}")


def _changing(services: Services, run: Run) -> Callable[[str], bool]:
    """Return what tells whether an action changes anything."""
    catalogue = services.catalogue(run)

    def changes(name: str) -> bool:
        return name in catalogue and catalogue[name].effect not in {Effect.READ, Effect.FETCH}

    return changes


async def _earlier(ctx: ActionContext) -> tuple[list[Outcome], str, str]:
    """Return how the calls before the one at hand ended, those of its step too, and its arguments and status.

    These are empty for the call of a late result: its step is closed and counted.
    """
    run, step = ctx.run, int(ctx.key.split("/")[1])
    found = list(run.outcomes)
    if ctx.tx is None or any(each.key.startswith(f"{run.id}/{step}/") for each in found):
        return found, "", ""
    c = action_call.c
    query = (
        select(c.key, c.action, c.args, c.success, c.code, c.status)
        .where(c.run_id == run.id, c.step == step, c.parent.is_(None))
        .order_by(c.index_, c.inner)
    )
    for key, action, args, success, code, status in await ctx.tx.all(query):
        if key == ctx.key:
            return found, args, status
        if status in _ENDED:
            executed = status == "done"
            found.append(Outcome(key, action, args, success=bool(success), code=code, executed=executed))
    return found, "", ""
