"""The plugin: resolves AUTO_REVIEW by a model call of its own. Whatever goes wrong ends at a person."""

from __future__ import annotations

from collections import OrderedDict

from attrs import evolve

from wakeful.hookspecs import hookimpl
from wakeful.types import (
    Invocation,
    Judgement,
    ModelError,
    Reviewer,
    Run,
    Services,
    Verdict,
    canonical,
    clean,
    digest,
)
from wakeful.waiting import within
from wakeful_policy.judge.question import Opinion, facts, opinion, outside, question
from wakeful_policy.judge.settings import JudgeSettings
from wakeful_policy.judge.spoken import speaks_to_judge

#: Reviews that are kept, so that an identical proposal of a run is judged once.
KEPT = 256
_VERDICTS = {"approve": Verdict.ALLOW, "escalate": Verdict.REQUIRE_APPROVAL, "deny": Verdict.DENY}


class Judge:
    """Looks at calls that a verdict sends to review.

    Args:
        settings: see :class:`JudgeSettings`.
        services: what the kernel does for the plugin.
    """

    Settings = JudgeSettings

    def __init__(self, settings: JudgeSettings, services: Services) -> None:
        self._settings, self._services = settings, services
        self._known: OrderedDict[str, Judgement] = OrderedDict()

    @hookimpl
    def policy_reviewer(self) -> Reviewer:
        """Resolve AUTO_REVIEW."""
        return self

    async def review(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:
        """Return what the judge makes of a call: allowed, denied, or a person's to decide."""
        for name, value in outside(run, inv).items():
            if len(canonical(clean(value))) > self._settings.max_chars:
                return _person(judgement, f"its {name} are too long to be reviewed")
            if speaks_to_judge(value):
                return _person(judgement, f"its {name} speak to the reviewer")
        # The same proposal after the run has read more outside text is another question.
        asked = [
            *(run.id, facts(run, inv, judgement), outside(run, inv)),
            *(judgement.confidence, judgement.basis),
        ]
        key = digest(canonical(clean(asked)))
        known = self._known.get(key)
        if known is None:
            known = await self._asked(run, inv, judgement)
            self._known[key] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known

    async def _asked(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:
        clock = self._services.clock
        began = clock.monotonic()
        why = "the reviewer's answer could not be read"
        found: Opinion | None = None
        try:
            answer = self._services.ask(run, "judge", question(run, inv, judgement), alone=True)
            found = opinion(await within(clock, self._settings.timeout_s, answer))
        except TimeoutError:
            why = f"the review took longer than {self._settings.timeout_s:g} seconds"
        except ModelError as error:
            why = f"the review failed, {error.kind}"
        except Exception as error:  # noqa: BLE001  (whatever goes wrong ends at a person)
            why = f"the review failed, {type(error).__name__}"
        seconds = clock.monotonic() - began
        if found is None:
            return _person(judgement, f"{why}: escalate, {seconds:.1f} s")
        return _settled(judgement, found, seconds)


def _person(judgement: Judgement, reason: str) -> Judgement:
    said = "; ".join(filter(None, (judgement.reason, reason)))
    return evolve(judgement, verdict=Verdict.REQUIRE_APPROVAL, reason=said, plugin="judge")


def _settled(judgement: Judgement, found: Opinion, seconds: float) -> Judgement:
    """Return the judgement after an opinion, with decision, confidence and time in its reason."""
    said = f"reviewed: {found.decision}, confidence {found.confidence:.2f}, {seconds:.1f} s"
    said = f"{said}: {found.reason}" if found.reason else said
    if found.confidence < judgement.confidence:
        return _person(judgement, f"{said}; below {judgement.confidence:g}")
    verdict = _VERDICTS[found.decision]
    if verdict is Verdict.REQUIRE_APPROVAL:
        return _person(judgement, said)
    return evolve(judgement, verdict=verdict, reason=said, plugin="judge", code="POLICY_DENIED")
