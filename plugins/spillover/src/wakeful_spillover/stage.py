"""The stage that bounds results: what is too long becomes an artifact, and a descriptor stands for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from wakeful.results.media import media_of
from wakeful.results.values import output as rendered
from wakeful.types import (
    Action,
    ActionContext,
    ActionError,
    ActionResult,
    Artifact,
    ErrorRecovery,
    Files,
    Json,
    Phase,
    Services,
    Spooled,
    Trust,
    Tx,
    failure,
)
from wakeful_spillover.describe import descriptor
from wakeful_spillover.measure import at_least, head, head_of_file, lines, loaded
from wakeful_spillover.settings import SpilloverSettings
from wakeful_spillover.shape import Shape, shape
from wakeful_spillover.shelf import FILE_BYTES, Origin, QuotaError, add
from wakeful_spillover.sources import Sources

#: Characters from which an array of many rows spills; half the default threshold.
ARRAY_CHARS = 4_000
#: How many times longer than one output all outputs of a result together may be.
TOGETHER = 3
#: Characters of a long message that stay in its place.
MESSAGE_CHARS = 160
#: Bytes of records from which their table is made before the first question about it.
EARLY_BYTES = 5_000_000
#: Characters that an envelope writes for one, at most: what is shorter by this is not looked at again.
ESCAPED = 6
#: Characters from which a value is written out in a thread.
_HEAVY = 1_000_000
#: Stands for the mark of an envelope where only lengths count.
_NONCE = "0" * 12


@frozen
class Bound:
    """Bounds the outputs and the message of a result; see :class:`wakeful.types.Stage`."""

    settings: SpilloverSettings
    services: Services = field(repr=False, eq=False)
    sources: Sources = field(repr=False, eq=False)
    phase: Phase = field(default=Phase.BOUND, init=False)
    name: str = field(default="spillover", init=False)

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        """Return the result with descriptors in the place of what is too long."""
        limit = self.settings.threshold_chars
        if action is not None and action.spill_chars is not None:
            limit = action.spill_chars
        if not limit or result.bounded or action is None or ctx.tx is None:
            return result
        spilling = _Spilling(ctx, ctx.tx, self.services.files, self.settings, self.sources, action, result)
        try:
            return await spilling.bounded(limit)
        except QuotaError as error:
            advice = "Ask for less, so that it fits, or go on in a new conversation."
            said = f"the call ran, but its result is too long to show and cannot be kept: {error}"
            return _not_kept("ARTIFACT_QUOTA", said, advice, result)
        except ActionError as error:
            said = f"the call ran, but its result cannot be kept: {error.message}"
            return _not_kept(error.code, said, "Find out whether it took effect.", result)


@define(eq=False)
class _Spilling:
    """One result on its way through the stage."""

    ctx: ActionContext
    tx: Tx
    files: Files
    settings: SpilloverSettings
    sources: Sources
    action: Action
    result: ActionResult
    made: dict[str, Artifact] = field(factory=dict)

    async def bounded(self, limit: int) -> ActionResult:
        """Return the result; it is the same object if nothing of it is too long."""
        result, message = self.result, self.result.message
        inline: dict[str, Json] = {}
        spilled: dict[str, str] = {}
        for name, value in result.outputs.items():
            if self._spills(name, value, limit):
                spilled[name] = await self._spill(name, value)
            else:
                inline[name] = value
        if self._shown(message, limit) > limit:
            name = _free("message", result.outputs)
            spilled[name] = await self._spill(name, message)
            message = f"{message[:MESSAGE_CHARS]}… ({len(message):,} characters, whole as `{name}`)"
        most = TOGETHER * limit
        if sum(at_least(value, most) + len(name) for name, value in inline.items()) > most:
            name = _free("outputs", result.outputs)
            spilled[name], inline = await self._spill(name, inline), {}
        if not spilled:
            return result
        order = dict.fromkeys([*result.outputs, *spilled])
        outputs = {**inline, **spilled}
        return evolve(
            result,
            message=message,
            outputs={name: outputs[name] for name in order if name in outputs},
            trust=max([result.trust or Trust.TRUSTED, *(made.trust for made in self.made.values())]),
            artifacts=(*result.artifacts, *self.made.values()),
            bounded=True,
        )

    def _spills(self, name: str, value: Json, limit: int) -> bool:
        """Return whether an output is too long to stay inline, or no text, or replaces an artifact."""
        if media_of(value) is not None or name in self.result.replaces:
            return True
        if isinstance(value, Spooled):
            return value.size > limit
        many = isinstance(value, list) and len(value) > self.settings.rows
        bound = min(limit, ARRAY_CHARS) if many else limit
        return at_least(value, bound + 1) > bound or self._shown(rendered(name, value), bound) > bound

    def _shown(self, text: str, bound: int) -> int:
        """Return the length of a text as it is shown: after what an envelope makes of characters in it."""
        result, envelope = self.result, self.ctx.envelope
        trust = result.trust if result.trust is not None else Trust.UNTRUSTED
        near = len(text) <= bound < len(text) * ESCAPED
        if envelope is None or trust is Trust.TRUSTED or not near:
            return len(text)
        around = len(envelope.wrap("", trust, result.source, _NONCE))
        return len(envelope.wrap(text, trust, result.source, _NONCE)) - around

    async def _spill(self, name: str, value: Json) -> str:
        """Store an output and return its descriptor."""
        if isinstance(value, Spooled) and value.value is None:
            value = await asyncio.to_thread(loaded, self.files.path(value.ref), value)
        heavy = not isinstance(value, Spooled) and at_least(value, _HEAVY) >= _HEAVY
        found = (
            await asyncio.to_thread(shape, value, self.action.spill_kind)
            if heavy
            else shape(value, self.action.spill_kind)
        )
        found = await self._at_rest(found)
        run, result = self.ctx.run, self.result
        trust = result.trust if result.trust is not None else Trust.UNTRUSTED
        origin = Origin(
            run.conversation,
            self.ctx.key,
            self.action.tool_name,
            name,
            trust,
            result.source,
            run.now,
            result.replaces.get(name, ""),
        )
        made = await add(self.tx, found, origin, self.settings)
        if made.ref is not None and made.form == "records" and made.size > EARLY_BYTES:
            self.sources.begin(self.files, made.ref, made.columns)
        self.made[made.handle] = made.note
        return descriptor(made.handle, found, await self._head(found), made.version)

    async def _at_rest(self, found: Shape) -> Shape:
        """Return the output with its content where it belongs, and its lines counted."""
        if not found.ref and (found.content or found.size >= FILE_BYTES):
            content = found.content or (found.text or "").encode()
            found = evolve(found, ref=await self.files.put(content))
        if found.kind == "text" and found.rows is None:
            found = evolve(found, rows=await asyncio.to_thread(lines, self.files.path(found.ref)))
        return found

    async def _head(self, found: Shape) -> list[Json]:
        if found.value is None and found.ref and found.form in {"records", "text"}:
            return await asyncio.to_thread(head_of_file, self.files.path(found.ref), found.form)
        return head(found)


def _not_kept(code: str, said: str, advice: str, result: ActionResult) -> ActionResult:
    """Return the failure that stands for a result that ran; the call may have had its effect."""
    failed = failure(code, said, ErrorRecovery(retryable=False, suggestion=advice))
    return evolve(failed, trust=result.trust, source=result.source, final=result.final)


def _free(name: str, taken: Mapping[str, Json]) -> str:
    while name in taken:
        name += "_"
    return name
