"""Hidden names stay hidden for any query, and the database refuses what the check would let through."""

from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from wakeful.types import ActionError, canonical
from wakeful_records import RecordsSettings, reader
from wakeful_records.database import Database, parse_url
from wakeful_records.query import Checked
from wakeful_records.reflection import reflect
from wakeful_records.schema import Catalogue

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"

TABLES = {
    "customer": ["id", "name", "ssn", "SSN", "*"],
    "main.Customer": ["name", '"ssn"', "`ssn`", "*"],
    "orders": ["id", "customer_id", "total", "*"],
    "good_customer": ["id", "name", "*"],
    "payroll": ["id", "salary", "*"],
    "x": ["x", "id", "ssn"],
}
COLUMNS = [column for columns in TABLES.values() for column in columns] + ["1", "'s'", "rowid"]
FUNCTIONS = ["{}", "{}", "{}", "max({})", "lower({})", "coalesce({}, 1)", "({}) || 's'"]
NAMES = ["", "", "", "", " a", " AS b", " AS ssn", " payroll"]


class Grammar:
    """Random queries about what is hidden, by many ways of naming and nesting it.

    Most columns are taken from the query's own table, or only refusals would be tested.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  # for tests, not for secrets

    def one(self, words: Iterable[str]) -> str:
        return self.random.choice(list(words))

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def expression(self, depth: int, columns: list[str]) -> str:
        if depth and self.often(0.15):
            return f"({self.select(depth - 1)})"
        column = self.one(columns if self.often(0.9) else COLUMNS)
        return column if column == "*" else self.one(FUNCTIONS).format(column) + self.one(NAMES)

    def source(self, depth: int) -> tuple[str, list[str]]:
        if depth and self.often(0.3):
            inner = self.one(["customer", "payroll"])
            return f"({self.select(depth - 1, inner)}) a", TABLES[inner]
        table = self.one(TABLES)
        return table + self.one(NAMES), TABLES[table]

    def select(self, depth: int, table: str = "") -> str:
        source, known = (table, TABLES[table]) if table else self.source(depth)
        shown = [self.expression(depth, known) for _ in range(self.random.choice([1, 1, 2]))]
        text = f"SELECT {', '.join(['*'] if table and self.often(0.5) else shown)} FROM {source}"
        if self.often(0.2):
            text += self.one([", ", " NATURAL JOIN ", " LEFT JOIN "]) + self.source(depth)[0]
        if self.often(0.2):
            compared = f"(SELECT {self.one(COLUMNS)} FROM {self.one(TABLES)})"
            text += f" WHERE {self.one(known)} {self.one(['IN', '=', '>', 'LIKE'])} "
            text += self.one([compared, self.one(known), "1"])
        if self.often(0.2):
            text += f" ORDER BY {self.one(known)}"
        if self.often(0.1):
            text += f" UNION ALL {self.select(0)}"
        return text

    def query(self) -> str:
        head = ""
        if self.often(0.3):
            name = self.one(["x", "payroll", "customer", "a"])
            head = f"WITH {self.one(['', 'RECURSIVE '])}{name} AS ({self.select(1)}) "
        return head + self.select(self.random.choice([0, 1, 2]))


async def test_no_query_of_the_grammar_shows_what_is_hidden(desk: Any, desk_for: Any) -> None:
    open_desk = desk_for()  # nothing is hidden: shows that the grammar does look for it
    answered = revealing = 0

    async def ask(query: str) -> None:
        nonlocal answered, revealing
        result = await desk("run_query", sql=query)
        answered += result.success
        revealing += "TOPSECRET" in canonical((await open_desk("run_query", sql=query)).outputs)
        assert "TOPSECRET" not in canonical([result.message, result.outputs]), query

    loop = asyncio.get_running_loop()

    @settings(deadline=None)
    @given(st.integers(0, 2**32))
    def search(seed: int) -> None:
        for offset in range(3):
            query = Grammar(seed + offset).query()
            asyncio.run_coroutine_threadsafe(ask(query), loop).result()

    await asyncio.to_thread(search)
    assert answered > 30
    assert revealing > 30


def database_of(shop: Path, seconds: float = 10) -> Database:
    return Database(parse_url(f"sqlite:///{shop}", shop.parent), timeout_s=seconds, read_only=False)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ssn FROM customer",
        "SELECT 1 FROM customer WHERE ssn > 'A'",
        "SELECT salary FROM payroll",
        "SELECT count(*) FROM payroll",
        "SELECT sql FROM sqlite_master",
        "DELETE FROM log",
        "INSERT INTO log VALUES ('x')",
        "CREATE TEMP TABLE x (a)",
        "PRAGMA query_only = OFF",
        "ATTACH ':memory:' AS y",
    ],
)
async def test_the_database_refuses_what_was_not_checked(shop: Path, sql: str) -> None:
    database = database_of(shop)
    chosen = RecordsSettings("sqlite://x", hidden_tables=("payroll",), hidden_columns=("customer.ssn",))

    def work(connection: sa.Connection) -> Any:
        catalogue = reflect(connection, chosen)
        return reader.execute(connection, Checked(sql, ()), catalogue, chosen)

    before = shop.read_bytes()
    with pytest.raises(ActionError) as caught:
        await database.run(work)
    await database.close()
    assert caught.value.code in {"READ_ONLY_QUERY", "DATABASE_READ_ONLY"}
    assert shop.read_bytes() == before


@pytest.mark.parametrize("write", [False, True])
async def test_cancelling_stops_the_statement_and_leaves_nothing_behind(shop: Path, write: bool) -> None:
    database = database_of(shop, seconds=60)
    entered = threading.Event()

    def work(connection: sa.Connection) -> None:
        if write:
            connection.exec_driver_sql("DELETE FROM log")
        entered.set()
        connection.exec_driver_sql(ENDLESS).fetchall()

    task = asyncio.create_task(database.run(work, write=write))
    await asyncio.to_thread(entered.wait)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 4  # seconds; it was given 60
    kept = await database.run(lambda opened: opened.exec_driver_sql("SELECT count(*) FROM log").scalar())
    await database.close()
    assert kept == 2


async def test_many_calls_at_once_share_few_connections(desk: Any) -> None:
    results = await asyncio.gather(*(desk("get_record", entity="customer", id=1) for _ in range(40)))
    assert all(result.success for result in results)


async def test_closing_leaves_no_connection_open(shop: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        database = database_of(shop)
        await asyncio.gather(
            *(database.run(lambda connection: reflect(connection, _plain())) for _ in range(6))
        )
        await database.close()
        del database
        gc.collect()
    assert [item for item in caught if item.category is ResourceWarning] == []


def _plain() -> RecordsSettings:
    return RecordsSettings("sqlite://x")


async def test_the_schema_leaves_hidden_parts_out(shop: Path) -> None:
    database = database_of(shop)
    chosen = RecordsSettings("sqlite://x", hidden_tables=("PAY*",), hidden_columns=("*.SSN", "order?.total"))
    catalogue: Catalogue = await database.run(lambda connection: reflect(connection, chosen))
    await database.close()
    assert "payroll" not in catalogue.entities
    assert "ssn" not in catalogue.entities["customer"].fields
    assert list(catalogue.entities["orders"].fields) == ["id", "customer_id", "version"]


async def test_read_only_opens_the_file_so_that_it_cannot_be_written(shop: Path) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    database = Database(parse_url(f"sqlite:///{shop}", shop.parent), timeout_s=5, read_only=True)
    found = await database.run(lambda opened: opened.exec_driver_sql("SELECT count(*) FROM log").scalar())
    with pytest.raises(ActionError, match="DATABASE_READ_ONLY"):
        await database.run(lambda opened: opened.exec_driver_sql("DELETE FROM log"), write=True)
    await database.close()
    assert found == 2


async def test_where_a_full_text_index_keeps_its_data_is_no_entity(desk_for: Any, shop: Path) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE VIRTUAL TABLE letters USING fts5(body)")
        connection.execute("INSERT INTO letters VALUES ('dear ana')")
    connection.close()
    desk = desk_for()
    listed = (await desk("list_entities")).outputs["entities"]
    assert [item["name"] for item in listed if "letters" in item["name"]] == ["letters"]
    inside = await desk("create_record", entity="letters_data", values={"id": 1})
    assert inside.code == "UNKNOWN_ENTITY"
    found = await desk("run_query", sql="SELECT body FROM letters WHERE letters MATCH 'ana'")
    assert found.outputs == {"rows": [{"body": "dear ana"}]}, found
