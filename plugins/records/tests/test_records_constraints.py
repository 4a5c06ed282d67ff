"""The rules of the database itself have codes of their own: the same on SQLite, PostgreSQL and MariaDB.

Set WAKEFUL_TEST_POSTGRESQL and WAKEFUL_TEST_MARIADB to addresses of servers to run all of them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from wakeful.types import canonical

SERVERS = ("sqlite", "postgresql", "mariadb")
TABLES = """
CREATE TABLE {p}customer (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, email VARCHAR(40) UNIQUE,
    pin VARCHAR(20) UNIQUE, version INTEGER NOT NULL DEFAULT 1);
CREATE TABLE {p}orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL,
    total DECIMAL(10, 2) NOT NULL CHECK (total >= 0), FOREIGN KEY (customer_id) REFERENCES {p}customer (id));
CREATE TABLE {p}vault (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL,
    FOREIGN KEY (customer_id) REFERENCES {p}customer (id));
INSERT INTO {p}customer (id, name, email, pin) VALUES (1, 'Ana', 'ana@example.com', 'TOPSECRET-1'),
    (2, 'Bo', 'bo@example.com', 'TOPSECRET-2'), (3, 'Cy', NULL, NULL);
INSERT INTO {p}orders (id, customer_id, total) VALUES (10, 1, 19.9);
INSERT INTO {p}vault (id, customer_id) VALUES (5, 3)
"""
#: What every test hides: a table and a column that other rules refer to.
HIDDEN = {"hidden_tables": ("*vault",), "hidden_columns": ("*customer.pin",)}


DROP = [f"DROP TABLE IF EXISTS rules_{table}" for table in ("vault", "orders", "customer")]


def executed(engine: sa.Engine, statements: Iterable[str]) -> None:
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, sa.Engine]]:
    """The servers with their tables, made once: all but one of these tests change nothing."""
    engines = {}
    for name in SERVERS[1:]:
        url = os.environ.get(f"WAKEFUL_TEST_{name.upper()}", "")
        if url:
            engines[name] = sa.create_engine(url, isolation_level="AUTOCOMMIT")
            executed(engines[name], [*DROP, *TABLES.format(p="rules_").split(";")])
    yield engines
    for engine in engines.values():
        executed(engine, DROP)
        engine.dispose()


@pytest.fixture(params=SERVERS)
def desk(request: pytest.FixtureRequest, desk_for: Any, servers: Any, tmp_path: Path) -> Any:
    """A desk over one of the databases."""
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "rules.db")) as connection:
            connection.executescript(TABLES.format(p=""))
        desk = desk_for(url="sqlite:///rules.db", **HIDDEN)
        desk.prefix = ""
        return desk
    if request.param not in servers:
        pytest.skip(f"WAKEFUL_TEST_{request.param.upper()} names no server")
    url = servers[request.param].url.render_as_string(hide_password=False)
    desk = desk_for(url=url, **HIDDEN)
    desk.prefix, desk.url = "rules_", url
    return desk


async def called(desk: Any, tool: str, entity: str, **arguments: Any) -> Any:
    """Call, and hold the result to naming nothing that is hidden."""
    result = await desk(tool, entity=f"{desk.prefix}{entity}", **arguments)
    said = canonical([result.message, result.outputs, repr(result.recovery)])
    given = {str(name) for name in arguments.get("values", ())}
    assert not any(word in said for word in {"TOPSECRET", "vault", "pin"} - given), said
    return result


@pytest.mark.parametrize(
    ("code", "tool", "entity", "arguments"),
    [
        ("UNIQUE_CONSTRAINT", "create_record", "customer", {"values": {"id": 1, "name": "X"}}),
        ("UNIQUE_CONSTRAINT", "create_record", "customer",
         {"values": {"id": 9, "name": "X", "email": "bo@example.com"}}),
        ("UNIQUE_CONSTRAINT", "update_record", "customer", {"id": 1, "values": {"email": "bo@example.com"}}),
        ("NOT_NULL", "create_record", "customer", {"values": {"id": 9}}),
        ("NOT_NULL", "update_record", "customer", {"id": 1, "values": {"name": None}}),
        ("REFERENCE_CONSTRAINT", "create_record", "orders",
         {"values": {"id": 11, "customer_id": 99, "total": 1}}),
        ("REFERENCE_CONSTRAINT", "update_record", "orders", {"id": 10, "values": {"customer_id": 99}}),
        ("REFERENCE_CONSTRAINT", "delete_record", "customer", {"id": 1}),
        ("REFERENCE_CONSTRAINT", "delete_record", "customer", {"id": 3}),
        ("CHECK", "create_record", "orders", {"values": {"id": 11, "customer_id": 1, "total": -1}}),
        ("CHECK", "update_record", "orders", {"id": 10, "values": {"total": -1}}),
        ("UNKNOWN_ENTITY_FIELDS", "update_record", "customer", {"id": 1, "values": {"pin": "1"}}),
        ("UNKNOWN_ENTITY_FIELDS", "create_record", "customer", {"values": {"id": 9, "nmae": "X"}}),
        ("RECORD_NOT_FOUND", "update_record", "customer", {"id": 77, "values": {"name": "X"}}),
    ],
)  # fmt: skip
async def test_each_rule_has_its_code_and_nothing_is_written(
    desk: Any, code: str, tool: str, entity: str, arguments: Any
) -> None:
    before = [(await called(desk, "search_records", name)).outputs for name in ("customer", "orders")]
    result = await called(desk, tool, entity, **arguments)
    assert (result.code, result.success) == (code, False), result
    after = [(await called(desk, "search_records", name)).outputs for name in ("customer", "orders")]
    assert after == before


async def test_all_fields_are_checked_before_any_is_set(desk: Any) -> None:
    values = {"name": "New", "emial": "x@example.com", "nmae": "y"}
    result = await called(desk, "update_record", "customer", id=1, values=values)
    assert result.code == "UNKNOWN_ENTITY_FIELDS"
    assert result.recovery.suggested_values[:2] == ("email", "name")
    assert "are: name, email, version." in result.recovery.suggestion
    record = (await called(desk, "get_record", "customer", id=1)).outputs["record"]
    assert record["name"] == "Ana"


async def test_an_update_that_changes_nothing_is_a_success(desk: Any) -> None:
    same = {"name": "Ana", "email": "ana@example.com"}
    result = await called(desk, "update_record", "customer", id=1, values=same)
    assert (result.code, result.success) == ("NO_CHANGES", True)
    total = await called(desk, "update_record", "orders", id=10, values={"total": "19.90"})
    assert total.code == "NO_CHANGES"


@pytest.fixture
def locked(desk: Any, desk_for: Any) -> Any:
    """The same database with a version column."""
    url = desk.url or "sqlite:///rules.db"
    made = desk_for(url=url, version_column="version", **HIDDEN)
    made.prefix = desk.prefix
    return made


async def test_only_the_first_of_two_who_read_the_same_version_writes(locked: Any) -> None:
    first = await called(locked, "update_record", "customer", id=2, values={"name": "A"}, version=1)
    assert first.outputs == {"changed": ["name"], "version": 2}
    second = await called(locked, "update_record", "customer", id=2, values={"name": "B"}, version=1)
    assert (second.code, second.recovery.retryable) == ("CONCURRENT_UPDATE", True)
    record = (await called(locked, "get_record", "customer", id=2)).outputs["record"]
    assert (record["name"], record["version"]) == ("A", 2)
