"""The ``plugins`` tables: what is enabled, what is disabled, and the settings beside them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from wakeful.config.explain import below_path, did_you_mean, misspelling, shown
from wakeful.config.model import PLUGIN_PREFIX
from wakeful.config.secrets import join
from wakeful.config.structure import Report, try_structure
from wakeful.types import Json

_LISTS = ("enable", "disable")


@frozen
class PluginTable:
    """One ``plugins`` table.

    Args:
        enable: names, in order.
        disable: names.
        settings: plugin to its table.
    """

    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Json]] = field(factory=dict, repr=False)


def read_plugins(raw: Mapping[str, Json], where: str, report: Report) -> PluginTable:
    """Return a ``plugins`` table, the file's or an agent's, and report what is wrong in it."""
    lists: dict[str, tuple[str, ...]] = {}
    settings: dict[str, Mapping[str, Json]] = {}
    for key, value in raw.items():
        path = join(where, key)
        if key in _LISTS:
            lists[key] = _read_names(value, path, report)
        elif isinstance(value, Mapping):
            settings[key] = value
        else:
            hint = did_you_mean(key, _LISTS)
            report(path, f"expected a table of settings for the plugin {key!r}, got {shown(value)}{hint}")
    both = [name for name in lists.get("enable", ()) if name in lists.get("disable", ())]
    for name in both:
        report(where, f"{name!r} is in both enable and disable")
    return PluginTable(lists.get("enable", ()), lists.get("disable", ()), settings)


def _read_names(value: Json, where: str, report: Report) -> tuple[str, ...]:
    names = try_structure(tuple[str, ...], value, lambda path, what: report(below_path(where, path), what))
    if names is None:
        return ()
    for index, name in enumerate(names):
        if not name.strip():
            report(f"{where}[{index}]", "the name of a plugin is empty")
        elif name.startswith(PLUGIN_PREFIX):
            report(
                f"{where}[{index}]", f"expected a plugin's name; did you mean {name[len(PLUGIN_PREFIX) :]!r}?"
            )
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def effective(
    defaults: PluginTable, own: PluginTable, actions: tuple[str, ...], where: str, report: Report
) -> tuple[str, ...]:
    """Return the plugins an agent gets, in the order of the file.

    The file's ``enable``, then the agent's, without the agent's ``disable``; then those that its
    ``actions`` name as ``plugin:x``. A name the file disables stays off unless the agent enables it.

    Args:
        defaults: the file's table.
        own: the agent's.
        actions: the agent's actions.
        where: path of the agent.
        report: told about contradictions and likely misspellings.
    """
    off = {*own.disable, *(name for name in defaults.disable if name not in own.enable)}
    found = [name for name in (*defaults.enable, *own.enable) if name not in off]
    for index, action in enumerate(actions):
        name = action.removeprefix(PLUGIN_PREFIX)
        if not action.startswith(PLUGIN_PREFIX) or not name.strip():
            continue
        if name in off:
            by = f"{where}.plugins" if name in own.disable else "plugins"
            report(f"{where}.actions[{index}]", f"uses the plugin {name!r}, which {by}.disable switches off")
        found.append(name)
    known = {*found, *off & {*defaults.enable, *own.enable}}
    for name in own.disable:
        if name not in known and (near := misspelling(name, known)):
            report(f"{where}.plugins.disable", f"nothing enables the plugin {name!r}; did you mean {near!r}?")
    return tuple(dict.fromkeys(found))
