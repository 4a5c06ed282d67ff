"""Registering plugins with pluggy, and calling one hook of each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pluggy

from wakeful.hookspecs import GROUP, specs
from wakeful.plugins import answers
from wakeful.plugins.check import Impl, check_plugin
from wakeful.types import ConfigError, PluginError, Problem

_T = TypeVar("_T")


class _Adapter:
    """What pluggy is given of a plugin: only its hooks, found and checked by :func:`check_plugin`.

    The plugin itself stays out of pluggy's sight, because pluggy compares plugins with ``==`` (two equal
    attrs instances would be one) and looks at all of their attributes.
    """

    def __init__(self, impls: Sequence[Impl]) -> None:
        self.impls = {impl.hook: impl for impl in impls}
        vars(self).update({impl.hook: impl.function for impl in impls})


class _Manager(pluggy.PluginManager):
    """A manager of adapters."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if not isinstance(plugin, _Adapter) or name not in plugin.impls:
            return None
        return {
            "wrapper": False,
            "hookwrapper": False,
            "optionalhook": False,
            "tryfirst": False,
            "trylast": False,
            "specname": None,
        }


class Registry:
    """What both facades share: registering, and calling one hook of every plugin."""

    def __init__(self, owner: type, plugins: Mapping[str, object]) -> None:
        self.names = tuple(plugins)
        """Names of the plugins, in the order of the file."""
        self._manager = _Manager(GROUP)
        self._manager.add_hookspecs(owner)
        known = specs(owner)
        adapters: dict[str, _Adapter] = {}
        problems: list[Problem] = []
        for name, plugin in plugins.items():
            impls, wrong = check_plugin(name, plugin)
            problems += wrong
            adapters[name] = _Adapter([impl for impl in impls if impl.hook in known])
        if problems:
            raise ConfigError(problems)
        for name in reversed(self.names):  # pluggy calls the plugin that was registered last first
            self._manager.register(adapters[name], name=name)
        self._manager.check_pending()

    def impls(self, hook: str) -> list[Impl]:
        """Return the implementations of a hook, in the order of the file."""
        found = getattr(self._manager.hook, hook).get_hookimpls()
        return [each.plugin.impls[hook] for each in reversed(found)]

    def merged(
        self, hook: str, arguments: Mapping[str, object], wanted: type[_T]
    ) -> Iterator[tuple[str, _T]]:
        """Yield (plugin, item) of a declare.

        Raises:
            PluginError: the plugin raised, or returned something else.
        """
        for impl in self.impls(hook):
            try:
                items = answers.many(impl.call(arguments), wanted)
            except Exception as error:
                raise failed(impl, error) from error
            for item in items:
                yield impl.plugin, item

    def single(self, hook: str, arguments: Mapping[str, object], wanted: type[_T]) -> tuple[str, _T] | None:
        """Return (plugin, answer) of a slot, or None if no plugin fills it.

        Raises:
            PluginError: the plugin raised, or returned something else.
            ConfigError: two plugins answered, whatever they gave; names both.
        """
        filled: list[tuple[Impl, object]] = []
        for impl in self.impls(hook):
            try:
                answer = impl.call(arguments)
            except Exception as error:
                raise failed(impl, error) from error
            if answer is not None:
                filled.append((impl, answer))
        if len(filled) > 1:
            both = " and ".join(repr(impl.plugin) for impl, _ in filled)
            raise ConfigError([Problem(hook, f"filled by {both}; disable all but one of them")])
        if not filled:
            return None
        impl, answer = filled[0]
        try:
            return impl.plugin, answers.one(answer, wanted)
        except Exception as error:
            raise failed(impl, error) from error


def failed(impl: Impl, error: Exception | str) -> PluginError:
    """Return the error that names plugin and hook, its text in one line."""
    what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    failure = PluginError(impl.plugin, impl.hook, " ".join(what.split()))
    failure.__cause__ = error if isinstance(error, Exception) else None
    return failure


def sort(found: Iterable[tuple[str, _T]], key: Callable[[_T], tuple[Any, ...]]) -> tuple[_T, ...]:
    """Return the items by their key, then by the plugin's name."""
    ranked = sorted(found, key=lambda pair: (*key(pair[1]), pair[0]))
    return tuple(item for _, item in ranked)


def check_unique(found: Sequence[tuple[str, _T]], what: str, name_of: Callable[[_T], str]) -> None:
    """Refuse two items of one name.

    Raises:
        ConfigError: every name that is there twice, with the plugins that gave it.
    """
    owners: dict[str, list[str]] = {}
    for plugin, item in found:
        owners.setdefault(name_of(item), []).append(plugin)
    problems = []
    for name, plugins in sorted(owners.items()):
        if len(plugins) > 1:
            by = " and ".join(repr(plugin) for plugin in sorted(set(plugins)))
            twice = "" if len(set(plugins)) > 1 else " twice"
            problems.append(Problem(f"{what} {name!r}", f"declared{twice} by {by}; disable or rename one"))
    if problems:
        raise ConfigError(problems)
