"""One tox environment per distribution that is found, so that no list needs upkeep.

``kernel`` has the kernel and nothing else; ``plugins-x`` and ``contrib-x`` one distribution with the kernel
and the members it requires; ``all`` everything; ``minimum`` the tests of all of them
at the lowest versions promised.
Distributions are installed from their folders, as anyone without the workspace would.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tox.config.loader.memory import MemoryLoader
from tox.config.sets import ConfigSet
from tox.config.types import Command, EnvList
from tox.plugin import impl
from tox.session.state import State

ROOT = Path(__file__).parent


def _read(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


WORKSPACE = _read(ROOT)
BASE = [ROOT / "migrations", ROOT / "kernel"]
EXTRA = [
    path.parent for kind in ("plugins", "contrib") for path in sorted(ROOT.glob(f"{kind}/*/pyproject.toml"))
]
MEMBERS = {_read(folder)["project"]["name"]: folder for folder in [*BASE, *EXTRA]}


def _group(project: dict[str, Any], name: str) -> list[str]:
    """Return the requirements of a dependency group; groups that include others are not needed here."""
    return [text for text in project.get("dependency-groups", {}).get(name, []) if isinstance(text, str)]


def _required(folder: Path) -> list[Path]:
    """Return a member after the members that it requires, for running or for its tests."""
    project = _read(folder)
    found: list[Path] = []
    for text in [*project["project"].get("dependencies", []), *_group(project, "test")]:
        name = re.split(r"[^\w.-]", text, maxsplit=1)[0]
        if name in MEMBERS and MEMBERS[name] not in found:
            found += [member for member in _required(MEMBERS[name]) if member not in found]
    return [*found, folder]


def _others(folder: Path) -> list[str]:
    """Return what a member's tests need that is no member."""
    return [text for text in _group(_read(folder), "test") if re.split(r"[^\w.-]", text)[0] not in MEMBERS]


def _environment(
    text: str, folders: Iterable[Path], tests: Iterable[str], *, lowest: bool = False
) -> MemoryLoader:
    folders = list(dict.fromkeys([*BASE, *folders]))
    variables = {"UV_NO_SOURCES": "1"}
    if lowest:  # without the pins of the root's pyproject.toml, which uv applies to the other environments
        variables |= {"UV_NO_CONFIG": "1", "UV_RESOLUTION": "lowest-direct"}
        variables["UV_EXCLUDE"] = str(ROOT / "bench" / "excluded.txt")
    return MemoryLoader(
        description=text,
        set_env="\n".join(f"{name}={value}" for name, value in variables.items()),
        deps=[
            *_group(WORKSPACE, "test"),
            *(text for folder in folders for text in _others(folder)),
            *(f"./{folder.relative_to(ROOT)}" for folder in folders),
        ],
        # Folders are built anew each time: neither tox nor uv notices a changed module.
        recreate=True,
        install_command=Command(
            [
                "uv",
                "pip",
                "install",
                *(f"--refresh-package={name}" for name in MEMBERS),
                "{opts}",
                "{packages}",
            ]
        ),
        commands=[Command(["pytest", "-q", *tests])],
    )


def _environments() -> dict[str, MemoryLoader]:
    found = {"kernel": _environment("the kernel and nothing else", [], ["kernel", "migrations"])}
    for folder in EXTRA:
        path = folder.relative_to(ROOT)
        text = f"{folder.name} with the kernel and what it requires"
        found["-".join(path.parts)] = _environment(text, _required(folder), [str(path)])
    parts = ["kernel", "migrations", "plugins", "contrib", "tests"]
    found["all"] = _environment("everything", EXTRA, parts)
    found["minimum"] = _environment(
        "every distribution, at the lowest versions promised", EXTRA, parts[:-1], lowest=True
    )
    return found


ENVIRONMENTS = _environments()


@impl
def tox_extend_envs() -> Iterable[str]:
    """Name the environments."""
    return ENVIRONMENTS


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """Describe the environments; plain ``tox`` runs all of them."""
    core_conf.loaders.append(MemoryLoader(env_list=EnvList(list(ENVIRONMENTS))))
    for name, loader in ENVIRONMENTS.items():
        state.conf.memory_seed_loaders[name].append(loader)
