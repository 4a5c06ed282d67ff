"""Reading the records of a configured database without loading any plugin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wakeful.app.sources import read_file
from wakeful.store.engine import Store
from wakeful.store.urls import parse
from wakeful.system import SystemClock

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")


def read(file: Path, fn: Callable[[Connection], T]) -> T | None:
    """Return what ``fn`` reads from the database of a file; None while there is no database yet.

    Args:
        file: the configuration.
        fn: given a connection for reading.

    Raises:
        ConfigError: the file is wrong.
        StoreError: the database cannot be used.
    """
    url = read_file(file).store.url
    target = parse(url)
    if target.memory or (target.path is not None and not target.path.exists()):
        return None

    async def work() -> T:
        store = await Store.open(url, create=False, clock=SystemClock())
        try:
            return await store.read(fn)
        finally:
            await store.close()

    return asyncio.run(work())
