"""What ``wakeful.open`` is given: a file, a configuration, or agents written in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from wakeful.app.definition import Agent, Blueprint, blueprint
from wakeful.app.plugins import collected, placed, settings_of
from wakeful.app.references import given_actions
from wakeful.config import AgentConfig, AppConfig, StoreConfig, read_config
from wakeful.plugins.loader import load
from wakeful.store.urls import parse
from wakeful.types import ConfigError, Json, Problem, StoreError


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


def read_file(path: Path) -> AppConfig:
    """Return the configuration of a file.

    Raises:
        ConfigError: it is missing or wrong. Then what its agents name is looked at as well, and everything
            that is wrong is told at once: plugins that do not load, their settings, modules of actions.
    """
    config, problems = read_config(path)
    problems += _of_store(config, problems)
    if problems:
        more = _beyond(config, [problem.where for problem in problems])
        raise ConfigError(sorted({*problems, *more}, key=lambda each: (each.where, each.what)))
    return config


def _of_store(config: AppConfig, problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return what is wrong with the address of the database, if that was readable."""
    where = f"{_file(config)}store.url"
    if any(problem.where == where for problem in problems):
        return ()
    try:
        parse(config.store.url)
    except StoreError as error:
        return (Problem(where, str(error).removeprefix("store url ")),)
    return ()


def _file(config: AppConfig) -> str:
    return f"{config.path.name}: " if config.path else ""


def _beyond(config: AppConfig, known: Sequence[str]) -> list[Problem]:
    """Return what is wrong with what the agents name, except where a problem is known already."""
    file = _file(config)
    loaded = load(name for agent in config.agents.values() for _, name in _named(agent, ""))
    found: list[Problem] = []
    for agent in config.agents.values():
        where = f"{file}agents.{agent.name}"
        for place, name in _named(agent, where):
            wrong = loaded.problems.get(name, ())
            found += [evolve(problem, where=f"{place}: {problem.where}") for problem in wrong]
            if name in loaded.classes:
                settings: list[Problem] = []
                with collected(settings):
                    raw = agent.settings.get(name, {})
                    settings_of(loaded.classes[name], name, raw, f"{where}.plugins.{name}")
                found += placed(settings, agent, name, file)
        with collected(found):
            given_actions(agent, config.folder, where)
    return [problem for problem in found if not any(_touch(problem.where, place) for place in known)]


def _named(agent: AgentConfig, where: str) -> Iterator[tuple[str, str]]:
    """Yield each plugin that an agent names, after the place where it does."""
    yield from ((where, name) for name in agent.plugins)
    for key, models in (("model", (agent.model, *agent.failover)), ("side_model", (agent.side_model,))):
        yield from ((f"{where}.{key}", model.partition(":")[0]) for model in models if model)


def _touch(one: str, other: str) -> bool:
    """Return whether one of two paths lies at or below the other."""
    short, long = sorted((one, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}[", f"{short}:"))


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
    config = source if isinstance(source, AppConfig) else read_file(Path(source))
    return config, {name: Blueprint(agent) for name, agent in config.agents.items()}
