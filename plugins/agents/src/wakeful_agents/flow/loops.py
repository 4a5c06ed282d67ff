"""``for_each``: one call of the flow that runs an action for every item, through the kernel's journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import evolve

from wakeful import ActionContext, ActionResult, action
from wakeful.types import Action, Json, Run, Trust, failure
from wakeful_agents.flow.expressions import FlowError, Scope
from wakeful_agents.flow.model import FlowStep
from wakeful_agents.payload.held import KEY, NAMESPACE, Held, held
from wakeful_agents.payload.paths import PathError

if TYPE_CHECKING:
    from wakeful_agents.flow.engine import Engine

#: Errors that the result names; all of them are counted, and kept where the flow maps them.
SHOWN: Final = 5


def loop_action(engine: Callable[[], Engine]) -> Action:
    """Return the action that runs a loop of the flow; only the flow itself proposes it."""

    @action(effect="read", output_trust="trusted", idempotent=True, timeout_s=86_400.0)
    async def flow_loop(step: str, ctx: ActionContext) -> ActionResult:
        """Run the loop of a step of the flow.

        Args:
            step: its name.
            ctx: the call.
        """
        flow = engine()
        try:
            return await _run(flow, flow.flow.steps[step], ctx)
        except (FlowError, PathError) as error:
            return failure("LOOP_FAILED", str(error))

    return evolve(flow_loop, owner=NAMESPACE)  # what it puts is the payload


async def scope_of(run: Run, step: FlowStep, index: int) -> Scope:
    """Return what names stand for in one iteration.

    Raises:
        FlowError: the collection is no list, or has no such item.
    """
    document = held(run).document
    if step.loop is None or step.loop.each is None:
        return Scope(document, index=index)
    items = _items(step, document)
    if not 0 <= index < len(items):
        raise FlowError(f"there is no item {index}")
    return Scope(document, items[index], index)


def _items(step: FlowStep, document: Json) -> list[Json]:
    assert step.loop is not None  # noqa: S101  (the step is a loop)
    assert step.loop.each is not None  # noqa: S101
    items = step.loop.each.value(Scope(document))
    if not isinstance(items, list):
        raise FlowError(f"expected a list to loop over, got a {type(items).__name__}")
    if len(items) > step.loop.most:
        raise FlowError(f"{len(items)} items; the loop runs over {step.loop.most} at most")
    return items


async def _run(engine: Engine, step: FlowStep, ctx: ActionContext) -> ActionResult:
    from wakeful_agents.flow.engine import arguments, delegate, loaded, task

    document = held(ctx.run)
    items = _items(step, document.document)
    wanted = {output.source for output in step.outputs}
    results: list[Json] = []
    errors: list[Json] = []
    trust, sources = Trust.TRUSTED, list[str]()
    tool = delegate(step) if step.kind == "sub_agent" else step.does
    for index, item in enumerate(items):
        scope = Scope(document.document, item, index)
        at = f"[{index}]"
        if step.kind == "sub_agent":
            args = task(step, document, scope, at)
        else:
            args = arguments(step, step.args, document, scope, at)
        result = await ctx.call(tool, args, inner=index, provenance=())
        if not result.success:
            errors.append({"index": index, "code": result.code, "message": result.message[:200]})
        if "results" in wanted:
            outputs = await loaded(result, engine.load) if result.success else None
            results.append(_single(outputs))
            trust = max(trust, result.trust or Trust.TRUSTED)
            sources.append(result.source)
    given = {"results": results, "count": len(items) - len(errors), "errors": errors}
    if errors and "errors" not in wanted:
        return _result(step, len(items), errors, success=False)
    source = next((each for each in sources if each), "")
    _put(ctx, engine.mapped(step, document, given, trust, source))
    return _result(step, len(items), errors, success=True)


def _single(outputs: dict[str, Json] | None) -> Json:
    """Return the one output itself, several as an object."""
    if outputs is not None and len(outputs) == 1:
        return next(iter(outputs.values()))
    return outputs


def _put(ctx: ActionContext, document: Held) -> None:
    ctx.put(KEY, document.dump(ctx.run.id))


def _result(step: FlowStep, count: int, errors: list[Json], *, success: bool) -> ActionResult:
    assert step.loop is not None  # noqa: S101  (the step is a loop)
    assert step.loop.each is not None  # noqa: S101
    message = f"for_each {step.loop.each}: processed: {count}, errors: {len(errors)}"
    if errors:
        message += "; the first in [{index}]: {code}: {message}".format(**errors[0])
    shown = {"errors": errors[:SHOWN]} if errors else {}
    return ActionResult(success, "SUCCESS" if success else "LOOP_ERRORS", message, shown)
