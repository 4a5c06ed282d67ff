"""The plugin: the accepted tools of MCP servers as actions, and the service that runs the servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from wakeful.hookspecs import hookimpl
from wakeful.loop.redact import Redactor
from wakeful.types import (
    Action,
    BackgroundService,
    ConfigError,
    DeclarationError,
    Problem,
    Services,
    nearest,
)
from wakeful_mcp.actions import Pinned, action_of, names
from wakeful_mcp.definitions import unusable
from wakeful_mcp.lock import Lock, read_lock
from wakeful_mcp.server import Hub
from wakeful_mcp.settings import McpSettings, ServerSettings
from wakeful_mcp.setup import Setup, setup_of


class Mcp:
    """Gives an agent the tools of MCP servers. One instance for each agent, one more for the application."""

    Settings = McpSettings

    def __init__(self, settings: McpSettings, services: Services, application: Mcp | None = None) -> None:
        self._settings, self._services = settings, services
        self._hub: Hub = Hub(services.clock) if application is None else application._hub  # noqa: SLF001  (its own class)

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Declare what was accepted of each server; no server is asked.

        Raises:
            ConfigError: the lock file cannot be read, or holds a tool that cannot be declared.
        """
        if not self._settings.servers:
            return []
        folder = Path(self._services.folder)
        lock = read_lock(folder / self._settings.lock)
        tools = [
            tool for name, each in self._settings.servers.items() for tool in self._tools(lock, name, each)
        ]
        called = names(tools)
        actions: list[Action] = []
        problems: list[Problem] = []
        for tool in tools:
            name, short = called[tool.server, tool.definition.name]
            setup = setup_of(tool.server, tool.settings, folder)
            try:
                actions.append(action_of(tool, name, short, self._hub.of(setup, self._masked(setup))))
            except DeclarationError as error:
                problems.append(Problem(lock.path.name, str(error)))
        if problems:
            raise ConfigError(problems)
        return actions

    @hookimpl
    def background_services(self) -> Sequence[BackgroundService]:
        """Give what runs the servers."""
        return (self._hub,)

    def _tools(self, lock: Lock, name: str, settings: ServerSettings) -> list[Pinned]:
        """Return the accepted tools that the agent gets of one server; tell what is missing."""
        accepted = lock.of(name)
        if not accepted:
            advice = f"run `wakeful mcp accept {name}`"
            self._services.report(
                f"server {name!r}: no tool of it was accepted yet, so it gives none; {advice}"
            )
            return []
        for glob in settings.tools:
            if not any(fnmatchcase(tool, glob) for tool in accepted):
                hint = nearest(glob, accepted)
                self._services.report(f"server {name!r}: no accepted tool matches {glob!r} in `tools`{hint}")
        return [
            Pinned(name, definition, settings)
            for tool, definition in accepted.items()
            if any(fnmatchcase(tool, glob) for glob in settings.tools) and not unusable(definition)
        ]

    def _masked(self, setup: Setup) -> Callable[[str], str]:
        return masker(setup, getattr(self._services, "secrets", ()))


def masker(setup: Setup, secrets: Sequence[str]) -> Callable[[str], str]:
    """Return what takes the secrets of a configuration, and of one server, out of a text."""
    return Redactor.of((*secrets, *setup.secrets)).text
