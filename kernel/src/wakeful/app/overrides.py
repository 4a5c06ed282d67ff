"""Applying ``[agents.<name>.action."…"]`` to an agent's actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wakeful.config import ActionOverride, overrides_for, unused_patterns
from wakeful.types import Action, ConfigError, DeclarationError, Problem, nearest


def overridden(
    actions: Iterable[Action], overrides: Mapping[str, ActionOverride], where: str
) -> list[Action]:
    """Return the actions with what the file sets for them; the most specific pattern wins.

    Raises:
        ConfigError: a pattern matches no action, or names a parameter that its action does not have.
    """
    known = list(actions)
    problems = [
        Problem(f'{where}.action."{pattern}"', "matches no action of this agent" + _near(pattern, known))
        for pattern in unused_patterns(overrides, [(action.tool_name, action.name) for action in known])
    ]
    changed: list[Action] = []
    for action in known:
        try:
            changed.append(overrides_for(action.tool_name, action.name, overrides).apply(action))
        except DeclarationError as error:
            problems.append(Problem(f"{where}.action", str(error)))
    if problems:
        raise ConfigError(problems)
    return changed


def _near(pattern: str, actions: Iterable[Action]) -> str:
    return nearest(pattern, (action.tool_name for action in actions))
