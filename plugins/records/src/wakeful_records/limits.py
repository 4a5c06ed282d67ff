"""Stopping work in the database: the time limit, cancellation, and transactions that only read."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from wakeful_records.errors import known

#: SQLite asks whether to go on after this many virtual-machine instructions, about every millisecond.
_PROGRESS_STEPS = 10_000
#: Extra seconds for the server's own limit, so that ours is the one that reports.
_SERVER_SLACK_S = 1.0


class Job:
    """One piece of work, which another thread may stop. Real time: it guards a real database."""

    def __init__(self, seconds: float) -> None:
        """Start the clock."""
        self.seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._interrupt: Callable[[], None] | None = None

    @property
    def stopped(self) -> bool:
        """Whether the work was stopped or its time is over."""
        return self._stopped.is_set() or time.monotonic() > self._deadline

    def check(self) -> None:
        """Raise QUERY_TIMEOUT when the work was stopped, so that it is rolled back."""
        if self.stopped:
            raise known("QUERY_TIMEOUT", f"{self.seconds:g} s")

    def stop(self) -> None:
        """Stop the running statement. Does not wait: to reach a server may take its time."""
        self._stopped.set()
        threading.Thread(target=self._stop, name="records-stop", daemon=True).start()

    def _stop(self) -> None:
        # Under the lock, so that the connection cannot meanwhile go to somebody else.
        with self._lock:
            if self._interrupt is not None:
                with contextlib.suppress(Exception):  # the statement may have ended by itself
                    self._interrupt()

    @contextlib.contextmanager
    def interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Let :meth:`stop` call ``interrupt``, until the block ends."""
        with self._lock:
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None


@contextlib.contextmanager
def guarded(connection: sa.Connection, job: Job, *, read_only: bool) -> Iterator[None]:
    """Bind the transaction to the job's time limit, and to reading if ``read_only``."""
    job.check()
    driver: Any = connection.connection.driver_connection
    guard = {"sqlite": _sqlite, "postgresql": _postgresql}.get(connection.dialect.name, _mysql)
    with guard(connection, driver, job, read_only=read_only):
        yield


@contextlib.contextmanager
def _sqlite(_: sa.Connection, driver: sqlite3.Connection, job: Job, *, read_only: bool) -> Iterator[None]:
    driver.set_progress_handler(lambda: int(job.stopped), _PROGRESS_STEPS)
    if read_only:
        driver.execute("PRAGMA query_only = ON")
    try:
        with job.interruptible(driver.interrupt):
            yield
    finally:
        # An error here (the file is gone) must not hide the first one; the pool drops the connection.
        driver.set_progress_handler(None, 0)
        if read_only:
            with contextlib.suppress(sqlite3.Error):
                driver.execute("PRAGMA query_only = OFF")


@contextlib.contextmanager
def _postgresql(connection: sa.Connection, driver: Any, job: Job, *, read_only: bool) -> Iterator[None]:
    if read_only:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    milliseconds = int((job.seconds + _SERVER_SLACK_S) * 1000)
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {milliseconds}")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
    connection.exec_driver_sql("SET LOCAL standard_conforming_strings = on")
    with job.interruptible(driver.cancel):
        yield


@contextlib.contextmanager
def _mysql(connection: sa.Connection, _: Any, job: Job, *, read_only: bool) -> Iterator[None]:
    seconds = job.seconds + _SERVER_SLACK_S
    if getattr(connection.dialect, "is_mariadb", False):
        connection.exec_driver_sql(f"SET SESSION max_statement_time = {seconds:.3f}")
    else:
        connection.exec_driver_sql(f"SET SESSION max_execution_time = {int(seconds * 1000)}")
    connection.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {max(1, int(seconds))}")
    number = connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one()
    if read_only:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("START TRANSACTION READ ONLY")
    url = connection.engine.url

    def kill() -> None:
        # Its own connection: the pool may be empty exactly when something has to be stopped.
        other = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"connect_timeout": 2})
        with other.connect() as extra:
            extra.exec_driver_sql(f"KILL QUERY {int(number)}")

    with job.interruptible(kill):
        yield
