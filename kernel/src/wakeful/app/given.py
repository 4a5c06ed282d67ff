"""Options that a caller gives for one run, checked before anything of it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wakeful.config.explain import shown
from wakeful.loop.agent import BuiltAgent
from wakeful.plugins.loader import installed
from wakeful.types import ConfigError, Json, Problem, canonical, clean, nearest

Options = Mapping[str, Mapping[str, Json]]


def checked_options(agent: BuiltAgent, options: Options | None) -> Options:
    """Return the options for a run of an agent.

    What is for a plugin that the agent has not enabled is let pass, so that callers need not know.

    Raises:
        ConfigError: they have the wrong shape, are for a plugin that nobody knows, or a plugin cannot use
            its own; everything that is wrong.
        PluginError: a plugin failed to say.
    """
    if not options and isinstance(options, Mapping | None):
        return {}
    problems = list(_problems(agent, options))
    if not problems and options is not None:
        arguments = {"agent": agent.view, "options": options}
        found = (problem for _, problem in agent.plugins.merged("option_problems", arguments, Problem))
        problems = list(dict.fromkeys(found))  # plugins may share what they read
    if problems:
        raise ConfigError(problems)
    return options or {}


def _problems(agent: BuiltAgent, options: object) -> Iterator[Problem]:
    if not isinstance(options, Mapping):
        yield Problem("options", f"expected an object with the names of plugins, got {shown(options)}")
        return
    for name, value in options.items():
        where = f"options.{name}"
        if not isinstance(name, str):
            yield Problem("options", f"expected the names of plugins, got {shown(name)}")
        elif name not in agent.plugins.names and name not in installed():
            yield Problem(where, f"unknown plugin {name!r}{nearest(name, agent.plugins.names)}")
        elif not isinstance(value, Mapping):
            yield Problem(where, f"expected an object, got {shown(value)}")
        elif what := _no_json(value):
            yield Problem(where, f"expected what JSON can express; {what}")


def _no_json(value: Mapping[str, Json]) -> str:
    try:
        canonical(clean(dict(value)))
    except (TypeError, ValueError, RecursionError) as error:
        return " ".join(str(error).split())
    return ""
