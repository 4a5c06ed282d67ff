"""Reading skills: folders with a ``SKILL.md`` whose head gives a name and a description."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

from attrs import field, frozen

from wakeful.types import ConfigError, Problem, clean_text, nearest

#: The file of a skill.
FILE: Final = "SKILL.md"
#: Longest name and description, as the public format for skill folders has them.
NAME_CHARS, DESCRIPTION_CHARS = 64, 1_024
#: Longest file that a skill shows, SKILL.md included; what is longer is better found by an action.
FILE_BYTES: Final = 200_000
#: Most files that a skill names.
FILES: Final = 200

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_HEAD = re.compile(r"\A---[ \t]*\n(?P<head>.*?)^---[ \t]*$\n?(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)
#: What else a head may hold; tools of other harnesses read it.
_KNOWN = frozenset(
    {"name", "description", "actions", "license", "compatibility", "metadata", "allowed-tools"}
)


@frozen
class Skill:
    """One skill.

    Args:
        name: as its folder is called.
        description: when to use it.
        folder: where its files are.
        body: what the model reads when it loads the skill.
        actions: tool names that are locked until then.
    """

    name: str
    description: str
    folder: Path
    body: str = field(repr=False)
    actions: tuple[str, ...] = ()

    def files(self) -> tuple[str, ...]:
        """Return the first of the other files of the folder, relative to it, sorted."""
        return tuple(sorted(islice(self._found(), FILES)))

    def _found(self) -> Iterator[str]:
        for folder, below, names in os.walk(self.folder):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                if not name.startswith(".") and path != self.folder / FILE and path.is_file():
                    yield path.relative_to(self.folder).as_posix()

    def read(self, name: str) -> str | None:
        """Return the text of another file of the folder; None if there is none of that name in it.

        Raises:
            ValueError: it is no UTF-8 text, or too long.
        """
        parts = PurePosixPath(name).parts
        home, path = self.folder.resolve(), (self.folder / name).resolve()
        hidden = any(part.startswith(".") for part in parts)  # ".." among them
        if (
            hidden
            or "\0" in name
            or not path.is_relative_to(home)
            or path == home / FILE
            or not path.is_file()
        ):
            return None
        return text_of(path)


def text_of(path: Path) -> str:
    """Return the text of a file, as a prompt can hold it.

    Raises:
        ValueError: it is no UTF-8 text, too long, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES:
            raise ValueError(f"is longer than {FILE_BYTES:,} bytes")
        return clean_text(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"is no UTF-8 text: {error.reason} at byte {error.start}") from None


def read_skills(folders: tuple[str, ...], base: Path) -> dict[str, Skill]:
    """Return the skills below ``folders``, sorted by name.

    Args:
        folders: each is one skill, or holds the folders of several.
        base: where relative ones start.

    Raises:
        ConfigError: with everything that is wrong.
    """
    found: dict[str, Skill] = {}
    problems: list[Problem] = []
    for index, given in enumerate(folders):
        where = f"plugins.skills.folders[{index}]"
        root = (base / Path(given).expanduser()).resolve()
        heads = [root / FILE] if (root / FILE).is_file() else sorted(root.glob(f"*/{FILE}"))
        strange = [path for path in sorted(root.glob("*/*")) if _misspelled(path)]
        problems += [
            Problem(f"{path.parent.name}/{path.name}", f"is called {FILE} where it counts")
            for path in strange
        ]
        if not heads and not strange:
            what = f"{given!r} holds no skill; expected {FILE} in it or in folders below"
            problems.append(Problem(where, what if root.is_dir() else f"there is no folder {given!r}"))
        for head in heads:
            skill = _read(head, problems)
            if skill is None:
                continue
            other = found.setdefault(skill.name, skill)
            if other is not skill:
                both = f"{other.folder.name} and {skill.folder.name}"
                problems.append(Problem(where, f"two skills are named {skill.name!r}: {both}"))
    if problems:
        raise ConfigError(problems)
    return {name: found[name] for name in sorted(found)}


def _misspelled(path: Path) -> bool:
    return path.name != FILE and path.name.upper() == FILE.upper() and not (path.parent / FILE).is_file()


def _read(path: Path, problems: list[Problem]) -> Skill | None:
    where = f"{path.parent.name}/{FILE}"
    before = len(problems)
    try:
        text = text_of(path)
    except ValueError as error:
        problems.append(Problem(where, str(error)))
        return None
    split = _HEAD.match(text)
    if split is None:
        what = "no head; expected a line '---', name and description, and a line '---' at the top"
        problems.append(Problem(where, what))
        return None
    head = _head(split["head"], where, problems)
    if head is None:
        return None
    name, description = head.get("name"), head.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > NAME_CHARS:
        expected = f"lower-case words joined by dashes, at most {NAME_CHARS} characters"
        problems.append(Problem(where, f"name: expected {expected}, got {name!r:.80}"))
    elif name != path.parent.name:
        problems.append(
            Problem(where, f"name: {name!r} is in the folder {path.parent.name!r}; call both alike")
        )
    if not isinstance(description, str) or not description.strip() or len(description) > DESCRIPTION_CHARS:
        expected = f"a text of at most {DESCRIPTION_CHARS} characters that says when to use the skill"
        problems.append(Problem(where, f"description: expected {expected}"))
    actions = head.get("actions", [])
    if not isinstance(actions, list) or not all(isinstance(each, str) for each in actions):
        problems.append(Problem(where, "actions: expected a list of tool names"))
    if len(problems) > before:
        return None
    return Skill(
        str(name), " ".join(clean_text(str(description)).split()), path.parent, split["body"], tuple(actions)
    )


def _head(text: str, where: str, problems: list[Problem]) -> Mapping[str, Any] | None:
    import yaml  # type: ignore[import-untyped]  # ships no types; late: only who has skills pays for it

    try:
        head = yaml.safe_load(text)
    except yaml.YAMLError as error:
        problems.append(Problem(where, f"the head is no YAML: {' '.join(str(error).split())[:200]}"))
        return None
    except RecursionError:
        problems.append(Problem(where, "the head is nested too deep"))
        return None
    if not isinstance(head, dict):
        problems.append(Problem(where, "the head holds no names; expected name and description"))
        return None
    strange = [key for key in head if key not in _KNOWN]
    problems += [Problem(where, f"unknown key {key!r}{nearest(str(key), _KNOWN)}") for key in strange]
    return head
