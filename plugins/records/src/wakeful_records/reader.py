"""Running a checked query, with the database itself refusing what the check should have refused."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from attrs import frozen

from wakeful.types import Json
from wakeful_records.query import Checked
from wakeful_records.schema import Catalogue
from wakeful_records.settings import RecordsSettings, matches
from wakeful_records.values import present

#: Actions SQLite asks about while it compiles a statement that only reads.
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


@frozen
class Rows:
    """What a query gave: column names, rows by name, and whether there were more rows."""

    columns: tuple[str, ...]
    rows: list[dict[str, Json]]
    more: bool


def execute(
    connection: sa.Connection, checked: Checked, catalogue: Catalogue, settings: RecordsSettings
) -> Rows:
    """Run a checked query and return at most ``max_rows`` rows as JSON values.

    Columns of one name are told apart by a number: ``id``, ``id_2``.
    """
    streamed = connection.execution_options(
        no_parameters=True, stream_results=True, max_row_buffer=settings.max_rows + 1
    )
    allowed = _authorised(connection, checked.sql, catalogue, settings)
    with allowed, streamed.exec_driver_sql(checked.sql) as result:
        columns = _distinct(list(result.keys()))
        found = result.fetchmany(settings.max_rows + 1)
    rows = [
        {name: present(value) for name, value in zip(columns, row, strict=True)}
        for row in found[: settings.max_rows]
    ]
    return Rows(tuple(columns), rows, more=len(found) > settings.max_rows)


def _distinct(names: Sequence[str]) -> list[str]:
    made: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in made:
            number += 1
            chosen = f"{name}_{number}"
        made.append(chosen)
    return made


@contextlib.contextmanager
def _authorised(
    connection: sa.Connection, sql: str, catalogue: Catalogue, settings: RecordsSettings
) -> Iterator[None]:
    """Let SQLite itself refuse to write and to read hidden tables and columns."""
    if connection.dialect.name != "sqlite":
        yield
        return
    # Compiled once before: the first use of a virtual table looks to the judge like a write.
    connection.exec_driver_sql(f"EXPLAIN {sql}", execution_options={"no_parameters": True}).close()
    driver: Any = connection.connection.driver_connection

    def judge(action: int, first: str | None, second: str | None, _: str | None, inside: str | None) -> int:
        if action in _READING:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version":
            return sqlite3.SQLITE_OK  # full-text indexes ask whether another connection has written
        if action != sqlite3.SQLITE_READ or first is None:
            return sqlite3.SQLITE_DENY
        if (inside or "").lower() in catalogue.within:
            return sqlite3.SQLITE_OK  # the owner's view decides what it shows
        hidden = (
            first.casefold().startswith("sqlite_")
            or matches(first, settings.hidden_tables)
            or (second and matches(f"{first}.{second}", settings.hidden_columns))
        )
        return sqlite3.SQLITE_DENY if hidden else sqlite3.SQLITE_OK

    driver.set_authorizer(judge)
    try:
        yield
    finally:
        driver.set_authorizer(None)
