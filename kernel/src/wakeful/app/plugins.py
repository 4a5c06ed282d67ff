"""Making plugin instances: one per agent, and one for the application where a plugin serves it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen, has

from wakeful.config import AgentConfig, structure
from wakeful.hookspecs import GROUP, PlatformHooks, specs
from wakeful.loop.services import PluginServices
from wakeful.plugins.hooks import PlatformPlugins
from wakeful.plugins.loader import Loaded, load
from wakeful.types import Clock, ConfigError, IdSource, Json, Problem, Provider, WakefulError


@frozen(eq=False)
class Ambient:
    """What every part of an application shares."""

    clock: Clock
    ids: IdSource
    folder: Path
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def services(self, plugin: str) -> PluginServices:
        """Return fresh services bound to the namespace of ``plugin``."""
        return PluginServices(plugin, self.clock, self.ids, self.folder, self.secrets)


def settings_of(plugin: type, name: str, raw: Mapping[str, Json], where: str) -> object:
    """Return the structured settings of a plugin.

    Raises:
        ConfigError: unknown keys, wrong types, or settings for a plugin that has none.
    """
    cls = getattr(plugin, "Settings", None)
    if cls is None:
        if raw:
            raise ConfigError([Problem(where, f"plugin {name!r} has no settings")])
        return None
    return structure(cls, raw, where)


def instance(
    plugin: object,
    name: str,
    raw: Mapping[str, Json],
    where: str,
    services: PluginServices,
    application: object = None,
) -> object:
    """Return an instance of a plugin class, or the object itself if it is one already.

    Args:
        plugin: the class or object.
        name: of the plugin.
        raw: its settings as they stand in the configuration.
        where: the place of these settings, for problems.
        services: handed to it.
        application: the plugin's instance that serves the application, for an agent's instance.

    Raises:
        ConfigError: its settings are wrong, or making it failed.
    """
    if not isinstance(plugin, type):
        return plugin
    settings = settings_of(plugin, name, raw, where)
    try:
        return plugin(*_arguments(plugin, settings, services, application))
    except WakefulError:
        raise
    except Exception as error:
        raise ConfigError(
            [Problem(where, f"making the plugin raised {type(error).__name__}: {error}")]
        ) from error


def _arguments(plugin: type, *given: object) -> tuple[object, ...]:
    """Return as many of (settings, services, application) as the class takes: a small plugin stays small."""
    if (
        has(plugin)
        or "__init__" in vars(plugin)
        or any("__init__" in vars(base) for base in plugin.__mro__[:-1])
    ):
        takes = [
            parameter
            for parameter in inspect.signature(plugin).parameters.values()
            if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
        ]
        return given[: len(takes)]
    return ()


@contextmanager
def collected(problems: list[Problem]) -> Iterator[None]:
    """Add what is wrong in the block to ``problems`` and go on, so that everything is told at once."""
    try:
        yield
    except ConfigError as error:
        problems += error.problems


def placed_at(problems: Iterable[Problem], place: str, where: str) -> list[Problem]:
    """Return problems with their place in the configuration in front, unless they name it already.

    Args:
        problems: what is wrong.
        place: whose problems they are, e.g. ``wakeful.toml: agents.desk``.
        where: names the configuration in problems.
    """
    return [
        problem
        if problem.where.startswith((f"{where}agents.", where or "agents."))
        else evolve(problem, where=f"{place}: {problem.where}" if problem.where else place)
        for problem in problems
    ]


def placed(problems: Iterable[Problem], agent: AgentConfig, plugin: str, where: str) -> list[Problem]:
    """Return problems of an agent's settings for a plugin, each where its key stands in the file.

    Args:
        problems: as :func:`settings_of` gives them for the agent's own table.
        agent: whose settings they are.
        plugin: its name.
        where: names the configuration in problems.
    """
    own, shared = f"{where}agents.{agent.name}.plugins.{plugin}.", f"{where}plugins.{plugin}."
    keys = agent.shared.get(plugin, frozenset())
    return [
        evolve(problem, where=problem.where.replace(own, shared, 1))
        if problem.where.startswith(own) and re.split(r"[.\[]", problem.where.removeprefix(own))[0] in keys
        else problem
        for problem in problems
    ]


def serves_platform(plugin: object) -> bool:
    """Whether a plugin implements any hook of the application."""
    return any(hasattr(getattr(plugin, name, None), f"{GROUP}_impl") for name in specs(PlatformHooks))


@define(eq=False)
class Platform:
    """The plugins of the application: providers, tables. More are taken in when a model needs them.

    Args:
        ambient: clock, ids and folder.
        settings: plugin name to the application's settings for it.
        where: names the configuration in problems.
    """

    ambient: Ambient
    settings: Mapping[str, Mapping[str, Json]] = field(repr=False)
    where: str
    classes: dict[str, type] = field(factory=dict)
    objects: dict[str, object] = field(factory=dict)
    problems: dict[str, tuple[Problem, ...]] = field(factory=dict)
    _hooks: PlatformPlugins | None = None

    def take(self, names: Iterable[str], own: Mapping[str, object] = {}) -> None:
        """Load what is not loaded yet; what fails is kept under ``problems``."""
        missing = [n for n in names if n not in self.classes and n not in self.objects and n not in own]
        loaded = load(missing) if missing else Loaded({}, {}, {})  # reading all metadata takes a while
        self.classes.update(loaded.classes)
        self.problems.update(loaded.problems)
        for name, plugin in {**loaded.classes, **own}.items():
            if not serves_platform(plugin):
                continue
            try:
                where = f"{self.where}plugins.{name}"
                raw = self.settings.get(name, {})
                self.objects[name] = instance(plugin, name, raw, where, self.ambient.services(name))
            except ConfigError as error:
                self.problems[name] = error.problems
        self._hooks = None

    @property
    def hooks(self) -> PlatformPlugins:
        """The facade over everything taken in so far."""
        if self._hooks is None:
            self._hooks = PlatformPlugins(self.objects)
        return self._hooks

    def provider(self, scheme: str) -> Provider:
        """Return the provider of a scheme, loading the plugin of that name if need be.

        Raises:
            ConfigError: nothing provides it; names the nearest.
        """
        if scheme not in self.hooks.providers():
            self.take([scheme])
        found = self.hooks.providers().get(scheme)
        if found is not None:
            return found
        if scheme in self.problems:
            raise ConfigError(self.problems[scheme])
        what = f"plugin {scheme!r} gives no model provider of that name"
        raise ConfigError([Problem("", what)])

    def get(self, name: str) -> type | None:
        """Return the class of a loaded plugin."""
        return self.classes.get(name)

    def all(self) -> list[Any]:
        """Return the instances, for closing."""
        return list(self.objects.values())
