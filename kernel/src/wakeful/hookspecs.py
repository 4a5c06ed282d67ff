"""The hooks: every place where a plugin can take part, declared and documented.

Six kinds, no others:

declare
    sync, pure, the same answer twice. Answers are merged in a defined order, never in the order of
    installation. An exception stops the agent when it is built. None means nothing to add; asked once,
    when the agent (or, for hooks of the application, the application) is built.
snapshot
    sync, over an immutable view of the run, once per request. An exception leaves the plugin's
    fragments out of this request and is reported.
slot
    a declare that at most one enabled plugin may answer; two are an error when the agent is built.
    None means no claim; the kernel has a plain default. Asked once, when the agent is built.
gather
    async, concurrent, placed in fixed order. An exception leaves the block out and is recorded.
judge
    sync; every answer is kept and the strictest wins. None means no opinion; an exception denies.
event
    async, awaited in order. An exception is collected with the plugin's name and never breaks the
    run. For observers only: lost in a crash, so whatever must happen is a work item.

``AgentHooks`` live in one manager per agent, ``PlatformHooks`` in one per application.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import pluggy

from wakeful.types import (
    Action,
    AgentType,
    AgentView,
    Answer,
    Approvals,
    BackgroundService,
    Envelope,
    Fragment,
    Invocation,
    Json,
    Judgement,
    Layout,
    Lineage,
    Middleware,
    NameRepair,
    Offer,
    Problem,
    Provider,
    Reference,
    Relief,
    Reviewer,
    Run,
    Section,
    Stage,
    Window,
)

#: Entry-point group, pluggy project and prefix of everything that is discovered.
GROUP = "wakeful"

hookimpl = pluggy.HookimplMarker(GROUP)
_hookspec = pluggy.HookspecMarker(GROUP)

_F = TypeVar("_F", bound=Callable[..., Any])


class Kind(StrEnum):
    """The six kinds of hooks; see the module's text."""

    DECLARE = "declare"
    SNAPSHOT = "snapshot"
    SLOT = "slot"
    GATHER = "gather"
    JUDGE = "judge"
    EVENT = "event"


def _hook(kind: Kind) -> Callable[[_F], _F]:
    def mark(function: _F) -> _F:
        function.wakeful_kind = kind  # type: ignore[attr-defined]  # read back by the facade and docs
        return _hookspec(function)

    return mark


class AgentHooks(Protocol):
    """Hooks of one agent."""

    # ---- prompt
    @_hook(Kind.DECLARE)
    def prompt_sections(self, agent: AgentView) -> Sequence[Section]:
        """Give static sections of the system prompt, frozen for the epoch.

        Merged by (order, name). The agent's own instructions are order 0. None means nothing.
        """

    @_hook(Kind.SNAPSHOT)
    def prompt_state(self, run: Run) -> Sequence[Fragment] | None:
        """Give runtime-state fragments, asked before each request. State only, never rules.

        Merged by (order, name). None means nothing now.
        """

    @_hook(Kind.GATHER)
    async def prompt_context(self, run: Run) -> Sequence[Fragment]:
        """Give fragments retrieved at turn start; they live as long as the turn.

        Merged by (order, name), whatever finishes first. None means nothing.
        """

    @_hook(Kind.SLOT)
    def prompt_window(self, agent: AgentView) -> Window:
        """Choose which rows are sent. Default: all of them."""

    @_hook(Kind.SLOT)
    def prompt_layout(self, agent: AgentView) -> Layout:
        """Compose requests: where the state goes, breakpoints, fingerprint.

        Default: sections in the system prompt, state as the last user text, no breakpoints.
        """

    @_hook(Kind.DECLARE)
    def prompt_relief(self, agent: AgentView) -> Sequence[Relief]:
        """Give strategies that shorten what is sent: 0.65 of the budget batched expiry … 1.0 overflow.

        Tried by (share, order, name) where the next request takes that share of the budget, and those of
        1.0 also when the provider says that a request is too long. Rows stay as they are; what a strategy
        changes is stored as a rewrite of the view before it is sent, so that every later request, after a
        restart too, sends the same. A rewrite gives the view another name: a declared break of the prefix.
        """

    # ---- tools
    @_hook(Kind.DECLARE)
    def tool_actions(self, agent: AgentView) -> Sequence[Action]:
        """Give actions. Merged by tool name; two of one name stop the agent and name both owners."""

    @_hook(Kind.SLOT)
    def tool_offer(self, agent: AgentView) -> Offer:
        """Decide which actions a model is shown and what its calls mean.

        Default: all of them, each under its own name.
        """

    @_hook(Kind.SLOT)
    def tool_repair(self, agent: AgentView) -> NameRepair:
        """Find the tool that a name means which no tool has, before a call is resolved and judged.

        Default: nothing is repaired; such a call fails with near names.
        """

    @_hook(Kind.DECLARE)
    def tool_references(self, agent: AgentView) -> Sequence[Reference]:
        """Say where arguments may be taken from: ``{"$from": "<name>…"}``. Merged by name.

        The kernel has ``conversation[n]``, the text of a row. An argument that is exactly such an object is
        replaced before it is checked and judged; how far the value may be believed travels with it.
        """

    @_hook(Kind.DECLARE)
    def tool_middleware(self, agent: AgentView) -> Sequence[Middleware]:
        """Give middleware around executions, outermost first by (order, name).

        For retries and tracing only; limits and guards are judges.
        """

    # ---- results
    @_hook(Kind.DECLARE)
    def result_stages(self, agent: AgentView) -> Sequence[Stage]:
        """Give stages that turn results into results; run by (phase, name).

        They run in call order, in the step's closing transaction. A stage that raises fails that
        call's result with the code STAGE_FAILED; the other calls are not touched.
        """

    @_hook(Kind.SLOT)
    def result_envelope(self, agent: AgentView) -> Envelope:
        """Mark text from outside as data: results, fragments that are not trusted, inbound text.

        Default: the text as it is.
        """

    # ---- policy
    @_hook(Kind.JUDGE)
    def policy_verdict(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> Judgement | None:
        """Judge a proposed call before any call of its step runs.

        Args:
            run: the run as it stands.
            proposal: the call, its arguments checked.
            action: what it would execute.
            earlier: the step's proposals before this one, so that two halves are seen as one.

        Returns:
            None for no opinion. The strictest verdict wins; all reasons are stored.
        """

    @_hook(Kind.JUDGE)
    def policy_below(self, run: Run, child: Run, proposal: Invocation, action: Action) -> Judgement | None:
        """Judge a call that a sub-agent of the run proposes, beside the sub-agent's own judges.

        Args:
            run: the run that delegated, directly or through another sub-agent, as it stands.
            child: the sub-agent's run.
            proposal: the call, its arguments checked.
            action: what it would execute.

        Returns:
            None for no opinion. The strictest verdict of all judges wins.
        """

    @_hook(Kind.SLOT)
    def policy_reviewer(self, agent: AgentView) -> Reviewer:
        """Resolve AUTO_REVIEW. Default: a person must approve."""

    @_hook(Kind.SLOT)
    def policy_approvals(self, agent: AgentView) -> Approvals:
        """Store and settle approvals. Default: whatever needs one is denied."""

    # ---- run
    @_hook(Kind.DECLARE)
    def agent_types(self) -> Sequence[AgentType]:
        """Name ways in which a turn decides its next step; ``type = "…"`` chooses one.

        Merged by name; two of one name stop the agent and name both plugins. The kernel has ``loop``.
        """

    @_hook(Kind.DECLARE)
    def agent_warnings(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[str]:
        """Name what a careful owner should know of the plugin's settings for this agent, one sentence each.

        Asked when somebody looks, as ``wakeful doctor`` does. None means nothing.

        Args:
            agent: the agent.
            actions: what it may call, by tool name.
        """

    @_hook(Kind.DECLARE)
    def option_problems(
        self, agent: AgentView, options: Mapping[str, Mapping[str, Json]]
    ) -> Sequence[Problem]:
        """Name what is wrong with the options that a caller gives a run for the plugin.

        Asked for each turn that is given any, before anything of it is stored; the turn is refused with
        everything that is wrong. None means nothing.

        Args:
            agent: the agent.
            options: plugin name to what the caller gives it, as JSON; perhaps nothing for the plugin.
        """

    @_hook(Kind.EVENT)
    async def turn_ended(self, run: Run, answer: Answer) -> None:
        """Observe the end of a turn, after its answer is stored."""


class PlatformHooks(Protocol):
    """Hooks of the application, needed before an agent exists."""

    @_hook(Kind.DECLARE)
    def model_providers(self) -> Sequence[Provider]:
        """Give providers; a scheme is the name of exactly one."""

    @_hook(Kind.DECLARE)
    def background_services(self) -> Sequence[BackgroundService]:
        """Give what runs beside the agents while the application is open, e.g. a local server.

        Asked once, after the agents are built, so that a provider knows which models are in use. Services
        start at the same time, before any run, and stop after the last. One that fails, or does not start
        in time, is a problem of the agents that use the plugin; others run.
        """

    @_hook(Kind.DECLARE)
    def store_tables(self) -> Sequence[Lineage]:
        """Give lineages of migrations; ``wakeful db upgrade`` applies them in dependency order."""


def specs(owner: type) -> dict[str, Kind]:
    """Return the hooks of ``AgentHooks`` or ``PlatformHooks`` by name, with their kinds."""
    return {name: value.wakeful_kind for name, value in vars(owner).items() if hasattr(value, "wakeful_kind")}
