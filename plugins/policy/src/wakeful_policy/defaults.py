"""What holds where no rule matches: the shipped default policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wakeful.types import Action, Effect, Json, Judgement, Verdict

_REASON: Final = "it reaches outside or cannot be undone, and nothing weighs what the run has read"


def is_given(value: Json) -> bool:
    """Whether an argument says anything: neither null nor empty."""
    return value is not None and value not in ("", [], {}, ())


def effect_of(action: Action, args: Json) -> Effect:
    """Return what a call does, with the arguments that make it external."""
    given = args if isinstance(args, Mapping) else {}
    if any(is_given(given.get(name)) for name in action.external_if_present):
        return Effect.EXTERNAL
    return action.effect


def effects_of(action: Action) -> frozenset[Effect]:
    """Return what calls of an action can do, whatever their arguments."""
    more = {Effect.EXTERNAL} if action.external_if_present else set()
    return frozenset({action.effect, *more})


def default(action: Action, args: Json) -> Judgement:
    """Return the verdict where no rule matches.

    What is external waits for a person unless another plugin has an opinion on the call, as one that judges
    taint has on every external call; everything else is allowed.
    """
    if effect_of(action, args) is Effect.EXTERNAL:
        return Judgement(Verdict.REQUIRE_APPROVAL, _REASON, fallback=True)
    return Judgement(Verdict.ALLOW)
