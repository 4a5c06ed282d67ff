"""What decides an agent's steps, what only that reaches, and where arguments may be taken from."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from wakeful.app.definition import Blueprint
from wakeful.loop.next import LoopType
from wakeful.loop.references import ConversationReference
from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import Action, AgentType, AgentView, ConfigError, Problem, Reference, nearest


def type_of(plan: Blueprint, plugins: AgentPlugins, where: str) -> tuple[AgentType, str]:
    """Return what decides the agent's steps, and which plugin it is of.

    Raises:
        ConfigError: nothing of that name is there; names the nearest.
    """
    own = LoopType()
    found = {**plugins.types(), own.name: (own, "kernel")}
    if plan.config.type not in found:
        what = f"unknown value {plan.config.type!r}{nearest(plan.config.type, found)}"
        raise ConfigError([Problem(f"{where}.type", what)])
    return found[plan.config.type]


def references_of(plugins: AgentPlugins, view: AgentView, where: str) -> dict[str, Reference]:
    """Return where arguments may be taken from.

    Raises:
        ConfigError: a plugin takes the kernel's own name.
    """
    own, found = ConversationReference(), plugins.references(view)
    if own.name in found:
        what = f"a plugin gives the reference {own.name!r}, which is the kernel's own"
        raise ConfigError([Problem(where, what)])
    return {own.name: own, **found}


def hidden_actions(kind: AgentType, owner: str, shown: Mapping[str, Action], where: str) -> dict[str, Action]:
    """Return the actions that only the agent's type reaches.

    Raises:
        ConfigError: the agent has an action of that name.
    """
    own = {
        action.tool_name: action if action.owner else evolve(action, owner=owner) for action in kind.actions()
    }
    both = sorted(own.keys() & shown.keys())
    if both:
        what = f"type {kind.name!r} has an action {both[0]!r} of its own; give yours another tool_name"
        raise ConfigError([Problem(where, what)])
    return own
