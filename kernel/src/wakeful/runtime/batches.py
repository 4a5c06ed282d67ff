"""Many small writes in one transaction: what arrives while one is under way waits and is written together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define, field
from sqlalchemy import Connection

from wakeful.store.engine import Store

T = TypeVar("T")

#: Most writes of one transaction, so that it stays short.
MOST = 200


@define(eq=False)
class Batch:
    """Writes functions of a connection in their own or a shared transaction, one transaction at a time.

    They must not depend on each other, and fail only where the database does: then all of a transaction fail.
    On PostgreSQL, two batches that may lock the same rows do so in the order of ``sort``.

    Args:
        store: the database.
    """

    store: Store
    _waiting: list[tuple[str, Callable[[Connection], Any], asyncio.Future[Any]]] = field(
        factory=list, init=False
    )
    _writing: asyncio.Task[None] | None = field(default=None, init=False)

    async def write(self, fn: Callable[[Connection], T], sort: str = "") -> T:
        """Run ``fn`` in a transaction and return what it returned, once that is committed.

        A caller who is cancelled before the transaction begins leaves nothing behind; afterwards it is
        written all the same.

        Raises:
            StoreError: the database cannot be used; nothing was written.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((sort, fn, future))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all(), name="work writes")
        return await future

    async def _write_all(self) -> None:
        while self._waiting:
            now = sorted(self._waiting[:MOST], key=lambda entry: entry[0])
            del self._waiting[:MOST]
            await self._write_some([(fn, future) for _, fn, future in now if not future.done()])

    async def _write_some(
        self, entries: list[tuple[Callable[[Connection], Any], asyncio.Future[Any]]]
    ) -> None:
        try:
            results = await self.store.write(lambda conn: [fn(conn) for fn, _ in entries])
        except BaseException as error:
            for _, future in entries:
                if not future.done():
                    if isinstance(error, asyncio.CancelledError):
                        future.cancel()
                    else:
                        future.set_exception(error)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            for (_, future), result in zip(entries, results, strict=True):
                if not future.done():
                    future.set_result(result)
