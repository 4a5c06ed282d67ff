"""Reading ``wakeful.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from wakeful.config.agents import Defaults, read_agent
from wakeful.config.explain import below_path, misspelling, shown
from wakeful.config.model import AgentConfig, AppConfig, StoreConfig, switch_off
from wakeful.config.plugins import PluginTable, read_plugins
from wakeful.config.secrets import join, redact, secrets_in, substitute
from wakeful.config.structure import Report, partial
from wakeful.types import ConfigError, Json, Problem

#: Name of the file that is looked for in a folder.
FILE_NAME = "wakeful.toml"


@frozen
class _File:
    """The top of the file. Tables whose keys are the user's own are read one by one."""

    store: Mapping[str, Any] = field(factory=dict)
    plugins: Mapping[str, Any] = field(factory=dict)
    agents: Mapping[str, Any] = field(factory=dict)


def load_config(path: str | Path, env: Mapping[str, str] | None = None) -> AppConfig:
    """Return the configuration of a file, with every address resolved and every secret filled in.

    Args:
        path: the file, or the folder in which ``wakeful.toml`` lies.
        env: the environment; None = that of the process.

    Raises:
        ConfigError: everything that is wrong with the file, sorted by path.
    """
    config, problems = read_config(path, env)
    if problems:
        raise ConfigError(problems)
    return config


def read_config(
    path: str | Path, env: Mapping[str, str] | None = None
) -> tuple[AppConfig, tuple[Problem, ...]]:
    """Return what a file says as far as it is right, and everything that is wrong with it, sorted by path.

    So what it names can be looked at as well before the problems are told. Arguments as for
    :func:`load_config`.

    Raises:
        ConfigError: there is no file, it cannot be read, or it is not TOML.
    """
    env = os.environ if env is None else env
    file = Path(path)
    if file.is_dir():
        file /= FILE_NAME
    written = _read(file)
    found: list[tuple[str, str]] = []

    def report(where: str, what: str) -> None:
        found.append((f"{file.name}: {where}" if where else file.name, what))

    raw = substitute(written, "", env, report)
    secrets = tuple(secrets_in(raw))
    folder = file.absolute().parent
    top = partial(_File, raw, report)
    store = _read_store(top.get("store", {}), folder, report)
    table = read_plugins(top.get("plugins", {}), "plugins", report)
    agents = _read_agents(top.get("agents", {}), Defaults(folder, table), report)
    if "agents" in top or "agents" not in raw:
        _check_any(top.get("agents", {}), report)
    _check_names(table, agents, report)
    remaining, unknown = switch_off(agents, env)
    values = sorted({part for secret in secrets for part in secret.parts if part})
    config = AppConfig(file.absolute(), folder, store, remaining, tuple(values), table.settings)
    # A name or a path in a problem may have come from the environment.
    problems = [Problem(where, redact(what, secrets)) for where, what in sorted(found)]
    return config, (*problems, *unknown)


def _read(file: Path) -> dict[str, Json]:
    """Return the file as tables.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it is not TOML; names the line.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        what = "no such file; `wakeful init` writes one that works"
        raise ConfigError([Problem(str(file), what)]) from None
    except OSError as error:
        raise ConfigError([Problem(str(file), f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(str(file), f"is not UTF-8 (byte {error.start})")]) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error), re.DOTALL)
        what, line = (match[1], int(match[2])) if match else (str(error), text.count("\n") + 1)
        raise ConfigError([Problem(f"{file.name}:{line}", f"not valid TOML: {what}")]) from error


def _read_store(raw: Mapping[str, Json], folder: Path, report: Report) -> StoreConfig:
    values = partial(StoreConfig, raw, lambda path, what: report(below_path("store", path), what))
    store = StoreConfig(**values)
    if "://" not in store.url:
        expected = 'expected an address like "sqlite:///wakeful.db" or "postgresql://host/name"'
        report("store.url", f"{expected}, got {shown(raw.get('url', store.url))}")
    return store.resolved(folder)


def _read_agents(tables: Mapping[str, Json], defaults: Defaults, report: Report) -> dict[str, AgentConfig]:
    agents: dict[str, AgentConfig] = {}
    for name, raw in tables.items():
        where = join("agents", name)
        if not name.strip():
            report(where, "an agent needs a name")
        if isinstance(raw, Mapping):
            agents[name] = read_agent(name, raw, where, defaults, report)
        else:
            report(where, f"expected a table, got {shown(raw)}")
    return agents


def _check_any(tables: Mapping[str, Json], report: Report) -> None:
    if not tables:
        report("agents", "there is no agent; add [agents.<name>] with a model")


def _check_names(table: PluginTable, agents: Mapping[str, AgentConfig], report: Report) -> None:
    """Report names under ``[plugins]`` that are most likely misspelt names of enabled plugins.

    A table for a plugin that nobody enables is fine, and so is disabling one that is off; but a typo there
    would leave a limit or a switch without effect, and nobody would notice.
    """
    enabled = {name for agent in agents.values() for name in agent.plugins} | set(table.enable)
    schemes = {scheme for each in agents.values() for scheme in each.schemes}
    known = enabled | schemes
    for name in table.settings:
        if name not in known and (near := misspelling(name, known)):
            use = f"{near!r} is enabled" if near in enabled else f"a model names {near!r}"
            # Which of the two is the typo is not known here: the loader knows what is installed.
            what = f"no agent uses this plugin, and {use}; one of the two is misspelt"
            report(join("plugins", name), what)
    for name in table.disable:
        if name not in known and (near := misspelling(name, known)):
            report("plugins.disable", f"nothing enables the plugin {name!r}; did you mean {near!r}?")
