"""Hidden columns stay hidden in views that pass them on, under whatever name."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from wakeful_records.views import derived


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("SELECT * FROM customer", ["id", "name", "email"]),
        ("SELECT id, ssn AS number FROM Customer", ["id"]),
        ("SELECT c.id, upper(c.\"SSN\") || '!' AS x FROM customer AS c", ["id"]),
        ("SELECT id, CASE WHEN ssn LIKE 'TOP%' THEN 1 END AS top FROM customer", ["id"]),
        ("SELECT name, (SELECT max(ssn) FROM customer) AS m FROM customer", ["name"]),
        ("SELECT id, name FROM customer UNION SELECT id, ssn FROM customer", ["id"]),
        ("WITH q AS (SELECT id AS i, ssn AS s FROM customer) SELECT q.i, q.s AS name FROM q", ["i"]),
        ("SELECT o.id, c.ssn, c.name FROM orders o JOIN customer c ON c.id = o.customer_id", ["id", "name"]),
        ("SELECT id FROM customer WHERE ssn IS NOT NULL", ["id"]),
        ("SELECT product AS ssn FROM order_item", ["ssn"]),
    ],
)
async def test_what_a_view_makes_of_a_hidden_column_is_hidden(
    desk: Any, shop: Path, view: str, shown: list[str]
) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute(f"CREATE VIEW looked AS {view}")
    connection.close()
    described = await desk("describe_entity", entity="looked")
    names = [column["name"] for column in described.outputs["columns"]]
    assert names[: len(shown)] == shown
    assert not {"ssn", "number", "x", "top", "m"} & set(names) - set(shown)
    rows = (await desk("run_query", sql="SELECT * FROM looked")).outputs["rows"]
    assert rows
    assert "TOPSECRET" not in str(rows)


async def test_views_over_views_and_named_columns(desk: Any, shop: Path) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE VIEW below(a, b) AS SELECT id, ssn FROM customer")
        connection.execute("CREATE VIEW above AS SELECT b AS c, a FROM below")
        connection.execute("CREATE VIEW empty AS SELECT c FROM above")
    connection.close()
    rows = (await desk("run_query", sql="SELECT * FROM above ORDER BY a")).outputs["rows"]
    assert rows == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert (await desk("run_query", sql="SELECT c FROM above")).code == "UNKNOWN_ENTITY_FIELDS"
    assert (await desk("describe_entity", entity="empty")).code == "UNKNOWN_ENTITY"


async def test_a_view_reads_a_hidden_table_through_its_own_common_table(desk: Any, shop: Path) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute(
            "CREATE VIEW paid AS WITH P AS (SELECT id FROM payroll) SELECT count(*) AS n FROM P"
        )
    connection.close()
    assert (await desk("run_query", sql="SELECT n FROM paid")).outputs == {"rows": [{"n": 1}]}
    refused = await desk("run_query", sql="WITH p AS (SELECT salary FROM payroll) SELECT * FROM p")
    assert refused.code == "UNKNOWN_ENTITY"


def test_a_view_that_cannot_be_followed_is_hidden_if_it_may_hold_something_hidden() -> None:
    hidden = frozenset({("customer", "ssn")})
    columns = {"customer": ["id", "ssn"], "odd": ["x"], "far": ["y"], "dark": ["z"]}
    definitions = {
        "odd": "SELECT FROM FROM Customer",
        "far": "SELECT y FROM TABLE(nothing known) AS t",
        "dark": None,
    }
    assert derived(definitions, columns, hidden, "sqlite") == {("odd", "x"), ("dark", "z")}
