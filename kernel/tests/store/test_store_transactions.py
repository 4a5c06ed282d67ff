"""What a caller of the store may rely on: whole transactions, order, cancellation, a clean end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from wakeful.store import tables as t
from wakeful.store.engine import Store
from wakeful.store.transaction import Transaction
from wakeful.types import StoreError, Tx

AT = datetime(2026, 3, 1, tzinfo=UTC)
Seed = Callable[[Connection], None]
Opener = Callable[..., Awaitable[Store]]


def add_row(conn: Connection, conversation: str = "c-1") -> int:
    """Take a sequence and write its row, as the loop does."""
    c = t.conversation.c
    take = update(t.conversation).where(c.id == conversation).values(next_seq=c.next_seq + 1)
    seq = int(conn.execute(take.returning(c.next_seq - 1)).scalar_one())
    conn.execute(insert(t.message).values(conversation_id=conversation, seq=seq, kind="user", created_at=AT))
    return seq


def sequences(conn: Connection) -> list[int]:
    return list(conn.execute(select(t.message.c.seq).order_by(t.message.c.seq)).scalars())


@pytest.fixture(params=["file", "memory", "postgresql"])
def any_url(request: pytest.FixtureRequest, url: str) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql"))
    return url if request.param == "file" else "sqlite://"


async def test_a_write_is_seen_by_later_reads(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    assert await store.write(add_row) == 1
    assert await store.read(sequences) == [1]


async def test_a_write_that_raises_leaves_nothing(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)

    def fail(conn: Connection) -> None:
        add_row(conn)
        raise ArithmeticError("half way")

    with pytest.raises(ArithmeticError, match="half way"):
        await store.write(fail)
    assert await store.write(add_row) == 1
    assert await store.read(sequences) == [1]


async def test_a_broken_constraint_stays_an_integrity_error(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    with pytest.raises(IntegrityError):
        await store.write(seed)


async def test_one_running_run_per_conversation(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    other = insert(t.run).values(id="run-2", conversation_id="c-1", agent="desk", started_at=AT)
    with pytest.raises(IntegrityError):
        await store.write(lambda conn: conn.execute(other.values(status="running")) and None)
    await store.write(lambda conn: conn.execute(other.values(status="awaiting_approval")) and None)


async def test_reading_cannot_write(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    with pytest.raises((StoreError, DBAPIError), match=r"read-only|readonly"):
        await store.read(add_row)
    assert await store.read(sequences) == []
    assert await store.write(add_row) == 1


async def test_a_transaction_of_several_hops_commits_at_its_end(
    any_url: str, opened: Opener, seed: Seed
) -> None:
    store = await opened(any_url)
    await store.write(seed)
    async with store.transaction() as tx:
        protocol: Tx = tx
        assert await tx.run(add_row) == 1
        assert await protocol.exec(update(t.message).values(source="x")) == 1
        assert [row.source for row in await protocol.all(select(t.message.c.source))] == ["x"]
    assert await store.read(sequences) == [1]
    with pytest.raises(StoreError, match="this transaction is over"):
        await tx.run(add_row)


async def test_a_transaction_that_raises_leaves_nothing(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)

    async def fail() -> None:
        async with store.transaction() as tx:
            await tx.run(add_row)
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await fail()
    assert await store.read(sequences) == []
    assert await store.write(add_row) == 1


async def test_a_savepoint_undoes_only_its_own_block(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)

    async def fail(tx: Transaction) -> None:
        async with tx.savepoint():
            await tx.run(add_row)
            await tx.run(seed)

    async with store.transaction() as tx:
        await tx.run(add_row)
        with pytest.raises(IntegrityError):
            await fail(tx)
        async with tx.savepoint():
            await tx.run(add_row)
    assert await store.read(sequences) == [1, 2]


async def test_tasks_can_share_a_transaction(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    async with store.transaction() as tx:
        given = await asyncio.gather(*(tx.run(add_row) for _ in range(10)))
    assert sorted(given) == list(range(1, 11))
    assert await store.read(sequences) == list(range(1, 11))


async def test_writes_of_other_tasks_wait_for_an_open_transaction(store: Store, seed: Seed) -> None:
    await store.write(seed)
    async with store.transaction() as tx:
        await tx.run(add_row)
        other = asyncio.create_task(store.write(add_row))
        assert await store.read(sequences) == []  # a reader sees what is committed
        assert not other.done()
        await tx.run(add_row)
    assert await other == 3


async def test_writing_beside_the_own_transaction_is_refused_at_once(store: Store, seed: Seed) -> None:
    await store.write(seed)
    async with store.transaction() as tx:
        await tx.run(add_row)
        with pytest.raises(StoreError, match="this task has a transaction open"):
            await store.write(add_row)
    assert await store.read(sequences) == [1]


async def test_a_database_in_memory_reads_through_an_open_transaction(opened: Opener, seed: Seed) -> None:
    store = await opened("sqlite://")
    await store.write(seed)
    async with store.transaction() as tx:
        await tx.run(add_row)
        assert await store.read(sequences) == [1]
        await tx.run(add_row)
    assert await store.read(sequences) == [1, 2]


async def test_cancelling_a_write_that_has_begun_lets_it_finish(store: Store, seed: Seed) -> None:
    await store.write(seed)
    begun, go_on = threading.Event(), threading.Event()

    def slow(conn: Connection) -> None:
        add_row(conn)
        begun.set()
        assert go_on.wait(30)
        add_row(conn)

    task = asyncio.create_task(store.write(slow))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    asyncio.get_running_loop().call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    # Both rows are there as soon as the cancelled call has returned: nothing is half done, nothing runs on.
    assert await store.read(sequences) == [1, 2]


async def test_cancelling_a_write_that_waits_writes_nothing(store: Store, seed: Seed) -> None:
    await store.write(seed)
    async with store.transaction() as tx:
        await tx.run(add_row)
        waiting = asyncio.create_task(store.write(add_row))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert await store.read(sequences) == [1]
    assert await store.write(add_row) == 2


async def test_cancelling_inside_a_transaction_rolls_it_back(store: Store, seed: Seed) -> None:
    await store.write(seed)
    inside = asyncio.Event()

    async def work() -> None:
        async with store.transaction() as tx:
            await tx.run(add_row)
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.read(sequences) == []
    assert await store.write(add_row) == 1


async def test_a_durable_commit_waits_for_the_disk_and_others_do_not(store: Store) -> None:
    def level(conn: Connection) -> int:
        return int(conn.execute(text("PRAGMA synchronous")).scalar_one())

    assert await store.write(level, durable=True) == 2
    assert await store.write(level) == 1
    async with store.transaction(durable=True) as tx:
        assert await tx.run(level) == 2
    assert await store.write(level) == 1


async def test_connections_are_set_up_for_many_readers_and_whole_references(store: Store) -> None:
    def pragma(name: str) -> Callable[[Connection], object]:
        return lambda conn: conn.execute(text(f"PRAGMA {name}")).scalar_one()

    assert await store.write(pragma("journal_mode")) == "wal"
    assert await store.write(pragma("foreign_keys")) == 1
    assert await store.write(pragma("busy_timeout")) == 10_000
    assert await store.read(pragma("query_only")) == 1


async def test_concurrent_tasks_get_gapless_sequences(any_url: str, opened: Opener, seed: Seed) -> None:
    store = await opened(any_url)
    await store.write(seed)
    given = await asyncio.gather(*(store.write(add_row) for _ in range(40)))
    assert sorted(given) == list(range(1, 41))
    assert await store.read(sequences) == list(range(1, 41))


async def test_a_read_sees_one_moment(store: Store, seed: Seed) -> None:
    await store.write(seed)
    await store.write(add_row)
    counted, go_on = threading.Event(), threading.Event()
    count = select(func.count()).select_from(t.message)

    def twice(conn: Connection) -> tuple[int, int]:
        first = conn.execute(count).scalar_one()
        counted.set()
        assert go_on.wait(30)
        return first, conn.execute(count).scalar_one()

    reading = asyncio.create_task(store.read(twice))
    await asyncio.to_thread(counted.wait, 30)
    await store.write(add_row)
    go_on.set()
    assert await reading == (1, 1)
    assert await store.read(sequences) == [1, 2]
