"""Running the iterations: some at the same time, until the items end or a limit is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from attrs import define, evolve

from wakeful.loop.references import worsened
from wakeful.types import (
    ActionContext,
    ActionError,
    ActionResult,
    Json,
    Provenance,
    Services,
    Spooled,
    Trust,
)
from wakeful_recovery.loops.collection import collection_of, standing
from wakeful_recovery.loops.conditions import Condition
from wakeful_recovery.loops.names import resolved
from wakeful_recovery.loops.settings import LoopsSettings
from wakeful_recovery.loops.tally import Tally
from wakeful_recovery.loops.templates import filled, referred, without_last


@define(eq=False)
class Runner:
    """Runs the loops of one agent."""

    settings: LoopsSettings
    services: Services

    async def for_each(self, args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        """Run an action for each item; what has its result from before a crash keeps it."""
        action = resolved(args["action"], self.services.catalogue(ctx.run))
        template, most = args.get("args") or {}, args.get("max_failures", self.settings.max_failures)
        over = await collection_of(args, ctx, self.services)
        tally = Tally("for_each", over.name, most)
        if over.source is not None:
            tally.believe(over.source)
            if not over.source.success:
                return evolve(over.source, message=f"for_each has no items: {over.source.message}")
        ends, running = self._end(), dict[asyncio.Task[ActionResult], int]()
        try:
            for index, item in enumerate(over.items):
                if len(running) >= self.settings.parallel:
                    await _some(running, tally)
                if tally.stopped or self._over(tally, index, ends):
                    break
                given = self._one(
                    ctx,
                    action,
                    template,
                    {"item": item, "index": index},
                    over.skipped + index,
                    over.provenance,
                )
                running[asyncio.ensure_future(given)] = index
            while running:
                await _some(running, tally)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return tally.result(ctx, over.skipped)

    async def repeat(self, args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
        """Run an action as long as a condition holds, one iteration after the other."""
        action = resolved(args["action"], self.services.catalogue(ctx.run))
        template, most = args.get("args") or {}, args.get("max_failures", self.settings.max_failures)
        condition = Condition.of(args)
        tally = Tally("while", str(condition), most)
        ends, last, index = self._end(), None, 0
        allowed = min(
            int(args.get("max_iterations") or self.settings.max_iterations), self.settings.max_iterations
        )
        provenance: tuple[Provenance, ...] = ()
        while not tally.stopped:
            looked, _ = await standing(ctx, condition.places, missing_too=True)
            scope = {"last": last, "index": index}
            if not condition.holds({**looked, **scope}, first=index == 0):
                tally.ended = condition.missing({**looked, **scope})
                break
            if index >= allowed or self._over(tally, index, ends):
                tally.stopped = tally.stopped or f"at the limit of {allowed:,} iterations"
                break
            given = template if index else without_last(template)
            result = await self._one(ctx, action, given, scope, index, provenance)
            tally.count(index, result)
            trust = result.trust or Trust.TRUSTED
            if trust > max((each.trust for each in provenance), default=Trust.TRUSTED):
                provenance = (Provenance("", "last", trust, result.source),)
            last = _last(result)
            index += 1
        return tally.result(ctx, 0)

    async def _one(
        self,
        ctx: ActionContext,
        action: str,
        template: Json,
        scope: Mapping[str, Json],
        inner: int,
        provenance: tuple[Provenance, ...],
    ) -> ActionResult:
        sources = provenance
        try:
            places, more = await standing(ctx, referred(template))
            sources = (*provenance, *more)
            args = filled(template, {**scope, **places})
        except ActionError as error:  # it names what is there instead
            said = error.result()
            return worsened(sources, evolve(said, trust=said.trust or Trust.TRUSTED))
        return await ctx.call(action, args, inner=inner, provenance=sources)

    def _end(self) -> float:
        return self.services.clock.monotonic() + self.settings.max_seconds

    def _over(self, tally: Tally, index: int, ends: float) -> bool:
        """Return whether a limit of all loops is reached; the tally then says which."""
        if index >= self.settings.max_iterations:
            tally.stopped = f"at the limit of {self.settings.max_iterations:,} iterations"
        elif self.services.clock.monotonic() >= ends:
            tally.stopped = f"at the limit of {self.settings.max_seconds:g} seconds"
        return bool(tally.stopped)


async def _some(running: dict[asyncio.Task[ActionResult], int], tally: Tally) -> None:
    """Wait until an iteration ends and count it."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in sorted(done, key=lambda each: running[each]):
        tally.count(running.pop(task), task.result())


def _last(result: ActionResult) -> dict[str, Json]:
    """Return what ``last`` is: the outputs, what is in the only one, and how it ended."""
    outputs = {name: _value(value) for name, value in result.outputs.items()}
    (only,) = outputs.values() if len(outputs) == 1 else (None,)
    inside = only if isinstance(only, Mapping) else {}
    return {**inside, **outputs, "success": result.success, "code": result.code}


def _value(value: Json) -> Json:
    """Return an output as a condition may look at it; one in the file store is its number of rows."""
    return value.rows if isinstance(value, Spooled) else value
