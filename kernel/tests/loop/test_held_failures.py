"""A call that a person approved and whose result cannot be stored: its run still ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from wakeful import ActionContext, ActionResult, Agent, action, hookimpl
from wakeful.testing import ScriptedModel, say
from wakeful.types import (
    Action,
    ApprovalRequest,
    Artifact,
    Invocation,
    Json,
    Judgement,
    Phase,
    Run,
    RunStatus,
    Tx,
    Verdict,
    canonical,
    digest,
)


@action(effect="external", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay.

    Args:
        euros: how much.
    """
    return f"paid {euros}"


class Holds:
    """Holds every call, and once one was approved, makes of its result what JSON has no word for."""

    name = "holds"

    def __init__(self) -> None:
        self.requests: dict[str, ApprovalRequest] = {}
        self.phase = Phase.BOUND

    @hookimpl
    def policy_verdict(self) -> Judgement:
        return Judgement(Verdict.REQUIRE_APPROVAL, "ask first")

    @hookimpl
    def policy_approvals(self) -> Any:
        return self

    @hookimpl
    def result_stages(self) -> Any:
        return (self,)

    async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
        checked = digest(canonical(inv.args))
        request = ApprovalRequest("ask", inv.key, run.id, inv.action, inv.args, checked)
        return self.requests.setdefault(request.id, request)

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        return [each for each in self.requests.values() if each.status == "pending"]

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None
    ) -> ApprovalRequest | None:
        self.requests[request_id] = evolve(self.requests[request_id], status="approved")
        return self.requests[request_id]

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        if not self.requests or self.requests["ask"].status == "pending":
            return result
        unfit: Any = object()
        return evolve(result, artifacts=(Artifact("A", "text", unfit, 1),))


async def test_a_run_ends_whose_late_result_cannot_be_stored(wakeful_app: Any) -> None:
    replies: list[Any] = [say(calls=[("pay", {"euros": 50})]), "I have asked.", "Hello again."]
    async with wakeful_app(Agent(model=ScriptedModel(replies), actions=[pay], plugins=[Holds()])) as app:
        parked = await app.send("agent", "Pay 50", conversation="c")
        assert parked.status is RunStatus.AWAITING_APPROVAL
        await app.approvals.approve("ask", by="ana")
        answer = await app.resume(parked.run_id)
        assert answer.status is RunStatus.FAILED
        assert "decided calls were not told of: TypeError: Object of type object" in answer.error
        again = await app.send("agent", "Hello", conversation="c")
        assert (again.status, again.text) == (RunStatus.COMPLETED, "Hello again.")
