"""The batch: everything that is due changes in one rewrite, between two runs or when the context fills."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from attrs import asdict, field, frozen

from wakeful.types import (
    Call,
    Change,
    ChangeKind,
    Expiration,
    ModelError,
    Result,
    RowKind,
    Run,
    Services,
    Text,
    View,
)
from wakeful_recovery.lifecycle.ages import Aged, expiration_of, overridden, own_override, results
from wakeful_recovery.lifecycle.settings import LifecycleSettings
from wakeful_recovery.lifecycle.shorter import arguments, cut, gone, summarised

#: Steps whose arguments stay whole: the model may still be working with them.
NEWEST = 2
#: Summaries that are asked for at the same time.
SUMMARIES = 8


@frozen
class Due:
    """A result that has expired, and how."""

    result: Aged
    expiration: Expiration

    @property
    def reason(self) -> str:
        """Why it changes."""
        return f"older than {self.expiration.turns} turns"


@frozen(eq=False)
class Batch:
    """Expires and compacts results that are due; long arguments of old calls shrink with them."""

    settings: LifecycleSettings
    services: Services = field(repr=False)
    name: str = "expiry"
    order: int = 0
    between_runs: bool = True

    @property
    def share(self) -> float:
        """The share of the budget from which a batch is made within a run."""
        return self.settings.batch_share

    @property
    def until(self) -> float:
        """The same: what is due does not depend on how much is to be freed."""
        return self.settings.batch_share

    async def relieve(self, run: Run, view: View, excess: int) -> Sequence[Change]:
        """Return what is due. Arguments alone are no reason for a batch while there is room."""
        due = list(self._due(run, view, await self._overrides(run)))
        if not due and not excess:
            return ()
        made = await self._changes(run, due)
        return [*made, *self._arguments(run, view)] if made or excess else ()

    async def _overrides(self, run: Run) -> Mapping[str, Expiration]:
        """Return what callers set for whole runs; that of this run is kept for the runs that follow."""
        try:
            given = own_override(run)
            found = overridden(run)
        except ValueError as error:
            self.services.report(f"run {run.id}: {error}; left out")
            return {}
        key = f"run:{run.id}"
        if given is not None and key not in run.state.get("lifecycle", {}):
            await self.services.save(run, {key: asdict(found[run.id])})
        return found

    def _due(self, run: Run, view: View, overrides: Mapping[str, Expiration]) -> Iterator[Due]:
        catalogue = self.services.catalogue(run)
        for result in results(run, view):
            expiration = expiration_of(result.row, catalogue, self.settings.expirations, overrides)
            if expiration is None or expiration.mode == "none" or result.age <= expiration.turns:
                continue
            change = run.rewrites.changes.get(result.key)
            if change is None or (expiration.mode == "remove" and change.kind is ChangeKind.COMPACTED):
                yield Due(result, expiration)

    async def _changes(self, run: Run, due: Sequence[Due]) -> list[Change]:
        gate = asyncio.Semaphore(SUMMARIES)
        made = await asyncio.gather(*(self._change(run, each, gate) for each in due))
        return [change for change in made if change is not None]

    async def _change(self, run: Run, due: Due, gate: asyncio.Semaphore) -> Change | None:
        expiration, result = due.expiration, due.result
        if expiration.mode == "remove":
            return gone(result, ChangeKind.EXPIRED, due.reason)
        if expiration.method == "first_n_chars":
            return cut(result, expiration.length, due.reason, expandable=True)
        length = expiration.length or self.settings.summary_chars
        if len(result.original) <= length:
            return None
        async with gate:
            summary = await self._summary(run, due, length)
        return summarised(result, summary, due.reason) if summary else None

    async def _summary(self, run: Run, due: Due, length: int) -> str:
        """Ask for a summary; empty if there is none: the result then stays until the next batch."""
        row, original = due.result.row, due.result.original
        facts = f"{row.meta.get('message_type')} of turn {row.turn}, {len(original):,} characters"
        prompt = due.expiration.prompt or self.settings.summary_prompt
        question = f"{prompt}\n\nAt most {length:,} characters. The result ({facts}):\n\n{original}"
        try:
            reply = await self.services.ask(run, "lifecycle-summary", question, alone=True)
        except ModelError as error:
            self.services.report(f"row {row.seq} has no summary: {error}")
            return ""
        text = "\n".join(item.text for item in reply.items if isinstance(item, Text)).strip()
        return text[: 2 * length]

    def _arguments(self, run: Run, view: View) -> Iterator[Change]:
        """Yield what stands for long arguments of answered calls that are not of the newest steps."""
        answered = {item.call_id for row in view.rows for item in row.items if isinstance(item, Result)}
        asking = [row for row in view.rows if row.kind is RowKind.ASSISTANT]
        newest = list(dict.fromkeys((row.run, row.step) for row in reversed(asking)))[:NEWEST]
        for row in asking:
            if (row.run, row.step) in newest:
                continue
            for place, item in enumerate(row.items):
                if not isinstance(item, Call) or item.id not in answered:
                    continue
                if (row.seq, place) in run.rewrites.changes:
                    continue
                short = arguments(item.args, self.settings.argument_chars, row.step)
                if short is not None:
                    yield Change(row.seq, place, ChangeKind.SHORTENED, short, reason="long arguments")
