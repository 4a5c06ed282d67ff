"""``[agents.<name>.action."<name or glob>"]``: what an agent changes about its actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

import attrs
from attrs import evolve, field, frozen
from attrs.validators import ge, gt, in_, matches_re, optional

from wakeful.config.explain import Finding, WrongValueError, shown
from wakeful.types import (
    Action,
    DeclarationError,
    Effect,
    Expiration,
    Param,
    ResultCode,
    Trust,
    nearest,
)

_MODES = ("none", "remove", "compact")
_METHODS = ("first_n_chars", "summary")
_GLOB = "*?["


def _check_expiration(_: object, __: object, value: Expiration | None) -> None:
    """Refuse expirations that contradict themselves."""
    if value is None:
        return
    findings: list[Finding] = []

    def refuse(key: str, what: str) -> None:
        findings.append((f"expiration.{key}", what, False))

    if value.turns < 0:
        refuse("turns", f"expected 0 or more, got {value.turns}")
    if value.mode not in _MODES:
        refuse("mode", f"expected one of {', '.join(_MODES)}, got {shown(value.mode)}")
    if value.method and value.method not in _METHODS:
        refuse("method", f"expected one of {', '.join(_METHODS)}, got {shown(value.method)}")
    if value.mode == "compact" and not value.method:
        refuse("method", f"missing; mode 'compact' needs one of {', '.join(_METHODS)}")
    if value.method == "first_n_chars" and value.length <= 0:
        refuse("length", "method 'first_n_chars' needs a length above 0, the characters to keep")
    if findings:
        raise WrongValueError(findings)


@frozen
class ParamOverride:
    """What an agent changes about one parameter; None leaves it as declared."""

    description: str | None = None
    role: Literal["", "destination", "object", "value", "content"] | None = None


#: What outputs may be said to be; empty: what they look like.
SPILL_KINDS = ("", "table", "json", "text", "media")


@frozen
class ActionOverride:
    """What an agent changes about an action; None leaves it as declared. See :class:`Action`."""

    name: str | None = None
    tool_name: str | None = field(default=None, validator=optional(matches_re(r"[A-Za-z0-9_-]{1,64}")))
    description: str | None = None
    keywords: tuple[str, ...] | None = None
    category: str | None = None
    params: Mapping[str, ParamOverride] | None = None
    result_codes: tuple[ResultCode, ...] | None = None
    effect: Effect | None = None
    output_trust: Trust | None = None
    idempotent: bool | None = None
    can_stage: bool | None = None
    external_if_present: tuple[str, ...] | None = None
    tier: int | None = field(default=None, validator=optional(ge(0)))
    pinned: bool | None = None
    timeout_s: float | None = field(default=None, validator=optional(gt(0)))
    max_executions: int | None = field(default=None, validator=optional(ge(0)))
    min_executions: int | None = field(default=None, validator=optional(ge(0)))
    spill_chars: int | None = field(default=None, validator=optional(ge(0)))
    spill_kind: str | None = field(default=None, validator=optional(in_(SPILL_KINDS)))
    expiration: Expiration | None = field(default=None, validator=_check_expiration)
    directives_allowed: bool | None = None

    def apply(self, action: Action) -> Action:
        """Return the action with the changes.

        Raises:
            DeclarationError: a parameter that the action does not have; names the nearest.
        """
        changes: dict[str, Any] = {
            each.name: value
            for each in attrs.fields(ActionOverride)
            if each.name != "params" and (value := getattr(self, each.name)) is not None
        }
        if self.params:
            changes |= _apply_params(action, self.params)
        return evolve(action, **changes) if changes else action


def _apply_params(action: Action, overrides: Mapping[str, ParamOverride]) -> dict[str, Any]:
    """Return the changed ``params`` and ``schema`` of an action."""
    properties = dict(action.schema.get("properties", {}))
    params = {param.name: param for param in action.params}
    known = (*params, *properties)
    for name, override in overrides.items():
        if name not in known:
            raise DeclarationError(
                f"action {action.tool_name!r} has no parameter {name!r}{nearest(name, known)}"
            )
        param = params.get(name) or Param(name=name, schema=properties.get(name))
        if override.role is not None:
            param = evolve(param, role=override.role)
        if override.description is not None:
            param = evolve(param, description=override.description)
            if name in properties:
                properties[name] = {**properties[name], "description": override.description}
        params[name] = param
    return {"params": tuple(params.values()), "schema": {**action.schema, "properties": properties}}


def is_pattern(name: str) -> bool:
    """Return whether a key of the ``action`` table is a glob and not the name of one action."""
    return any(sign in name for sign in _GLOB)


def overrides_for(tool_name: str, name: str, overrides: Mapping[str, ActionOverride]) -> ActionOverride:
    """Return the override of the most specific pattern that matches; patterns are not combined.

    An exact name wins over every glob, the tool name over the human one; among globs the one with the
    longer text before its first wildcard wins, then the one with more text, then the first by name.

    Args:
        tool_name: e.g. ``send_email``.
        name: the human name, e.g. ``Send Email``.
        overrides: pattern to override.
    """
    for exact in (tool_name, name):
        if exact in overrides:
            return overrides[exact]
    globs = [each for each in overrides if is_pattern(each) and _matches(each, tool_name, name)]
    if not globs:
        return ActionOverride()
    return overrides[min(globs, key=lambda each: (-_literal_prefix(each), -_literal_length(each), each))]


def unused_patterns(
    overrides: Mapping[str, ActionOverride], actions: Iterable[tuple[str, str]]
) -> tuple[str, ...]:
    """Return the patterns that match none of the actions, given as (tool name, human name)."""
    known = list(actions)
    return tuple(pattern for pattern in overrides if not any(_matches(pattern, *names) for names in known))


def _matches(pattern: str, tool_name: str, name: str) -> bool:
    if pattern in {tool_name, name}:
        return True
    return is_pattern(pattern) and (fnmatchcase(tool_name, pattern) or fnmatchcase(name, pattern))


def _literal_prefix(pattern: str) -> int:
    return min(pattern.find(sign) for sign in _GLOB if sign in pattern)


def _literal_length(pattern: str) -> int:
    return sum(sign not in "*?" for sign in pattern)
