"""Lineages: who brings which line of revisions, and in which order they are applied."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

#: What an owner may be called: the name becomes part of table names.
_OWNER = re.compile(r"[a-z][a-z0-9_]{0,40}")


class MigrationError(Exception):
    """A lineage cannot be used or a migration failed; one line that names the owner.

    The database's own error, if there was one, is the cause.
    """


class Lineage(Protocol):
    """A line of revisions; ``wakeful.types.Lineage`` is one."""

    @property
    def owner(self) -> str:
        """Who brings it; its tables are named ``<owner>_…``."""
        ...

    @property
    def locations(self) -> tuple[str, ...]:
        """Folders with Alembic revisions, as ``package:folder``."""
        ...

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Owners whose tables must exist first."""
        ...


@dataclass(frozen=True)
class _Kernel:
    owner: str = "kernel"
    locations: tuple[str, ...] = ("wakeful_migrations:versions",)
    depends_on: tuple[str, ...] = ()


#: The kernel's own lineage, which is always there and always first.
KERNEL: Lineage = _Kernel()


def version_table(owner: str) -> str:
    """Return the name of the table that holds the revision of ``owner``."""
    return f"alembic_{owner}"


def ordered(lineages: Iterable[Lineage] = ()) -> tuple[Lineage, ...]:
    """Return the kernel's lineage and ``lineages`` so that each comes after what it depends on.

    Owners that do not depend on each other come in the order of their names.

    Raises:
        MigrationError: an owner twice, a bad name, a missing or a circular prerequisite.
    """
    known: dict[str, Lineage] = {KERNEL.owner: KERNEL}
    for lineage in lineages:
        if known.get(lineage.owner, lineage) is not lineage:
            raise MigrationError(f"two lineages of tables are owned by {lineage.owner!r}")
        if not _OWNER.fullmatch(lineage.owner):
            raise MigrationError(
                f"lineage owner {lineage.owner!r} must be a lower-case letter, then letters, digits or _"
            )
        known[lineage.owner] = lineage
    for lineage in known.values():
        for needed in lineage.depends_on:
            if needed not in known:
                raise MigrationError(
                    f"the tables of {lineage.owner!r} need those of {needed!r}, which no plugin brings"
                )
    done: dict[str, Lineage] = {}
    waiting = sorted(known)
    while waiting:
        ready = [owner for owner in waiting if all(need in done for need in known[owner].depends_on)]
        if not ready:
            circle = ", ".join(waiting)
            raise MigrationError(f"lineages of tables depend on each other in a circle: {circle}")
        done[ready[0]] = known[ready[0]]
        waiting.remove(ready[0])
    return tuple(done.values())


def folders(lineage: Lineage) -> tuple[Path, ...]:
    """Return the folders of the lineage's revisions.

    Raises:
        MigrationError: a location is not ``package:folder``, or not there.
    """
    found = []
    for location in lineage.locations:
        package, colon, folder = location.partition(":")
        if not (package and colon and folder):
            raise MigrationError(f"{lineage.owner}: location {location!r} is not package:folder")
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            spec = None
        roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
        path = next((root / folder for root in roots if (root / folder).is_dir()), None)
        if path is None:
            raise MigrationError(f"{lineage.owner}: there is no folder {folder!r} in package {package!r}")
        found.append(path)
    if not found:
        raise MigrationError(f"{lineage.owner}: the lineage names no folder of revisions")
    return tuple(found)
