"""The servers of a configuration file, as the command line needs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from wakeful.config import load_config, structure
from wakeful.types import NotFoundError, WakefulError, nearest
from wakeful_mcp.settings import McpSettings, ServerSettings
from wakeful_mcp.setup import Setup, setup_of

#: The plugin's name in configuration files.
PLUGIN = "mcp"


@frozen
class Use:
    """One agent's use of a server."""

    agent: str
    settings: ServerSettings
    setup: Setup


@frozen
class Configured:
    """The servers of a file.

    Args:
        servers: server to the agents that use it, sorted.
        lock: path of the lock file.
        secrets: values that came from the environment.
    """

    servers: dict[str, list[Use]]
    lock: Path
    secrets: tuple[str, ...]

    def setups(self, server: str) -> list[Setup]:
        """Return the different ways a server is reached."""
        return list(dict.fromkeys(use.setup for use in self.servers[server]))


def configured(file: Path, names: Sequence[str]) -> Configured:
    """Return the servers that the agents of a file use, or the named ones of them.

    Raises:
        ConfigError: the file is wrong.
        NotFoundError: no agent has a server of such a name.
        WakefulError: agents keep their accepted tools in different files.
    """
    config = load_config(file)
    where = f"{config.path.name}: " if config.path else ""
    found: dict[str, list[Use]] = {}
    locks: dict[str, str] = {}
    for agent in config.agents.values():
        if PLUGIN not in agent.plugins:
            continue
        place = f"{where}agents.{agent.name}.plugins.{PLUGIN}"
        settings = structure(McpSettings, agent.settings.get(PLUGIN, {}), place)
        locks.setdefault(settings.lock, agent.name)
        for name, each in settings.servers.items():
            found.setdefault(name, []).append(Use(agent.name, each, setup_of(name, each, config.folder)))
    if len(locks) > 1:
        both = " and ".join(f"{lock!r} (agent {agent!r})" for lock, agent in sorted(locks.items())[:2])
        message = f"{where}agents keep their accepted MCP tools in different files: {both}; give one `lock`"
        raise WakefulError(message)
    for name in names:
        if name not in found:
            hint = nearest(name, found) or "; no agent of the file has one"
            message = f"{where}no agent has an MCP server {name!r}{hint}"
            raise NotFoundError(message)
    if not found:
        message = (
            f"{where}no agent has an MCP server; enable the plugin and add [plugins.{PLUGIN}.servers.NAME]"
        )
        raise NotFoundError(message)
    chosen = {name: found[name] for name in sorted(names or found)}
    return Configured(chosen, config.folder / next(iter(locks), "mcp.lock.json"), config.secrets)
