"""Engines: how a connection to the store is opened and how its transactions begin."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.exc import NoSuchModuleError

from wakeful.store.urls import Target
from wakeful.types.errors import StoreError

#: Seconds between two tries to switch a database to WAL, which does not wait for locks by itself.
_WAL_PAUSE = 0.02


def writer_engine(target: Target, slots: int) -> Engine:
    """Return the engine that transactions are written through, with up to ``slots`` connections."""
    return _sqlite(target, 1, writes=True) if target.sqlite else _postgresql(target, slots, writes=True)


def reader_engine(target: Target, slots: int) -> Engine:
    """Return the engine that is read through; its connections refuse to write."""
    return _sqlite(target, slots, writes=False) if target.sqlite else _postgresql(target, slots, writes=False)


def check_path(target: Target, *, create: bool) -> None:
    """Say early, and better than SQLite would, why a file cannot be a database.

    Raises:
        StoreError: the folder or the file is missing, or the file is a folder.
    """
    if target.path is None:
        return
    if target.path.is_dir():
        raise StoreError(f"{target.label}: is a folder; name a file in it")
    if not target.path.parent.is_dir():
        raise StoreError(f"{target.label}: its folder {target.path.parent} does not exist; make it first")
    if not target.path.exists() and (not create or target.mode != "rwc"):
        mode = f" (mode={target.mode} makes none)" if target.mode != "rwc" else ""
        raise StoreError(
            f"{target.label}: does not exist{mode}; check the url, or run `wakeful db upgrade` to make it"
        )


def _sqlite(target: Target, slots: int, *, writes: bool) -> Engine:
    opener = _opener(target, writes=writes)
    if target.memory:
        engine = create_engine(target.url, creator=opener, poolclass=StaticPool)
    else:
        engine = create_engine(
            target.url, creator=opener, pool_size=slots, max_overflow=0, pool_timeout=target.timeout
        )

    shared = target.memory or target.mode == "ro" or not writes
    begin = "BEGIN" if shared else "BEGIN IMMEDIATE"

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Taking the write lock at once means waiting for it; a reader that turns writer would fail instead.
        # Straight to the driver: it is said before every transaction.
        driver: Any = connection.connection.dbapi_connection
        driver.execute(begin)

    return engine


def _opener(target: Target, *, writes: bool) -> Callable[[], sqlite3.Connection]:
    name = ":memory:" if target.path is None else f"file:{quote(str(target.path))}?mode={target.mode}"

    def connect() -> sqlite3.Connection:
        # isolation_level None: sqlite3 begins nothing by itself. Each connection is used by one thread
        # at a time, but not always by the one that opened it.
        connection = sqlite3.connect(
            name, uri=True, timeout=target.timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            if writes and target.path is not None and target.mode != "ro":
                _use_wal(connection, target.timeout)
            connection.execute("PRAGMA synchronous = NORMAL")
            if writes and target.max_pages is not None:
                connection.execute(f"PRAGMA max_page_count = {target.max_pages}")
            if not writes and target.path is not None:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    return connect


def _use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch to WAL unless it is on; of two processes that do so at once, one is told to try again."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    until = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            busy = (error.sqlite_errorcode & 0xFF) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not busy or time.monotonic() > until:
                raise
            time.sleep(_WAL_PAUSE)
        else:
            return


def _postgresql(target: Target, slots: int, *, writes: bool) -> Engine:
    milliseconds = int(target.timeout * 1000)
    read_only = "off" if writes else "on"
    arguments = {
        # Whole seconds, at least 2, are libpq's rule.
        "connect_timeout": max(2, round(target.timeout)),
        "options": " ".join(
            [
                f"-c lock_timeout={milliseconds}",
                # A process that stalls in the middle of a transaction must not keep its locks for ever.
                f"-c idle_in_transaction_session_timeout={milliseconds}",
                f"-c default_transaction_read_only={read_only}",
                "-c timezone=UTC",
            ]
        ),
    }
    try:
        engine = create_engine(
            target.url,
            pool_size=slots,
            max_overflow=0,
            pool_timeout=target.timeout,
            pool_pre_ping=True,
            connect_args=arguments,
        )
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(
            f"{target.label}: the driver is not installed; run `pip install 'wakeful[postgresql]'`"
        ) from error
    event.listen(engine, "do_executemany", _one_by_one)
    return engine


def _one_by_one(cursor: Any, statement: str, parameters: Sequence[Any], context: Any) -> bool:
    """Execute a statement for each of its parameters; for SQLAlchemy's ``do_executemany``.

    psycopg would send them all in a pipeline. A process that stalls in the middle of one is, to the server,
    still talking: no timeout ends its transaction, and its locks stay.
    """
    del context
    for values in parameters:
        cursor.execute(statement, values)
    return True
