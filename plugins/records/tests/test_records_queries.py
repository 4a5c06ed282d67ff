from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wakeful.types import canonical

REFUSED = {
    "READ_ONLY_QUERY": [
        "INSERT INTO log VALUES ('x')",
        "UPDATE customer SET name = 'x'",
        "DELETE FROM customer",
        "REPLACE INTO log VALUES ('x')",
        "DROP TABLE customer",
        "CREATE TABLE x (a)",
        "CREATE TABLE x AS SELECT 1",
        "ALTER TABLE customer ADD x",
        "TRUNCATE customer",
        "VACUUM",
        "VACUUM INTO '/tmp/x.db'",
        "REINDEX",
        "ANALYZE",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "PRAGMA table_info(payroll)",
        "PRAGMA query_only = OFF",
        "ATTACH 'x.db' AS y",
        "DETACH y",
        "EXPLAIN SELECT 1",
        "EXPLAIN QUERY PLAN SELECT * FROM payroll",
        "SET x = 1",
        "",
        ";",
        "-- nothing",
        "/* SELECT 1 */",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE customer",
        "SELECT 1; -- more\nDELETE FROM log",
        "SELECT 1 /* ; */; DELETE FROM log",
        "WITH x AS (SELECT 1) INSERT INTO log SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM log",
        "WITH x AS (DELETE FROM log RETURNING entry) SELECT * FROM x",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT LOAD_EXTENSION('/tmp/x.so')",
        "SELECT \"load_extension\"('/tmp/x.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'y')",
        "SELECT zeroblob(1000000000)",
        "SELECT randomblob(1000000000)",
        "SELECT sqlite_compileoption_get(1)",
        "SELECT fts3_tokenizer('x')",
        "SELECT * FROM pragma_table_info('payroll')",
        "SELECT * FROM pragma_table_list()",
        "SELECT name FROM customer WHERE id IN payroll",
        "SELECT 1 AS payroll FROM customer WHERE 1 IN main.payroll",
        "SELECT casefold(ssn) FROM customer",
        "SELECT * INTO x FROM customer",
        "SELECT * FROM customer FOR UPDATE",
        "SELECT main.lower('x')",
        "SELECT @a",
        "SELECT 1 WHERE 1 = :id",
        "TABLE payroll",
        "SELECT /*! 1 */ 2",
        "COPY customer TO '/tmp/x'",
        "CALL x()",
        "HANDLER customer OPEN",
    ],
    "QUERY_SYNTAX": [
        "SELECT FROM WHERE",
        "SELECT * FROM (DELETE FROM log RETURNING entry)",
        "SELECT 'open",
        "SELECT (1",
        "SELECT * FROM customer WHERE",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "SELECT " + "(" * 100 + "1" + ")" * 100,
        "SELECT " + "1," * 20_000 + "1",
    ],
    "UNKNOWN_ENTITY": [
        "SELECT * FROM payroll",
        "SELECT * FROM PAYROLL",
        'SELECT * FROM "payroll"',
        "SELECT * FROM main.payroll",
        "SELECT * FROM main . payroll",
        "SELECT p.salary FROM customer c JOIN payroll p ON p.customer_id = c.id",
        "SELECT * FROM customer, payroll",
        "SELECT 1 FROM customer NATURAL JOIN payroll",
        "SELECT * FROM (SELECT * FROM payroll)",
        "SELECT (SELECT salary FROM payroll LIMIT 1)",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM payroll)",
        "SELECT name FROM customer UNION SELECT salary FROM payroll",
        "WITH x AS (SELECT * FROM payroll) SELECT * FROM x",
        "WITH payroll AS (SELECT * FROM payroll) SELECT * FROM payroll",
        "WITH a AS (SELECT * FROM payroll), payroll AS (SELECT 1) SELECT * FROM a",
        "SELECT * FROM payroll WHERE EXISTS (WITH payroll AS (SELECT 1) SELECT * FROM payroll)",
        "WITH payroll AS (SELECT 1) SELECT * FROM main.payroll",
        "SELECT id FROM customer ORDER BY (SELECT salary FROM payroll)",
        "SELECT id FROM customer GROUP BY id HAVING (SELECT 1 FROM payroll) = 1",
        "SELECT CASE WHEN (SELECT count(*) FROM payroll) > 0 THEN 1 END",
        "SELECT * FROM sqlite_master",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM main.sqlite_master",
        "SELECT * FROM sqlite_temp_master",
        "SELECT * FROM temp.sqlite_master",
        "SELECT * FROM sqlite_sequence",
        "SELECT * FROM pragma_table_list",
        "SELECT * FROM dbstat",
        "SELECT * FROM information_schema.columns",
        "SELECT * FROM pg_catalog.pg_class",
        "SELECT * FROM other.customer",
        "SELECT * FROM a.main.customer",
    ],
    "UNKNOWN_ENTITY_FIELDS": [
        "SELECT ssn FROM customer",
        "SELECT SSN FROM customer",
        'SELECT "ssn" FROM customer',
        "SELECT `ssn`, [ssn] FROM customer",
        "SELECT c.ssn FROM customer c",
        "SELECT customer.ssn AS name FROM customer",
        "SELECT main.customer.ssn FROM customer",
        "SELECT 1 FROM customer WHERE ssn LIKE 'T%'",
        "SELECT id FROM customer ORDER BY ssn",
        "SELECT count(*) FROM customer GROUP BY ssn",
        "SELECT c.id FROM customer c JOIN orders o ON o.customer_id = c.id AND c.ssn = 'TOPSECRET-1'",
        "SELECT (SELECT max(ssn) FROM customer)",
        "WITH x AS (SELECT ssn FROM customer) SELECT * FROM x",
        "WITH x AS (SELECT * FROM customer) SELECT ssn FROM x",
        "SELECT s FROM (SELECT ssn AS s FROM customer)",
        "SELECT sum(CASE WHEN ssn > 'T' THEN 1 END) FROM customer",
        "SELECT row_number() OVER (ORDER BY ssn) FROM customer",
        "SELECT id FROM customer LIMIT (SELECT length(ssn) FROM customer)",
        "SELECT rowid FROM customer",
        "SELECT $x",
        "SELECT nothing FROM customer",
    ],
    "QUERY_FAILED": [
        "SELECT a.ssn FROM customer a, (SELECT 1 AS ssn) b",
        "SELECT c.ssn, x.ssn FROM customer c, (SELECT 'x' AS ssn) x",
        "SELECT 1 FROM customer a JOIN (SELECT 1 AS ssn) b USING (ssn)",
        "SELECT o.product FROM orders o, order_item i",
        "SELECT customer.id FROM customer c",
        "SELECT total(1, 2) FROM orders",
    ],
}
HOSTILE = [(code, query) for code, queries in REFUSED.items() for query in queries]


@pytest.mark.parametrize(("code", "query"), HOSTILE)
async def test_hostile_queries_are_refused(desk: Any, shop: Path, code: Any, query: Any) -> None:
    before = shop.read_bytes()
    result = await desk("run_query", sql=query)
    assert (result.success, result.code) == (False, code), result
    assert "\n" not in result.message
    assert "TOPSECRET" not in result.message.replace(query, "")
    assert shop.read_bytes() == before


async def test_a_hidden_name_is_refused_like_one_that_does_not_exist(desk: Any) -> None:
    for hidden, absent in (
        ("SELECT * FROM payroll", "SELECT * FROM zzzzzzz"),
        ("SELECT ssn FROM customer", "SELECT qqq FROM customer"),
        (
            "SELECT a.ssn FROM customer a, (SELECT 1 AS ssn)",
            "SELECT a.qqq FROM customer a, (SELECT 1 AS qqq)",
        ),
    ):
        one, two = await desk("run_query", sql=hidden), await desk("run_query", sql=absent)
        swapped = one.message.replace("payroll", "zzzzzzz").replace("ssn", "qqq")
        assert (one.code, swapped, one.recovery) == (two.code, two.message, two.recovery)


async def test_a_star_gives_the_visible_columns(desk: Any) -> None:
    for query in (
        "SELECT * FROM customer",
        "SELECT c.* FROM customer c",
        "SELECT * FROM (SELECT * FROM customer)",
    ):
        result = await desk("run_query", sql=query)
        assert "ssn" not in result.outputs["rows"][0]
        assert "TOPSECRET" not in canonical(result.outputs)
        assert len(result.outputs["rows"][0]) == 11


async def test_a_summary_and_the_rows_once(desk_for: Any) -> None:
    desk = desk_for(max_rows=2)
    more = await desk("run_query", sql="SELECT id, name FROM customer ORDER BY id")
    assert more.message == "0 ms, 2 of more rows, columns: id, name"
    assert [row["id"] for row in more.outputs["rows"]] == [1, 2]
    exact = await desk("run_query", sql="SELECT id FROM customer LIMIT 2")
    assert exact.message == "0 ms, 2 rows, columns: id"
    none = await desk("run_query", sql="SELECT id FROM customer WHERE id < 0")
    assert (none.message, none.outputs) == ("0 ms, 0 rows, columns: id", {"rows": []})


async def test_a_syntax_error_says_where(desk: Any) -> None:
    result = await desk("run_query", sql="SELECT id\nFROM customer WHERE (id = ")
    assert result.code == "QUERY_SYNTAX"
    assert result.message.startswith("line 2, column ")


async def test_an_unknown_column_gets_near_names(desk: Any) -> None:
    result = await desk("run_query", sql="SELECT emial FROM customer")
    assert result.recovery.suggested_values == ("email",)


async def test_an_endless_query_is_stopped_and_the_next_one_runs(desk_for: Any) -> None:
    desk = desk_for(timeout_s=0.3)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    result = await desk("run_query", sql=endless)
    assert (result.code, result.message) == ("QUERY_TIMEOUT", "stopped at the time limit: 0.3 s")
    assert (await desk("run_query", sql="SELECT 1 AS a")).outputs == {"rows": [{"a": 1}]}


async def test_a_function_of_the_owner_must_be_allowed(desk_for: Any) -> None:
    query = "SELECT casefold(name) AS n FROM customer WHERE id = 3"
    assert (await desk_for()("run_query", sql=query)).code == "READ_ONLY_QUERY"
    allowed = await desk_for(query_functions=("casefold",))("run_query", sql=query)
    assert allowed.outputs == {"rows": [{"n": "émile"}]}


async def test_a_view_over_hidden_parts_shows_what_its_owner_chose(desk_for: Any) -> None:
    desk = desk_for(hidden_tables=("customer",))
    result = await desk("run_query", sql="SELECT name FROM good_customer")
    assert result.outputs == {"rows": [{"name": "Ana López"}]}
