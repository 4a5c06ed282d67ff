from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest


def rows(path: Path, sql: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def test_a_record_is_created_and_its_key_returned(desk: Any, shop: Path) -> None:
    values = {"name": "Cy", "credit": "12.50", "since": "2026-03-01", "active": False, "data": {"a": 1}}
    result = await desk("create_record", entity="customer", values=values)
    assert (result.code, result.outputs) == ("SUCCESS", {"id": 4})
    stored = rows(shop, "SELECT name, credit, since, active, data FROM customer WHERE id = 4")
    assert stored == [("Cy", 12.5, "2026-03-01", 0, '{"a": 1}')]


async def test_a_key_of_several_columns_is_returned_as_an_object(desk: Any) -> None:
    result = await desk(
        "create_record", entity="order_item", values={"order_id": 11, "line": 1, "product": "cup"}
    )
    assert result.outputs == {"id": {"order_id": 11, "line": 1}}


async def test_a_table_without_a_key_takes_records(desk: Any, shop: Path) -> None:
    result = await desk("create_record", entity="log", values={"entry": "three"})
    assert (result.success, result.outputs) == (True, {})
    assert rows(shop, "SELECT count(*) FROM log") == [(3,)]


@pytest.mark.parametrize("tool", ["create_record", "update_record"])
async def test_unknown_fields_are_all_named_and_nothing_is_written(desk: Any, shop: Path, tool: Any) -> None:
    before = rows(shop, "SELECT * FROM customer")
    key = {"id": 1} if tool == "update_record" else {}
    result = await desk(
        tool, entity="customer", values={"name": "X", "e-mial": "x", "colour": 1, "ssn": 2}, **key
    )
    assert result.code == "UNKNOWN_ENTITY_FIELDS"
    assert result.message == "customer has no field 'colour', 'e-mial' (near: email), 'ssn'; nothing was done"
    assert result.recovery.suggested_values == ("email",)
    assert "name, email, active, credit, since, seen, rating, note, data." in result.recovery.suggestion
    assert rows(shop, "SELECT * FROM customer") == before


async def test_names_match_across_case_and_dashes(desk: Any, shop: Path) -> None:
    result = await desk(
        "update_record", entity="Order-Item", id={"order_id": 10, "line": 1}, values={"Product": "x"}
    )
    assert result.outputs == {"changed": ["product"]}


async def test_only_what_changed_is_reported(desk: Any, shop: Path) -> None:
    values = {
        "name": "Ana López",
        "credit": 120.5,
        "since": "2024-01-31",
        "seen": "2026-01-02T03:04:05",
        "note": "new",
    }
    result = await desk("update_record", entity="customer", id=1, values=values)
    assert (result.code, result.outputs) == ("SUCCESS", {"changed": ["note"]})
    again = await desk("update_record", entity="customer", id=1, values=values)
    assert (again.success, again.code) == (True, "NO_CHANGES")
    assert rows(shop, "SELECT seen FROM customer WHERE id = 1") == [("2026-01-02 03:04:05",)]


async def test_json_true_is_not_one(desk: Any, shop: Path) -> None:
    for value in (1, True):
        result = await desk("update_record", entity="customer", id=2, values={"data": {"on": value}})
        assert result.code == "SUCCESS"
    assert rows(shop, "SELECT data FROM customer WHERE id = 2") == [('{"on": true}',)]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("since", "31.01.2024", "a date such as 2026-01-31"),
        ("since", 20240131, "a date such as 2026-01-31"),
        ("credit", "12.345", "a decimal number with at most 2 decimals"),
        ("credit", "NaN", 'a decimal number such as "12.50"'),
        ("rating", "much", "a number"),
        ("rating", "inf", "a number"),
        ("active", "yes", "true or false"),
        ("active", 2, "true or false"),
        ("note", "x" * 21, "at most 20 characters, not 21"),
        ("name", ["x"], "a text"),
        ("name", True, "a text"),
        ("seen", "yesterday", "a date and time such as 2026-01-31T09:30:00"),
    ],
)
async def test_a_value_that_would_lose_something_is_refused(
    desk: Any, shop: Path, field: Any, value: Any, expected: Any
) -> None:
    before = rows(shop, "SELECT * FROM customer")
    result = await desk("update_record", entity="customer", id=1, values={"email": "new@x", field: value})
    assert result.code == "INVALID_VALUE"
    assert [(item.param, item.expected_format) for item in result.recovery.invalid_params] == [
        (f"values.{field}", expected)
    ]
    assert rows(shop, "SELECT * FROM customer") == before


async def test_all_wrong_values_are_named_at_once(desk: Any) -> None:
    result = await desk("create_record", entity="customer", values={"name": 1, "since": "x", "rating": "y"})
    assert [item.param for item in result.recovery.invalid_params] == ["values.rating", "values.since"]


async def test_required_fields_are_named(desk: Any, shop: Path) -> None:
    missing = await desk("create_record", entity="orders", values={"id": 13})
    assert (missing.code, missing.message) == (
        "NOT_NULL",
        "orders needs a value for customer_id, total; nothing was written",
    )
    emptied = await desk("update_record", entity="customer", id=1, values={"name": None})
    assert emptied.code == "NOT_NULL"


async def test_constraints_have_codes_of_their_own(desk: Any) -> None:
    unique = await desk("create_record", entity="customer", values={"name": "X", "email": "bo@example.com"})
    assert (unique.code, unique.recovery.retryable) == ("UNIQUE_CONSTRAINT", None)
    assert unique.message.endswith(": email")
    reference = await desk("create_record", entity="orders", values={"customer_id": 77, "total": 1})
    assert reference.code == "REFERENCE_CONSTRAINT"
    assert "customer_id → customer.id" in reference.message
    check = await desk("update_record", entity="orders", id=10, values={"total": -1})
    assert check.code == "CHECK"
    used = await desk("delete_record", entity="orders", id=10)
    assert used.code == "REFERENCE_CONSTRAINT"
    assert "order_item.order_id" in used.message


async def test_a_constraint_on_a_hidden_column_does_not_name_it(desk_for: Any, shop: Path) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE TABLE vault (id INTEGER PRIMARY KEY, a TEXT, pin TEXT NOT NULL)")
        connection.execute("CREATE UNIQUE INDEX one ON vault (a)")
    connection.close()
    desk = desk_for(hidden_columns=("vault.pin",))
    result = await desk("create_record", entity="vault", values={"a": "x"})
    assert (result.code, result.message) == ("NOT_NULL", "a required value is missing")


async def test_nothing_to_set(desk: Any) -> None:
    assert (await desk("update_record", entity="customer", id=1, values={})).code == "NO_FIELDS"
    assert (await desk("update_record", entity="customer", id=1, values={"id": 1})).code == "NO_FIELDS"
    moved = await desk("update_record", entity="customer", id=1, values={"id": 9, "name": "X"})
    assert (moved.code, moved.message) == (
        "INVALID_VALUE",
        "values.id cannot be written; nothing was written",
    )


async def test_a_record_is_deleted_and_shown_once_more(desk: Any, shop: Path) -> None:
    result = await desk("delete_record", entity="order_item", id={"order_id": 10, "line": 2})
    assert result.outputs == {"deleted": {"order_id": 10, "line": 2, "product": "bulb"}}
    assert rows(shop, "SELECT count(*) FROM order_item") == [(2,)]
    again = await desk("delete_record", entity="order_item", id={"order_id": 10, "line": 2})
    assert again.code == "RECORD_NOT_FOUND"


async def test_a_hidden_column_is_not_in_what_was_deleted(desk: Any) -> None:
    result = await desk("delete_record", entity="customer", id=3)
    assert "ssn" not in result.outputs["deleted"]


async def test_views_and_tables_that_are_not_writable(desk_for: Any) -> None:
    desk = desk_for(writable_tables=("order*",))
    view = await desk("update_record", entity="good_customer", id=1, values={"name": "X"})
    table = await desk("create_record", entity="customer", values={"name": "X"})
    assert (view.code, table.code) == ("ENTITY_READ_ONLY", "ENTITY_READ_ONLY")
    assert table.recovery.suggestion == "Writable are: order_item, orders."


async def test_the_version_must_be_the_one_that_was_read(desk_for: Any, shop: Path) -> None:
    desk = desk_for(version_column="version")
    assert (await desk("describe_entity", entity="orders")).outputs["version"] == "version"
    without = await desk("update_record", entity="orders", id=10, values={"total": 1})
    assert (without.code, without.recovery.suggested_next_actions) == ("CONCURRENT_UPDATE", ("get_record",))
    first = await desk("update_record", entity="orders", id=10, values={"total": 1}, version=1)
    assert first.outputs == {"changed": ["total"], "version": 2}
    late = await desk("update_record", entity="orders", id=10, values={"total": 2}, version=1)
    assert (late.code, late.message.split(": ")[-1]) == ("CONCURRENT_UPDATE", "version is now 2")
    assert (await desk("delete_record", entity="orders", id=11, version="7")).code == "CONCURRENT_UPDATE"
    assert (await desk("delete_record", entity="orders", id=11, version="1")).success
    assert rows(shop, "SELECT id, total, version FROM orders") == [(10, 1, 2), (12, 7.25, 1)]
    plain = await desk("update_record", entity="customer", id=1, values={"note": "no lock here"})
    assert plain.success


async def test_a_locked_database_is_named_as_such(desk_for: Any, shop: Path) -> None:
    desk = desk_for(timeout_s=0.2)
    await desk("list_entities")
    other = sqlite3.connect(shop, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    result = await desk("update_record", entity="customer", id=1, values={"note": "x"})
    other.execute("ROLLBACK")
    other.close()
    assert (result.code, result.recovery.retryable) == ("DATABASE_LOCKED", True)


async def test_a_database_that_cannot_be_written_says_so(desk_for: Any, shop: Path, tmp_path: Path) -> None:
    with sqlite3.connect(shop) as connection:
        connection.execute(
            "CREATE TRIGGER no_more BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'the log is closed'); END"
        )
    connection.close()
    result = await desk_for()("create_record", entity="log", values={"entry": "x"})
    assert result.code == "CHECK"
