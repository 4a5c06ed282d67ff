"""Work items: the seam between the kernel and whatever executes its work.

An item is only a wake-up. What it is about (inputs, decisions, the journal) lives in the kernel's tables,
in the order of their sequences; a wake-up that finds nothing ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from attrs import field, frozen

from wakeful.types.json import Json


class WorkStatus(StrEnum):
    """Where an item can be in its life."""

    QUEUED = "queued"
    DELAYED = "delayed"
    """Queued, with a time before which it does not start."""
    RUNNING = "running"
    CANCELLING = "cancelling"
    """Cancelled while running; keeps its key until the handler has returned."""
    DONE = "done"
    FAILED = "failed"
    """Gave up after its attempts: a dead letter."""
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to the item."""
        return self in {WorkStatus.DONE, WorkStatus.FAILED, WorkStatus.CANCELLED}


class Priority:
    """Priorities of items; the smallest number first."""

    INTERACTIVE = 1
    RESUME = 2
    ROUTINE = 10
    BATCH = 20


@frozen
class WorkItem:
    """A wake-up.

    Args:
        id: chosen by whoever submits it; submitting it again does nothing.
        kind: which handler it is for: ``run``, ``resume``, ``flush``, ``compact``, ``routine``, ``expire``.
        key: at most one item of a key runs at a time: the conversation, chat thread or routine.
        payload: small JSON, mostly ids.
        priority: see :class:`Priority`.
        not_before: when it may start, aware; None = at once.
    """

    id: str
    kind: str
    key: str
    payload: Json = field(factory=dict)
    priority: int = Priority.ROUTINE
    not_before: datetime | None = None


@frozen
class Claim:
    """An item in the hands of a handler.

    Args:
        item: what to do.
        owner: the process that holds the lease.
        attempt: which try this is, from 1.
    """

    item: WorkItem
    owner: str
    attempt: int


#: Does an item's work. Returning ends the item; raising tries again, up to the most attempts.
Handler = Callable[[Claim], Awaitable[None]]


@frozen
class RuntimeCaps:
    """What a runtime promises beyond the seam.

    Args:
        strict_fifo: items of a key start in the order of submission.
        timer_precision: seconds by which a due item may start late when there is room.
        cross_process: several processes may serve one queue.
        preemptible: a running item can be put back for one of a better priority.
    """

    strict_fifo: bool
    timer_precision: float
    cross_process: bool
    preemptible: bool


class WorkRuntime(Protocol):
    """Executes work items; every implementation passes the suite ``wakeful.testing.RuntimeConformance``.

    At most one running item per key. Every accepted item ends as done, failed or cancelled, or is tried
    again. Timers are never early. Order is not promised here but by the sequences in the kernel's tables.
    """

    @property
    def caps(self) -> RuntimeCaps:
        """Return what it promises."""
        ...

    async def start(self, handlers: Mapping[str, Handler], *, concurrency: int) -> None:
        """Begin to execute items of the kinds in ``handlers``, at most ``concurrency`` at once."""
        ...

    async def submit(self, item: WorkItem) -> bool:
        """Accept an item durably; False if its id is already known."""
        ...

    async def reschedule(self, item_id: str, not_before: datetime) -> bool:
        """Put a waiting item off; False if it is not waiting."""
        ...

    async def cancel(self, item_id: str) -> bool:
        """End an item: at once if it waits, through ``cancelling`` if it runs; False if it has ended."""
        ...

    async def status(self, item_id: str) -> WorkStatus | None:
        """Return where an item is; None if the id is unknown."""
        ...

    async def stop(self, *, drain: bool) -> None:
        """Stop claiming; wait for what runs, or (``drain`` False) interrupt it and give it back."""
        ...
