"""``wakeful init``: a project that works."""

from __future__ import annotations

from pathlib import Path

from wakeful.cli.exits import Exit
from wakeful.cli.files import template, write_all
from wakeful.cli.output import say, say_json

FILES = ("wakeful.toml", "hello.jsonl", "tools.py")
NEXT = ('wakeful run assistant "Hello"', "wakeful chat assistant", "wakeful doctor")


def init_project(folder: Path, *, force: bool, as_json: bool) -> int:
    """Write a configuration, a script that plays the model, and an action.

    Raises:
        ConfigError: a file is there already and ``force`` is False, or cannot be written.
    """
    write_all({folder / name: template(f"init/{name}.template") for name in FILES}, force=force)
    elsewhere = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    if as_json:
        say_json({"written": [str(folder / name) for name in FILES], "next": [*elsewhere, *NEXT]})
        return Exit.OK
    for name in FILES:
        say(f"wrote {folder / name}")
    say("\nnext:")
    for command in (*elsewhere, *NEXT):
        say(f"  {command}")
    return Exit.OK
