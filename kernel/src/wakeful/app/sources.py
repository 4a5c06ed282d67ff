"""What ``wakeful.open`` is given: a file, a configuration, or agents written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from wakeful.app.definition import Agent, Blueprint, blueprint
from wakeful.config import AppConfig, StoreConfig, load_config
from wakeful.types import Json


def _with_delegates(agent: Agent) -> list[Agent]:
    """Return an agent and all that it may delegate to, each once."""
    found: list[Agent] = []
    todo = [agent]
    while todo:
        each = todo.pop(0)
        if not any(each is other for other in found):
            found.append(each)
            todo += each.sub_agents
    return found


def settings_of_file(config: AppConfig) -> dict[str, Mapping[str, Json]]:
    """Return what plugins that serve the application are set to: the file's tables.

    A plugin that has none there takes the table of the first agent that has one.
    """
    agents = reversed(list(config.agents.values()))
    return {name: raw for agent in agents for name, raw in agent.settings.items()} | dict(config.plugins)


def read_source(source: str | Path | Agent | AppConfig) -> tuple[AppConfig, dict[str, Blueprint]]:
    """Return the configuration of a file, or of agents written in Python, with the blueprints of its agents.

    Raises:
        ConfigError: the file is missing or wrong; holds every problem.
    """
    if isinstance(source, Agent):
        plans = {id(agent): blueprint(agent) for agent in _with_delegates(source)}
        folder = Path(source.folder or ".").absolute()
        configs = [plan.config for plan in plans.values()]
        config = AppConfig.from_agents(*configs, store=StoreConfig(source.store), folder=folder)
        named = {plan.config.name: plan for plan in plans.values()}
        return config, {name: evolve(plan, config=config.agents[name]) for name, plan in named.items()}
    config = source if isinstance(source, AppConfig) else load_config(Path(source))
    return config, {name: Blueprint(agent) for name, agent in config.agents.items()}
