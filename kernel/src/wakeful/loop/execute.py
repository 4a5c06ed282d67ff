"""Running one allowed call: middleware, time limit, and every outcome as a result."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping, Sequence

from wakeful.loop.codec import check_storable
from wakeful.loop.plain import plain, streams
from wakeful.loop.redact import Redactor
from wakeful.loop.references import worsened
from wakeful.loop.services import Context
from wakeful.results.spool import spooled
from wakeful.results.stages import stamp
from wakeful.types import (
    Action,
    ActionContext,
    ActionError,
    ActionResult,
    ErrorRecovery,
    Json,
    Middleware,
    NextCall,
    failure,
)
from wakeful.waiting import stopping, within

log = logging.getLogger("wakeful")


async def execute(
    action: Action,
    args: Mapping[str, Json],
    ctx: Context,
    middleware: Sequence[Middleware],
    redactor: Redactor,
) -> ActionResult:
    """Run ``action`` and return its result, stamped with its effective trust.

    Never raises but on cancellation.
    What the kernel itself says (a time-out, an exception's name) is trusted; an exception's text
    may hold outside data and takes the trust of the action, and of what calls inside of it have given.
    """
    try:
        return await within(
            ctx.services.clock, action.timeout_s, _outcome(action, args, ctx, middleware, redactor)
        )
    except TimeoutError:
        recovery = ErrorRecovery(
            retryable=action.reruns, suggestion="Ask for less at once, or go on without it."
        )
        return failure("TIMEOUT", f"{action.name} did not end within {action.timeout_s:g} s", recovery)


async def _outcome(
    action: Action,
    args: Mapping[str, Json],
    ctx: Context,
    middleware: Sequence[Middleware],
    redactor: Redactor,
) -> ActionResult:
    """Run ``action``; whatever it raises, a time-out of its own included, is a failed result."""
    try:
        result = await _kept(await _told(action, args, ctx, middleware), ctx, redactor)
    except asyncio.CancelledError as error:
        if stopping():
            raise
        result = ActionResult(success=False, code="ERROR", message=f"{type(error).__name__}: it gave up")
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  (whatever an action raises, the run goes on)
        # An action may raise anything, sys.exit() included; the model is told and the program goes on.
        log.warning("action %s failed\n%s", action.tool_name, redactor.text(traceback.format_exc()))
        result = ActionResult(success=False, code="ERROR", message=f"{type(error).__name__}: {error}"[:1000])
    # What says nothing of its trust may be made of whatever the action was given as it ran.
    return stamp(action, worsened(ctx.given, result) if result.trust is None else result)


async def _told(
    action: Action, args: Mapping[str, Json], ctx: ActionContext, middleware: Sequence[Middleware]
) -> ActionResult:
    try:
        return await _around(action, args, ctx, middleware)
    except ActionError as error:
        return error.result()


async def _kept(result: ActionResult, ctx: ActionContext, redactor: Redactor) -> ActionResult:
    """Return the result as the journal keeps it, large outputs by reference."""
    try:
        kept: ActionResult = await spooled(result, ctx.services, redactor.text)
        check_storable(kept)
    except (TypeError, ValueError):
        if not isinstance(result, ActionResult) or streams(result):
            raise
        kept = await spooled(plain(result), ctx.services, redactor.text)
        check_storable(kept)
    return kept


async def _around(
    action: Action, args: Mapping[str, Json], ctx: ActionContext, middleware: Sequence[Middleware]
) -> ActionResult:
    async def innermost(arguments: Mapping[str, Json]) -> ActionResult:
        return await action.run(arguments, ctx)

    call: NextCall = innermost
    for layer in reversed(middleware):
        call = _layer(layer, ctx, action, call)
    return await call(args)


def _layer(layer: Middleware, ctx: ActionContext, action: Action, inner: NextCall) -> NextCall:
    async def run(arguments: Mapping[str, Json]) -> ActionResult:
        return await layer.around(ctx, action, arguments, inner)

    return run
