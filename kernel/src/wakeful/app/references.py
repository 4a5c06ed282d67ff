"""What ``actions = ["crm:*"]`` means: modules beside the file, and the actions in them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

from attrs import evolve

from wakeful.config import AgentConfig
from wakeful.config.model import PLUGIN_PREFIX
from wakeful.types import Action, ConfigError, Problem, WakefulError, nearest


def referenced(references: Iterable[str], folder: Path, where: str) -> list[Action]:
    """Return the actions that ``module:name`` and ``module:glob`` refer to, each once.

    Args:
        references: entries of an agent's ``actions`` that are not ``plugin:…``.
        folder: where modules are looked for first.
        where: path in the file, for problems.

    Raises:
        ConfigError: with every problem: a module that is missing or fails, a name that matches nothing.
    """
    found: dict[str, Action] = {}
    problems: list[Problem] = []
    for reference in references:
        try:
            for action in _resolve(reference, folder):
                found.setdefault(f"{action.owner}:{action.tool_name}", action)
        except ValueError as error:
            problems.append(Problem(where, f"{reference!r}: {error}"))
    if problems:
        raise ConfigError(problems)
    return list(found.values())


def given_actions(agent: AgentConfig, folder: Path, where: str) -> list[Action]:
    """Return the actions of modules that an agent has.

    Args:
        agent: as configured.
        folder: where modules are looked for first.
        where: the agent's path in the file.

    Raises:
        ConfigError: as for :func:`referenced`.
    """
    own = [entry for entry in agent.actions if not entry.startswith(PLUGIN_PREFIX)]
    return referenced(own, folder, f"{where}.actions")


def meant_by(folder: Path, reference: str) -> list[Action]:
    """Return the actions that the caller of a run adds by a reference.

    Raises:
        ConfigError: it means none.
    """
    return referenced([reference], folder, "action_changes")


def _resolve(reference: str, folder: Path) -> list[Action]:
    module_name, colon, pattern = reference.partition(":")
    if not colon or not module_name or not pattern:
        msg = "expected 'module:name', 'module:*' or 'plugin:name'"
        raise ValueError(msg)
    module = _import(module_name, folder)
    actions = {name: value for name, value in vars(module).items() if isinstance(value, Action)}
    matching = [value for name, value in sorted(actions.items()) if fnmatchcase(name, pattern)]
    if not matching:
        if not actions:
            msg = f"module {module_name!r} declares no actions; mark functions with @wakeful.action"
            raise ValueError(msg)
        msg = f"module {module_name!r} has no action {pattern!r}{nearest(pattern, actions)}"
        raise ValueError(msg)
    return [value if value.owner else evolve(value, owner=module_name) for value in matching]


def _import(name: str, folder: Path) -> ModuleType:
    """Import ``name``, looking in ``folder`` first; an equally named module of another folder is replaced."""
    entry = str(folder)
    if entry not in sys.path:
        sys.path.insert(0, entry)
    loaded = sys.modules.get(name)
    own = folder / Path(*name.split("."))
    if loaded is not None and (own.with_suffix(".py").exists() or (own / "__init__.py").exists()):
        origin = getattr(loaded, "__file__", None) or ""
        if folder not in Path(origin).parents:
            del sys.modules[name]
            importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            beside = [path.stem for path in folder.glob("*.py")]
            msg = f"there is no module {error.name!r} in {folder.name}/ or installed{nearest(name, beside)}"
            raise ValueError(msg) from error
        msg = f"importing {name!r} needs the module {error.name!r}, which is not installed"
        raise ValueError(msg) from error
    except WakefulError as error:
        msg = f"importing {name!r}: {error}"
        raise ValueError(msg) from error
    except (Exception, SystemExit) as error:
        msg = f"importing {name!r} raised {type(error).__name__}: {error}"
        raise ValueError(msg) from error
