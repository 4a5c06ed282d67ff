"""The runs in progress: one at a time for a conversation, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from attrs import define, field

from wakeful.loop.live import Live
from wakeful.types import Answer, Event, NotAvailableError, RunEnded

#: Events that wait for a reader of a stream; the run waits for the reader beyond that.
EVENTS = 256


@define(eq=False)
class Lane:
    """The queue of turns of one conversation in this process."""

    lock: asyncio.Lock = field(factory=asyncio.Lock)
    users: int = 0


@define(eq=False)
class Runs:
    """Everything that runs in this application."""

    lanes: dict[str, Lane] = field(factory=dict)
    lives: dict[str, Live] = field(factory=dict)
    tasks: dict[str, asyncio.Task[Answer]] = field(factory=dict)
    closed: bool = False

    @asynccontextmanager
    async def lane(self, conversation: str) -> AsyncIterator[None]:
        """Wait until no other turn of ``conversation`` runs in this process, in order of arrival."""
        lane = self.lanes.setdefault(conversation, Lane())
        lane.users += 1
        try:
            async with lane.lock:
                if self.closed:
                    raise NotAvailableError("the application is closed")
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self.lanes[conversation]

    async def complete(self, key: str, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Run ``work`` in a task of its own; if the caller is cancelled it ends as cancelled first."""
        task = asyncio.ensure_future(work)
        self.tasks[key] = task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await task
            raise
        finally:
            self.tasks.pop(key, None)

    def cancel(self, key: str) -> bool:
        """Cancel a run of this process; False if there is none."""
        task = self.tasks.get(key)
        return task.cancel() if task is not None else False

    async def close(self) -> None:
        """Cancel what runs and wait for its end; what waits for its turn never begins."""
        self.closed = True
        tasks = list(self.tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def streamed(
    start: Callable[[Callable[[Event], Any]], Coroutine[Any, Any, Answer]],
) -> AsyncGenerator[Event, None]:
    """Yield the events of a run as they happen; leaving the loop early cancels the run.

    Args:
        start: given the function that takes events, returns the work.
    """
    queue: asyncio.Queue[Event | BaseException] = asyncio.Queue(EVENTS)

    async def run() -> None:
        try:
            await start(queue.put)
        except BaseException as error:
            await queue.put(error)
            raise

    task = asyncio.ensure_future(run())
    try:
        while True:
            event = await queue.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if isinstance(event, RunEnded):
                return
    finally:
        while not task.done():
            # The run may be waiting to tell us something: nobody listens any more.
            task.cancel()
            while not queue.empty():
                queue.get_nowait()
            await asyncio.wait({task}, timeout=0.05)
        if not task.cancelled():
            task.exception()
