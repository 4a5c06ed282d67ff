"""Reading one ``[agents.<name>]`` table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from attrs import field, frozen

from wakeful.config.explain import below_path, did_you_mean, misspelling, shown
from wakeful.config.model import AgentConfig
from wakeful.config.overrides import ActionOverride, is_pattern
from wakeful.config.paths import resolve_path
from wakeful.config.plugins import PluginTable, effective, read_plugins
from wakeful.config.secrets import join
from wakeful.config.structure import Report, partial, try_structure
from wakeful.types import Json, Limits, Retry

FILE_PREFIX = "file:"
_MODEL = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*:\s*\S.*", re.DOTALL)
_N = TypeVar("_N", Limits, Retry)
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)


@frozen
class _AgentTable:
    """What may stand in the table. Tables inside it are read one by one, to report everything."""

    model: str
    instructions: str = ""
    actions: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(factory=dict)
    approvers: tuple[str, ...] = ()
    type: str = "loop"
    sub_agents: tuple[str, ...] = ()
    description: str = ""
    tool_calling: Literal["auto", "native", "envelope"] = "auto"
    context_tokens: int = 0
    failover: tuple[str, ...] = ()
    side_model: str = ""
    retry: Mapping[str, Any] = field(factory=dict)
    plugins: Mapping[str, Any] = field(factory=dict)
    action: Mapping[str, Any] = field(factory=dict)


@frozen
class Defaults:
    """What the rest of the file says about every agent: its folder and its ``plugins`` table."""

    folder: Path
    plugins: PluginTable


def read_agent(
    name: str, raw: Mapping[str, Json], where: str, defaults: Defaults, report: Report
) -> AgentConfig:
    """Return an agent, and report everything that is wrong with its table.

    Args:
        name: the agent's name.
        raw: its table, secrets filled in.
        where: the path of the table.
        defaults: what holds for every agent.
        report: called with (path in the file, what is wrong).
    """
    below = _inside(report, where)
    values = partial(_AgentTable, raw, below)
    _check_models(values, raw, below)
    actions: tuple[str, ...] = values.get("actions", ())
    _check_entries(raw["actions"] if actions else (), below)
    for index, person in enumerate(values.get("approvers", ())):
        if not person.strip():
            below(f"approvers[{index}]", "the name of an approver is empty")
    if not values.get("type", "loop").strip():
        below("type", 'expected the name of an agent type, like "loop", got an empty string')
    if values.get("context_tokens", 0) < 0:
        below("context_tokens", f"expected 0 (the model's window) or more, got {values['context_tokens']}")
    own = read_plugins(values.get("plugins", {}), f"{where}.plugins", report)
    enabled = effective(defaults.plugins, own, actions, where, report)
    models = (values.get("model", ""), *values.get("failover", ()), values.get("side_model", ""))
    known = {*enabled, *(model.partition(":")[0] for model in models)}
    for table in own.settings:
        if table not in known and (near := misspelling(table, known)):
            report(join(f"{where}.plugins", table), f"the agent does not enable it; did you mean {near!r}?")
    return AgentConfig(
        name=name,
        model=values.get("model", ""),
        instructions=_read_instructions(values.get("instructions", ""), defaults.folder, below),
        actions=actions,
        limits=_read_numbers(Limits, values.get("limits", {}), "limits", below),
        retry=_read_numbers(Retry, values.get("retry", {}), "retry", below),
        failover=values.get("failover", ()),
        side_model=values.get("side_model", ""),
        approvers=values.get("approvers", ()),
        type=values.get("type", "loop"),
        sub_agents=values.get("sub_agents", ()),
        description=values.get("description", ""),
        tool_calling=values.get("tool_calling", "auto"),
        context_tokens=values.get("context_tokens", 0),
        plugins=enabled,
        settings=_merge(defaults.plugins.settings, own.settings),
        shared={
            plugin: frozenset(table.keys() - own.settings.get(plugin, {}).keys())
            for plugin, table in defaults.plugins.settings.items()
        },
        action_overrides=_read_overrides(values.get("action", {}), below),
    )


def _check_models(values: Mapping[str, Any], raw: Mapping[str, Json], report: Report) -> None:
    """Report names of models that are none."""
    if "model" in values and not _MODEL.fullmatch(values["model"]):
        report(
            "model", f'expected "scheme:name", like "anthropic:claude-sonnet-5", got {shown(raw["model"])}'
        )
    for index, model in enumerate(values.get("failover", ())):
        if not _MODEL.fullmatch(model):
            report(f"failover[{index}]", f'expected "scheme:name", got {shown(raw["failover"][index])}')
    if values.get("side_model") and not _MODEL.fullmatch(values["side_model"]):
        report("side_model", f'expected "scheme:name", got {shown(raw["side_model"])}')


def _inside(report: Report, where: str) -> Report:
    """Return ``report`` for paths that start at ``where``."""
    return lambda path, what: report(below_path(where, path), what)


def _check_entries(actions: Sequence[str], report: Report) -> None:
    for index, entry in enumerate(actions):
        module, colon, rest = entry.partition(":")
        if not (module.strip() and colon and rest.strip()):
            expected = 'expected "module:name", "module:*" or "plugin:name"'
            report(f"actions[{index}]", f"{expected}, got {shown(entry)}")


def _read_numbers(cls: type[_N], raw: Mapping[str, Json], key: str, report: Report) -> _N:
    """Return a table of numbers, none of which may be negative."""
    values = partial(cls, raw, _inside(report, key))
    for name, value in values.items():
        if value < 0:
            zero = "0 (no limit)" if cls is Limits else "0"
            report(f"{key}.{name}", f"expected {zero} or more, got {value}")
    return cls(**values)


def _read_overrides(raw: Mapping[str, Json], report: Report) -> dict[str, ActionOverride]:
    found: dict[str, ActionOverride] = {}
    for pattern, table in raw.items():
        where = join("action", pattern)
        override = try_structure(ActionOverride, table, _inside(report, where))
        if override is None:
            continue
        for key in ("name", "tool_name"):
            if is_pattern(pattern) and getattr(override, key) is not None:
                report(f"{where}.{key}", f"can be set for one action, not for the pattern {pattern!r}")
        found[pattern] = override
    return found


def _merge(
    defaults: Mapping[str, Mapping[str, Json]], own: Mapping[str, Mapping[str, Json]]
) -> dict[str, dict[str, Json]]:
    """Return the settings of each plugin: the agent's keys replace the file's, whole values at a time."""
    return {name: {**defaults.get(name, {}), **own.get(name, {})} for name in (*defaults, *own)}


def _read_instructions(written: str, folder: Path, report: Report) -> str:
    """Return the text of the instructions, from a file if they say ``file:``."""
    text, source = written, "instructions"
    if written.startswith(FILE_PREFIX):
        path = resolve_path(written[len(FILE_PREFIX) :].strip(), folder)
        source = path.name
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            report("instructions", f"there is no file {path}{_near_file(path)}")
            return ""
        except OSError as error:
            report("instructions", f"{path} cannot be read: {error.strerror}")
            return ""
        except UnicodeDecodeError as error:
            report("instructions", f"{path} is not UTF-8 (byte {error.start})")
            return ""
    problem = placeholder(text, source)
    if problem:
        report("instructions", problem)
    return text


def placeholder(text: str, source: str) -> str:
    """Return what is wrong with instructions that hold a ``{{ … }}``; empty if they hold none.

    Args:
        text: the instructions.
        source: where they stand, in words.
    """
    template = _TEMPLATE.search(text)
    if template is None:
        return ""
    found = " ".join(template[0].split())
    name = " ".join(re.findall(r"\w+", found)[:4]).replace("_", " ") or "its name"
    return (
        f"{found!r} in {source}: instructions are plain text, so that the prompt stays the same between "
        f"requests; give what changes as a runtime-state fragment (hook prompt_state), e.g. {name!r}"
    )


def _near_file(path: Path) -> str:
    """Return a hint to the file that was probably meant, or that the folder is missing."""
    if not path.parent.is_dir():
        return f"; the folder {path.parent} does not exist"
    return did_you_mean(path.name, (each.name for each in path.parent.iterdir() if each.is_file()))
