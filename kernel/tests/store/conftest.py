from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import Connection, create_engine, insert, text

from wakeful.store import tables as t
from wakeful.store.engine import Store

START = datetime(2026, 3, 1, 9, 30, 15, 123456, tzinfo=UTC)


class StillClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - START).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


Opener = Callable[..., Awaitable[Store]]


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "wakeful.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest_asyncio.fixture
async def opened(url: str, clock: StillClock) -> AsyncIterator[Opener]:
    """Open stores that are closed after the test."""
    stores: list[Store] = []

    async def open_(at: str = url, **options: Any) -> Store:
        store = await Store.open(at, clock=clock, **options)
        stores.append(store)
        return store

    yield open_
    for store in stores:
        await store.close()


@pytest_asyncio.fixture
async def store(opened: Opener) -> Store:
    return await opened()


@pytest.fixture
def postgresql() -> str:
    """The URL of a PostgreSQL database that this test may fill, emptied first."""
    url = os.environ.get("WAKEFUL_TEST_POSTGRESQL", "")
    if not url:
        pytest.skip("WAKEFUL_TEST_POSTGRESQL names no database")
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return url


@pytest.fixture
def seed() -> Callable[[Connection], None]:
    """Return a function that adds the conversation ``c-1`` with a running run ``run-1``."""

    def add(conn: Connection) -> None:
        conn.execute(
            insert(t.conversation).values(
                id="c-1", agent="desk", secret="s", created_at=START, updated_at=START
            )
        )
        conn.execute(
            insert(t.run).values(
                id="run-1", conversation_id="c-1", agent="desk", status="running", started_at=START
            )
        )

    return add
