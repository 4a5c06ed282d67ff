"""What the embedded runtime promises beyond the seam: frugality, affinity, forgetting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.engine import Store
from wakeful.testing import Database, FakeClock
from wakeful.testing.runtime_world import World
from wakeful.types import Claim, Clock, WorkItem, WorkRuntime, WorkStatus


@pytest_asyncio.fixture
async def opened(store: Database) -> AsyncIterator[Store]:
    async with store.open() as opened:
        yield opened


@pytest_asyncio.fixture
async def world(opened: Store, clock: FakeClock) -> AsyncIterator[World]:
    async def make(clock: Clock) -> WorkRuntime:
        return EmbeddedRuntime(opened, clock, owner_name())

    world = World(clock, make)
    yield world
    await world.end()


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """Collect what the drivers are given."""
    seen: list[str] = []
    dialects: list[Any] = [store.writer.dialect, store._read_lane.engine.dialect]  # noqa: SLF001  (shows nowhere else)
    for dialect in dialects:

        def noted(cursor: Any, statement: str, *rest: Any, execute: Any = dialect.do_execute) -> None:
            seen.append(statement)
            execute(cursor, statement, *rest)

        dialect.do_execute = noted
    yield seen
    for dialect in dialects:
        del dialect.do_execute


async def test_an_idle_runtime_reads_a_little_and_writes_nothing(world: World, opened: Store) -> None:
    runtime = await world.runtime()
    await world.looked()
    await world.at(runtime, "probe-1-0", WorkStatus.DONE)
    with statements(opened) as seen:
        for _ in range(1000):
            await world.clock.elapse(0.01)
            await opened.read(lambda conn: None)
    assert {statement.split()[0] for statement in seen} == {"SELECT"}
    # Two a look, a look each half second; one a second for leases.
    assert 20 <= len(seen) <= 10 * 5 + 5


async def test_a_burst_is_claimed_in_batches(world: World, opened: Store) -> None:
    runtime = await world.runtime(concurrency=500)
    with statements(opened) as seen:
        await asyncio.gather(*(runtime.submit(world.item(f"i{n}", wait=True)) for n in range(500)))
        await world.until(lambda: len(world.starts) == 500, "all run at once", step=0.0)
    claims = [statement for statement in seen if statement.startswith("UPDATE")]
    assert 1 <= len(claims) <= 20
    with statements(opened) as seen:
        for number in range(500):
            world.release(f"i{number}")
        await world.at(runtime, "i499", WorkStatus.DONE)


async def test_an_item_stays_with_who_submitted_it_while_there_is_room(world: World) -> None:
    one, other = await world.runtime(concurrency=3), await world.runtime(concurrency=3)
    await one.submit(world.item("a", wait=True))
    await one.submit(world.item("b", wait=True))
    await other.submit(world.item("c", wait=True))
    await world.until(lambda: len(world.starts) == 3, "all run", step=0.0)
    assert {start.claim.item.id: start.runtime for start in world.starts} == {"a": 0, "b": 0, "c": 1}
    # No room here: nobody has to wait for it.
    await one.submit(world.item("d", wait=True))
    await world.until(lambda: world.tried("d", 1), "it has room for one more", step=0.0)
    await one.submit(world.item("e"))
    before = world.clock.monotonic()
    await world.until(lambda: world.tried("e", 1), "the other takes it", step=0.01)
    assert world.clock.monotonic() - before <= 1.0
    assert world.started("e")[0].runtime == 1
    await world.at(other, "e", WorkStatus.DONE)


async def test_who_submitted_an_item_and_does_not_start_it_loses_it_soon(world: World) -> None:
    one, other = await world.runtime(), await world.runtime()
    world.stall(one)
    await one.submit(world.item("a", "k", wait=True))
    await world.until(lambda: world.tried("a", 1), "it starts", step=0.0)
    await one.submit(world.item("b", "k2", wait=True))
    await world.until(lambda: world.tried("b", 1), "it starts", step=0.0)
    assert await other.status("b") is WorkStatus.RUNNING


async def test_a_process_takes_nothing_from_itself_however_slow_its_database_is(
    world: World, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = await world.runtime()
    await runtime.submit(world.item("a", wait=True))
    await world.until(lambda: world.tried("a", 1), "it starts")
    write = opened.write

    async def slow(*args: Any, **values: Any) -> Any:
        done = await write(*args, **values)
        world.clock.advance(600)  # longer than any lease: what was renewed has run out already
        return done

    with monkeypatch.context() as patched:
        patched.setattr(Store, "write", lambda _, *args, **values: slow(*args, **values))
        for _ in range(200):
            world.clock.advance(1)
            await opened.read(lambda conn: None)
    world.release("a")
    await world.at(runtime, "a", WorkStatus.DONE)
    assert len(world.started("a")) == 1


async def test_ends_are_remembered_for_a_month_and_dead_letters_for_ever(world: World, opened: Store) -> None:
    runtime = await world.runtime()
    for item in (
        world.item("done"),
        world.item("hopeless", fail=99),
        world.item("late", not_before=world.after(9e6)),
    ):
        await runtime.submit(item)
    await world.at(runtime, "done", WorkStatus.DONE)
    await world.at(runtime, "hopeless", WorkStatus.FAILED)
    await runtime.stop(drain=True)
    world.clock.advance(timedelta(days=29).total_seconds())
    again = await world.runtime()
    for _ in range(20):
        await world.until(lambda: True, "", step=0.0)
        await world.looked()
        world.clock.advance(600)
    assert await again.submit(world.item("done")) is False
    world.clock.advance(timedelta(days=2).total_seconds())
    await world.until(lambda: world.clock.monotonic() > 31.3 * 86400, "hours pass", step=600)
    assert await again.status("done") is None
    assert await again.status("hopeless") is WorkStatus.FAILED
    assert await again.status("late") is WorkStatus.DELAYED


async def test_it_says_what_is_wrong_with_a_start(world: World) -> None:
    runtime = await world.runtime()
    with pytest.raises(RuntimeError, match="runs already"):
        await world.begin(runtime)
    idle = await world.runtime(begin=False)
    with pytest.raises(ValueError, match="concurrency must be at least 1, got 0"):
        await world.begin(idle, concurrency=0)


def test_an_event_loop_that_is_closed_gives_items_back(store: Database, clock: FakeClock) -> None:
    started = asyncio.Event()

    async def wait_for_ever(claim: Claim) -> None:
        started.set()
        await asyncio.Event().wait()

    async def leave() -> Store:
        opened = await Store.open(store.url, clock=clock)
        runtime = EmbeddedRuntime(opened, clock, owner_name())
        await runtime.submit(WorkItem("a", "work", "k"))
        await runtime.start({"work": wait_for_ever}, concurrency=1)
        await started.wait()
        return opened

    opened = asyncio.run(leave())
    assert store.rows("SELECT status, attempts, owner FROM work_item") == [
        {"status": "queued", "attempts": 0, "owner": ""}
    ]
    asyncio.run(opened.close())
