"""The embedded runtime passes the suite of the seam: SQLite in a file and in memory, PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from sqlalchemy import delete

from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.store.engine import Store
from wakeful.store.work import work_item
from wakeful.testing import Database, FakeClock, RuntimeConformance
from wakeful.testing.runtime_world import Maker
from wakeful.types import Clock, WorkRuntime


@asynccontextmanager
async def embedded(url: str, clock: FakeClock, *, shared: bool) -> AsyncIterator[Maker]:
    """Runtimes with stores of their own, as in several processes, or all on one store."""
    first = await Store.open(url, clock=clock)
    await first.write(lambda conn: conn.execute(delete(work_item)) and None)
    stores = [first]

    async def make(clock: Clock) -> WorkRuntime:
        if not shared:
            stores.append(await Store.open(url, clock=clock))
        return EmbeddedRuntime(stores[-1], clock, owner_name())

    try:
        yield make
    finally:
        for store in stores:
            await store.close()


class TestSqliteFile(RuntimeConformance):
    url = ""

    @pytest.fixture(autouse=True)
    def _database(self, store: Database) -> None:
        self.url = store.url

    def queue(self, clock: FakeClock) -> AbstractAsyncContextManager[Maker]:
        return embedded(self.url, clock, shared=False)


class TestSqliteMemory(RuntimeConformance):
    def queue(self, clock: FakeClock) -> AbstractAsyncContextManager[Maker]:
        return embedded("sqlite://", clock, shared=True)


class TestPostgresql(RuntimeConformance):
    url = ""

    @pytest.fixture(autouse=True)
    def _database(self, postgresql: str) -> None:
        self.url = postgresql

    def queue(self, clock: FakeClock) -> AbstractAsyncContextManager[Maker]:
        return embedded(self.url, clock, shared=False)
