"""``wakeful plugins``: what is installed, from metadata alone, and who uses it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

from wakeful.app.sources import read_file
from wakeful.cli.exits import Exit
from wakeful.cli.options import DEFAULT_FILE
from wakeful.cli.output import note, say_json, say_table
from wakeful.config import AppConfig
from wakeful.plugins.loader import distribution_name, installed
from wakeful.types import Json


def list_plugins(file: Path, *, as_json: bool) -> int:
    """Print the installed plugins; without a configuration file nobody uses them.

    Raises:
        ConfigError: the file is wrong, or is missing although it was named.
    """
    config = None if file == DEFAULT_FILE and not file.exists() else read_file(file)
    users = {} if config is None else _users(config)
    found = [_described(name, entry, users) for name, entries in installed().items() for entry in entries]
    if as_json:
        say_json({"file": None if config is None else str(config.path), "plugins": found})
        return Exit.OK
    if not found:
        note("no plugin is installed; try: pip install wakeful-replay wakeful-records")
        return Exit.OK
    rows = [
        (
            str(one["name"]),
            f"{one['distribution']} {one['version']}",
            ", ".join(one["agents"]) or "-",
            str(one["summary"]),
        )
        for one in found
    ]
    say_table(("plugin", "distribution", "agents", "summary"), rows)
    if config is None:
        note(f"there is no {file} here, so no agent uses them")
    return Exit.OK


def _users(config: AppConfig) -> Mapping[str, list[str]]:
    """Return for each plugin the agents that enable it, or whose model it provides."""
    users: dict[str, list[str]] = {}
    for name, agent in config.agents.items():
        for plugin in agent.plugins:
            users.setdefault(plugin, []).append(name)
        for plugin in agent.schemes:
            if plugin not in agent.plugins:
                users.setdefault(plugin, []).append(f"{name} (model)")
    return users


def _described(name: str, entry: EntryPoint, users: Mapping[str, list[str]]) -> dict[str, Json]:
    summary = "" if entry.dist is None else entry.dist.metadata["Summary"] or ""
    return {
        "name": name,
        "distribution": distribution_name(entry),
        "version": "" if entry.dist is None else entry.dist.version,
        "summary": " ".join(summary.split()),
        "agents": users.get(name, []),
    }
