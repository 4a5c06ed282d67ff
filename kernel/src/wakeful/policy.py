"""Judging the calls of a step: limits first, then every plugin's verdict, the strictest wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import (
    Action,
    ActionResult,
    ErrorRecovery,
    Invocation,
    Judgement,
    Reviewer,
    Run,
    Verdict,
    canonical,
    digest,
    failure,
)


@frozen
class Judged:
    """A proposal, the judgement that counts, and every plugin's word on it."""

    invocation: Invocation
    judgement: Judgement
    answers: tuple[Judgement, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether it runs now: neither refused nor denied nor held."""
        return self.invocation.refusal is None and self.judgement.verdict is Verdict.ALLOW

    @property
    def basis(self) -> str:
        """Digest of what all answers rest on, such as the rules that matched; empty if on nothing."""
        bases = sorted({answer.basis for answer in self.answers if answer.basis})
        return digest(canonical(bases)) if bases else ""

    @property
    def to_ask(self) -> Judgement:
        """What a person is asked about: the judgement that counts, with what the other answers add to it."""
        assignee = next((answer.assignee for answer in self.answers if answer.assignee), "")
        asker = any(answer.asker_decides for answer in self.answers)
        return evolve(
            self.judgement, reason=self.reason, basis=self.basis, assignee=assignee, asker_decides=asker
        )

    @property
    def reason(self) -> str:
        """The reasons of all answers that are as strict as the verdict, in one line."""
        same = [
            answer
            for answer in counted(self.answers)
            if answer.verdict is self.judgement.verdict and answer.reason
        ]
        return "; ".join(dict.fromkeys(answer.reason for answer in same)) or self.judgement.reason


@frozen
class PersonReviewer:
    """The default reviewer: whatever should be reviewed must be approved by a person."""

    async def review(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:  # noqa: ARG002  (the protocol)
        """Return the judgement raised to REQUIRE_APPROVAL."""
        return evolve(judgement, verdict=Verdict.REQUIRE_APPROVAL)


def over_limit(run: Run, action: Action, earlier: Sequence[Judged]) -> ActionResult | None:
    """Return the refusal when ``max_executions`` is used up, counting those of this step that may run."""
    if action.max_executions is None:
        return None
    counts = Counter(name for name, _, _ in run.done)
    counts.update(item.invocation.action for item in earlier if item.allowed)
    counts.update(run.within)
    if counts[action.tool_name] < action.max_executions:
        return None
    message = f"{action.name} may run {action.max_executions} times in a run and has"
    return failure("LIMIT_REACHED", message, ErrorRecovery(retryable=False, suggestion="Go on without it."))


async def judge(
    plugins: AgentPlugins,
    reviewer: Reviewer,
    run: Run,
    proposals: Sequence[Invocation],
    catalogue: Mapping[str, Action],
) -> list[Judged]:
    """Judge all proposals of a step, in call order, before any of them runs.

    A proposal that is refused already (unknown tool, wrong arguments) is passed through.
    """
    judged: list[Judged] = []
    for inv in proposals:
        judged.append(await judge_one(plugins, reviewer, run, inv, catalogue, judged))
    return judged


async def judge_one(
    plugins: AgentPlugins,
    reviewer: Reviewer,
    run: Run,
    inv: Invocation,
    catalogue: Mapping[str, Action],
    earlier: Sequence[Judged],
    beside: Sequence[Invocation] = (),
) -> Judged:
    """Judge one proposal; see :func:`judge`.

    ``earlier`` is what its step proposed before it; ``beside`` is what plugins see after that without its
    being counted here: calls inside of calls.
    """
    if inv.refusal is not None:
        return Judged(inv, Judgement(Verdict.ALLOW))
    action = catalogue[inv.action]
    refusal = over_limit(run, action, earlier)
    if refusal is not None:
        return Judged(evolve(inv, refusal=refusal), Judgement(Verdict.ALLOW))
    before = (*(item.invocation for item in earlier), *beside)
    answers = plugins.verdicts(run, inv, action, before)
    strictest = max(counted(answers), key=lambda answer: answer.verdict, default=Judgement(Verdict.ALLOW))
    if strictest.verdict is Verdict.AUTO_REVIEW:
        strictest = await _review(reviewer, run, inv, strictest)
        answers = (*answers, strictest)
    return Judged(inv, strictest, answers)


def counted(answers: Sequence[Judgement]) -> Sequence[Judgement]:
    """Return the answers that count: a fallback does only where nobody else has an opinion."""
    firm = [answer for answer in answers if not answer.fallback]
    return firm or answers


async def _review(reviewer: Reviewer, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:
    try:
        reviewed = await reviewer.review(run, inv, judgement)
        if not isinstance(reviewed, Judgement) or reviewed.verdict is Verdict.AUTO_REVIEW:
            raise TypeError("expected a judgement that settles the call")
    except Exception as error:  # noqa: BLE001  (a judge that fails sends the call to a person)
        reason = f"the review failed ({type(error).__name__}: {error})"
        return evolve(judgement, verdict=Verdict.REQUIRE_APPROVAL, reason=reason)
    return reviewed


_REFUSALS = {
    Verdict.DENY: ("", "was denied"),
    Verdict.DEFER: ("POLICY_DEFERRED", "may not run now"),
    Verdict.STAGE: ("STAGED", "is held as a draft until a person confirms or drops it"),
    Verdict.REQUIRE_APPROVAL: ("POLICY_APPROVAL_REQUIRED", "waits for a person's approval"),
}


def refusal(judged: Judged, action: Action, *, held: bool) -> ActionResult:
    """Return the result a model reads for a call that does not run now.

    Args:
        judged: the judged call; its verdict is not ALLOW.
        action: what it would have executed.
        held: whether an approvals plugin stored it; otherwise it is denied.
    """
    verdict = judged.judgement.verdict
    code, what = _REFUSALS[verdict]
    if verdict in {Verdict.STAGE, Verdict.REQUIRE_APPROVAL} and not held:
        what = "needs a person's approval, and this agent has nobody to ask"
        code = "POLICY_DENIED"
    if verdict is Verdict.DENY and judged.judgement.code != "POLICY_DENIED":
        what = "was not run"  # the code says why, and it need not be a policy
    reason = f": {judged.reason}" if judged.reason else ""
    advice = "Go on with other work; its outcome will follow." if held else "Go on without it."
    recovery = ErrorRecovery(retryable=False, suggestion=advice)
    said = failure(code or judged.judgement.code, f"{action.name} {what}{reason}", recovery)
    return evolve(said, held=held)
