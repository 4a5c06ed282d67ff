"""What an agent really gets, for ``wakeful doctor`` and for people who ask from Python."""

from __future__ import annotations

from attrs import frozen

from wakeful.app.definition import Blueprint
from wakeful.loop.agent import BuiltAgent
from wakeful.types import Effect, Limits, Profile, Trust

SLOTS = (
    "prompt_window",
    "prompt_layout",
    "tool_offer",
    "tool_repair",
    "result_envelope",
    "policy_reviewer",
    "policy_approvals",
)


@frozen
class ActionReport:
    """One action of an agent."""

    tool_name: str
    owner: str
    effect: Effect
    output_trust: Trust
    max_executions: int | None


@frozen
class AgentReport:
    """One agent: what it is made of, who fills its slots, and what a careful owner should know."""

    name: str
    model: str
    side_model: str
    profile: Profile
    plugins: tuple[str, ...]
    actions: tuple[ActionReport, ...]
    tools: tuple[str, ...]
    deferred: tuple[str, ...]
    sections: tuple[str, ...]
    slots: dict[str, str]
    limits: Limits
    prefix: str
    warnings: tuple[str, ...]


def report(agent: BuiltAgent, plan: Blueprint) -> AgentReport:
    """Return the report of a built agent."""
    actions = tuple(
        ActionReport(name, action.owner, action.effect, action.output_trust, action.max_executions)
        for name, action in agent.actions.items()
    )
    return AgentReport(
        name=agent.name,
        model=agent.view.model,
        side_model=plan.config.side_model,
        profile=agent.view.profile,
        plugins=agent.plugins.names,
        actions=actions,
        tools=tuple(tool.name for tool in agent.declared.tools if not tool.deferred),
        deferred=tuple(tool.name for tool in agent.declared.tools if tool.deferred),
        sections=tuple(section.name for section in agent.declared.sections),
        slots={slot: agent.plugins.slot_owner(slot) or "kernel" for slot in SLOTS},
        limits=agent.view.limits,
        prefix=agent.declared_digest,
        warnings=tuple(_warnings(agent, plan)),
    )


def _warnings(agent: BuiltAgent, plan: Blueprint) -> list[str]:
    found = []
    window = agent.view.profile.window
    if plan.config.context_tokens > window:
        given = f"context_tokens = {plan.config.context_tokens:,}"
        found.append(f"{given} is above the window of {agent.view.model}, {window:,}: the window counts")
    for pattern, override in sorted(plan.config.action_overrides.items()):
        if override.output_trust not in {None, Trust.UNTRUSTED}:
            label = override.output_trust.label if override.output_trust is not None else ""
            found.append(f'action."{pattern}" sets output_trust = "{label}": what it returns is believed')
    risky = sorted(n for n, a in agent.actions.items() if a.effect in {Effect.EXTERNAL, Effect.FETCH})
    outside = sorted(n for n, a in agent.actions.items() if a.output_trust is not Trust.TRUSTED)
    if risky and not agent.plugins.impls("policy_verdict"):
        found.append(
            f"no plugin judges calls, and these can reach outside or cannot be undone: {', '.join(risky)}"
        )
    if outside and agent.plugins.slot_owner("result_envelope") is None:
        found.append(f"no plugin marks outside text as data; it comes from: {', '.join(outside)}")
    if agent.approvals is not None and not agent.view.approvers:
        found.append("approvers names nobody: only an assignee, or an asker where a rule says so, can decide")
    if agent.approvals is None and agent.plugins.impls("policy_verdict"):
        found.append("no plugin stores approvals: whatever needs one is denied")
    return found
