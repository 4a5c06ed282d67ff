"""The embedded runtime while its database cannot be used, and when something unexpected happens."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

import pytest
import pytest_asyncio
from sqlalchemy import Connection

from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.engine import Store
from wakeful.testing import Database, FakeClock
from wakeful.testing.runtime_world import World
from wakeful.types import Clock, StoreError, WorkRuntime, WorkStatus

T = TypeVar("T")


class BreakableStore(Store):
    """A store whose reads fail for as long as a test wants."""

    broken: Exception | None = None
    tries = 0

    async def read(self, fn: Callable[[Connection], T]) -> T:
        self.tries += 1
        if self.broken is not None:
            raise self.broken
        return await super().read(fn)


@pytest_asyncio.fixture
async def breakable(store: Database, clock: FakeClock) -> AsyncIterator[BreakableStore]:
    # Writers wait for a lock for a moment only.
    opened = await BreakableStore.open(f"{store.url}?timeout=0.05", clock=clock)
    assert isinstance(opened, BreakableStore)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def world(breakable: BreakableStore, clock: FakeClock) -> AsyncIterator[World]:
    async def make(clock: Clock) -> WorkRuntime:
        return EmbeddedRuntime(breakable, clock, owner_name())

    world = World(clock, make)
    yield world
    await world.end()


@contextmanager
def locked(store: Database) -> Iterator[None]:
    """Keep everybody from writing."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def elapsed(world: World, seconds: float) -> None:
    end = world.clock.monotonic() + seconds
    await world.until(lambda: world.clock.monotonic() >= end, f"{seconds} s pass")


async def test_an_end_is_written_once_the_database_takes_it(
    world: World, store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "wakeful")
    runtime = await world.runtime()
    await runtime.submit(world.item("a", wait=True))
    await world.at(runtime, "a", WorkStatus.RUNNING)
    with locked(store):
        world.release("a")
        await world.until(
            lambda: caplog.text.count("the end of work item a could not be written yet") >= 2,
            "it is tried again and again",
        )
        assert await runtime.status("a") is WorkStatus.RUNNING
    await world.at(runtime, "a", WorkStatus.DONE)
    assert len(world.started("a")) == 1


async def test_work_goes_on_when_its_lease_could_be_renewed_in_time(
    world: World, store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = await world.runtime()
    await runtime.submit(world.item("a", wait=True))
    await world.at(runtime, "a", WorkStatus.RUNNING)
    with locked(store):
        await world.until(lambda: "cannot be used" in caplog.text, "a renewal fails", step=0.5)
    await elapsed(world, 60)
    world.release("a")
    await world.at(runtime, "a", WorkStatus.DONE)
    assert not world.interrupted
    assert len(world.started("a")) == 1


async def test_work_without_a_lease_is_interrupted_and_tried_again(
    world: World, store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = await world.runtime()
    await runtime.submit(world.item("a", wait=True))
    await world.at(runtime, "a", WorkStatus.RUNNING)
    with locked(store):
        await world.until(lambda: world.interrupted == ["a"], "it is interrupted", step=0.5)
    world.release("a", 2)
    await world.at(runtime, "a", WorkStatus.DONE)
    assert [start.claim.attempt for start in world.started("a")] == [1, 2]
    assert not world.overlaps
    assert "work item a was lost (attempt 1)" in caplog.text
    assert "failed" not in caplog.text


@pytest.mark.parametrize("error", [StoreError("the server is gone"), ZeroDivisionError("a fault of ours")])
async def test_the_queue_is_served_again_after_a_failure(
    world: World, breakable: BreakableStore, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    runtime = await world.runtime()
    await world.looked()
    breakable.broken, breakable.tries = error, 0
    for _ in range(600):
        await world.clock.elapse(0.1)
    # Two loops that back off to 5 seconds: neither gives up, neither hammers.
    assert 10 <= breakable.tries <= 50
    breakable.broken = None
    assert str(error) in caplog.text
    assert caplog.text.count("cannot be used yet") == 2 * isinstance(error, StoreError)  # once by each
    assert ("Traceback" in caplog.text) is isinstance(error, ZeroDivisionError)
    await runtime.submit(world.item("a"))
    await world.at(runtime, "a", WorkStatus.DONE)


async def test_a_handler_that_does_not_heed_a_stop_is_left_behind(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    one = await world.runtime()
    await one.submit(world.item("a", cleanup=True))
    await world.at(one, "a", WorkStatus.RUNNING)
    before = world.clock.monotonic()
    other = await world.runtime()
    stopping = asyncio.ensure_future(one.stop(drain=False))
    await world.until(stopping.done, "the stop ends although the handler does not")
    assert world.clock.monotonic() - before <= 35
    assert "work item a does not stop" in caplog.text
    await world.until(lambda: world.tried("a", 2), "another takes it over")
    assert [(start.runtime, start.claim.attempt) for start in world.started("a")] == [(0, 1), (1, 2)]
    world.release("a", 2)
    world.release("a", 3)
    await world.at(other, "a", WorkStatus.DONE)
