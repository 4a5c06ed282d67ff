"""Finding and importing plugins by their entry points.

Metadata comes first: only plugins that are named are imported, and what is wrong is known before any of
their code runs. Everything that is wrong is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from importlib.metadata import EntryPoint

import attrs
from attrs import frozen
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from wakeful.hookspecs import GROUP
from wakeful.types import Problem, nearest

#: Keys of a ``plugins`` table that are not names of plugins.
RESERVED = ("disable", "enable")


@frozen
class Loaded:
    """What became of the named plugins.

    Args:
        classes: name to class, in the order they were named.
        problems: name to what is wrong; a name is in one of the two.
        distributions: name to ``distribution version`` of each plugin that was found.
    """

    classes: dict[str, type]
    problems: dict[str, tuple[Problem, ...]]
    distributions: dict[str, str]


def installed(group: str = GROUP) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name, sorted, from metadata alone.

    More than one entry point under a name means that several distributions claim it. An editable install
    may list its own twice; that counts once.
    """
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for entry in metadata.entry_points(group=group):
        key = (canonicalize_name(distribution_name(entry)), entry.value)
        found.setdefault(entry.name, {}).setdefault(key, entry)
    return {name: tuple(found[name][key] for key in sorted(found[name])) for name in sorted(found)}


def distribution_name(entry: EntryPoint) -> str:
    """Return the name of the distribution that brings an entry point."""
    return str(entry.dist.name) if entry.dist is not None else "an unknown distribution"


def described(entry: EntryPoint) -> str:
    """Return ``distribution version`` of an entry point."""
    version = entry.dist.version if entry.dist is not None else ""
    return f"{distribution_name(entry)} {version}".strip()


def one_line(error: BaseException) -> str:
    """Return the type and the text of an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")


def load(names: Iterable[str]) -> Loaded:
    """Import the classes of the named plugins, and no others.

    Args:
        names: names of plugins; repeated ones count once.
    """
    entries = installed()
    loaded = Loaded({}, {}, {})
    for name in dict.fromkeys(names):
        candidates = entries.get(name, ())
        problems = list(_find(name, candidates, entries))
        if not problems:
            (entry,) = candidates
            loaded.distributions[name] = described(entry)
            problems = [f"{described(entry)} {what}" for what in requirement_problems(entry)]
            cls, wrong = (None, "") if problems else _import(entry)
            if cls is not None:
                loaded.classes[name] = cls
                continue
            problems += [wrong] if wrong else []
        loaded.problems[name] = tuple(Problem(f"plugin {name!r}", what) for what in problems)
    return loaded


def _find(
    name: str, candidates: tuple[EntryPoint, ...], entries: Mapping[str, tuple[EntryPoint, ...]]
) -> Iterator[str]:
    """Yield why a name does not lead to exactly one entry point."""
    if name in RESERVED:
        yield f"{name!r} is a setting, not a plugin; a plugin cannot have this name"
    elif not candidates:
        hint = nearest(name, entries)
        yield f"no installed distribution provides it{hint} (try: pip install {GROUP}-{name})"
    elif len(candidates) > 1:
        owners = sorted({described(entry) for entry in candidates})
        if len(owners) == 1:
            values = " and ".join(repr(entry.value) for entry in candidates)
            yield f"{owners[0]} declares it more than once: {values}"
        else:
            yield f"provided by {' and '.join(owners)}; uninstall all but one"


def requirement_problems(entry: EntryPoint) -> Iterator[str]:
    """Yield each requirement of the entry point's distribution that is not met.

    Markers are evaluated for this Python; requirements of extras are left out.
    """
    for text in (entry.dist.requires or []) if entry.dist is not None else []:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            yield f"has a requirement that cannot be read: {text!r}"
            continue
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield f"needs {requirement}, which is not installed"
            continue
        try:
            met = requirement.specifier.contains(version, prereleases=True)
        except (InvalidVersion, TypeError):
            met = not requirement.specifier
        if not met:
            yield f"needs {requirement}, but {requirement.name} {version} is installed"


def _import(entry: EntryPoint) -> tuple[type | None, str]:
    """Return the class of an entry point, or None and what is wrong."""
    where = f"{described(entry)}: {entry.value}"
    try:
        value = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a module may raise anything while it is imported)
        return None, f"importing {where} failed with {one_line(error)}"
    if not isinstance(value, type):
        return None, f"{where} is not a class but of type {type(value).__name__}"
    settings = getattr(value, "Settings", None)
    if settings is not None and not (isinstance(settings, type) and attrs.has(settings)):
        return None, f"{where}.Settings is not an attrs class"
    return value, ""
