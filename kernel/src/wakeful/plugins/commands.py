"""Commands that plugins add to the command line, listed from metadata without importing anything."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

# ``wakeful --help`` comes here: wakeful.types, which builds many attrs classes, is imported only on use.

#: Entry-point group of commands. A value is what the command line adds: a typer application or a function.
COMMAND_GROUP = "wakeful.commands"


class CommandEntry(NamedTuple):
    """A command as its distribution's metadata describes it.

    Args:
        name: what users type after ``wakeful``.
        value: ``module:attribute`` of the command.
        distribution: who brings it.
        version: of the distribution.
        summary: the distribution's one-line description.
    """

    name: str
    value: str
    distribution: str
    version: str
    summary: str


def installed_commands() -> tuple[CommandEntry, ...]:
    """Return every command of every installed distribution, by name, then by distribution.

    Two distributions that bring the same command are both listed; only using it is an error.
    """
    found = {_describe(entry) for entry in metadata.entry_points(group=COMMAND_GROUP)}
    return tuple(sorted(found, key=lambda each: (each.name, each.distribution, each.value)))


def load_command(name: str, builtin: Iterable[str] = ()) -> Any:
    """Import a command and return it.

    Args:
        name: what was typed.
        builtin: names of other commands, for the hint to the nearest.

    Raises:
        NotFoundError: no distribution brings it; names the nearest command.
        ConfigError: two distributions bring it, or it cannot be imported.
    """
    from wakeful.types import ConfigError, NotFoundError, Problem, nearest

    commands = installed_commands()
    owners = [each for each in commands if each.name == name]
    if not owners:
        hint = nearest(name, [each.name for each in commands] + list(builtin))
        raise NotFoundError(f"no command {name!r}{hint}")
    where = f"command {name!r}"
    if len(owners) > 1:
        both = " and ".join(f"{each.distribution} {each.version}" for each in owners)
        raise ConfigError([Problem(where, f"provided by {both}; uninstall all but one")])
    (owner,) = owners
    try:
        return EntryPoint(owner.name, owner.value, COMMAND_GROUP).load()
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())
        what = f"importing {owner.distribution} {owner.version}: {owner.value} failed with"
        raise ConfigError([Problem(where, f"{what} {type(error).__name__}: {text}")]) from error


def _describe(entry: EntryPoint) -> CommandEntry:
    if entry.dist is None:
        return CommandEntry(entry.name, entry.value, "an unknown distribution", "", "")
    summary = entry.dist.metadata["Summary"] or ""
    return CommandEntry(
        entry.name, entry.value, entry.dist.name, entry.dist.version, " ".join(summary.split())
    )
