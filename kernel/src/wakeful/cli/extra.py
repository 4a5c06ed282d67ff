"""Groups of commands: the nearest name for a mistyped one, and the commands that plugins bring."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from wakeful.cli.failures import JSON, no_command
from wakeful.cli.output import note

if TYPE_CHECKING:
    from wakeful.plugins.commands import CommandEntry


class Commands(TyperGroup):
    """A group that answers an unknown command with the nearest one, and no command with its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of the group itself."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of ``args[0]``.

        Raises:
            NotFoundError: there is none.
        """
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise no_command(ctx.command_path, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their first sentences, whole."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(120)) for name, each in self.commands.items()])


class RootCommands(Commands):
    """The commands of wakeful, then those of installed plugins, which are listed from metadata only."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command; ``--json`` among them is the command's."""
        return super().parse_args(ctx, _json_last(args))

    @cached_property
    def brought(self) -> tuple[CommandEntry, ...]:
        """The commands of plugins, read from metadata once."""
        from wakeful.plugins.commands import installed_commands

        return installed_commands()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return wakeful's own command of that name, else the one that a plugin brings, else None."""
        own = super().get_command(ctx, cmd_name)
        if own is None and any(entry.name == cmd_name for entry in self.brought):
            return PluginCommand(cmd_name, self.list_commands(ctx))
        return own

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, those of plugins last."""
        own = super().list_commands(ctx)
        return [*own, *sorted({entry.name for entry in self.brought} - set(own))]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; say so when a plugin's command of the same name cannot be reached."""
        for line in shadowed(self.brought, {args[0]} & set(self.commands)):
            note(f"note: {line}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write wakeful's commands, then those of plugins with what their metadata says."""
        super().format_commands(ctx, formatter)
        others = {entry.name: entry.summary for entry in self.brought if entry.name not in self.commands}
        if others:
            with formatter.section("Commands of installed plugins"):
                formatter.write_dl(sorted(others.items()))


def _json_last(args: list[str]) -> list[str]:
    """Return the arguments with a ``--json`` that stands before the command where every command takes it."""
    first = next((index for index, arg in enumerate(args) if not arg.startswith("-")), len(args))
    if JSON not in args[:first] or first == len(args):
        return args
    moved = [arg for index, arg in enumerate(args) if arg != JSON or index > first]
    end = moved.index("--") if "--" in moved else len(moved)
    return [*moved[:end], JSON, *moved[end:]]


class PluginCommand(TyperCommand):
    """Stands for a plugin's command until it is called.

    Args:
        name: of the command.
        known: names of all commands.
    """

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name, params=[], add_help_option=False, rich_markup_mode=None)
        self._known = known

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep every argument as it is, ``--help`` included: they are the plugin's."""
        ctx.args = args
        return args

    def invoke(self, ctx: Any) -> Any:
        """Import the command and run it.

        Raises:
            ConfigError: it cannot be imported, or is nothing that can be run.
        """
        from wakeful.plugins.commands import load_command

        name = str(self.name)
        return call(load_command(name, self._known), name, list(ctx.args))


def call(value: Any, name: str, args: list[str]) -> Any:
    """Run what an entry point of ``wakeful.commands`` holds.

    Args:
        value: a typer application, a click command, or a plain function with typer's annotations.
        name: of the command.
        args: what follows it.

    Raises:
        ConfigError: it is none of these.
    """
    from wakeful.types import ConfigError, Problem

    path = f"wakeful {name}"
    if hasattr(value, "main") and hasattr(value, "make_context"):
        return value.main(args=args, prog_name=path, standalone_mode=False)
    if not isinstance(value, typer.Typer):
        if not callable(value):
            what = "is neither a typer application, nor a click command, nor a function"
            raise ConfigError([Problem(f"command {name!r}", f"{value!r} {what}")])
        single = typer.Typer(add_completion=False)
        single.command(name)(value)
        value = single
    value.rich_markup_mode = None
    command = typer.main.get_command(value)
    with command.make_context(path, args) as ctx:
        return command.invoke(ctx)


def shadowed(brought: Sequence[CommandEntry], own: Collection[str]) -> list[str]:
    """Return a line for each plugin's command that cannot be reached.

    Args:
        brought: the commands of plugins.
        own: names of wakeful's own commands.
    """
    return [
        f"command {entry.name!r} is wakeful's own; that of {entry.distribution} {entry.version} is not used"
        for entry in brought
        if entry.name in own
    ]
