"""Databases for tests: migrated once, copied for each."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from attrs import frozen

from wakeful.store.engine import Store
from wakeful.system import SystemClock
from wakeful.types import Clock


@frozen
class Database:
    """A SQLite database with the kernel's tables.

    Args:
        path: the file.
        clock: where stores opened on it take the time from.
    """

    path: Path
    clock: Clock

    @classmethod
    def copy(cls, template: Path, path: Path, clock: Clock) -> Database:
        """Return a copy of a database that :func:`migrated` made."""
        shutil.copyfile(template, path)
        return cls(path, clock)

    @property
    def url(self) -> str:
        """The address for ``Agent(store=…)`` and the ``[store]`` table."""
        return f"sqlite:///{self.path}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Store]:
        """Open it as a store, for ``async with``."""
        opened = await Store.open(self.url, clock=self.clock)
        try:
            yield opened
        finally:
            await opened.close()

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a query as dicts, read past wakeful: what is really there."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]


def migrated(path: Path) -> Path:
    """Make a database with the kernel's tables, fit to be copied, and return its path."""

    async def make() -> None:
        made = await Store.open(f"sqlite:///{path}", clock=SystemClock())
        await made.close()

    asyncio.run(make())
    with closing(sqlite3.connect(path)) as connection:
        # A copy of the file alone must be whole: nothing may be left in the log beside it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path
