"""Checks of a plugin's hook implementations, before any of them is called.

Python would find none of these mistakes until the hook runs, and pluggy only some of them, one at a
time. Everything that is wrong with a plugin is reported at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

from attrs import frozen

from wakeful.hookspecs import GROUP, AgentHooks, PlatformHooks, specs
from wakeful.plugins.hints import fits, hint_of, hint_text
from wakeful.types import Problem, nearest

_MARK = f"{GROUP}_impl"
_SPECS: dict[str, Callable[..., Any]] = {
    name: getattr(owner, name) for owner in (AgentHooks, PlatformHooks) for name in specs(owner)
}
#: Options of the marker that change when or how an implementation is called.
_TRICKS = {
    "wrapper": "wrapping other plugins is not supported; return a middleware or a stage instead",
    "hookwrapper": "wrapping other plugins is not supported; return a middleware or a stage instead",
    "tryfirst": "order comes from data (the order and name of what is returned); remove tryfirst",
    "trylast": "order comes from data (the order and name of what is returned); remove trylast",
}


@frozen
class Impl:
    """One implementation of a hook.

    Args:
        plugin: the plugin's name.
        hook: the hook's name.
        function: the bound method.
        takes: the names of the hook's arguments that it asks for.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    takes: tuple[str, ...]

    def call(self, arguments: Mapping[str, object]) -> Any:
        """Call it with those of ``arguments`` that it asks for."""
        return self.function(**{name: arguments[name] for name in self.takes})


def check_plugin(name: str, plugin: object) -> tuple[tuple[Impl, ...], tuple[Problem, ...]]:
    """Return a plugin's implementations of any hook, and everything that is wrong with them.

    Nothing of the plugin runs: properties and other descriptors are not touched.

    Args:
        name: the plugin's name, for the problems.
        plugin: an instance or a module.
    """
    if isinstance(plugin, type):
        return (), (Problem(f"plugin {name!r}", f"{plugin.__qualname__} is a class; give an instance of it"),)
    impls: dict[str, Impl] = {}
    problems: list[str] = []
    for attribute, function, options in _attributes(plugin):
        if options is None:
            if attribute in _SPECS:
                problems.append(
                    f"{attribute} is a hook but is not marked with @hookimpl, so it is never called"
                )
            continue
        hook = options.get("specname") or attribute
        if function is None:
            problems.append(f"{hook} is a property; a hook must be a method")
        elif hook not in _SPECS:
            if not options.get("optionalhook"):
                problems.append(f"{hook} is not a hook{nearest(hook, _SPECS)}")
        elif hook in impls:
            problems.append(f"{hook} is implemented twice (the second time as {attribute})")
        else:
            problems += _check(hook, function, options)
            takes = [each for each in inspect.signature(function).parameters if each in _arguments(hook)]
            impls[hook] = Impl(name, hook, function, tuple(takes))
    return tuple(impls.values()), tuple(Problem(f"plugin {name!r}", what) for what in sorted(problems))


def _attributes(
    plugin: object,
) -> Iterator[tuple[str, Callable[..., Any] | None, Mapping[str, Any] | None]]:
    """Yield (name, bound function, marker options or None); no function for a marked property."""
    for name in dir(plugin):
        value = inspect.getattr_static(plugin, name, None)
        if isinstance(value, property):
            options = _options(value.fget)
            if options is not None:
                yield name, None, options
            continue
        inner = value.__func__ if isinstance(value, staticmethod | classmethod | MethodType) else value
        if isinstance(inner, FunctionType):
            options = _options(value)
            yield name, getattr(plugin, name), _options(inner) if options is None else options


def _options(holder: object) -> Mapping[str, Any] | None:
    options = getattr(holder, _MARK, None)
    return options if isinstance(options, dict) else None


def _arguments(hook: str) -> tuple[str, ...]:
    return tuple(inspect.signature(_SPECS[hook]).parameters)[1:]


def _check(hook: str, function: Callable[..., Any], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with one implementation."""
    for option, advice in _TRICKS.items():
        if options.get(option):
            yield f"{hook} is marked {option}: {advice}"
    if options.get("wrapper") or options.get("hookwrapper"):
        return
    yield from _check_colour(hook, function)
    yield from _check_parameters(hook, function)
    yield from _check_hints(hook, function)


def _check_colour(hook: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield a problem if one of hook and implementation is async and the other is not."""
    wanted = inspect.iscoroutinefunction(_SPECS[hook])
    # A decorator made with functools.wraps hides that the function below it is async.
    plain = inspect.unwrap(function)
    if inspect.isasyncgenfunction(plain):
        yield f"{hook} is an async generator; it must {'await and return' if wanted else 'return'} a sequence"
    elif wanted and not inspect.iscoroutinefunction(plain):
        yield f"{hook} must be declared with async def"
    elif not wanted and inspect.iscoroutinefunction(plain):
        yield f"{hook} must be declared with def, not async def"


def _check_parameters(hook: str, function: Callable[..., Any]) -> Iterator[str]:
    known = _arguments(hook)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            yield f"{hook} takes {stars}{parameter.name}; name the arguments it needs: {', '.join(known)}"
        elif parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            kind = parameter.kind.description
            yield f"{hook}: argument {parameter.name!r} is {kind}; it must be an ordinary one"
        elif parameter.name not in known:
            yield f"{hook} has no argument {parameter.name!r}{nearest(parameter.name, known)}"


def _check_hints(hook: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield a problem for each annotation that contradicts the hook's.

    An argument may be annotated more widely than the hook says, a return value more narrowly.
    Annotations that do not resolve (imported for type checkers only) are not judged.
    """
    spec = _SPECS[hook]
    for name in (*_arguments(hook), "return"):
        if (got := hint_of(function, name)) is None or (want := hint_of(spec, name)) is None:
            continue
        if name == "return":
            fine, label = fits(got.value, want.value | None), "returns"
        else:
            fine, label = fits(want.value, got.value), f"argument {name!r} is"
        if not fine:
            yield f"{hook}: {label} {hint_text(got)}, expected {hint_text(want)}"
