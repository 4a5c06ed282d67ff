"""The store: one database, written in short transactions, read beside them.

SQLite is written by one thread over one connection and read by a few others; PostgreSQL is used
through a bounded pool. Everything a caller hands in is a plain function of a SQLAlchemy connection that
runs on such a thread as a whole, so that a transaction costs one hop between threads, not one for each
statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from wakeful.store.connect import check_path, reader_engine, writer_engine
from wakeful.store.files import FileStore
from wakeful.store.lane import Lane
from wakeful.store.lineages import prepare
from wakeful.store.transaction import Transaction, looking, once
from wakeful.store.urls import Target, parse
from wakeful.types.errors import StoreError
from wakeful.types.protocols import Lineage
from wakeful.types.run import Clock

T = TypeVar("T")

#: Threads that read; enough to keep a slow report from holding up the others.
READERS = 4
#: Transactions at once on PostgreSQL; SQLite has one writer by nature.
WRITERS = 8
#: Seconds that a transaction waits for its turn behind others of this process.
TURN_TIMEOUT = 60.0
#: Seconds that closing waits for statements that are still running.
CLOSE_TIMEOUT = 10.0


class Store:
    """A wakeful database. Make one with :meth:`open` and end it with :meth:`close`.

    For use by one event loop. After :meth:`close` every method raises :class:`StoreError`.

    Attributes:
        target: which database it is.
        clock: where callers take the time from that they store.
        files: large contents beside the database.
    """

    def __init__(self, target: Target, clock: Clock, files: FileStore) -> None:
        self.target, self.clock, self.files = target, clock, files
        slots = 1 if target.sqlite else WRITERS
        self.writer: Engine = writer_engine(target, slots)
        self._write_lane = Lane(target, self.writer, slots, "wakeful-write")
        # A database in memory is one connection, so one thread serves both sides.
        self._read_lane = (
            self._write_lane
            if target.memory
            else Lane(target, reader_engine(target, READERS), READERS, "wakeful-read")
        )
        self._slots = asyncio.Semaphore(slots)
        self._holders: set[asyncio.Task[Any] | None] = set()
        self.transactions: set[Transaction] = set()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        lineages: Sequence[Lineage] = (),
        create: bool = True,
        clock: Clock,
        files: Path | None = None,
    ) -> Store:
        """Open a database and make sure that its tables are those this installation needs.

        Args:
            url: see :func:`wakeful.store.urls.parse`.
            lineages: tables that plugins bring.
            create: whether to make a missing SQLite file, and the tables of an empty database.
            clock: where callers of the store take the time from.
            files: folder of large contents; by default ``<database>.files`` beside a SQLite file.

        Raises:
            StoreError: the database is missing (with ``create`` False), older than the code (names
                ``wakeful db upgrade``), newer, damaged, locked, not wakeful's, or cannot be reached.
        """
        target = parse(url)
        check_path(target, create=create)
        store = cls(target, clock, FileStore.beside(target, files))
        try:
            reader, writer = store._read_lane.engine, store.writer
            await store.on_writer(partial(prepare, reader, writer, target, lineages, create=create))
        except BaseException:
            await store.close()
            raise
        return store

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run ``fn`` on a reader's thread and return what it returns.

        It sees what is committed (in a database in memory also what an open transaction has written)
        and cannot write.

        Raises:
            StoreError: the database cannot be used.
        """
        return await self._read_lane.run(partial(self._reading, fn))

    async def write(self, fn: Callable[[Connection], T], *, durable: bool = False) -> T:
        """Run ``fn`` in one transaction: commit when it returns, roll back when it raises.

        Args:
            fn: what to do; it must not keep the connection.
            durable: whether the commit must survive a power failure, at the price of waiting for the disk.

        Returns:
            What ``fn`` returned.

        Raises:
            StoreError: the database cannot be used; nothing was written.
            sqlalchemy.exc.IntegrityError: a constraint failed; nothing was written.
        """
        async with self.turn():
            return await self._write_lane.run(partial(once, self.writer, fn, durable=durable))

    @asynccontextmanager
    async def transaction(self, *, durable: bool = False) -> AsyncIterator[Transaction]:
        """Give a transaction of several hops; it begins at its first statement.

        Commits at the end of the block; rolls back when the block raises or is cancelled. On SQLite no
        other task can write while it is open, so keep it short.
        """
        tx = Transaction(self, durable=durable)
        try:
            yield tx
        except BaseException as error:
            await tx.finish(error)
            raise
        await tx.finish(None)

    async def close(self) -> None:
        """End every connection and thread; an open transaction is rolled back. Safe to call twice."""
        await self._write_lane.end(self._abandon, patience=CLOSE_TIMEOUT)
        await self._read_lane.end(lambda: None, patience=CLOSE_TIMEOUT)
        self.files.close()

    async def on_writer(self, fn: Callable[[], T], *, certain: bool = False) -> T:
        """Run ``fn`` on a writer's thread; for :class:`Transaction`, which has its turn already."""
        return await self._write_lane.run(fn, certain=certain)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold one of the places for transactions.

        Raises:
            StoreError: this task holds one already and would wait for itself, or none came free.
        """
        task = asyncio.current_task()
        if task in self._holders:
            raise StoreError(
                f"{self.target.label}: this task has a transaction open; write through it or after it"
            )
        if self._slots.locked():
            await self._wait()
        else:
            await self._slots.acquire()
        self._holders.add(task)
        try:
            yield
        finally:
            self._holders.discard(task)
            self._slots.release()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(TURN_TIMEOUT):
                await self._slots.acquire()
        except TimeoutError as error:
            raise StoreError(
                f"{self.target.label}: no turn to write within {TURN_TIMEOUT:g} s; a transaction is kept open"
            ) from error

    def _reading(self, fn: Callable[[Connection], T]) -> T:
        if not self.target.memory:
            with self._read_lane.engine.connect() as connection:
                return fn(connection)
        # One connection and one thread: an open transaction is read through, not beside.
        for tx in self.transactions:
            if tx.connection is not None:
                return looking(tx.connection, fn)
        with self.writer.connect() as connection:
            return looking(connection, fn)

    def _abandon(self) -> None:
        for tx in tuple(self.transactions):
            tx.end_now(StoreError("the store was closed"))
