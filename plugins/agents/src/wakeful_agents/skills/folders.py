"""Reading skills: folders with a ``SKILL.md`` whose head gives a name and a description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from wakeful.types import ConfigError, Problem, nearest

#: The file of a skill.
FILE: Final = "SKILL.md"
#: Longest name and description, as the public format for skill folders has them.
NAME_CHARS, DESCRIPTION_CHARS = 64, 1_024
#: Longest file that a skill shows.
FILE_CHARS = 200_000

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
        """Return the other files of the folder, relative to it, sorted."""
        inside = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        shown = (path for path in inside if not any(part.startswith(".") for part in path.parts))
        return tuple(sorted(path.as_posix() for path in shown if path.as_posix() != FILE))


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
        if not heads:
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


def _read(path: Path, problems: list[Problem]) -> Skill | None:
    where = f"{path.parent.name}/{FILE}"
    before = len(problems)
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(where, f"cannot be read: {error}"))
        return None
    split = _HEAD.match(text)
    if split is None:
        what = "no head; expected a line '---', name and description, and a line '---' at the top"
        problems.append(Problem(where, what))
        return None
    head = _head(split["head"], where, problems)
    name, description = head.get("name"), head.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > NAME_CHARS:
        expected = f"lower-case words joined by dashes, at most {NAME_CHARS} characters"
        problems.append(Problem(where, f"name: expected {expected}, got {name!r}"))
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
    return Skill(str(name), " ".join(str(description).split()), path.parent, split["body"], tuple(actions))


def _head(text: str, where: str, problems: list[Problem]) -> Mapping[str, Any]:
    import yaml  # type: ignore[import-untyped]  # ships no types; late: only who has skills pays for it

    try:
        head = yaml.safe_load(text)
    except yaml.YAMLError as error:
        problems.append(Problem(where, f"the head is no YAML: {' '.join(str(error).split())[:200]}"))
        return {}
    if not isinstance(head, dict):
        problems.append(Problem(where, "the head holds no names; expected name and description"))
        return {}
    strange = [key for key in head if key not in _KNOWN]
    problems += [Problem(where, f"unknown key {key!r}{nearest(str(key), _KNOWN)}") for key in strange]
    return head
