"""Several processes on one database, and the end of a store."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, update

from wakeful.store import tables as t
from wakeful.store.engine import Store
from wakeful.types import Clock, StoreError

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


_WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from sqlalchemy import insert, update
from wakeful.store import tables as t
from wakeful.store.engine import Store

c = t.conversation.c
take = update(t.conversation).where(c.id == "c-1").values(next_seq=c.next_seq + 1).returning(c.next_seq - 1)

def add(conn):
    seq = conn.execute(take).scalar_one()
    at = datetime(2026, 3, 1, tzinfo=UTC)
    conn.execute(insert(t.message).values(conversation_id="c-1", seq=seq, kind="user", created_at=at))

async def main():
    store = await Store.open(sys.argv[1], clock=None)
    await asyncio.gather(*(store.write(add) for _ in range(int(sys.argv[2]))))
    await store.close()

asyncio.run(main())
"""


def run_writers(url: str, processes: int, rows: int) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, url, str(rows)], stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors


@pytest.fixture(params=["file", "postgresql"])
def shared_url(request: pytest.FixtureRequest, url: str) -> str:
    return str(request.getfixturevalue("postgresql")) if request.param == "postgresql" else url


async def test_concurrent_processes_get_gapless_sequences(
    shared_url: str, opened: Opener, seed: Seed
) -> None:
    store = await opened(shared_url)
    await store.write(seed)
    await asyncio.to_thread(run_writers, shared_url, 3, 30)
    assert await store.read(sequences) == list(range(1, 91))
    next_seq = await store.read(lambda conn: conn.execute(select(t.conversation.c.next_seq)).scalar_one())
    assert next_seq == 91


async def test_processes_that_open_a_new_database_at_once(shared_url: str, opened: Opener) -> None:
    await asyncio.to_thread(run_writers, shared_url, 3, 0)
    store = await opened(shared_url, create=False)
    assert await store.read(sequences) == []


async def test_closing_ends_connections_and_threads_and_is_safe_twice(
    url: str, path: Path, clock: Clock
) -> None:
    before = set(threading.enumerate())
    store = await Store.open(url, clock=clock)
    await store.read(sequences)
    await store.close()
    await store.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
    # The last connection to close takes the write-ahead log with it.
    assert [item.name for item in path.parent.iterdir()] == ["wakeful.db"]
    with pytest.raises(StoreError, match="the store is closed"):
        await store.read(sequences)
    with pytest.raises(StoreError, match="the store is closed"):
        await store.write(add_row)


async def test_closing_rolls_an_open_transaction_back(url: str, path: Path, clock: Clock, seed: Seed) -> None:
    store = await Store.open(url, clock=clock)
    await store.write(seed)
    transaction = store.transaction()
    tx = await transaction.__aenter__()
    await tx.run(add_row)
    await store.close()
    with pytest.raises(StoreError, match="over"):
        await tx.run(add_row)
    await transaction.__aexit__(None, None, None)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM message").fetchone() == (0,)
    connection.close()
