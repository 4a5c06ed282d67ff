"""The configuration as values. Everything is checked, resolved and filled in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from attrs import evolve, field, frozen

from wakeful.config.overrides import ActionOverride
from wakeful.config.paths import resolve_path, resolve_url
from wakeful.types import ConfigError, Json, Limits, Problem, Retry, nearest

#: Names of plugins to leave out everywhere, separated by commas; for finding out which one is to blame.
DISABLE_VARIABLE = "WAKEFUL_DISABLE"
#: Prefix of an entry of ``actions`` that enables a plugin.
PLUGIN_PREFIX = "plugin:"


@frozen
class StoreConfig:
    """Where conversations are kept.

    Args:
        url: a SQLAlchemy address, ``sqlite:///…`` or ``postgresql://…``.
        files: folder of large contents, the same for every process that shares the database. Empty:
            ``<database>.files`` beside a SQLite file, for other databases in the folder of the configuration.
    """

    url: str = field(default="sqlite:///wakeful.db", repr=False)
    files: str = ""

    def resolved(self, folder: Path) -> StoreConfig:
        """Return it with relative paths made absolute, from ``folder``."""
        files = self.files
        if not files and not self.url.startswith("sqlite"):
            # Named after the database: what another one keeps in the same folder is not this one's to sweep.
            files = f"{PurePosixPath(urlsplit(self.url).path).name or 'wakeful'}.files"
        return StoreConfig(resolve_url(self.url, folder), str(resolve_path(files, folder)) if files else "")

    @property
    def files_folder(self) -> Path | None:
        """The folder of large contents; None = beside the SQLite file."""
        return Path(self.files) if self.files else None


@frozen
class AgentConfig:
    """One agent.

    Args:
        name: its name in the file.
        model: ``scheme:name``.
        instructions: their text; a file is already read.
        actions: ``module:name``, ``module:glob`` or ``plugin:name`` entries.
        limits: see :class:`Limits`.
        retry: see :class:`Retry`.
        failover: models that stand in, in order, when the agent's own cannot answer.
        side_model: the model of questions that plugins ask by themselves, without the conversation, like
            summaries; empty: the agent's own.
        approvers: who may settle its approvals.
        type: how a turn decides its next step.
        sub_agents: names of agents that it may delegate to.
        description: what an agent that delegates to it is told.
        tool_calling: ``auto``, ``native`` or ``envelope``.
        context_tokens: what a request may take at most, the reply included; 0 = the model's window.
        plugins: names of what is enabled, in the order of the file.
        settings: plugin to its table, the file's defaults and the agent's own merged key by key; also of
            plugins that are not enabled. Secrets are filled in.
        shared: plugin to those keys of its settings that stand in the file's own table.
        action_overrides: name or glob to what changes.
    """

    name: str
    model: str
    instructions: str = field(default="", repr=False)
    actions: tuple[str, ...] = ()
    limits: Limits = Limits()
    retry: Retry = Retry()
    failover: tuple[str, ...] = ()
    side_model: str = ""
    approvers: tuple[str, ...] = ()
    type: str = "loop"
    sub_agents: tuple[str, ...] = ()
    description: str = ""
    tool_calling: str = "auto"
    context_tokens: int = 0
    plugins: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Json]] = field(factory=dict, repr=False)
    shared: Mapping[str, frozenset[str]] = field(factory=dict)
    action_overrides: Mapping[str, ActionOverride] = field(factory=dict)

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes of its models: the names of the plugins that provide them."""
        models = filter(None, (self.model, *self.failover, self.side_model))
        return tuple(dict.fromkeys(model.partition(":")[0] for model in models))


@frozen
class AppConfig:
    """Everything one application needs.

    Args:
        path: the file, or None for agents made in code.
        folder: where relative paths start; absolute.
        store: its address is resolved.
        agents: by name, in the order of the file.
        secrets: values that came from the environment; for redaction, never printed.
        plugins: plugin to the file's own table, for what a plugin does for the whole application.
    """

    path: Path | None
    folder: Path
    store: StoreConfig
    agents: Mapping[str, AgentConfig]
    secrets: tuple[str, ...] = field(default=(), repr=False)
    plugins: Mapping[str, Mapping[str, Json]] = field(factory=dict, repr=False)

    @classmethod
    def from_agents(
        cls,
        *agents: AgentConfig,
        folder: Path | None = None,
        store: StoreConfig | None = None,
        env: Mapping[str, str] | None = None,
    ) -> AppConfig:
        """Return the configuration of agents made in code.

        Args:
            agents: no two of one name.
            folder: where relative paths start; None = the current folder.
            store: None = ``wakeful.db`` in the folder.
            env: the environment; None = that of the process.

        Raises:
            ConfigError: two agents of one name, or an unknown plugin in ``WAKEFUL_DISABLE``.
        """
        base = (folder or Path.cwd()).absolute()
        problems = [
            Problem(f"agent {name!r}", "declared twice; give each agent its own name")
            for name in sorted(
                {each.name for each in agents if [a.name for a in agents].count(each.name) > 1}
            )
        ]
        remaining, unknown = switch_off(
            {each.name: each for each in agents}, os.environ if env is None else env
        )
        if problems or unknown:
            raise ConfigError([*problems, *unknown])
        return cls(None, base, (store or StoreConfig()).resolved(base), remaining)


def switch_off(
    agents: Mapping[str, AgentConfig], env: Mapping[str, str]
) -> tuple[dict[str, AgentConfig], tuple[Problem, ...]]:
    """Return the agents without the plugins of ``WAKEFUL_DISABLE``, and the names in it that are unknown."""
    names = [name for each in env.get(DISABLE_VARIABLE, "").split(",") if (name := each.strip())]
    known = {plugin for agent in agents.values() for plugin in agent.plugins}
    problems = tuple(
        Problem(DISABLE_VARIABLE, f"no agent enables the plugin {name!r}{nearest(name, known)}")
        for name in dict.fromkeys(names)
        if name not in known
    )
    off = {*names, *(PLUGIN_PREFIX + name for name in names)}
    if not off:
        return dict(agents), ()
    remaining = {
        key: evolve(
            agent,
            plugins=tuple(plugin for plugin in agent.plugins if plugin not in off),
            actions=tuple(action for action in agent.actions if action not in off),
        )
        for key, agent in agents.items()
    }
    return remaining, problems
