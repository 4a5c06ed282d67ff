"""The entry point ``wakeful``: arguments in, exit code out, errors as clear lines.

Only typer is imported at the top, so that ``wakeful --help`` is quick whatever is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from wakeful.cli.exits import Exit
from wakeful.cli.failures import JSON, TRACEBACK, VARIABLE, report, wants, without
from wakeful.cli.output import prepare_streams


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; see :mod:`wakeful.cli.exits`.

    Args:
        args: without the program's name; default: those of the process.
    """
    given = list(sys.argv[1:] if args is None else args)
    prepare_streams()
    if wants(TRACEBACK, given):
        os.environ[VARIABLE] = "1"
    try:
        code = _run(without(TRACEBACK, given))
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()
        return Exit.PIPE
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001  (the last place that can say what failed)
        try:
            return report(_meant(error, given), as_json=wants(JSON, given))
        except BrokenPipeError:
            _hush()
            return Exit.PIPE
    return code


def _run(args: list[str]) -> int:
    from wakeful.cli.application import app

    group = typer.main.get_command(app)
    try:
        # Not group.main(): it would print errors in its own way.
        with group.make_context("wakeful", args) as ctx:
            code = group.invoke(ctx)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        return Exit.CANCELLED
    return code if isinstance(code, int) else Exit.OK


def _meant(error: BaseException, given: Sequence[str]) -> BaseException:
    """Return what is wrong with the command line, if that is why a text could not be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        return error
    from wakeful.types import ConfigError, Problem, clean_text

    wrong = [each for each in given if clean_text(each) != each]
    return ConfigError([Problem(repr(each), "is not valid UTF-8") for each in wrong]) if wrong else error


def _hush() -> None:
    """Let nothing fail once more when the interpreter flushes its streams at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
