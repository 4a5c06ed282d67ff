"""``wakeful init``: a project that works."""

from __future__ import annotations

from pathlib import Path

from wakeful.cli.exits import Exit
from wakeful.cli.files import template, write_all
from wakeful.cli.output import say, say_json
from wakeful.config import load_config
from wakeful.hookspecs import GROUP
from wakeful.plugins.loader import installed

FILES = ("wakeful.toml", "hello.jsonl", "tools.py")
NEXT = ('wakeful run assistant "Hello"', "wakeful chat assistant", "wakeful doctor")


def init_project(folder: Path, *, force: bool, as_json: bool) -> int:
    """Write a configuration, a script that plays the model, and an action.

    Raises:
        ConfigError: a file is there already and ``force`` is False, or cannot be written.
    """
    write_all({folder / name: template(f"init/{name}.template") for name in FILES}, force=force)
    elsewhere = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    following = [*elsewhere, *_missing(folder / FILES[0]), *NEXT]
    if as_json:
        say_json({"written": [str(folder / name) for name in FILES], "next": following})
        return Exit.OK
    for name in FILES:
        say(f"wrote {folder / name}")
    say("\nnext:")
    for command in following:
        say(f"  {command}")
    return Exit.OK


def _missing(file: Path) -> list[str]:
    """Return the commands that install what provides the models of a file."""
    schemes = {scheme for agent in load_config(file).agents.values() for scheme in agent.schemes}
    return [f"pip install {GROUP}-{scheme}" for scheme in sorted(schemes - installed().keys())]
