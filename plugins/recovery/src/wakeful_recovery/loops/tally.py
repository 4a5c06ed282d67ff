"""Counting what a loop did, within fixed memory, and saying it in one result."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping

from attrs import define, field

from wakeful.types import ActionContext, ActionResult, Called, ErrorRecovery, Json, Spooled, Trust, canonical

#: Code of a call that the kernel keeps as a draft.
STAGED = "STAGED"
#: What to do about a loop that failed.
_ADVICE = {
    "ALL_FAILED": "Correct what first_failures says, then call again.",
    "STOPPED": "Look at what was done before you go on with the rest.",
}
#: Failed iterations that the aggregated result tells of one by one.
TOLD = 10
#: Characters of an iteration's arguments in its record.
ARGS_CHARS = 300


@define
class Tally:
    """What has happened so far.

    Args:
        kind: ``for_each`` or ``while``.
        over: what the loop goes over, in words.
        most: failures after which it stops; 0 = none.

    Attributes:
        staged: calls that wait as drafts: nothing has failed, and nothing was done yet.
        stopped: which limit ended it, if one did.
        ended: what was not there, where that ended it.
    """

    kind: str
    over: str
    most: int
    processed: int = 0
    failed: int = 0
    staged: int = 0
    codes: Counter[str] = field(factory=Counter)
    told: list[dict[str, Json]] = field(factory=list)
    trust: Trust = Trust.TRUSTED
    source: str = ""
    stopped: str = ""
    ended: str = ""

    def count(self, index: int, result: ActionResult) -> None:
        """Count one iteration."""
        self.processed += 1
        self.believe(result)
        if is_draft(result):
            self.staged += 1
        elif not result.success:
            self._fail(index, result)

    def _fail(self, index: int, result: ActionResult) -> None:
        self.failed += 1
        self.codes[result.code] += 1
        if len(self.told) < TOLD:
            self.told.append({"index": index, "code": result.code, "message": result.message})
        if self.most and self.failed >= self.most:
            self.stopped = self.stopped or f"after {self.failed} failures"

    def believe(self, result: ActionResult) -> None:
        """Trust the whole no further than a result in it."""
        trust = result.trust or Trust.TRUSTED
        if trust > self.trust:
            self.trust, self.source = trust, result.source

    def result(self, ctx: ActionContext, skipped: int) -> ActionResult:
        """Return the aggregated result; its records are read from the journal when they are written.

        Args:
            ctx: the context of the loop.
            skipped: inner calls at the start that are no iterations.
        """
        staged = f"{self.staged:,} staged, " if self.staged else ""
        message = (
            f"{self.kind} over {self.over}: {self.processed:,} processed, {staged}{self.failed:,} failed"
        )
        if self.stopped:
            message += f"; stopped {self.stopped}"
        elif self.ended:
            message += f"; it ended as {self.ended}"
        outputs: dict[str, Json] = {}
        if self.failed:
            outputs["failures"] = dict(self.codes.most_common(TOLD))
            outputs["first_failures"] = sorted(self.told, key=lambda each: int(each["index"]))
        if self.processed:
            outputs["results"] = _records(ctx, skipped)
        success = not self.stopped and (self.failed < self.processed or not self.processed)
        code = "STOPPED" if self.stopped else "PARTLY_FAILED" if self.failed else "SUCCESS"
        if not success and not self.stopped:
            code = "ALL_FAILED"
        recovery = None if success else ErrorRecovery(suggestion=_ADVICE[code])
        return ActionResult(success, code, message, outputs, self.trust, self.source, recovery=recovery)


def is_draft(result: ActionResult) -> bool:
    """Whether a call waits as a draft; what an action says of itself does not count."""
    return result.held and result.code == STAGED


async def _records(ctx: ActionContext, skipped: int) -> AsyncIterator[Json]:
    """Yield a record for each iteration: its index, what was called, how it ended and what it gave."""
    async for called in ctx.called():
        if called.inner >= skipped:
            yield _record(called, called.inner - skipped)


def _record(called: Called, index: int) -> dict[str, Json]:
    result = called.result
    record: dict[str, Json] = {"index": index, "args": canonical(called.args)[:ARGS_CHARS]}
    if result is None:
        return record | {"code": "UNFINISHED"}
    record["code"] = result.code
    if result.message:
        record["message"] = result.message
    outputs: Mapping[str, Json] = result.outputs
    return record | {name: _plain(value) for name, value in outputs.items() if name not in record}


def _plain(value: Json) -> Json:
    if isinstance(value, Spooled):
        rows = "" if value.rows is None else f"{value.rows:,} rows, "
        return f"({rows}{value.size:,} bytes)"
    return value
