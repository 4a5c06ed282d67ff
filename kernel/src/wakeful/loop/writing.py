"""Writing the journal of inner calls: what waits at the same time shares one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import define, field

from wakeful.loop.live import Live
from wakeful.loop.statements import ADD_ACTION, SET_RESULT, guard
from wakeful.store.contents import keep
from wakeful.types import ActionResult, Json, Run
from wakeful.waiting import outlast

if TYPE_CHECKING:
    from sqlalchemy import Connection

Put = tuple[str, str, Json]

#: Turns of the event loop that results wait for the calls that follow them, to share their transaction:
#: twice what a loop takes from a result to its next call. Together they take well under a millisecond.
TURNS = 10


@define
class _Batch:
    """What goes into one transaction."""

    intents: list[dict[str, Json]] = field(factory=list)
    results: list[dict[str, Json]] = field(factory=list)
    contents: list[str] = field(factory=list)
    durable: bool = False

    def write(self, conn: Connection, run: Run) -> None:
        """Write everything; the run must still be this process's."""
        guard(conn, run)
        SET_RESULT.run_each(conn, self.results)
        ADD_ACTION.run_each(conn, self.intents)
        for ref in self.contents:
            conn.execute(keep(run.conversation, ref))


@define(eq=False)
class Writing:
    """Groups writes. An intent is waited for; a result goes with the next one, or alone if none follows.

    A process that ends before that has run a call without a record of its result: the same holds for it
    as for a call whose process ended while it ran.
    """

    live: Live
    _batch: _Batch = field(init=False, factory=_Batch)
    _written: asyncio.Future[None] | None = field(init=False, default=None)
    _task: asyncio.Task[None] | None = field(init=False, default=None)

    async def intent(self, columns: dict[str, Json], *, durable: bool) -> None:
        """Store that a call will run, or its refusal; returns when it is stored.

        Raises:
            StoreError: it cannot be stored.
            FencedError: another process took the run over.
        """
        self._batch.intents.append(columns)
        self._batch.durable = self._batch.durable or durable
        await asyncio.shield(self._soon())

    async def result(self, key: str, result: ActionResult, puts: Sequence[Put]) -> None:
        """Hand in a result; long ones are stored before this returns."""
        values, contents = await self.live.journal.result_values(key, result, "done", puts)
        self._batch.results.append(values)
        self._batch.contents += contents
        self._soon()

    async def flush(self) -> None:
        """Wait until everything is stored."""
        while self._task is not None:
            await outlast(self._soon())

    def _soon(self) -> asyncio.Future[None]:
        """Return what is done when everything handed in so far is stored."""
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.ensure_future(self._work())
        return self._written

    async def _gathered(self) -> None:
        """Let whoever is about to hand something in do so now."""
        for _ in range(TURNS):
            before = len(self._batch.intents)
            await asyncio.sleep(0)
            if before and len(self._batch.intents) == before:
                return

    async def _work(self) -> None:
        """Write until nothing is left; whoever waits hears of what went wrong."""
        while self._written is not None:
            await self._gathered()
            batch, self._batch = self._batch, _Batch()
            written, self._written = self._written, None
            try:
                run = self.live.run
                await self.live.store.write(lambda conn: batch.write(conn, run), durable=batch.durable)  # noqa: B023  (awaited at once)
                written.set_result(None)
            except Exception as error:  # noqa: BLE001  (handed on)
                written.set_exception(error)
                written.exception()  # there need not be anybody who waits
        self._task = None
