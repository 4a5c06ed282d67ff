"""One engine per plugin instance, and the only way to work with it: in a thread, in bounded time."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SAWarning, SQLAlchemyError

from wakeful.types import ActionError, ConfigError, Problem, nearest
from wakeful_records.errors import known, translate
from wakeful_records.limits import Job, guarded

_T = TypeVar("_T")

#: Connections, and so threads, one plugin instance uses at a time.
CONNECTIONS = 4
#: Seconds a stopped statement gets to end before its thread is left behind.
_GRACE_S = 5.0
#: Largest text or blob SQLite may build in a query, in bytes.
_SQLITE_LENGTH = 10_000_000

#: Dialect to sqlglot's name, SQLAlchemy's driver, the module it needs and the extra that installs it.
DIALECTS = {
    "sqlite": ("sqlite", "pysqlite", "sqlite3", ""),
    "postgresql": ("postgres", "psycopg", "psycopg", "postgresql"),
    "mysql": ("mysql", "pymysql", "pymysql", "mysql"),
    "mariadb": ("mysql", "pymysql", "pymysql", "mysql"),
}
_WHERE = "plugins.records.url"


def parse_url(text: str, folder: Path) -> sa.URL:
    """Return the URL with its driver filled in and a relative SQLite path resolved.

    Args:
        text: a SQLAlchemy URL.
        folder: the folder of wakeful.toml.

    Raises:
        ConfigError: not a URL, a database that is not supported, or a driver that is missing.
    """
    try:
        url = sa.make_url(text)
    except ArgumentError:
        raise _problem("is not a URL; expected e.g. sqlite:///shop.db or postgresql://…") from None
    name, _, driver = url.drivername.partition("+")
    if name not in DIALECTS:
        raise _problem(f"{name!r} is not supported{nearest(name, DIALECTS)}")
    _, default, module, extra = DIALECTS[name]
    if not driver:
        url = url.set(drivername=f"{name}+{default}")
        _require(module, extra)
    try:
        dialect = url.get_dialect()
    except NoSuchModuleError:
        raise _problem(f"unknown driver {driver!r}; leave it out for {default}") from None
    if getattr(dialect, "is_async", False):
        raise _problem(f"the driver {driver!r} is asynchronous; leave it out for {default}")
    if name != "sqlite":
        return url
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise _problem("needs the path of a database file, e.g. sqlite:///shop.db")
    return url.set(database=str(folder / url.database))


def _require(module: str, extra: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        raise _problem(f"needs {module}: pip install 'wakeful-records[{extra}]'") from None


def _problem(what: str) -> ConfigError:
    return ConfigError([Problem(_WHERE, what)])


class Database:
    """The owner's database. Nothing is opened before the first :meth:`run`."""

    def __init__(self, url: sa.URL, *, timeout_s: float, read_only: bool) -> None:
        """Keep the address.

        Args:
            url: as :func:`parse_url` gives it.
            timeout_s: seconds after which work is stopped.
            read_only: whether SQLite files are opened so that nothing can be written.
        """
        self._url, self._timeout, self._read_only = url, timeout_s, read_only
        self._engine: sa.Engine | None = None
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self.dialect = url.get_backend_name()

    @property
    def sqlglot(self) -> str:
        """The name sqlglot has for the database's dialect."""
        return DIALECTS[self.dialect][0]

    async def run(
        self,
        work: Callable[[sa.Connection], _T],
        *,
        write: bool = False,
        seconds: float | None = None,
    ) -> _T:
        """Run ``work`` in a thread and a transaction, within the time limit.

        Args:
            work: gets a connection; its transaction ends when it returns.
            write: commit, and lock SQLite's file from the start; else the database itself refuses to
                write, and the transaction is rolled back.
            seconds: a shorter time limit than the settings'.

        Raises:
            ActionError: what ``work`` raised, or the classified error of the database.
            asyncio.CancelledError: after the running statement was stopped.
        """
        limit = min(self._timeout, seconds or self._timeout)
        async with self._slots:
            job = Job(limit)
            task = asyncio.create_task(asyncio.to_thread(self._work, job, work, write=write), name="records")
            task.add_done_callback(_forget)
            try:
                done, _ = await asyncio.wait({task}, timeout=limit)
                if not done:
                    job.stop()
                    done, _ = await asyncio.wait({task}, timeout=_GRACE_S)
            except asyncio.CancelledError:
                job.stop()
                await asyncio.wait({task}, timeout=_GRACE_S)
                raise
            if not done:
                raise known("QUERY_TIMEOUT", f"{limit:g} s")
            return task.result()

    def _work(self, job: Job, work: Callable[[sa.Connection], _T], *, write: bool) -> _T:
        secrets = (self._url.password or "",) if isinstance(self._url.password, str) else ()
        try:
            engine = self._open()
            with engine.connect() as opened:
                connection = opened.execution_options(wakeful_begin="IMMEDIATE" if write else "")
                with connection.begin() as transaction, guarded(connection, job, read_only=not write):
                    made = work(connection)
                    job.check()
                    if not write:
                        transaction.rollback()
                return made
        except ActionError:
            raise
        except SQLAlchemyError as error:
            refusal = translate(error, secrets)
            if job.stopped and refusal.code != "DATABASE_LOCKED":
                refusal = known("QUERY_TIMEOUT", f"{job.seconds:g} s")
            raise refusal from None

    def _open(self) -> sa.Engine:
        if self.dialect == "sqlite" and not Path(str(self._url.database)).is_file():
            name = Path(str(self._url.database)).name
            raise known("DATABASE_UNAVAILABLE", f"there is no file {name}")
        if self._engine is None:
            self._engine = self._create()
        return self._engine

    def _create(self) -> sa.Engine:
        # Types that SQLAlchemy does not know, like those of extensions, are read as texts: nothing to act on.
        warnings.filterwarnings("ignore", "Did not recognize type", SAWarning)
        options: dict[str, Any] = {
            "pool_size": CONNECTIONS,
            "max_overflow": 0,
            "pool_timeout": self._timeout,
            "poolclass": sa.QueuePool,
        }
        seconds = max(2, round(self._timeout))
        if self.dialect == "sqlite":
            engine = sa.create_engine(self._url, creator=self._connect_sqlite, **options)
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        connect: dict[str, Any] = {"connect_timeout": seconds}
        if "pymysql" in self._url.drivername:
            connect |= {"read_timeout": seconds + 5, "write_timeout": seconds + 5}
        engine = sa.create_engine(
            self._url, pool_pre_ping=True, pool_recycle=1800, connect_args=connect, **options
        )
        if self.sqlglot == "mysql":
            sa.event.listen(engine, "connect", _connected_mysql)
        return engine

    def _connect_sqlite(self) -> sqlite3.Connection:
        path = Path(str(self._url.database)).absolute().as_posix()
        connection = sqlite3.connect(
            # Never mode=rwc: a mistyped path must not become an empty database.
            f"file:{quote(path)}?mode={'ro' if self._read_only else 'rw'}",
            uri=True,
            timeout=self._timeout / 2,  # so that a lock is reported as one, before the time is over
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SQLITE_LENGTH)
        connection.create_function("casefold", 1, _casefold, deterministic=True)
        return connection

    async def close(self) -> None:
        """Close all connections; the next :meth:`run` would open new ones."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.dispose)


def _forget(task: asyncio.Task[Any]) -> None:
    """Take the error of a thread that nobody may wait for any more."""
    if not task.cancelled():
        task.exception()


def _casefold(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _begin_sqlite(connection: sa.Connection) -> None:
    kind = connection.get_execution_options().get("wakeful_begin", "")
    connection.exec_driver_sql(f"BEGIN {kind}")


def _connected_mysql(connection: Any, _: object) -> None:
    """Make literals mean what sqlglot writes, whatever the server's mode says."""
    cursor = connection.cursor()
    cursor.execute(
        "SET SESSION sql_mode = CONCAT('STRICT_ALL_TABLES,', "
        "REPLACE(REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', ''), 'ANSI_QUOTES', ''))"
    )
    cursor.close()
