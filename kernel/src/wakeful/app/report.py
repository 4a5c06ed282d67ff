"""What an agent really gets, for ``wakeful doctor`` and for people who ask from Python."""

from __future__ import annotations

from attrs import frozen

from wakeful.app.definition import Blueprint
from wakeful.app.warnings import warnings
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
        warnings=warnings(agent, plan),
    )
