"""Planning a step: what the model's calls mean, whether they may run, who is asked first."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from wakeful.loop.agent import BuiltAgent
from wakeful.loop.codec import dump_provenance, dump_result
from wakeful.loop.references import filled, worsened
from wakeful.policy import Judged, judge, refusal
from wakeful.tools.arguments import check_arguments
from wakeful.tools.offer import unknown_tool
from wakeful.types import (
    Action,
    ActionResult,
    ApprovalRequest,
    Call,
    ErrorRecovery,
    Invocation,
    Json,
    Judgement,
    PluginError,
    Run,
    Verdict,
    canonical,
    clean,
    failure,
)

if TYPE_CHECKING:
    from datetime import datetime

    from wakeful.store.transaction import Transaction

#: Verdicts that hold a call for a person when an approvals plugin is there.
HOLDING = frozenset({Verdict.STAGE, Verdict.REQUIRE_APPROVAL})
#: In the place of a verdict among the stored reasons of a held call: the digest of what they rest on.
BASIS = "rests_on"
#: There too: a person has changed the arguments.
EDITED = "edited"


@frozen
class Planned:
    """One execution of a step as it was judged; with ``result`` it does not run now."""

    judged: Judged
    status: str
    result: ActionResult | None = None
    request: ApprovalRequest | None = None

    @property
    def invocation(self) -> Invocation:
        """The proposed execution."""
        return self.judged.invocation

    def columns(self, run: Run, now: datetime) -> dict[str, Json]:
        """Return the row that the journal stores before anything runs."""
        inv, judgement = self.invocation, self.judged.judgement
        reasons = [[a.plugin, a.verdict.name.lower(), a.reason] for a in self.judged.answers]
        if self.request is not None and self.judged.basis:
            reasons.append(["", BASIS, self.judged.basis])
        return {
            "key": inv.key,
            "run_id": run.id,
            "step": run.step,
            "index_": inv.index,
            "inner": inv.inner,
            "parent": inv.parent or None,
            "call_id": inv.call.id,
            "tool": inv.call.tool,
            "action": inv.action,
            "args": canonical(clean(inv.args)),
            "provenance": dump_provenance(inv.provenance),
            "verdict": "" if self.status == "refused" else judgement.verdict.name.lower(),
            "reasons": canonical(clean(reasons)),
            "status": self.status,
            "success": None if self.result is None else self.result.success,
            "code": "" if self.result is None else self.result.code,
            "result": None if self.result is None else dump_result(self.result),
            "approval_id": self.request.id if self.request else None,
            "started_at": now,
        }


async def propose(
    agent: BuiltAgent, run: Run, calls: Sequence[Call], *, cut: bool, direct: bool = False
) -> list[Invocation]:
    """Resolve calls to executions and check their arguments, in call order.

    Args:
        agent: whose offer says what a call means.
        run: the run; its step numbers the keys.
        calls: the calls of the reply.
        cut: the output limit cut the reply: none of its calls is executed.
        direct: no model wrote them: they name actions, those of the agent's type included.
    """
    proposals: list[Invocation] = []
    for index, call in enumerate(calls):
        key = f"{run.id}/{run.step}/{index}"
        if cut:
            proposals.append(Invocation(key, call, index, 0, call.tool, call.args, _cut()))
            continue
        resolved = [(call.tool, call.args)] if direct else _resolved(agent, run, call)
        if isinstance(resolved, ActionResult):
            proposals.append(Invocation(key, call, index, 0, call.tool, call.args, resolved))
            continue
        several = len(resolved) > 1
        for inner, (name, raw) in enumerate(resolved):
            inner_key = f"{key}/{inner}" if several else key
            if isinstance(raw, ActionResult):
                proposals.append(Invocation(inner_key, call, index, inner, name, call.args, raw))
            else:
                known = agent.actions if direct else agent.offered
                inv = await filled(agent, run, Invocation(inner_key, call, index, inner, name, raw))
                proposals.append(_checked(agent, inv, known))
    return proposals


def _resolved(agent: BuiltAgent, run: Run, call: Call) -> Sequence[tuple[str, Json]] | ActionResult:
    """Ask the offer what a call means; one that fails, or finds nothing, fails the call."""
    names = {*agent.offered, *(tool.name for tool in run.epoch.declared.tools)}
    repaired = call if call.tool in names else evolve(call, tool=_meant(agent, call.tool, names) or call.tool)
    decision = run.epoch.declared.decisions.get("offer")
    try:
        resolved = agent.offer.resolve(repaired, agent.offered, decision)
    except Exception as error:  # noqa: BLE001  (every call gets its result, whatever a plugin raises)
        return failure("OFFER_FAILED", str(PluginError(agent.slot("tool_offer"), "tool_offer", error)))
    if isinstance(resolved, ActionResult):
        return _without(resolved, agent.removed)
    if resolved:
        return [
            (name, _without(args, agent.removed) if isinstance(args, ActionResult) else args)
            for name, args in resolved
        ]
    return failure("UNKNOWN_TOOL", f"the tool {call.tool!r} stands for no action")


def _without(failed: ActionResult, removed: Container[str]) -> ActionResult:
    """Return a failed result that suggests nothing of what the caller took away."""
    known = failed.recovery
    if known is None or not removed:
        return failed
    left = tuple(value for value in known.suggested_values if value not in removed)
    return evolve(failed, recovery=evolve(known, suggested_values=left))


def _meant(agent: BuiltAgent, written: str, names: Iterable[str]) -> str | None:
    """Return the name that is meant, if a plugin finds one; one that fails finds none and is reported."""
    if agent.repair is None:
        return None
    known = sorted(names)
    try:
        found = agent.repair.meant(written, known)
    except Exception as error:  # noqa: BLE001  (the call then fails with near names)
        plugin = agent.slot("tool_repair")
        agent.services[plugin].report(str(PluginError(plugin, "tool_repair", error)))
        return None
    return found if found in known else None


def _checked(agent: BuiltAgent, inv: Invocation, known: Mapping[str, Action]) -> Invocation:
    if inv.refusal is not None:
        return inv
    if inv.action in agent.removed:
        return evolve(inv, refusal=taken_away(inv.action))
    action = known.get(inv.action)
    if action is None:
        name = _meant(agent, inv.action, known)
        if name is None:
            return evolve(inv, refusal=_without(unknown_tool(inv.action, agent.offered), agent.removed))
        inv, action = evolve(inv, action=name), known[name]
    checked = check_arguments(action, inv.args)
    if isinstance(checked, ActionResult):
        return evolve(inv, refusal=checked)
    return evolve(inv, args=checked)


def taken_away(action: str) -> ActionResult:
    """Return the result of a call of an action that the caller of the run took away."""
    recovery = ErrorRecovery(retryable=False, suggestion="Go on without it.")
    return failure("ACTION_REMOVED", f"{action} is not available in this run", recovery)


def _cut() -> ActionResult:
    recovery = ErrorRecovery(retryable=True, suggestion="Send the call again, with shorter arguments.")
    return failure(
        "OUTPUT_LIMIT", "the reply was cut by the output limit; this call was not executed", recovery
    )


async def plan(agent: BuiltAgent, run: Run, proposals: Sequence[Invocation]) -> list[Planned]:
    """Judge the proposals; nothing is stored yet and nobody is asked."""
    judged = await judge(agent.plugins, agent.reviewer, run, proposals, agent.actions)
    return [planned_as(agent, item) for item in judged]


def unplanned(proposals: Sequence[Invocation]) -> list[Planned]:
    """Return the proposals as a run leaves them that is cancelled before they are judged."""
    result = failure("CANCELLED", "the run was cancelled before this call; it was not executed")
    return [
        Planned(Judged(inv, Judgement(Verdict.ALLOW)), "cancelled", inv.refusal or result)
        for inv in proposals
    ]


def planned_as(agent: BuiltAgent, judged: Judged) -> Planned:
    """Return what becomes of a judged proposal.

    Why a call does not run may quote its arguments, so it is believed no further than what they are from.
    """
    inv = judged.invocation
    if inv.refusal is not None:
        return Planned(judged, "refused", worsened(inv.provenance, inv.refusal))
    verdict = judged.judgement.verdict
    if verdict is Verdict.ALLOW and agent.actions[inv.action].asks_person:
        verdict, reason = Verdict.REQUIRE_APPROVAL, "a person is asked, and the answer follows"
        judged = evolve(judged, judgement=evolve(judged.judgement, verdict=verdict, reason=reason))
    if verdict is Verdict.ALLOW:
        return Planned(judged, "intended")
    held = verdict in HOLDING and agent.approvals is not None
    result = refusal(judged, agent.actions[inv.action], held=held)
    return Planned(judged, "held" if held else "denied", worsened(inv.provenance, result))


async def ask_people(
    agent: BuiltAgent, tx: Transaction, run: Run, planned: Sequence[Planned]
) -> list[Planned]:
    """Store a request for each held call, in the transaction that stores the plan.

    A request that cannot be stored denies its call and leaves nothing behind.
    """
    out: list[Planned] = []
    for item in planned:
        if item.status != "held" or agent.approvals is None:
            out.append(item)
            continue
        try:
            async with tx.savepoint():
                request = await agent.approvals.ask(tx, run, item.invocation, item.judged.to_ask)
        except Exception as error:  # noqa: BLE001  (whatever a plugin raises, the call must not run)
            reason = f"the request could not be stored ({type(error).__name__}: {error})"
            result = worsened(item.invocation.provenance, failure("POLICY_DENIED", reason))
            out.append(evolve(item, status="denied", result=result))
        else:
            out.append(evolve(item, request=request))
    return out


def by_call(planned: Sequence[Planned]) -> Mapping[int, list[Planned]]:
    """Group executions by the call they answer, in call order."""
    groups: dict[int, list[Planned]] = {}
    for item in planned:
        groups.setdefault(item.invocation.index, []).append(item)
    return groups
