"""Agents written in Python instead of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from wakeful.config import AgentConfig
from wakeful.config.agents import placeholder
from wakeful.types import Action, ConfigError, Json, Limits, Model, Problem


@frozen(kw_only=True, eq=False)
class Agent:
    """An agent without a file, for ``wakeful.open(Agent(...))``.

    Args:
        model: ``scheme:name``, or a model object.
        name: how ``send`` names it.
        instructions: static text of the system prompt.
        actions: actions, or references such as ``crm:*`` and ``plugin:records``.
        plugins: names of installed plugins, or plugin objects and classes of your own.
        settings: plugin name to its settings.
        limits: of a run.
        type: how a turn decides its next step.
        sub_agents: agents that it may delegate to.
        description: what an agent that delegates to it is told.
        context_tokens: what a request may take at most, the reply included; 0 = the model's window.
        side_model: ``scheme:name`` of the model of questions that plugins ask by themselves, without the
            conversation, like summaries; empty: the agent's own.
        approvers: who may decide.
        store: database URL; the default lives in memory as long as the application is open.
        folder: where relative paths resolve; default: the current folder.
    """

    model: str | Model
    name: str = "agent"
    instructions: str = ""
    actions: Sequence[Action | str] = ()
    plugins: Sequence[str | object] = ()
    settings: Mapping[str, Mapping[str, Json]] = field(factory=dict, repr=False)
    limits: Limits = Limits()
    type: str = "loop"
    sub_agents: Sequence[Agent] = ()
    description: str = ""
    context_tokens: int = 0
    side_model: str = ""
    approvers: Sequence[str] = ()
    store: str = "sqlite://"
    folder: str | Path | None = None


@frozen(eq=False)
class Blueprint:
    """An agent's configuration with the objects that only Python can give."""

    config: AgentConfig
    actions: tuple[Action, ...] = ()
    plugins: Mapping[str, object] = field(factory=dict)
    model: Model | None = None


def blueprint(agent: Agent) -> Blueprint:
    """Return the blueprint of an agent written in Python.

    Raises:
        ConfigError: something among its actions is none, or its instructions hold a placeholder.
    """
    strange = [item for item in agent.actions if not isinstance(item, Action | str)]
    if strange:
        advice = "mark functions with @wakeful.action, or give 'module:name'"
        raise ConfigError(
            [Problem(f"agent {agent.name!r}", f"{item!r} is no action; {advice}") for item in strange]
        )
    problem = placeholder(agent.instructions, "the text")
    if problem:
        raise ConfigError([Problem(f"agent {agent.name!r}: instructions", problem)])
    names: list[str] = []
    objects: dict[str, object] = {}
    for plugin in agent.plugins:
        name = plugin if isinstance(plugin, str) else _name_of(plugin)
        if not isinstance(plugin, str):
            objects[name] = plugin
        names.append(name)
    references = tuple(item for item in agent.actions if isinstance(item, str))
    names += [ref.removeprefix("plugin:") for ref in references if ref.startswith("plugin:")]
    config = AgentConfig(
        name=agent.name,
        model=agent.model if isinstance(agent.model, str) else f"{agent.model.profile.provider}:object",
        instructions=agent.instructions,
        actions=references,
        limits=agent.limits,
        type=agent.type,
        sub_agents=tuple(each.name for each in agent.sub_agents),
        description=agent.description,
        context_tokens=agent.context_tokens,
        side_model=agent.side_model,
        approvers=tuple(agent.approvers),
        plugins=tuple(dict.fromkeys(names)),
        settings=agent.settings,
    )
    actions = tuple(item for item in agent.actions if isinstance(item, Action))
    return Blueprint(config, actions, objects, None if isinstance(agent.model, str) else agent.model)


def _name_of(plugin: object) -> str:
    """Return the name of a plugin object: its ``name``, else its class in lower case."""
    cls = plugin if isinstance(plugin, type) else type(plugin)
    name = getattr(plugin, "name", None)
    return name if isinstance(name, str) else cls.__name__.lower()
