"""The same promises on MariaDB. Set WAKEFUL_TEST_MARIADB to the URL of a database to run them."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from wakeful.types import ActionError
from wakeful_records.database import Database, parse_url

URL = os.environ.get("WAKEFUL_TEST_MARIADB", "")
pytestmark = pytest.mark.skipif(not URL, reason="WAKEFUL_TEST_MARIADB is not set")

DROP = [
    "DROP VIEW IF EXISTS good_client, copied_client",
    *(f"DROP TABLE IF EXISTS {name}" for name in ("client", "wages")),
]
SETUP = [
    """CREATE TABLE client (id bigint AUTO_INCREMENT PRIMARY KEY, name varchar(80) NOT NULL, ssn text,
    credit decimal(10, 2), since date, seen datetime(6), data json, photo blob, active boolean DEFAULT true,
    level enum('new', 'old') DEFAULT 'new', token uuid, tax decimal(10, 2) AS (credit * 0.2) STORED)""",
    "CREATE TABLE wages (id int PRIMARY KEY, salary text)",
    "CREATE VIEW good_client AS SELECT id, name FROM client WHERE credit > 50",
    "CREATE VIEW copied_client AS SELECT id AS number, concat(ssn, '!') AS secret FROM client",
    """INSERT INTO client (name, ssn, credit, since, seen, data, photo) VALUES
    ('Ana', 'TOPSECRET-1', 120.5, '2024-01-31', '2026-01-02 03:04:05', '{"x": 1}', x'0001'),
    ('Bo', 'TOPSECRET-2', 10, NULL, NULL, NULL, NULL)""",
    "INSERT INTO wages VALUES (1, 'TOPSECRET-9')",
]


@pytest.fixture(scope="module")
def tables() -> Iterator[None]:
    """Fresh tables, made once: these tests leave in them what they found."""
    engine = sa.create_engine(URL, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in [*DROP, *SETUP]:
            connection.exec_driver_sql(statement)
    yield
    with engine.connect() as connection:
        for statement in DROP:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture
def server(tables: None, desk_for: Any) -> Any:
    """A desk over the tables."""
    return desk_for(url=URL, timeout_s=2, hidden_tables=("wages",), hidden_columns=("client.ssn",))


@pytest_asyncio.fixture
async def database(server: Any, tmp_path: Path) -> AsyncIterator[Database]:
    """The plugin's database layer on its own, with the time for a slow statement."""
    made = Database(parse_url(URL, tmp_path), timeout_s=60, read_only=False)
    yield made
    await made.close()


async def test_mariadb_types_become_json(server: Any) -> None:
    listed = (await server("list_entities")).outputs["entities"]
    shown = {item["name"]: item["writable"] for item in listed if "client" in item["name"]}
    assert shown == {"client": True, "copied_client": False, "good_client": False}
    assert "wages" not in [item["name"] for item in listed]
    assert (await server("get_record", entity="client", id=1)).outputs["record"] == {
        "id": 1,
        "name": "Ana",
        "credit": "120.50",
        "since": "2024-01-31",
        "seen": "2026-01-02T03:04:05",
        "data": {"x": 1},
        "photo": "<2 bytes>",
        "active": True,
        "level": "new",
        "token": None,
        "tax": "24.10",
    }
    described = (await server("describe_entity", entity="client")).outputs
    columns = {item["name"]: item for item in described["columns"]}
    assert columns["level"]["values"] == ["new", "old"]
    assert columns["tax"]["generated"] is True
    assert columns["id"]["default"] == "auto"
    assert "ssn" not in columns


async def test_mariadb_views_do_not_pass_hidden_columns_on(server: Any) -> None:
    copied = await server("run_query", sql="SELECT * FROM copied_client ORDER BY number")
    assert copied.outputs == {"rows": [{"number": 1}, {"number": 2}]}


async def test_mariadb_writing(server: Any) -> None:
    values = {
        "name": "Cy",
        "credit": "1.5",
        "seen": "2026-01-02T03:04:05",
        "data": {"a": [1]},
        "active": False,
        "token": "123e4567-e89b-12d3-a456-426614174000",
    }
    made = await server("create_record", entity="client", values=values)
    key = made.outputs["id"]
    assert (await server("update_record", entity="client", id=key, values=values)).code == "NO_CHANGES"
    changed = await server("update_record", entity="client", id=str(key), values={"credit": 2, "data": [1]})
    assert changed.outputs == {"changed": ["credit", "data"]}
    for code, wrong in (
        ("INVALID_VALUE", {"level": "lost"}),
        ("INVALID_VALUE", {"tax": 5}),
        ("INVALID_VALUE", {"credit": "123456789012"}),
        ("UNKNOWN_ENTITY_FIELDS", {"ssn": "1"}),
    ):
        result = await server("update_record", entity="client", id=key, values=wrong)
        assert result.code == code, result
    assert (await server("delete_record", entity="client", id=key)).success


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id, name FROM Client ORDER BY id LIMIT 1", [{"id": 1, "name": "Ana"}]),
        ("SELECT c.name FROM client c WHERE c.name LIKE 'a%'", [{"name": "Ana"}]),
        ("SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR ',') AS s FROM client", [{"s": "Ana,Bo"}]),
        ("SELECT sum(credit) OVER (ORDER BY id) AS s FROM client", [{"s": "120.50"}, {"s": "130.50"}]),
        ("WITH x AS (SELECT count(*) AS n FROM client) SELECT n FROM x", [{"n": 2}]),
        ("SELECT * FROM good_client", [{"id": 1, "name": "Ana"}]),
        ("SELECT 'it''s' AS a, \"x\" AS b", [{"a": "it's", "b": "x"}]),
    ],
)
async def test_mariadb_answers(server: Any, query: str, rows: Any) -> None:
    result = await server("run_query", sql=query)
    assert result.success, f"{result.code}: {result.message}"
    assert result.outputs == {"rows": rows}


HOSTILE = [
    "SELECT ssn FROM client",
    "SELECT c.ssn FROM client c",
    "SELECT * FROM wages",
    "SELECT * FROM wakeful.wages",
    "SELECT (SELECT salary FROM wages LIMIT 1)",
    "SELECT /*!50000 salary FROM wages */",
    "SELECT 1 /*M! UNION SELECT salary FROM wages */",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM mysql.user",
    "SELECT load_file('/etc/passwd')",
    "SELECT * FROM client INTO OUTFILE '/tmp/stolen'",
    "SELECT name INTO @x FROM client",
    "SELECT @@datadir",
    "SELECT sleep(5)",
    "SELECT benchmark(100000000, md5('x'))",
    "SELECT get_lock('x', 5)",
    "SELECT * FROM client FOR UPDATE",
    "SELECT * FROM client LOCK IN SHARE MODE",
    "SELECT 1; DROP TABLE client",
    "HANDLER wages OPEN",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE client",
    "SET GLOBAL general_log = 1",
    "KILL 1",
    "DELETE FROM client",
]


@pytest.mark.parametrize("query", HOSTILE)
async def test_mariadb_refuses(server: Any, query: str) -> None:
    result = await server("run_query", sql=query)
    assert result.success is False, result
    assert "TOPSECRET" not in result.message
    count = await server("run_query", sql="SELECT count(*) AS n FROM client")
    assert count.outputs == {"rows": [{"n": 2}]}


async def test_mariadb_stops_endless_queries(server: Any) -> None:
    started = time.monotonic()
    numbers = (
        "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 900) SELECT x FROM n)"
    )
    joined = ", ".join(f"{numbers} AS t{index}" for index in range(4))
    result = await server("run_query", sql=f"SELECT count(*) FROM {joined} WHERE t0.x + t1.x < t2.x * t3.x")
    assert result.code == "QUERY_TIMEOUT"
    assert time.monotonic() - started < 10
    assert (await server("list_entities")).success


async def test_mariadb_cancellation_reaches_the_server(
    server: Any, database: Database, cancelled: Callable[..., Awaitable[float]]
) -> None:
    assert await cancelled(database, "DELETE FROM client", "SELECT sleep(60)") < 8
    assert (await server("describe_entity", entity="client")).outputs["rows"] == 2


async def test_a_transaction_that_reads_cannot_write(database: Database) -> None:
    with pytest.raises(ActionError, match="DATABASE_READ_ONLY"):
        await database.run(lambda opened: opened.exec_driver_sql("DELETE FROM client"))
