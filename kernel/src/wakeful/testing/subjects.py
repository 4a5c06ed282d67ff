"""The plugin under test: its class, instances of it, and agents that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import frozen

from wakeful.app import Agent, App
from wakeful.app import open as open_app
from wakeful.app.plugins import instance
from wakeful.hookspecs import AgentHooks, PlatformHooks, specs
from wakeful.loop.services import PluginServices
from wakeful.plugins.hooks import PlatformPlugins
from wakeful.plugins.loader import installed, load
from wakeful.testing.clock import FakeClock
from wakeful.testing.ids import FakeIds
from wakeful.testing.models import Line, ScriptedModel
from wakeful.types import Action, Json, Problem, canonical


@frozen
class Subject:
    """A plugin by the name of its entry point, with the settings it is tested with."""

    name: str
    settings: Mapping[str, Json]
    folder: Path

    @property
    def entry(self) -> EntryPoint:
        """Its one entry point."""
        found = installed().get(self.name, ())
        assert len(found) == 1, (
            f"plugin {self.name!r}: expected one entry point of the group 'wakeful' with this name, found"
            f" {len(found)}; install the distribution (again)"
        )
        return found[0]

    @property
    def package(self) -> str:
        """The import package that holds it."""
        return self.entry.module.partition(".")[0]

    @property
    def root(self) -> Path:
        """The folder of that package, or of its single module."""
        spec = find_spec(self.package)
        assert spec is not None, f"plugin {self.name!r}: the package {self.package!r} cannot be found"
        if spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations)))
        return Path(str(spec.origin)).parent

    def load(self) -> type:
        """Return its class."""
        loaded = load([self.name])
        assert self.name in loaded.classes, told(loaded.problems.get(self.name, ()))
        return loaded.classes[self.name]

    def make(self) -> object:
        """Return a new instance, with settings and services of its own."""
        services = PluginServices(self.name, FakeClock(), FakeIds(), self.folder)
        return instance(self.load(), self.name, dict(self.settings), f"plugins.{self.name}", services)

    def hooks(self, plugin: object) -> dict[str, str]:
        """Return the hooks an instance implements, with their kinds."""
        known = {**specs(AgentHooks), **specs(PlatformHooks)}
        return {
            name: kind
            for name, kind in known.items()
            if hasattr(getattr(type(plugin), name, None), "wakeful_impl")
        }


def told(problems: Sequence[Problem]) -> str:
    """Return problems as lines."""
    return "\n".join(str(problem) for problem in problems) or "it cannot be loaded"


def agent_with(
    plugins: Sequence[str | object],
    settings: Mapping[str, Mapping[str, Json]],
    folder: Path,
    replies: Sequence[Line] = (),
) -> AbstractAsyncContextManager[App]:
    """Open an application with one agent, ``agent``, that has the plugins and a scripted model."""
    agent = Agent(model=ScriptedModel(list(replies)), plugins=plugins, settings=settings, folder=folder)
    return open_app(agent, clock=FakeClock(), ids=FakeIds())


async def declarations(
    plugins: Sequence[str | object], settings: Mapping[str, Mapping[str, Json]], folder: Path
) -> str:
    """Return everything the plugins declare for an agent and for the application, as canonical JSON."""
    async with agent_with(plugins, settings, folder) as app:
        assert not app.problems("agent"), told(app.problems("agent"))
        built = app.agents["agent"]
        platform = PlatformPlugins(built.instances)
        return canonical(
            {
                "prefix": built.declared.dump(),
                "actions": [spelled(action) for action in built.actions.values()],
                "stages": [[stage.phase, stage.name] for stage in built.stages],
                "reliefs": [
                    [plugin, each.name, each.share, each.until, each.order, each.between_runs]
                    for plugin, each in built.reliefs
                ],
                "middleware": [[each.order, each.name] for each in built.middleware],
                "slots": app.describe("agent").slots,
                "providers": sorted(platform.providers()),
                "tables": [[each.owner, each.locations, each.depends_on] for each in platform.lineages()],
            }
        )


def spelled(action: Action) -> list[Json]:
    """Return what is declared about an action, its function left out."""
    return [
        action.tool_name,
        action.name,
        action.description,
        action.schema,
        [action.effect, action.output_trust, action.idempotent, action.can_stage, action.pinned],
        [
            action.timeout_s,
            action.max_executions,
            action.min_executions,
            action.spill_chars,
            action.spill_kind,
            action.tier,
        ],
        [[param.name, param.description, param.role, param.direction] for param in action.params],
        [[code.code, code.success, code.description] for code in action.result_codes],
        [action.keywords, action.category, action.external_if_present, action.owner],
    ]


def documented(subject: Subject) -> str:
    """Return the text of the README of the plugin's distribution: beside its sources, else as published."""
    for folder in (subject.root, *subject.root.parents[:3]):
        file = folder / "README.md"
        if file.is_file() and (folder / "pyproject.toml").is_file():
            return file.read_text(encoding="utf-8")
    distribution: Any = subject.entry.dist
    described = distribution.metadata.get_payload() or distribution.metadata.get("Description")
    return str(described or "")
