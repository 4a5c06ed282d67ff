"""What a run and everything below it have used, against the limits of the run and of those above it."""

from __future__ import annotations

from attrs import define

from wakeful.types import Limits, Run, Usage


@define(eq=False)
class Tally:
    """Counts for one run; what is added counts for every run above it too.

    Args:
        agent: whose limits they are, for messages.
        limits: of the run.
        steps: model calls, and steps that agent types proposed.
        usage: of all model calls.
        runs: sub-agents' runs that were started below it.
        above: the tally of the run that delegated; None for a run of its own.
    """

    agent: str
    limits: Limits
    steps: int = 0
    usage: Usage = Usage()
    runs: int = 0
    above: Tally | None = None

    @classmethod
    def of(cls, run: Run, above: Tally | None = None) -> Tally:
        """Return the tally of a run with nothing below it yet."""
        return cls(run.agent.name, run.limits, run.step, run.usage, above=above)

    def step(self) -> None:
        """Count a step."""
        self.steps += 1
        if self.above is not None:
            self.above.step()

    def spend(self, usage: Usage) -> None:
        """Count what a model call used."""
        self.usage += usage
        if self.above is not None:
            self.above.spend(usage)

    def start(self) -> str:
        """Count a run that is about to start below; return which limit forbids it, or nothing."""
        tally: Tally | None = self
        depth = 1
        while tally is not None:
            limits = tally.limits
            if limits.sub_agents and tally.runs >= limits.sub_agents:
                return f"the limit of {limits.sub_agents} sub-agents{tally.whose(self)}"
            if limits.depth and depth > limits.depth:
                return f"the limit of sub-agents {limits.depth} deep{tally.whose(self)}"
            tally, depth = tally.above, depth + 1
        tally = self
        while tally is not None:
            tally.runs += 1
            tally = tally.above
        return ""

    def reached(self) -> str:
        """Return which limit is reached, its own or one from above, in words; empty if none is."""
        tally: Tally | None = self
        while tally is not None:
            what = tally.own()
            if what:
                return what + tally.whose(self)
            tally = tally.above
        return ""

    def whose(self, asking: Tally) -> str:
        """Return whose limit it is, for a run that shares it."""
        return "" if self is asking else f" of {self.agent}"

    def own(self) -> str:
        """Return which limit of the run itself is reached; empty if none is."""
        limits = self.limits
        if limits.steps and self.steps >= limits.steps:
            return f"the limit of {limits.steps} steps"
        if limits.tokens and self.usage.total >= limits.tokens:
            return f"the limit of {limits.tokens} tokens ({self.usage.total} used)"
        if limits.cost and (self.usage.cost or 0) >= limits.cost:
            return f"the limit of ${limits.cost:g} (${self.usage.cost or 0:.4f} spent)"
        return ""
