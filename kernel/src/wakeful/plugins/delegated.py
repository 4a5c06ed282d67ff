"""The plugins of an agent that works for another: what stands above has a say in its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import Action, Invocation, Judgement, Run

#: The plugins of each run above, with the run as it stands; the nearest first.
Above = Callable[[], Sequence[tuple[AgentPlugins, Run]]]


class DelegatedPlugins(AgentPlugins):
    """The plugins of one agent, with the judges of the runs above it beside its own.

    Args:
        own: the agent's plugins as they are registered.
        above: gives the runs above.
    """

    def __init__(self, own: AgentPlugins, above: Above) -> None:
        """Share what is registered; nothing is checked again."""
        vars(self).update(vars(own))
        self._above = above

    def verdicts(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> tuple[Judgement, ...]:
        """Return every opinion, those from above last."""
        own = super().verdicts(run, proposal, action, earlier)
        beside = (
            judgement
            for plugins, above in self._above()
            for judgement in plugins.verdicts_below(above, run, proposal, action)
        )
        return (*own, *beside)
