from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from wakeful.types import ConfigError, Effect, Trust, canonical
from wakeful_records import Records, RecordsSettings


async def test_the_list_shows_visible_tables_and_views(desk: Any) -> None:
    result = await desk("list_entities")
    names = {item["name"]: item["kind"] for item in result.outputs["entities"]}
    assert names == {
        "Größe": "table",
        "customer": "table",
        "good_customer": "view",
        "log": "table",
        "order_item": "table",
        "orders": "table",
    }
    assert result.message == "6 entities"


async def test_a_description_has_types_keys_and_references(desk: Any) -> None:
    result = await desk("describe_entity", entity="Orders")
    columns = {item["name"]: item for item in result.outputs["columns"]}
    assert result.outputs["entity"] == "orders"
    assert result.outputs["key"] == ["id"]
    assert columns["id"]["default"] == "auto"
    assert columns["customer_id"] == {
        "name": "customer_id",
        "type": "INTEGER",
        "nullable": False,
        "references": "customer.id",
    }
    assert result.message == "orders: 4 columns, 3 rows"


async def test_a_reference_to_a_hidden_table_is_not_shown(desk_for: Any) -> None:
    desk = desk_for(hidden_tables=("customer",))
    result = await desk("describe_entity", entity="orders")
    assert "customer." not in canonical(result.outputs)


async def test_values_are_given_as_json(desk: Any) -> None:
    record = (await desk("get_record", entity="customer", id=1)).outputs["record"]
    assert record == {
        "id": 1,
        "name": "Ana López",
        "email": "ana@example.com",
        "active": True,
        "credit": "120.50",
        "since": "2024-01-31",
        "seen": "2026-01-02 03:04:05",
        "rating": 4.5,
        "note": "vip",
        "data": {"tags": ["a", "b"]},
        "photo": "<4 bytes>",
    }


async def test_json_that_nests_too_deep_to_be_told_is_given_as_its_text(desk: Any, shop: Path) -> None:
    deep = {2: "[" * 33 + "]" * 33, 3: "[" * 5_000}
    with sqlite3.connect(shop) as conn:
        for key, text in deep.items():
            conn.execute("UPDATE customer SET data = ? WHERE id = ?", (text, key))
    for key, text in deep.items():
        record = (await desk("get_record", entity="customer", id=key)).outputs["record"]
        assert record["data"] == text


@pytest.mark.parametrize("key", [{"order_id": 10, "line": 2}, {"Order ID": "10", "LINE": "2"}])
async def test_a_key_of_several_columns_is_an_object(desk: Any, key: Any) -> None:
    result = await desk("get_record", entity="order_item", id=key)
    assert result.outputs["record"]["product"] == "bulb"


async def test_a_wrong_key_says_which_columns_it_has(desk: Any) -> None:
    result = await desk("get_record", entity="order_item", id=10)
    assert (result.code, result.recovery.valid_example) == (
        "INVALID_VALUE",
        {"order_id": "a whole number", "line": "a whole number"},
    )
    assert (await desk("get_record", entity="customer", id="one")).code == "INVALID_VALUE"
    assert (await desk("get_record", entity="log", id=1)).code == "NO_KEY"


async def test_a_missing_record_leads_to_the_search(desk: Any) -> None:
    result = await desk("get_record", entity="customer", id=99)
    assert (result.code, result.message) == ("RECORD_NOT_FOUND", "customer has no record with id=99")
    assert result.recovery.suggested_next_actions == ("search_records",)


async def test_an_unknown_entity_gets_near_names_of_visible_ones_only(desk: Any) -> None:
    result = await desk("get_record", entity="custommer", id=1)
    assert result.code == "UNKNOWN_ENTITY"
    assert result.recovery.suggested_values == ("customer", "good_customer")
    hidden = await desk("get_record", entity="payrol", id=1)
    assert hidden.recovery.suggested_values == ()
    exact = await desk("get_record", entity="payroll", id=1)
    assert exact.message == hidden.message.replace("payrol", "payroll")


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ([{"field": "id", "op": "gt", "value": 1}], [2, 3]),
        ([{"field": "id", "op": "ge", "value": "3"}], [3]),
        ([{"field": "id", "op": "lt", "value": 2}], [1]),
        ([{"field": "id", "op": "le", "value": 2}], [1, 2]),
        ([{"field": "email", "op": "ne", "value": "bo@example.com"}], [1, 3]),
        ([{"field": "email", "op": "is_null"}], [3]),
        ([{"field": "email", "op": "is_null", "value": False}], [1, 2]),
        ([{"field": "email", "value": None}], [3]),
        ([{"field": "name", "op": "contains", "value": "LÓPEZ"}], [1]),
        ([{"field": "name", "op": "contains", "value": "_bo"}], [2]),
        ([{"field": "name", "op": "contains", "value": "0%"}], [2]),
        ([{"field": "name", "op": "contains", "value": "%L"}], []),
        ([{"field": "name", "op": "starts_with", "value": "émi"}], [3]),
        ([{"field": "id", "op": "in", "value": [1, 3]}], [1, 3]),
        ([{"field": "credit", "op": "between", "value": ["10.00", "120.49"]}], [2]),
        ([{"field": "credit", "value": "120.50"}], [1]),
        ([{"field": "since", "op": "gt", "value": "2024-12-31"}], [2]),
        ([{"field": "seen", "value": "2026-02-02 03:04:05"}], [2]),
        ([{"field": "seen", "op": "lt", "value": "2026-01-02T03:04:06"}], [1]),
        ([{"field": "active", "value": True}, {"field": "rating", "op": "gt", "value": 2}], [1]),
    ],
)
async def test_filters_find(desk: Any, filters: Any, ids: Any) -> None:
    result = await desk("search_records", entity="customer", filters=filters)
    assert [item["id"] for item in result.outputs["records"]] == ids, result


async def test_text_is_looked_for_in_every_visible_text_column(desk: Any) -> None:
    found = await desk("search_records", entity="customer", text="émile")
    assert [item["id"] for item in found.outputs["records"]] == [3]
    hidden = await desk("search_records", entity="customer", text="TOPSECRET")
    assert (hidden.outputs["total"], hidden.outputs["records"]) == (0, [])


async def test_pages_follow_each_other(desk: Any) -> None:
    first = await desk("search_records", entity="customer", order_by="active", descending=True, limit=2)
    assert first.message == "2 of 3 customer records, next offset 2"
    rest = await desk(
        "search_records",
        entity="customer",
        order_by="active",
        descending=True,
        limit=2,
        offset=first.outputs["next_offset"],
    )
    assert [item["id"] for item in first.outputs["records"] + rest.outputs["records"]] == [1, 2, 3]
    assert "next_offset" not in rest.outputs


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"filters": [{"field": "nam", "value": "x"}]}, "UNKNOWN_ENTITY_FIELDS"),
        ({"filters": [{"field": "ssn", "value": "TOPSECRET-1"}]}, "UNKNOWN_ENTITY_FIELDS"),
        ({"order_by": "ssn"}, "UNKNOWN_ENTITY_FIELDS"),
        ({"filters": [{"field": "id", "op": "gt", "value": "x"}]}, "INVALID_VALUE"),
        ({"filters": [{"field": "id", "op": "in", "value": []}]}, "INVALID_VALUE"),
        ({"filters": [{"field": "id", "op": "between", "value": [1]}]}, "INVALID_VALUE"),
        ({"filters": [{"field": "photo", "value": "x"}]}, "INVALID_VALUE"),
        ({"filters": [{"field": "id", "op": "like", "value": "x"}]}, "INVALID_ARGUMENT"),
    ],
)
async def test_a_wrong_search_is_refused(desk: Any, wrong: Any, code: Any) -> None:
    result = await desk("search_records", entity="customer", **wrong)
    assert (result.success, result.code) == (False, code)


async def test_new_tables_are_seen_without_a_restart(desk: Any, shop: Path) -> None:
    assert (await desk("get_record", entity="fresh", id=1)).code == "UNKNOWN_ENTITY"
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE TABLE fresh (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO fresh VALUES (1)")
    connection.close()
    assert (await desk("get_record", entity="fresh", id=1)).success


OPENED: list[str] = []
sys.addaudithook(
    lambda event, _: OPENED.append(event) if event in {"socket.connect", "sqlite3.connect"} else None
)


async def test_declaring_opens_nothing(desk_for: Any) -> None:
    OPENED.clear()
    desk_for(url="postgresql://ana:pw@127.0.0.1:1/none")
    desk = desk_for()
    assert OPENED == []
    await desk("list_entities")
    assert OPENED == ["sqlite3.connect"]


def test_every_action_has_its_effect_and_roles(desk: Any) -> None:
    effects = {name: item.effect for name, item in desk.actions.items()}
    assert effects == {
        "list_entities": Effect.READ,
        "describe_entity": Effect.READ,
        "get_record": Effect.READ,
        "search_records": Effect.READ,
        "run_query": Effect.READ,
        "create_record": Effect.WRITE,
        "update_record": Effect.WRITE,
        "delete_record": Effect.EXTERNAL,
    }
    assert desk.actions["update_record"].roles == {
        "entity": "object",
        "id": "object",
        "values": "content",
        "version": "value",
    }


def test_settings_decide_trust_and_writing(desk_for: Any) -> None:
    desk = desk_for(read_only=True, output_trust="untrusted")
    assert set(desk.actions) == {
        "list_entities",
        "describe_entity",
        "get_record",
        "search_records",
        "run_query",
    }
    assert {item.output_trust for item in desk.actions.values()} == {Trust.UNTRUSTED}
    assert {item.output_trust for item in desk_for().actions.values()} == {Trust.TRUSTED}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("shop.db", "is not a URL"),
        ("sqlit:///shop.db", "'sqlit' is not supported; did you mean 'sqlite'?"),
        ("oracle://x", "'oracle' is not supported"),
        ("sqlite://", "needs the path of a database file"),
        ("sqlite+aiosqlite:///x.db", "driver"),
        ("postgresql+nosuch://x/y", "unknown driver 'nosuch'"),
    ],
)
def test_a_wrong_url_is_an_error_of_the_configuration(desk_for: Any, url: Any, said: Any) -> None:
    with pytest.raises(ConfigError, match=r"plugins\.records\.url") as caught:
        desk_for(url=url)
    assert said in str(caught.value)


def test_a_column_glob_needs_its_table() -> None:
    with pytest.raises(ValueError, match=r"hidden_columns: 'ssn' must have the form 'table.column'"):
        RecordsSettings(url="sqlite:///x.db", hidden_columns=("ssn",))


def test_the_url_is_not_in_the_settings_text() -> None:
    assert "hunter2" not in repr(RecordsSettings(url="postgresql://ana:hunter2@127.0.0.1/x"))


async def test_a_missing_file_is_not_created(desk_for: Any, tmp_path: Path) -> None:
    result = await desk_for(url="sqlite:///nothing.db")("list_entities")
    assert (result.code, result.message) == (
        "DATABASE_UNAVAILABLE",
        "the database cannot be reached: there is no file nothing.db",
    )
    assert not (tmp_path / "nothing.db").exists()


async def test_a_file_that_is_no_database(desk_for: Any, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, only a text that is long enough\n" * 30)
    result = await desk_for(url="sqlite:///text.db")("list_entities")
    assert result.code == "DATABASE_UNAVAILABLE"


async def test_an_unreachable_server_keeps_the_password(desk_for: Any) -> None:
    result = await desk_for(url="postgresql://ana:hunter2@127.0.0.1:1/hunter2db")("list_entities")
    assert result.code == "DATABASE_UNAVAILABLE"
    assert "hunter2@" not in result.message
    assert "Traceback" not in result.message


async def test_the_plugin_works_again_after_closing(desk: Any) -> None:
    assert (await desk("list_entities")).success
    await desk.plugin.close()
    assert (await desk("list_entities")).success


def test_the_entry_point_is_the_class() -> None:
    assert Records.Settings is RecordsSettings
