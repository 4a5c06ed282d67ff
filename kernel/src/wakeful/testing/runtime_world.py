"""The world in which a runtime is checked: one queue, fake time, several runtimes, and what happened."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from attrs import define, field, frozen

from wakeful.testing.clock import FakeClock
from wakeful.testing.gates import Gate
from wakeful.types import Claim, Clock, Handler, StoreError, WorkItem, WorkRuntime, WorkStatus

#: Makes a runtime on the queue, whose every waiting uses the clock.
Maker = Callable[[Clock], Awaitable[WorkRuntime]]
#: Real seconds after which a check has failed: something that had to happen never did.
LIMIT_S = 60.0
#: Fake seconds by which time moves while a check waits, between two answers of every runtime.
STEP_S = 0.1

C = TypeVar("C", bound="RuntimeChecks")


@define(eq=False)
class StallingClock:
    """A clock on which a runtime's process can stand still: no sleep ends between a stall and the thaw."""

    base: Clock
    _going: asyncio.Event = field(factory=asyncio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._going.set()

    def now(self) -> datetime:
        """Return the time of the other clock."""
        return self.base.now()

    def monotonic(self) -> float:
        """Return the seconds of the other clock."""
        return self.base.monotonic()

    def sleep(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Wait on the other clock, from now, then for the end of the stall."""
        return self._sleep(self.base.sleep(seconds))

    def stall(self) -> None:
        """Let nobody wake any more."""
        self._going.clear()

    def thaw(self) -> None:
        """Let everybody go on."""
        self._going.set()

    async def _sleep(self, slept: Coroutine[Any, Any, None]) -> None:
        await slept
        await self._going.wait()


@frozen
class Start:
    """That a handler began: of which runtime (from 0), with what, when."""

    runtime: int
    claim: Claim
    at: datetime


@define(eq=False)
class World:
    """A queue and the runtimes that serve it; handlers do what the payload of an item says.

    ``{"wait": true}`` stands still until :meth:`release`, and ``{"cleanup": true}`` once more when it is
    cancelled meanwhile; ``"then"`` is ``"return"`` or ``"raise"`` for how it ends after that.
    ``{"fail": n}`` raises on its first ``n`` attempts; ``{"turns": n}`` gives way ``n`` times. Anything else
    returns at once.
    """

    clock: FakeClock
    make: Maker
    runtimes: list[WorkRuntime] = field(factory=list, init=False)
    starts: list[Start] = field(factory=list, init=False)
    overlaps: list[str] = field(factory=list, init=False)
    interrupted: list[str] = field(factory=list, init=False)
    most_at_once: int = field(default=0, init=False)
    _busy: Counter[str] = field(factory=Counter, init=False)
    _gates: dict[tuple[str, int], Gate] = field(factory=dict, init=False)
    _clocks: list[StallingClock] = field(factory=list, init=False)
    _probes: int = field(default=0, init=False)

    async def runtime(
        self, *, kinds: tuple[str, ...] = ("work",), concurrency: int = 10, begin: bool = True
    ) -> WorkRuntime:
        """Make a runtime on the queue and start it; skips the check if a second one cannot be."""
        if any(not each.caps.cross_process for each in self.runtimes):
            pytest.skip("this runtime serves its queue alone")
        clock = StallingClock(self.clock)
        made = await self.make(clock)
        self.runtimes.append(made)
        self._clocks.append(clock)
        if begin:
            await self.begin(made, kinds=kinds, concurrency=concurrency)
        return made

    async def begin(
        self, runtime: WorkRuntime, *, kinds: tuple[str, ...] = ("work",), concurrency: int = 10
    ) -> None:
        """Start a runtime that was made without."""
        await runtime.start(self._handlers(self.runtimes.index(runtime), kinds), concurrency=concurrency)

    def stall(self, runtime: WorkRuntime) -> None:
        """Let a runtime's process stand still."""
        self._clocks[self.runtimes.index(runtime)].stall()

    def thaw(self, runtime: WorkRuntime) -> None:
        """Let it go on."""
        self._clocks[self.runtimes.index(runtime)].thaw()

    def item(self, item_id: str, key: str = "", *, kind: str = "work", **rest: Any) -> WorkItem:
        """Return an item; its key is its id unless one is given, its payload what ``rest`` says besides."""
        options = {name: rest.pop(name) for name in ("priority", "not_before") if name in rest}
        return WorkItem(item_id, kind, key or item_id, rest, **options)

    def after(self, seconds: float) -> datetime:
        """Return the moment that many seconds from now."""
        return self.clock.now() + timedelta(seconds=seconds)

    def started(self, item_id: str) -> list[Start]:
        """Return the starts of an item, in order."""
        return [start for start in self.starts if start.claim.item.id == item_id]

    def tried(self, item_id: str, times: int) -> bool:
        """Return whether an item has started that many times."""
        return len(self.started(item_id)) >= times

    def release(self, item_id: str, times: int = 1) -> None:
        """Let an item that waits go on, the ``times``-th wait of all its attempts."""
        self._gate(item_id, times).open()

    async def until(self, condition: Callable[[], object], what: str, *, step: float = STEP_S) -> None:
        """Wait for something to happen; time moves on by ``step`` whenever every runtime has answered."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while not condition():
                    for runtime in self.runtimes:
                        # A way to the queue and back, to read and to write: what a runtime has begun there
                        # ends before, however slow the queue is.
                        await runtime.status("nothing")
                        with suppress(StoreError):  # a check may have taken it away
                            await runtime.cancel("nothing")
                    await asyncio.sleep(0)
                    if not condition():
                        self.clock.advance(step)
        except TimeoutError:
            raise AssertionError(f"did not happen: {what}") from None

    async def at(self, runtime: WorkRuntime, item_id: str, *expected: WorkStatus) -> None:
        """Wait until an item has one of the statuses."""
        if await runtime.status(item_id) in expected:
            return
        seen: list[WorkStatus | None] = []

        async def ask() -> None:
            while not seen or seen[-1] not in expected:
                seen[:] = [await runtime.status(item_id)]
                await asyncio.sleep(0)

        asking = asyncio.ensure_future(ask())
        try:
            await self.until(asking.done, f"{item_id} becomes {' or '.join(expected)}")
        finally:
            asking.cancel()

    async def looked(self) -> None:
        """Wait until every runtime that works has looked at the queue, without moving time."""
        names = []
        for number, runtime in enumerate(self.runtimes):
            self._probes += 1
            names.append(f"probe-{self._probes}-{number}")
            await runtime.submit(self.item(names[-1], priority=1000))
        await self.until(
            lambda: all(self.started(name) for name in names), "each runtime looks at the queue", step=0.0
        )

    async def end(self) -> None:
        """Let everything go and stop every runtime."""
        for gate in self._gates.values():
            gate.open()
        for clock in self._clocks:
            clock.thaw()
        stopping = asyncio.gather(*(runtime.stop(drain=False) for runtime in self.runtimes))
        await self.until(stopping.done, "every runtime stops")
        await stopping

    def _handlers(self, runtime: int, kinds: tuple[str, ...]) -> Mapping[str, Handler]:
        async def handle(claim: Claim) -> None:
            key = claim.item.key
            self.starts.append(Start(runtime, claim, self.clock.now()))
            self._busy[key] += 1
            if self._busy[key] > 1:
                self.overlaps.append(key)
            self.most_at_once = max(self.most_at_once, self._busy.total())
            try:
                await self._do(claim)
            finally:
                self._busy[key] -= 1

        return dict.fromkeys(kinds, handle)

    async def _do(self, claim: Claim) -> None:
        payload = dict(claim.item.payload)
        for _ in range(payload.get("turns", 0)):
            await asyncio.sleep(0)
        if claim.attempt <= payload.get("fail", 0):
            raise ValueError(f"attempt {claim.attempt} of {claim.item.id} fails")
        if payload.get("wait") or payload.get("cleanup"):
            count = len(self.started(claim.item.id))
            try:
                await self._gate(claim.item.id, count).wait()
            except asyncio.CancelledError:
                self.interrupted.append(claim.item.id)
                if payload.get("cleanup"):
                    await self._gate(claim.item.id, count + 1).wait()
                if payload.get("then") == "return":
                    return
                if payload.get("then") == "raise":
                    raise ValueError("could not clean up") from None
                raise

    def _gate(self, item_id: str, count: int) -> Gate:
        return self._gates.setdefault((item_id, count), Gate())


class RuntimeChecks(ABC):
    """What the parts of the suite share: how to reach the queue, and what the runtime was told.

    Attributes:
        lease_s: seconds after which a runtime that stands still has lost its items.
        most_attempts: attempts after which an item is given up.
        longest_pause: seconds within which a failed item is tried again, however often it has failed.
    """

    lease_s = 30.0
    most_attempts = 5
    longest_pause = 60.0

    @abstractmethod
    def queue(self, clock: FakeClock) -> AbstractAsyncContextManager[Maker]:
        """Give a function that makes runtimes on one queue; what they hold is closed at the end."""


def check(body: Callable[[C, World], Awaitable[None]]) -> Callable[[C], None]:
    """Make a test of a coroutine over a :class:`World`: a plain function with an event loop of its own."""

    def test(self: C) -> None:
        async def play() -> None:
            clock = FakeClock()
            async with self.queue(clock) as make:
                world = World(clock, make)
                try:
                    await body(self, world)
                finally:
                    await world.end()
            assert not world.overlaps, f"two items of one key ran at once: {world.overlaps}"

        asyncio.run(play())

    # Not functools.wraps: pytest would take the world for a fixture.
    test.__name__, test.__qualname__, test.__doc__ = body.__name__, body.__qualname__, body.__doc__
    return test
