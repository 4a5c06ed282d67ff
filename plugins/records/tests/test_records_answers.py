from __future__ import annotations

from typing import Any

import pytest

ANSWERED = [
    ("SELECT id, name FROM customer ORDER BY id LIMIT 1", [{"id": 1, "name": "Ana López"}]),
    ("select count(*) as n from Customer;", [{"n": 3}]),
    ("SELECT * FROM orders WHERE id = 10", [{"id": 10, "customer_id": 1, "total": 19.9, "version": 1}]),
    ('SELECT "Maß in cm" FROM "Größe"', [{"Maß in cm": 42}]),
    ("SELECT `name` FROM [customer] WHERE id = 2", [{"name": "Bo_Bo 100%"}]),
    (
        """SELECT c.name, SUM(o.total) AS s FROM customer c JOIN orders o ON o.customer_id = c.id
        GROUP BY c.id HAVING SUM(o.total) > 20""",
        [{"name": "Ana López", "s": 24.9}],
    ),
    (
        "SELECT c.id FROM customer c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
        [{"id": 3}],
    ),
    (
        """WITH big AS (SELECT customer_id FROM orders WHERE total > 6)
        SELECT DISTINCT customer_id AS c FROM big ORDER BY 1""",
        [{"c": 1}, {"c": 2}],
    ),
    (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT x FROM n",
        [{"x": 1}, {"x": 2}, {"x": 3}],
    ),
    (
        "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS x FROM a) SELECT b.x FROM b JOIN a ON a.x < b.x",
        [{"x": 2}],
    ),
    ("WITH customer AS (SELECT 7 AS id) SELECT id FROM customer", [{"id": 7}]),
    (
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY version ORDER BY total DESC) r FROM orders ORDER BY 1",
        [{"id": 10, "r": 1}, {"id": 11, "r": 3}, {"id": 12, "r": 2}],
    ),
    (
        "SELECT id, LAG(total, 1, 0) OVER w AS p FROM orders WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 2",
        [{"id": 10, "p": 0}, {"id": 11, "p": 19.9}],
    ),
    (
        "SELECT name FROM customer c WHERE EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id) LIMIT 1",
        [{"name": "Ana López"}],
    ),
    (
        "SELECT name FROM customer WHERE id IN (SELECT customer_id FROM orders WHERE total < 6)",
        [{"name": "Ana López"}],
    ),
    (
        "SELECT (SELECT MAX(total) FROM orders WHERE customer_id = c.id) AS m FROM customer c WHERE c.id = 2",
        [{"m": 7.25}],
    ),
    ("SELECT 1 AS a UNION ALL SELECT 2 UNION SELECT 2 ORDER BY a", [{"a": 1}, {"a": 2}]),
    ("SELECT id FROM customer EXCEPT SELECT customer_id FROM orders", [{"id": 3}]),
    ("VALUES (1, 'x')", [{"column1": 1, "column2": "x"}]),
    ("SELECT column1 FROM (VALUES (5))", [{"column1": 5}]),
    (
        "SELECT CASE WHEN credit > 50 THEN 'good' ELSE 'new' END AS k FROM customer WHERE id < 3 ORDER BY id",
        [{"k": "good"}, {"k": "new"}],
    ),
    ("SELECT COALESCE(email, 'none') AS e FROM customer WHERE id = 3", [{"e": "none"}]),
    (
        "SELECT strftime('%Y', since) AS y, date(since, '+1 day') AS d FROM customer WHERE id = 1",
        [{"y": "2024", "d": "2024-02-01"}],
    ),
    (
        "SELECT json_extract(data, '$.tags[0]') AS t, data ->> '$.tags[1]' AS u FROM customer WHERE id = 1",
        [{"t": "a", "u": "b"}],
    ),
    (
        "SELECT j.value FROM customer c, json_each(c.data, '$.tags') j WHERE c.id = 1",
        [{"value": "a"}, {"value": "b"}],
    ),
    ("SELECT name FROM customer WHERE name LIKE '%100\\%' ESCAPE '\\'", [{"name": "Bo_Bo 100%"}]),
    ("SELECT 'it''s -- not; a /* comment */' AS s -- but this is", [{"s": "it's -- not; a /* comment */"}]),
    ("SELECT 'secret of payroll' AS s", [{"s": "secret of payroll"}]),
    ("SELECT group_concat(name, '; ') AS g FROM good_customer", [{"g": "Ana López"}]),
    ("SELECT main.customer.id FROM main.customer WHERE customer.id = 1", [{"id": 1}]),
    (
        "SELECT o.id, i.* FROM orders o JOIN order_item i ON i.order_id = o.id WHERE i.line = 2",
        [{"id": 10, "order_id": 10, "line": 2, "product": "bulb"}],
    ),
    (
        "SELECT a.id, b.id FROM orders a JOIN orders b ON b.id = a.id + 1 WHERE a.id = 10",
        [{"id": 10, "id_2": 11}],
    ),
    (
        "SELECT photo, data FROM customer WHERE id = 1",
        [{"photo": "<4 bytes>", "data": '{"tags": ["a", "b"]}'}],
    ),
    (
        "SELECT upper(substr(trim(name), 1, 3)) AS u, length(name) AS l FROM customer WHERE id = 1",
        [{"u": "ANA", "l": 9}],
    ),
    ("(SELECT id FROM customer WHERE id = 1)", [{"id": 1}]),
    ("SELECT round(avg(total), 2) AS a, min(total) AS m FROM orders", [{"a": 10.72, "m": 5}]),
    ("SELECT CAST(credit AS INTEGER) AS c FROM customer WHERE id = 1", [{"c": 120}]),
    ("SELECT count(*) FILTER (WHERE total > 6) AS n FROM orders", [{"n": 2}]),
    ("SELECT id AS número FROM customer WHERE name = 'ÉMILE'", [{"número": 3}]),
    ("SELECT * FROM customer NATURAL JOIN good_customer WHERE id = 2", []),
]


@pytest.mark.parametrize(("query", "rows"), ANSWERED)
async def test_legitimate_queries_are_answered(desk: Any, query: Any, rows: Any) -> None:
    result = await desk("run_query", sql=query)
    assert result.success, f"{result.code}: {result.message}"
    assert result.outputs == {"rows": rows}
