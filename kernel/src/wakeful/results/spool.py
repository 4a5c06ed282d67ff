"""Outputs over 50,000 bytes go to the file store as they are produced; others become plain values."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from wakeful.results.nested import lifted
from wakeful.results.writing import SPOOL_BYTES, Job
from wakeful.types import ActionResult, Files, Json, Services, Spooled

#: Records of an async iterator that are handed to the writing thread at once.
_BATCH = 1000
#: Columns that a summary names.
_NAMED = 12


async def spooled(result: Any, services: Services, redact: Callable[[str], str]) -> Any:
    """Return an action's result with its outputs at rest, see :class:`Spooler`; anything else as it is.

    Media inside of outputs become outputs of their own, see :func:`wakeful.results.nested.lifted`.
    """
    if not isinstance(result, ActionResult):
        return result
    result = lifted(result)
    if all(_small(value) for value in result.outputs.values()):
        return result
    return await Spooler(services.files, redact)(result)


@frozen
class Spooler:
    """Brings the outputs of results to rest.

    Args:
        files: where large outputs go.
        redact: takes secrets out of a text before it is written.
    """

    files: Files
    redact: Callable[[str], str]

    async def __call__(self, result: ActionResult) -> ActionResult:
        """Return the result with every output a plain JSON value or a :class:`Spooled`.

        Iterators are drained and paths are read in a thread. Cancelling stops that at the next record.

        Raises:
            TypeError, ValueError: an output is none of what an output may be.
            OSError: a path cannot be read.
            StoreError: the file store cannot be written.
        """
        outputs: dict[str, Json] = {}
        said: list[str] = []
        for name, value in result.outputs.items():
            outputs[name] = await self._output(value, said)
        message = "; ".join(filter(None, (result.message or _summary(outputs), *said)))
        return evolve(result, outputs=outputs, message=message)

    async def _output(self, value: Json, said: list[str]) -> Json:
        if isinstance(value, Spooled):
            return value
        if _small(value):
            return value
        job = Job(self.files, self.redact)
        try:
            if isinstance(value, AsyncIterator):
                made = await self._drained(job, value)
            else:
                made = await asyncio.to_thread(job.whole, value)
        finally:
            job.stopped.set()
        if job.cut:
            said.append(f"cut at {job.cut}")
        return made

    async def _drained(self, job: Job, source: AsyncIterator[Json]) -> Json:
        batch: list[Json] = []
        try:
            async for item in source:
                batch.append(item)
                if len(batch) >= _BATCH:
                    await asyncio.to_thread(job.records, batch)
                    batch = []
                    if job.cut:
                        break
            return await asyncio.to_thread(job.finish, batch)
        finally:
            job.stopped.set()
            await asyncio.to_thread(job.abandon)
            closing = getattr(source, "aclose", None)
            if closing is not None:
                await closing()


def _small(value: Json) -> bool:
    """Return whether a value is certainly under the limit, without writing it out."""
    return _room(value, SPOOL_BYTES) >= 0


def _room(value: Json, room: int) -> int:
    """Return how many bytes are left of ``room`` beside a value at its longest spelling; negative: none."""
    if isinstance(value, str):
        return room - 6 * len(value) - 3  # a control character takes six
    if isinstance(value, dict):
        for name, item in value.items():
            room = _room(item, room - 6 * len(name) - 5)
            if room < 0:
                return room
        return room - 2
    if isinstance(value, list):
        for item in value:
            room = _room(item, room - 1)
            if room < 0:
                return room
        return room - 2
    if value is None or isinstance(value, bool | int | float | Spooled):
        return room - 25
    return -1


def _summary(outputs: Mapping[str, Json]) -> str:
    """Return a line about the one output of a result that has no message of its own."""
    found = next(iter(outputs.values())) if len(outputs) == 1 else None
    if isinstance(found, list):
        return f"{len(found):,} items"
    if isinstance(found, Spooled) and found.rows is not None:
        names = ", ".join(name for name, _ in found.columns[:_NAMED])
        more = f", … ({len(found.columns)} in all)" if len(found.columns) > _NAMED else ""
        return f"{found.rows:,} rows, columns: {names}{more}"
    return ""
