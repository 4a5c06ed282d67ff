"""What decides an agent's steps, what only that reaches, and where arguments may be taken from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from attrs import evolve

from wakeful.app.definition import Blueprint
from wakeful.loop.next import LoopType
from wakeful.loop.references import ConversationReference
from wakeful.plugins.hooks import AgentPlugins
from wakeful.plugins.loader import installed
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    AgentType,
    AgentView,
    ConfigError,
    Effect,
    Json,
    Param,
    Problem,
    Reference,
    Trust,
    nearest,
    tool_name,
)

#: Runs a sub-agent: its name, the arguments of the call, and its context.
Delegate = Callable[[str, Mapping[str, Json], ActionContext], Awaitable[ActionResult]]
#: A delegation ends with the limits of the run, not with a time of its own; this is 30 days.
PATIENCE_S: Final = 30 * 86_400.0
#: Argument of a delegation in which the sub-agent is handed a document.
DATA: Final = "payload"


def type_of(plan: Blueprint, plugins: AgentPlugins, where: str) -> tuple[AgentType, str]:
    """Return what decides the agent's steps, and which plugin it is of.

    Raises:
        ConfigError: nothing of that name is there; names the nearest.
    """
    own = LoopType()
    found = {**plugins.types(), own.name: (own, "kernel")}
    if plan.config.type not in found:
        what = f"unknown value {plan.config.type!r}{nearest(plan.config.type, found)}"
        if plan.config.type in installed():
            what = f"no enabled plugin gives the type {plan.config.type!r}; enable the plugin of that name"
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


def delegate_actions(
    plan: Blueprint, plans: Mapping[str, Blueprint], delegate: Delegate | None, where: str
) -> list[Action]:
    """Return an action for each agent that this one may delegate to.

    Raises:
        ConfigError: there is no such agent, or two cannot be told apart; names the nearest.
    """
    names, problems, known = plan.config.sub_agents, list[Problem](), dict[str, str]()
    for index, name in enumerate(names):
        other = known.setdefault(tool_name(name), name)
        if name not in plans:
            what = f"there is no agent {name!r}{nearest(name, plans)}"
        elif name in names[:index]:
            what = f"{name!r} is named twice"
        elif other != name:
            what = f"{other!r} and {name!r} would both be called delegate_to_{tool_name(name)}; rename one"
        else:
            continue
        problems.append(Problem(f"{where}.sub_agents[{index}]", what))
    if problems:
        raise ConfigError(problems)
    return [
        _delegating(name, plans[name].config.description, partial(delegate, name))
        for name in names
        if delegate
    ]


def _delegating(
    name: str, description: str, run: Callable[[Mapping[str, Json], ActionContext], Awaitable[ActionResult]]
) -> Action:
    what = f" It is good for this: {description}" if description else ""
    message = "the whole task, with everything that the sub-agent needs to know"
    data = "a JSON document that goes with it, where the task has data"
    return Action(
        name=f"Delegate to {name}",
        tool_name=f"delegate_to_{tool_name(name)}",
        description=f"Give a task to the sub-agent {name} and get its answer.{what} It sees nothing of this "
        "conversation but the message. Several can be given tasks at the same time.",
        schema={
            "type": "object",
            "properties": {
                "message": {"type": "string", "description": message},
                DATA: {"type": "object", "description": data},
            },
            "required": ["message"],
            "additionalProperties": False,
        },
        run=run,
        params=(
            Param(message, role="content", name="message"),
            Param(data, name=DATA, required=False),
        ),
        effect=Effect.READ,  # what the sub-agent does is judged call by call
        output_trust=Trust.TRUSTED,  # its answer is believed as far as what it has seen
        idempotent=True,
        timeout_s=PATIENCE_S,
        message_type="sub-agent-result",
        owner="kernel",
    )
