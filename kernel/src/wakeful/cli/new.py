"""``wakeful plugin new``: a working plugin with a test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from wakeful.cli.exits import Exit
from wakeful.cli.files import template, write_all
from wakeful.cli.output import say, say_json
from wakeful.plugins.loader import RESERVED, described, installed
from wakeful.types import ConfigError, Problem

#: What a plugin may be called: it becomes part of module, table and tool names.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Template to place below the plugin's folder.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "init.py": "src/wakeful_@name@/__init__.py",
    "test.py": "tests/test_@name@.py",
    "wakeful.toml": "wakeful.toml",
    "script.jsonl": "script.jsonl",
}


def new_plugin(name: str, folder: Path, *, as_json: bool) -> int:
    """Write a plugin: project, package, test, and an agent to try it with.

    Args:
        name: of the plugin.
        folder: where its folder ``wakeful-<name>`` is made.
        as_json: print JSON.

    Raises:
        ConfigError: the name cannot be one or is taken, or the folder is there already.
    """
    _check(name)
    dist = name.replace("_", "-")
    place = folder / f"wakeful-{dist}"
    if place.exists() or place.is_symlink():
        raise ConfigError([Problem(str(place), "is there already; choose another name, or move it away")])
    commands = _commands(name, place)
    words = {
        "name": name,
        "dist": dist,
        "Class": "".join(part.capitalize() for part in name.split("_")),
        "install": commands[0],
        "test": commands[1],
        "run": commands[2],
    }
    contents = {
        place / _filled(path, words): _filled(template(f"plugin/{source}.template"), words)
        for source, path in FILES.items()
    }
    contents[place / f"src/wakeful_{name}/py.typed"] = ""
    write_all(contents)
    if as_json:
        say_json({"folder": str(place), "written": [str(path) for path in contents], "next": commands})
        return Exit.OK
    for path in contents:
        say(f"wrote {path}")
    say("\nnext:")
    for command in commands:
        say(f"  {command}")
    return Exit.OK


def _check(name: str) -> None:
    where = f"plugin {name!r}"
    if not _NAME.fullmatch(name):
        folded = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")[:40]
        hint = f"; did you mean {folded!r}?" if folded else ""
        what = f"is no name for a plugin; expected a lower-case letter, then letters, digits or _{hint}"
        raise ConfigError([Problem(where, what)])
    if name in RESERVED:
        raise ConfigError([Problem(where, "is a word of the configuration; choose another name")])
    taken = installed().get(name)
    if taken:
        raise ConfigError([Problem(where, f"is installed already, from {described(taken[0])}")])


def _commands(name: str, place: Path) -> list[str]:
    """Return the three commands that lead from the new folder to a conversation."""
    here = place.as_posix() if place.is_absolute() else f"./{place.as_posix()}"
    return [
        f"python -m pip install -e {quote(f'{here}[test]')}",
        f"python -m pytest {quote(here)}",
        f'wakeful run {name} "Greet Ada" --file {quote(f"{here}/wakeful.toml")}',
    ]


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], text)
