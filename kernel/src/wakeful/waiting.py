"""Waiting with a limit on an injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from wakeful.system import SystemClock
from wakeful.types import Clock

T = TypeVar("T")

#: Seconds that cancelled work may take to clean up before it is abandoned.
GRACE = 5.0


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Await ``work`` for at most ``seconds`` of ``clock``.

    Raises:
        TimeoutError: the time is over; ``work`` was cancelled and had a moment to clean up.
    """
    task = asyncio.ensure_future(work)
    try:
        await first(clock, seconds, task)
        if task.done():
            return task.result()
        raise TimeoutError
    finally:
        await stop(task)


async def first(clock: Clock, seconds: float | None, *futures: asyncio.Future[Any]) -> None:
    """Wait until one of ``futures`` is done, for at most ``seconds`` of ``clock``; None is for ever."""
    if _real(clock, seconds):
        await asyncio.wait(futures, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return
    timer = asyncio.ensure_future(clock.sleep(seconds or 0.0))
    try:
        await asyncio.wait({*futures, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await stop(timer)


async def every(clock: Clock, seconds: float | None, *futures: asyncio.Future[Any]) -> None:
    """Wait until all of ``futures`` are done, for at most ``seconds`` of ``clock``; None is for ever."""
    if _real(clock, seconds):
        await asyncio.wait(futures, timeout=seconds)
        return
    together = asyncio.ensure_future(asyncio.wait(futures))
    try:
        await first(clock, seconds, together)
    finally:
        await stop(together)


def _real(clock: Clock, seconds: float | None) -> bool:
    """Whether the event loop can measure the time, which costs less than a task that sleeps."""
    return seconds is None or isinstance(clock, SystemClock)


async def stop(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks and wait until they have ended, at most :data:`GRACE` seconds."""
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending, timeout=GRACE)


async def outlast(work: Awaitable[T]) -> tuple[T, bool]:
    """Await ``work`` to its end whatever happens; also return whether the caller was cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except Exception:  # noqa: BLE001  (task.result() below raises it)
            break
    return task.result(), cancelled


def stopping() -> bool:
    """Return whether somebody asked this task to stop; if not, a CancelledError comes from within."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def uncancel() -> None:
    """Take back one request to stop this task: it has been heard."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


async def settle(work: Awaitable[T]) -> T:
    """Await ``work`` to its end even if the caller is cancelled meanwhile, then pass that on."""
    result, cancelled = await outlast(work)
    if cancelled:
        raise asyncio.CancelledError
    return result
