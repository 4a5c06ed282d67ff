"""Stamping trust and running the stages of plugins over a result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext

from attrs import evolve

from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    PluginError,
    Stage,
    Trust,
    WakefulError,
    failure,
)

#: Longest code of a result. Codes stand outside of envelopes, so they are one harmless word.
CODE_LIMIT = 64
_NO_CODE = re.compile(r"[^A-Za-z0-9_.-]+")


def stamp(action: Action | None, result: ActionResult) -> ActionResult:
    """Return the result with its effective trust and source: the worse of action and result.

    A refusal by the kernel is the kernel's own word and keeps its trust. Directives of a result
    that is not trusted, or of an action that may give none, are dropped.
    """
    if action is None:
        return result
    trust = max(action.output_trust, result.trust or Trust.TRUSTED)
    source = result.source or f"action:{action.name}"
    keep = trust is Trust.TRUSTED and action.directives_allowed
    return evolve(
        result,
        code=_NO_CODE.sub("_", result.code)[:CODE_LIMIT] or "ERROR",
        message=" ".join(result.message.splitlines()),
        trust=trust,
        source=source,
        directives=result.directives if keep else (),
        held=False,
    )


async def apply_stages(
    stages: Sequence[Stage], ctx: ActionContext, action: Action | None, result: ActionResult
) -> ActionResult:
    """Run ``stages`` in their order; a stage may worsen trust, never better it.

    A stage that raises fails this result alone, with the code ``STAGE_FAILED``, and what it wrote is undone;
    an error of the store itself passes through, since the transaction is lost with it.
    """
    for stage in stages:
        try:
            async with ctx.tx.savepoint() if ctx.tx else nullcontext():
                changed = await stage.apply(ctx, action, result)
                if not isinstance(changed, ActionResult):
                    raise TypeError(f"expected an ActionResult, got a {type(changed).__name__}")
        except WakefulError as error:
            if isinstance(error, PluginError):
                return _failed(result, str(error))
            raise
        except Exception as error:  # noqa: BLE001  (whatever a plugin raises is reported by name)
            return _failed(result, f"stage {stage.name!r} failed: {type(error).__name__}: {error}")
        worst = max(changed.trust or Trust.TRUSTED, result.trust or Trust.TRUSTED)
        result = changed if changed.trust is worst else evolve(changed, trust=worst)
    return result


def _failed(result: ActionResult, message: str) -> ActionResult:
    """Return the failure that stands for ``result``; its text may quote it, so it is trusted no further."""
    return evolve(failure("STAGE_FAILED", message), trust=result.trust, source=result.source)
