"""``for_each``: one call of the flow that runs an action for every item, through the kernel's journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field

from wakeful import ActionContext, ActionResult, action
from wakeful.types import DOCUMENT, Action, Json, Run, Trust, failure
from wakeful_agents.flow.expressions import FlowError, Place, Scope
from wakeful_agents.flow.filling import arguments, delegate, task
from wakeful_agents.flow.model import FlowStep
from wakeful_agents.payload.held import NAMESPACE, held
from wakeful_agents.payload.paths import PathError

if TYPE_CHECKING:
    from wakeful_agents.flow.engine import Engine

#: Errors that the result names; all of them are counted, and kept where the flow maps them.
SHOWN: Final = 5
#: Output of a loop that says how many of its calls wait for a person.
WAITS: Final = "waiting"
#: Codes of calls that wait for a person, or for a sub-agent that does.
WAITING: Final = frozenset({"POLICY_APPROVAL_REQUIRED", "SUB_AGENT_WAITS"})
#: Code of a call that the kernel keeps as a draft: nothing waits for it.
STAGED: Final = "STAGED"


def loop_action(engine: Callable[[], Engine]) -> Action:
    """Return the action that runs a loop of the flow; only the flow itself proposes it."""

    @action(effect="read", output_trust="trusted", idempotent=True, timeout_s=86_400.0)
    async def flow_loop(step: str, ctx: ActionContext, again: str = "") -> ActionResult:
        """Run the loop of a step of the flow, or take up what people have decided about its calls.

        Args:
            step: its name.
            ctx: the call.
            again: key of the call that ran it; nothing runs, its results are taken as they are now.
        """
        flow = engine()
        try:
            return await _run(flow, flow.flow.steps[step], ctx, again)
        except (FlowError, PathError) as error:
            return ActionResult(success=False, code="LOOP_FAILED", message=str(error))

    return evolve(flow_loop, owner=NAMESPACE)  # what it puts is the payload


async def scope_of(run: Run, step: FlowStep, index: int) -> Scope:
    """Return what names stand for in one iteration.

    Raises:
        FlowError: the collection is no list, or has no such item.
    """
    document = held(run).document
    if step.loop.each is None:
        return Scope(document, index=index)
    items = _items(step.loop.each, step.loop.most, document)
    if not 0 <= index < len(items):
        raise FlowError(f"there is no item {index}")
    return Scope(document, items[index], index)


def _items(each: Place, most: int, document: Json) -> list[Json]:
    items = each.value(Scope(document))
    if not isinstance(items, list):
        raise FlowError(f"expected a list to loop over, got a {type(items).__name__}")
    if len(items) > most:
        raise FlowError(f"{len(items)} items; the loop runs over {most} at most")
    return items


@define
class _Tally:
    """What the iterations of a loop gave.

    Args:
        wanted: what the step maps; nothing else is kept.
        waiting: calls that a person decides about.
        staged: calls that wait as drafts: they are no errors, and have given nothing yet.
        trust, source: of what is kept.
    """

    wanted: set[str]
    results: list[Json] = field(factory=list)
    errors: list[Json] = field(factory=list)
    waiting: int = 0
    staged: int = 0
    trust: Trust = Trust.TRUSTED
    source: str = ""

    async def take(self, engine: Engine, index: int, result: ActionResult) -> None:
        """Add the result of one iteration."""
        from wakeful_agents.flow.engine import loaded

        self.waiting += not result.success and result.code in WAITING
        draft = result.held and result.code == STAGED
        failed = not result.success and not draft
        self.staged += draft
        if failed:
            self.errors.append({"index": index, "code": result.code, "message": result.message[:200]})
        if "results" in self.wanted:
            self.results.append(_single(await loaded(result, engine.load)) if result.success else None)
        kept = "results" in self.wanted or ("errors" in self.wanted and failed)
        if kept and (result.trust or Trust.TRUSTED) > self.trust:
            self.trust, self.source = result.trust or Trust.TRUSTED, result.source

    def told(self, each: Place, count: int) -> str:
        """Return what a loop over so many items of a list did, in a line."""
        staged = f"staged: {self.staged}, " if self.staged else ""
        message = f"for_each {each}: processed: {count}, {staged}errors: {len(self.errors)}"
        if self.errors:
            message += "; the first in [{index}]: {code}: {message}".format(**self.errors[0])
        return message


async def _run(engine: Engine, step: FlowStep, ctx: ActionContext, again: str) -> ActionResult:
    document, each = held(ctx.run), step.loop.each
    if each is None:
        raise FlowError(f"step {step.name} is no loop over a list")
    items = _items(each, step.loop.most, document.document)
    tally = _Tally({output.source for output in step.outputs})
    if again:
        async for called in ctx.called(again):
            await tally.take(engine, called.inner, called.result or failure("CANCELLED", "it never ended"))
    else:
        await _iterate(engine, step, ctx, items, tally)
        if tally.waiting:
            told = tally.told(each, len(items))
            return ActionResult(
                success=False, code="LOOP_WAITS", message=told, outputs={WAITS: tally.waiting}
            )
    success = not tally.errors or "errors" in tally.wanted
    if success:
        given = {
            "results": tally.results,
            "count": len(items) - len(tally.errors) - tally.staged,
            "staged": tally.staged,
            "errors": tally.errors,
        }
        after = engine.mapped(step, document, given, tally.trust, tally.source)
        ctx.put(DOCUMENT, after.dump(ctx.run.id))
    shown = {"errors": tally.errors[:SHOWN]} if tally.errors else {}
    code = "SUCCESS" if success else "LOOP_ERRORS"
    return ActionResult(success, code, tally.told(each, len(items)), shown)


async def _iterate(
    engine: Engine, step: FlowStep, ctx: ActionContext, items: list[Json], tally: _Tally
) -> None:
    document = held(ctx.run)
    tool = delegate(step) if step.kind == "sub_agent" else step.does
    for index, item in enumerate(items):
        scope, at = Scope(document.document, item, index), f"[{index}]"
        if step.kind == "sub_agent":
            args = task(step, document, scope, at)
        else:
            args = arguments(step, step.args, document, scope, at)
        await tally.take(engine, index, await ctx.call(tool, args, inner=index, provenance=()))


def _single(outputs: dict[str, Json] | None) -> Json:
    """Return the one output itself, several as an object."""
    if outputs is not None and len(outputs) == 1:
        return next(iter(outputs.values()))
    return outputs
