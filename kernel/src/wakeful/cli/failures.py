"""Errors as users see them: one clear line each, no traceback unless it is asked for."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say_json

if TYPE_CHECKING:
    from wakeful.types import Json, NotFoundError

TRACEBACK = "--traceback"
VARIABLE = "WAKEFUL_TRACEBACK"
JSON = "--json"


def wants(option: str, args: Sequence[str]) -> bool:
    """Whether a flag stands among the arguments, before a ``--``."""
    return option in args[: args.index("--")] if "--" in args else option in args


def without(option: str, args: Sequence[str]) -> list[str]:
    """Return the arguments without a flag, which may stand anywhere before a ``--``."""
    end = args.index("--") if "--" in args else len(args)
    return [*(arg for arg in args[:end] if arg != option), *args[end:]]


def traceback_wanted() -> bool:
    """Whether errors should show where they were raised; :data:`TRACEBACK` sets the variable."""
    return os.environ.get(VARIABLE, "0") not in {"", "0"}


def report(error: BaseException, *, as_json: bool) -> int:
    """Print an error and return the exit code.

    Args:
        error: what a command raised.
        as_json: print one JSON document to standard output too.
    """
    code, lines = _described(error)
    if traceback_wanted():
        traceback.print_exception(error, file=sys.stderr)
    for line in lines:
        note(f"error: {line}", red=True)
    if as_json:
        say_json({"error": document(error, lines, code)})
    return code


def document(error: BaseException, lines: Sequence[str], code: int) -> Json:
    """Return an error as the object that stands under ``error``."""
    from wakeful.types import ConfigError

    value: dict[str, Json] = {
        "type": type(error).__name__,
        "message": "\n".join(lines),
        "exit_code": int(code),
    }
    if isinstance(error, ConfigError):
        value["problems"] = [{"where": problem.where, "what": problem.what} for problem in error.problems]
    return value


def lines_of(error: BaseException) -> list[str]:
    """Return the lines that describe an error."""
    return _described(error)[1]


def _described(error: BaseException) -> tuple[int, list[str]]:
    from wakeful.types import WakefulError

    if isinstance(error, WakefulError):
        return error.exit_code, [line for line in str(error).splitlines() if line.strip()] or ["failed"]
    if isinstance(error, KeyboardInterrupt):
        return Exit.CANCELLED, ["cancelled"]
    usage = getattr(error, "format_message", None)
    if usage is not None:
        return Exit.CONFIGURATION, [_usage(error, usage())]
    said = " ".join(str(error).split())
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return Exit.RUN_FAILED, [f"unexpected {what} ({TRACEBACK} shows where)"]


def _usage(error: BaseException, said: str) -> str:
    """Return the line for a wrong command line: what is wrong, the nearest option, where help is."""
    from wakeful.types import nearest

    ctx = getattr(error, "ctx", None)
    line = " ".join(said.split())
    option = getattr(error, "option_name", None)
    if ctx is None:
        return line
    if option is not None and type(error).__name__ == "NoSuchOption":
        known = {name for param in ctx.command.get_params(ctx) for name in param.opts if name.startswith("-")}
        line = f"{ctx.command_path} has no option {option!r}{nearest(option, known)}"
    return f"{line.rstrip('.')} (see {ctx.command_path} --help)"


def no_command(path: str, name: str, known: Sequence[str]) -> NotFoundError:
    """Return the error for a command that does not exist."""
    from wakeful.types import NotFoundError, nearest

    return NotFoundError(f"{path} has no command {name!r}{nearest(name, known)}")
