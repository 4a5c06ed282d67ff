"""The runs in progress in this process, and whoever waits for runs here or elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from attrs import define, field

from wakeful.loop.live import EmitEvent, Live
from wakeful.types import Answer, Event, RunEnded
from wakeful.waiting import GRACE, outlast

#: Events that wait for a reader of a stream; the run waits for the reader beyond that.
EVENTS = 256


@define(eq=False)
class Waiter:
    """Somebody who waits for a run and hears its events, if it runs in this process.

    Args:
        emit: passes events on.
        item: the work item whose end is the end of the waiting, if the run itself does not end before.
        present: whether it waited already when the run was last taken up.
    """

    emit: EmitEvent
    item: str
    present: bool = False
    answer: asyncio.Future[Answer] = field(factory=lambda: asyncio.get_running_loop().create_future())

    def tell(self, answer: Answer) -> None:
        """Give the answer, once."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: BaseException) -> None:
        """Give an error instead, once."""
        if not self.answer.done():
            self.answer.set_exception(error)


@define(eq=False)
class Runs:
    """Everything that runs, or is waited for, in this application."""

    lives: dict[str, Live] = field(factory=dict)
    tasks: dict[str, asyncio.Task[Answer]] = field(factory=dict)
    waiters: dict[str, list[Waiter]] = field(factory=dict)
    forsaken: set[str] = field(factory=set)

    def emitter(self, run_id: str) -> EmitEvent:
        """Return what passes events to everybody who waits for a run, the end to whom it is the end for."""

        async def emit(event: Event) -> None:
            for waiter in tuple(self.waiters.get(run_id, ())):
                if waiter.present or not isinstance(event, RunEnded):
                    await waiter.emit(event)

        return emit

    def tell(self, run_id: str, answer: Answer, item: str | None = None) -> None:
        """Give everybody who waits for a run its answer.

        With an item, only those who wait for it, and those who waited already when the run was taken up: who
        came since may know of a decision that it did not see any more. Their own items answer them.
        """
        for waiter in self.waiters.get(run_id, ()):
            if item is None or waiter.present or waiter.item == item:
                waiter.tell(answer)

    def fail(self, run_id: str, error: BaseException) -> None:
        """Give everybody who waits for a run an error."""
        for waiter in self.waiters.get(run_id, ()):
            waiter.fail(error)

    async def complete(
        self, run_id: str, work: Coroutine[Any, Any, Answer], meant: Callable[[], Awaitable[bool]]
    ) -> Answer:
        """Run ``work`` in a task of its own, which ends before a cancelled caller does.

        Args:
            run_id: the run.
            work: executes it.
            meant: says, when the caller is cancelled, whether the run is to end as cancelled; if not, it is
                left as it is, for another process to finish.
        """

        async def begin() -> Answer:
            # From here on cancelling reaches the work; before, its input can still be withdrawn.
            self.tasks[run_id] = task
            return await work

        task = asyncio.ensure_future(begin())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not (await outlast(meant()))[0]:
                self.forsake(run_id)
            task.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await task
            raise
        finally:
            work.close()  # in case it never began
            self.tasks.pop(run_id, None)
            self.forsaken.discard(run_id)

    def cancel(self, run_id: str) -> bool:
        """Cancel a run of this process; False if it is not running here."""
        task = self.tasks.get(run_id)
        return task.cancel() if task is not None else False

    def inside(self, run_id: str) -> asyncio.Task[Answer] | None:
        """Return what executes a run here as a part of the run that delegated it; None if nothing does."""
        live = self.lives.get(run_id)
        return self.tasks.get(run_id) if live is not None and live.parent is not None else None

    def abandon(self) -> None:
        """Forsake the runs that nobody here waits for."""
        for run_id in self.tasks:
            live = self.lives.get(run_id)
            if not self.waiters.get(run_id) and (live is None or live.parent is None):
                self.forsake(run_id)

    @contextmanager
    def showing(self, live: Live) -> Iterator[None]:
        """Let a run be found while it is in progress; it may have been forsaken before that."""
        live.abandoned = any(live.stands_below(run_id) for run_id in self.forsaken)
        self.lives[live.run.id] = live
        for waiter in self.waiters.get(live.run.id, ()):
            waiter.present = True
        try:
            yield
        finally:
            del self.lives[live.run.id]

    def forsake(self, run_id: str) -> None:
        """Leave a run for another process to finish: nothing more is written here."""
        self.forsaken.add(run_id)
        for live in self.lives.values():
            if live.stands_below(run_id):
                live.abandoned = True


async def streamed(
    start: Callable[[Callable[[Event], Any]], Coroutine[Any, Any, Answer]],
) -> AsyncGenerator[Event, None]:
    """Yield the events of a run as they happen; leaving the loop early cancels the run.

    Args:
        start: given the function that takes events, returns the work.
    """
    queue: asyncio.Queue[Event | BaseException] = asyncio.Queue(EVENTS)
    task = asyncio.ensure_future(_feed(queue, start))
    ended = False
    try:
        while not ended:
            event = await queue.get()
            if isinstance(event, BaseException):
                raise event
            ended = isinstance(event, RunEnded)
            yield event
    finally:
        if ended and not task.done():
            # The run has ended or waits for a person: to cancel it now would end what it waits for.
            await asyncio.wait({task}, timeout=GRACE)
        while not task.done():
            # The run may be waiting to tell us something: nobody listens any more.
            task.cancel()
            while not queue.empty():
                queue.get_nowait()
            await asyncio.wait({task}, timeout=0.05)
        if not task.cancelled():
            task.exception()


async def _feed(
    queue: asyncio.Queue[Event | BaseException],
    start: Callable[[Callable[[Event], Any]], Coroutine[Any, Any, Answer]],
) -> None:
    """Put the events of a run into the queue, its end or its error last."""
    ended = False

    async def take(event: Event) -> None:
        nonlocal ended
        if ended:  # what a decision made of the run since is for whoever resumes it
            return
        ended = isinstance(event, RunEnded)
        await queue.put(event)

    try:
        answer = await start(take)
    except BaseException as error:
        await queue.put(error)
        raise
    if not ended:  # it ran in another process; its events are not here
        await queue.put(RunEnded(answer))
