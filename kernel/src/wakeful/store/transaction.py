"""Transactions: one hop each, or open over several for result stages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, Executable, NestedTransaction

from wakeful.types.errors import StoreError

if TYPE_CHECKING:
    from wakeful.store.engine import Store

T = TypeVar("T")


@contextmanager
def durably(connection: Connection, *, durable: bool) -> Iterator[None]:
    """Make a commit inside the block survive a power failure; does nothing unless ``durable``.

    PostgreSQL's commits always do. On SQLite the setting is a pragma of the connection, which has to
    stand outside a transaction.
    """
    if not durable or connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection.dbapi_connection
    driver.execute("PRAGMA synchronous = FULL")
    try:
        yield
    finally:
        driver.execute("PRAGMA synchronous = NORMAL")


def once(engine: Engine, fn: Callable[[Connection], T], *, durable: bool) -> T:
    """Run ``fn`` in a transaction of its own."""
    with engine.connect() as connection, durably(connection, durable=durable), connection.begin():
        return fn(connection)


def looking(connection: Connection, fn: Callable[[Connection], T]) -> T:
    """Run ``fn`` on a connection of SQLite that refuses to write meanwhile."""
    driver: Any = connection.connection.dbapi_connection
    driver.execute("PRAGMA query_only = ON")
    try:
        return fn(connection)
    finally:
        driver.execute("PRAGMA query_only = OFF")


class Transaction:
    """A transaction of several hops; what :meth:`Store.transaction` gives. A ``wakeful.types.Tx``."""

    def __init__(self, store: Store, *, durable: bool) -> None:
        self._store, self._durable = store, durable
        self._hop = asyncio.Lock()
        self._turn = AsyncExitStack()
        self._has_turn = False
        self._opened = ExitStack()
        self.connection: Connection | None = None
        self._guarded = False
        self._nested: NestedTransaction | None = None
        self._over = False

    async def run(self, fn: Callable[[Connection], T]) -> T:
        """Run ``fn`` on the writer's thread, inside this transaction, and return what it returns.

        Raises:
            StoreError: the database cannot be used, or the transaction is over.
        """
        # A connection is for one thread at a time, also when several tasks share the transaction.
        async with self._hop:
            if self._over:
                raise StoreError(f"{self._store.target.label}: this transaction is over")
            if not self._has_turn:
                await self._turn.enter_async_context(self._store.turn())
                self._has_turn = True
            return await self._store.on_writer(lambda: fn(self._ready()))

    async def conclude(self, fn: Callable[[Connection], T]) -> T:
        """Run ``fn`` as the last of this transaction; nothing may follow.

        When nothing ran before, beginning, ``fn`` and commit are one hop instead of three.
        """
        if self._over or self.connection is not None:
            return await self.run(fn)
        self._over = True
        return await self._store.write(fn, durable=self._durable)

    async def exec(self, statement: Executable) -> int:
        """Run a statement and return how many rows it touched."""
        return await self.run(lambda connection: connection.execute(statement).rowcount)

    async def all(self, statement: Executable) -> Sequence[Any]:
        """Run a statement and return its rows."""
        return await self.run(lambda connection: connection.execute(statement).fetchall())

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Undo what the block wrote, and only that, when it raises; the transaction goes on.

        It begins with the block's first statement: a block without one costs nothing. One at a time.
        """
        self._guarded = True
        try:
            yield
        except BaseException:
            if (nested := self._unguarded()) is not None:
                await self._store.on_writer(nested.rollback, certain=True)
            raise
        if (nested := self._unguarded()) is not None:
            await self._store.on_writer(nested.commit, certain=True)

    def _unguarded(self) -> NestedTransaction | None:
        nested, self._nested, self._guarded = self._nested, None, False
        return nested

    async def finish(self, error: BaseException | None) -> None:
        """Commit, or roll back because of ``error``; give the turn to the next."""
        self._over = True
        try:
            if self.connection is not None:
                await self._store.on_writer(partial(self.end_now, error), certain=True)
        finally:
            await self._turn.aclose()

    def end_now(self, error: BaseException | None) -> None:
        """Do the blocking part of :meth:`finish`."""
        self._over, self.connection = True, None
        self._store.transactions.discard(self)
        self._opened.__exit__(type(error) if error else None, error, None)

    def _ready(self) -> Connection:
        connection = self.connection or self._begin()
        if self._guarded and self._nested is None:
            self._nested = connection.begin_nested()
        return connection

    def _begin(self) -> Connection:
        with ExitStack() as stack:
            connection = stack.enter_context(self._store.writer.connect())
            stack.enter_context(durably(connection, durable=self._durable))
            stack.enter_context(connection.begin())
            self._opened = stack.pop_all()
        self.connection = connection
        self._store.transactions.add(self)
        return connection
