"""Where the distributions of this repository are, read from their own files."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import frozen

ROOT = Path(__file__).resolve().parent.parent


@frozen(slots=False)
class Distribution:
    """A folder with a ``pyproject.toml`` and ``src/<package>``."""

    folder: Path

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        """Its ``pyproject.toml``."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        """The distribution's name."""
        return str(self.pyproject["project"]["name"])

    @property
    def package(self) -> str:
        """The import name."""
        return self.name.replace("-", "_")

    @property
    def source(self) -> Path:
        """The folder of the import package."""
        return self.folder / "src" / self.package

    @property
    def switches(self) -> tuple[str, ...]:
        """The entry points of the group ``wakeful``: the names of its plugins."""
        groups = self.pyproject["project"].get("entry-points", {})
        return tuple(groups.get("wakeful", {}))

    def modules(self) -> list[Path]:
        """Return its source files, sorted."""
        return sorted(self.source.rglob("*.py"))


def kernel() -> Distribution:
    """Return the kernel."""
    return Distribution(ROOT / "kernel")


def migrations() -> Distribution:
    """Return the migrations, which ship with the kernel."""
    return Distribution(ROOT / "migrations")


def plugins() -> list[Distribution]:
    """Return plugins and adapters, sorted by folder."""
    return [
        Distribution(p.parent)
        for kind in ("plugins", "contrib")
        for p in sorted(ROOT.glob(f"{kind}/*/pyproject.toml"))
    ]


def distributions() -> list[Distribution]:
    """Return all distributions."""
    return [kernel(), migrations(), *plugins()]


def tracked() -> list[Path]:
    """Return the files under version control that exist, sorted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    return [path for name in sorted(listed.split("\0")) if name and (path := ROOT / name).is_file()]
