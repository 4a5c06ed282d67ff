"""Going through a flow: which step comes next, and what its results put into the payload.

Where a run stands is kept in the plugin's state, together with the step that it proposed; the results of that
step are in the journal. So any process can go on with a flow, and nothing is held here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from attrs import evolve, frozen

from wakeful.types import (
    DOCUMENT,
    ActionResult,
    Ask,
    Call,
    Did,
    Finish,
    Json,
    Next,
    Propose,
    RowKind,
    Run,
    Spooled,
    Stepped,
    Stop,
    Text,
    Trust,
    Wait,
    canonical,
    read_json,
)
from wakeful_agents.flow.expressions import Condition, FlowError, Scope, holes, written
from wakeful_agents.flow.filling import arguments, asked, delegate, source_of, task, trust_of
from wakeful_agents.flow.loops import WAITS
from wakeful_agents.flow.model import END, Flow, FlowStep
from wakeful_agents.payload.changes import put
from wakeful_agents.payload.held import NAMESPACE, Held, held
from wakeful_agents.payload.paths import MISSING, PathError, look

#: Namespace of the plugin state, its one key, and the action that runs loops.
OWN, AT, LOOP = "flow", "at", "flow_loop"
Load = Callable[[str], Awaitable[bytes]]
_SCALARS: Final = (str, int, float, bool, type(None))


@frozen
class At:
    """Where a run stands: the step that was proposed last, its iteration, whether the flow is over."""

    run: str
    step: str
    count: int = 0
    done: bool = False


def position(run: Run) -> At | None:
    """Return where a run stands; None before its first step."""
    kept = run.state.get(OWN, {}).get(AT)
    return At(**kept) if kept and kept["run"] == run.id else None


class StepError(Exception):
    """A step failed; the flow goes where the step says, or fails with this text."""


@frozen(eq=False)
class Engine:
    """Decides the steps of one flow.

    Args:
        flow: checked.
        load: reads a content of the file store.
        waits: whether a call of a run waits for a person.
        max_chars: longest payload.
    """

    flow: Flow
    load: Load
    waits: Callable[[Run], Awaitable[bool]]
    max_chars: int

    async def next_step(self, run: Run, last: Stepped | None) -> Next:
        """Return what a run does next."""
        at, document = position(run), held(run)
        if at is None:
            if document.document is MISSING:
                document = evolve(document, document=self.flow.payload)
            return self._enter(run, document, self.flow.start)
        if at.done:
            return Finish()
        step = self.flow.steps.get(at.step)
        if step is None:
            return Finish(error=f"the run is at step {at.step!r}, which the flow no longer has")
        if last is None:
            return self._enter(run, document, step.name, at.count)  # the step came to nothing: once more
        return await self._after(run, step, last, at)

    async def _after(self, run: Run, step: FlowStep, last: Stepped, at: At) -> Next:
        """Return what follows a step that was carried out."""
        document = held(run)
        if step.kind == "prompt":
            if last.calls or last.reply.stop is Stop.PAUSE or run.rows[-1].kind is RowKind.LATE_RESULT:
                return Ask(name=step.name)
            if await self.waits(run):
                return Wait()
        if any(did.held for did in last.did):
            return Wait()
        if step.loop.each and last.did and WAITS in last.did[0].result.outputs:
            return Wait() if await self.waits(run) else self._looped(run, step, document, last.did[0])
        try:
            document = await self._taken(run, step, last, document)
        except (StepError, FlowError, PathError) as error:
            if step.on_error:
                return self._enter(run, document, step.on_error)
            return Finish(error=f"step {step.name}: {error}")
        if step.loop.condition:
            return self._enter(run, document, step.name, at.count + 1)
        return self._enter(run, document, step.next, last=last)

    def _enter(
        self, run: Run, document: Held, name: str, count: int = 0, last: Stepped | None = None
    ) -> Next:
        """Return the step of that name as the kernel is to carry it out; branches are taken at once."""
        try:
            for _ in range(2 * len(self.flow.steps) + 1):
                if name == END:
                    return self._answer(run, document, last)
                step = self.flow.steps[name]
                found = self._entered(run, document, step, count)
                if not isinstance(found, str):
                    return found
                name, count = found, 0
        except FlowError as error:
            return Finish(error=f"answer: {error}")
        return Finish(error=f"step {name}: the flow goes in a circle in which nothing is done")

    def _entered(self, run: Run, document: Held, step: FlowStep, count: int) -> Next | str:
        """Return what a step does, or the name of the step that follows at once."""
        scope = Scope(document.document, index=count)
        try:
            if step.kind == "branch":
                return self._way(step, scope)
            if step.loop.condition and not _again(step.loop.condition, step.loop.most, scope):
                return step.next
            return self._proposed(run, document, step, count)
        except FlowError as error:
            return step.on_error or Finish(error=f"step {step.name}: {error}")

    def _way(self, step: FlowStep, scope: Scope) -> str:
        return next(case.next for case in step.cases if case.when is None or case.when.holds(scope))

    def _answer(self, run: Run, document: Held, last: Stepped | None) -> Finish:
        trust, source = Trust.TRUSTED, ""
        if self.flow.answer:
            text = written(self.flow.answer, Scope(document.document))
            used = holes(self.flow.answer)
            trust, source = trust_of(document, used), source_of(document, used)
        else:
            said = [item.text for item in last.reply.items if isinstance(item, Text)] if last else []
            text = "\n\n".join(said) or "Done."
        saved = self._saved(run, document, END, done=True)
        return Finish(text, saved=saved, trust=trust, source=source)

    def _proposed(self, run: Run, document: Held, step: FlowStep, count: int) -> Next:
        saved = self._saved(run, document, step.name, count)
        scope = Scope(document.document, index=count)
        if step.kind == "prompt":
            return asked(step, document, scope, saved)
        call_id = f"{step.name}_{run.step + 1}"
        if step.loop.each:
            call = Call(call_id, LOOP, canonical({"step": step.name}))
        elif step.kind == "action":
            call = Call(call_id, step.does, canonical(arguments(step, step.args, document, scope)))
        else:
            call = Call(call_id, delegate(step), canonical(task(step, document, scope)))
        return Propose((call,), name=step.name, saved=saved)

    def _looped(self, run: Run, step: FlowStep, document: Held, did: Did) -> Propose:
        """Return the step that takes what a loop gave, once people have decided about all of its calls."""
        args = {"step": step.name, "again": did.invocation.key}
        call = Call(f"{step.name}_{run.step + 1}", LOOP, canonical(args))
        return Propose((call,), name=step.name, saved=self._saved(run, document, step.name))

    def _saved(
        self, run: Run, document: Held, name: str, count: int = 0, *, done: bool = False
    ) -> dict[str, dict[str, Json]]:
        at = {"run": run.id, "step": name, "count": count, "done": done}
        return {OWN: {AT: at}, NAMESPACE: {DOCUMENT: document.dump(run.id)}}

    async def _taken(self, run: Run, step: FlowStep, last: Stepped, document: Held) -> Held:
        """Return the payload with what the step gave."""
        if step.kind == "prompt":
            given: dict[str, Json] = said(last)
            trust, source = run.taint, "model"
        else:
            did = last.did[0]
            if did.draft:
                return document  # it may be carried out much later, and gives nothing now
            if not did.result.success:
                raise StepError(f"{did.result.code}: {did.result.message}"[:500])
            if step.loop.each:
                return document  # the loop has put its results itself
            given = await self.values(step, did)
            trust, source = did.result.trust or Trust.TRUSTED, did.result.source
        return self.mapped(step, document, given, trust, source)

    async def values(self, step: FlowStep, did: Did) -> dict[str, Json]:
        """Return what an output mapping may take from a call's result."""
        result = did.result
        if step.kind == "sub_agent":
            outputs = await loaded(result, self.load)
            return {"success": result.success, **{key: outputs.get(key) for key in ("text", "payload")}}
        wanted = any(output.source == "outputs" for output in step.outputs)
        outputs = await loaded(result, self.load) if wanted else {}
        return {
            "outputs": outputs,
            "code": result.code,
            "message": result.message,
            "success": result.success,
        }

    def mapped(self, step: FlowStep, document: Held, given: Json, trust: Trust, source: str) -> Held:
        """Return the payload with a step's outputs in their places.

        Raises:
            FlowError: the step did not give what a mapping takes, or the payload gets too long.
            PathError: a place does not fit the payload.
        """
        for output in step.outputs:
            value = look(given, (output.source, *output.path))
            if value is MISSING:
                known = ", ".join(given[output.source]) if isinstance(given.get(output.source), dict) else ""
                what = f"gave no {output.source}.{'.'.join(map(str, output.path))}"
                raise FlowError(what + (f"; it gave {known}" if known else ""))
            after, place = put(document.document, output.target, value)
            document = document.written(after, [place], trust, source if trust else "")
        if step.outputs and len(canonical(document.document)) > self.max_chars:
            raise FlowError(f"the payload is longer than {self.max_chars} characters")
        return document


def _again(condition: Condition, most: int, scope: Scope) -> bool:
    if not condition.holds(scope):
        return False
    if scope.index >= most:
        raise FlowError(f"{condition.text!r} still holds after {most} iterations")
    return True


def said(last: Stepped) -> dict[str, Json]:
    """Return what an output mapping may take from a reply.

    Raises:
        StepError: the model refused, or was cut.
    """
    text = "\n\n".join(item.text for item in last.reply.items if isinstance(item, Text))
    if last.reply.stop in {Stop.REFUSED, Stop.LENGTH}:
        raise StepError("the model refused" if last.reply.stop is Stop.REFUSED else "the reply was cut")
    given: dict[str, Json] = {"text": text}
    lines = text.strip().splitlines()
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1] == "```"  # noqa: PLR2004  (two fences and something between)
    with suppress(ValueError):  # only a mapping that takes it fails
        given["json"] = read_json("\n".join(lines[1:-1]) if fenced else text)
    return given


async def loaded(result: ActionResult, load: Load) -> dict[str, Json]:
    """Return the outputs of a result, large ones read from where they are."""
    return {name: await _content(value, load) for name, value in result.outputs.items()}


async def _content(value: Json, load: Load) -> Json:
    if not isinstance(value, Spooled):
        return value
    if value.value is not None:
        return value.value
    text = (await load(value.ref)).decode("utf-8", "replace")
    if value.form == "records":
        return [json.loads(line) for line in text.splitlines() if line]
    return json.loads(text) if value.form == "json" else text
