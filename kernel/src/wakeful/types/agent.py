"""One agent as its plugins see it, and what its runs may use."""

from __future__ import annotations

from attrs import frozen

from wakeful.types.prompt import Profile


@frozen
class Limits:
    """Limits of a run; 0 = none. Shared with its sub-agents.

    Args:
        steps: model calls.
        seconds: wall-clock time.
        tokens: input and output tokens together.
        cost: US dollars, where prices are known.
        sub_agents: runs of sub-agents that a run may start, those of its sub-agents counted.
        depth: how deep sub-agents may stand in each other.
    """

    steps: int = 50
    seconds: float = 900.0
    tokens: int = 0
    cost: float = 0.0
    sub_agents: int = 20
    depth: int = 3


@frozen
class Retry:
    """How long transient faults of a provider are waited out.

    Args:
        total_s: seconds after the first try beyond which no other one starts; 0 = never try again.
    """

    total_s: float = 120.0


@frozen
class ActionChange:
    """A change of one run's actions, made by its caller.

    Args:
        kind: ``add`` or ``remove``.
        action: of ``add`` a reference such as ``crm:export``; of ``remove`` a tool name.
        scope: ``root`` (this run alone), ``global`` (it and those below), ``all_subagents`` or ``specific``.
        agents: of ``specific``: the names of the agents.
    """

    kind: str
    action: str
    scope: str = "global"
    agents: tuple[str, ...] = ()


@frozen
class AgentView:
    """One agent as its plugins see it. Values only: a plugin gets its services when it is built.

    Args:
        name: the agent's name in the file.
        model: ``scheme:name``.
        profile: facts about the model.
        limits: see :class:`Limits`.
        context_tokens: what a request may take at most, the reply included; 0 = the model's window.
        people: whether a plugin stores requests for people, so that a call can wait for one.
        approvers: who may settle what waits for a person.
        reviewed: whether a plugin reviews calls; otherwise a person is asked about those of ``AUTO_REVIEW``.
    """

    name: str
    model: str
    profile: Profile
    limits: Limits
    context_tokens: int = 0
    people: bool = False
    approvers: tuple[str, ...] = ()
    reviewed: bool = False

    @property
    def budget(self) -> int:
        """Tokens that a request may take, those reserved for the reply included."""
        return min(self.context_tokens or self.profile.window, self.profile.window)

    @property
    def reserve(self) -> int:
        """Tokens of the budget that are kept for the reply: the model's output limit, at most half of it."""
        return min(self.profile.output, self.budget // 2)
