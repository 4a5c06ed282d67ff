"""Applying ``[agents.<name>.action."…"]`` to an agent's actions."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from wakeful.config import ActionOverride, overrides_for
from wakeful.types import Action, ConfigError, Problem, nearest


def overridden(
    actions: Mapping[str, Action], overrides: Mapping[str, ActionOverride], where: str
) -> Mapping[str, Action]:
    """Return the actions with what the file sets for them; the most specific pattern wins.

    Raises:
        ConfigError: a pattern matches no action, or two actions end with one tool name.
    """
    if not overrides:
        return actions
    used: set[str] = set()
    changed: dict[str, Action] = {}
    for name, action in actions.items():
        override = overrides_for(name, action.name, overrides)
        used |= {pattern for pattern in overrides if override is overrides[pattern]}
        changed[name] = action if override is None else evolve(action, **override.changes())
    unused = [
        pattern for pattern in overrides if pattern not in used and not _matches(pattern, actions, overrides)
    ]
    if unused:
        raise ConfigError(
            [
                Problem(
                    f'{where}.action."{pattern}"',
                    f"matches no action of this agent{nearest(pattern, actions)}",
                )
                for pattern in unused
            ]
        )
    return changed


def _matches(pattern: str, actions: Mapping[str, Action], overrides: Mapping[str, ActionOverride]) -> bool:
    """Whether a pattern would match if it stood alone; a more specific one may win everywhere."""
    alone = {pattern: overrides[pattern]}
    return any(overrides_for(name, action.name, alone) is not None for name, action in actions.items())
