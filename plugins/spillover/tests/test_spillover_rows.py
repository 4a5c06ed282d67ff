"""Questions about tables are answered exactly, whatever is asked."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

RNG = random.Random(7)  # noqa: S311  # invented data
DEALS: list[dict[str, Any]] = [
    {
        "id": f"crm-{number}",
        "owner": RNG.choice(["Anders", "mei", "TOMÁS", "ines"]),
        "amount": RNG.choice([None, RNG.randint(5, 400) * 500]),
        "share": RNG.randint(1, 99) / 8,
        "open": RNG.random() < 0.5,
        "code": str(RNG.randint(1, 9)),
        "at": {"city": RNG.choice(["Bonn", "Oslo"]), "zip": RNG.randint(1, 9)},
        "tags": ["a"] * RNG.randint(0, 2),
        "note": RNG.choice(["x", 5, None]),
        "Open": "same letters",
        "odd | name\n": 'o\'clock "quoted"',
    }
    for number in range(400)
]


def ids(rows: Any) -> list[str]:
    return [row["id"] for row in rows]


def is_(column: str, op: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"column": column, "op": op, "value": value, **more}


CASES: list[tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]] = [
    (is_("amount", "gt", 100_000), lambda d: d["amount"] is not None and d["amount"] > 100_000),
    (is_("amount", "eq", "100000"), lambda d: d["amount"] == 100_000),
    (is_("amount", "le", "2500.0"), lambda d: d["amount"] is not None and d["amount"] <= 2500),
    (is_("amount", "ne", 100_000), lambda d: d["amount"] != 100_000),
    (is_("amount", "is_null", True), lambda d: d["amount"] is None),
    (is_("amount", "is_null", False), lambda d: d["amount"] is not None),
    (is_("amount", "eq"), lambda d: d["amount"] is None),
    (is_("amount", "between", [50_000, 60_000]), lambda d: d["amount"] and 50_000 <= d["amount"] <= 60_000),
    (is_("amount", "in", [2500, "5000"]), lambda d: d["amount"] in {2500, 5000}),
    (is_("amount", "starts_with", "19"), lambda d: str(d["amount"]).startswith("19")),
    (is_("share", "lt", 1.5), lambda d: d["share"] < 1.5),
    (is_("owner", "eq", "anders"), lambda d: d["owner"] == "Anders"),
    (is_("owner", "eq", "anders", case_sensitive=True), lambda _: False),
    (is_("owner", "contains", "más"), lambda d: d["owner"] == "TOMÁS"),
    (is_("owner", "ne", "MEI"), lambda d: d["owner"] != "mei"),
    (is_("owner", "in", ["MEI", "Ines"]), lambda d: d["owner"] in {"mei", "ines"}),
    (is_("OWNER", "starts_with", "a"), lambda d: d["owner"] == "Anders"),
    (is_("owner", "gt", "m"), lambda d: d["owner"].lower() > "m"),
    (is_("open", "eq", True), lambda d: d["open"]),
    (is_("open", "eq", "False"), lambda d: not d["open"]),
    (is_("code", "eq", 5), lambda d: d["code"] == "5"),
    (is_("code", "gt", 5), lambda d: int(d["code"]) > 5),
    (is_("code", "eq", "5"), lambda d: d["code"] == "5"),
    (is_("at.city", "eq", "oslo"), lambda d: d["at"]["city"] == "Oslo"),
    (is_("at.zip", "ge", 5), lambda d: d["at"]["zip"] >= 5),
    (is_("note", "eq", "X"), lambda d: d["note"] == "x"),
    (is_("note", "eq", 5), lambda d: d["note"] == 5),
    (is_("note", "is_null"), lambda d: d["note"] is None),
    (is_("tags", "eq", "[]"), lambda d: d["tags"] == []),
    (is_("Open", "contains", "LETTERS"), lambda _: True),
    (is_("odd | name\n", "eq", 'o\'clock "quoted"'), lambda _: True),
    (is_("#", "le", 3), lambda d: d["id"] in {"crm-0", "crm-1", "crm-2"}),
]


def test_filters_find_what_a_person_would_find(ask: Any) -> None:
    calls = [
        ("artifact_rows", {"handle": "A", "filters": [case], "columns": ["id"], "limit": 500})
        for case, _ in CASES
    ]
    asked = ask([DEALS], calls=calls)
    for call, (case, holds) in zip(asked.calls, CASES, strict=True):
        assert call.result.success, f"{case}: {call.text}"
        wanted = [deal["id"] for deal in DEALS if holds(deal)]
        assert (ids(call.result.outputs["rows"]), call.result.outputs["total"]) == (wanted, len(wanted)), case


def test_conditions_hold_all_or_any(ask: Any) -> None:
    filters = [is_("open", "eq", True), is_("share", "gt", 6)]
    both = {"handle": "A", "filters": filters, "columns": ["id"], "limit": 500}
    asked = ask([DEALS], calls=[("artifact_rows", both), ("artifact_rows", both | {"match": "any"})])
    assert ids(asked.calls[0].result.outputs["rows"]) == [
        deal["id"] for deal in DEALS if deal["open"] and deal["share"] > 6
    ]
    assert asked.calls[1].result.outputs["total"] == sum(d["open"] or d["share"] > 6 for d in DEALS)


def test_every_aggregate_is_exact_and_says_what_it_skipped(ask: Any) -> None:
    ops = ["count", "sum", "avg", "min", "max", "median", "mode", "stddev", "variance", "distinct_count"]
    asked = ask([DEALS], "artifact_rows", aggregates=[{"op": op, "column": "amount"} for op in ops])
    amounts = [deal["amount"] for deal in DEALS if deal["amount"] is not None]
    counts = {amount: amounts.count(amount) for amount in amounts}
    wanted = {
        "count": len(amounts),
        "sum": sum(amounts),
        "avg": statistics.fmean(amounts),
        "min": min(amounts),
        "max": max(amounts),
        "median": statistics.median(amounts),
        "mode": min(amount for amount, count in counts.items() if count == max(counts.values())),
        "stddev": statistics.stdev(amounts),
        "variance": statistics.variance(amounts),
        "distinct_count": len(set(amounts)),
    }
    (row,) = asked.rows
    assert {name.removesuffix("_amount"): value for name, value in row.items()} == pytest.approx(wanted)
    assert (row["sum_amount"], row["mode_amount"]) == (wanted["sum"], wanted["mode"])
    skipped = len(DEALS) - len(amounts)
    assert f"rows without a value, skipped: count_amount {skipped}, sum_amount {skipped}" in asked.ended.text


def test_groups_are_summed_sorted_and_paged(ask: Any) -> None:
    question = {
        "handle": "A",
        "filters": [is_("share", "gt", 2)],
        "group_by": ["owner", "open"],
        "aggregates": [{"op": "count"}, {"op": "sum", "column": "amount", "name": "total"}],
        "sort": ["-total"],
    }
    asked = ask(
        [DEALS], calls=[("artifact_rows", question), ("artifact_rows", question | {"start": 3, "limit": 2})]
    )
    groups: dict[Any, list[int]] = defaultdict(list)
    for deal in DEALS:
        if deal["share"] > 2:
            groups[deal["owner"], deal["open"]].append(deal["amount"] or 0)
    wanted = sorted(((sum(found), *key, len(found)) for key, found in groups.items()), key=lambda g: -g[0])
    rows = asked.calls[0].result.outputs["rows"]
    assert [(row["total"], row["owner"], row["open"], row["count"]) for row in rows] == wanted
    assert asked.calls[1].result.outputs["rows"] == rows[2:4]
    assert (asked.calls[1].result.outputs["total"], asked.calls[1].result.outputs["next"]) == (len(wanted), 5)


def test_texts_that_are_numbers_count_as_numbers(ask: Any) -> None:
    asked = ask(
        [DEALS],
        "artifact_rows",
        aggregates=[{"op": "sum", "column": "code"}, {"op": "max", "column": "at.zip"}],
    )
    assert asked.rows == [{"sum_code": sum(int(d["code"]) for d in DEALS), "max_at.zip": "9"}]


def test_pages_cover_everything_once_and_stay_short(ask: Any) -> None:
    rows = [{"number": number, "text": "long | text\n" * 60} for number in range(60)]
    seen: list[int] = []
    calls = [("artifact_rows", {"handle": "A", "start": start}) for start in range(1, 61, 11)]
    for call in ask([rows], calls=calls).calls:
        assert len(call.text) <= 8000
        out = call.result.outputs
        assert out["rows"][0]["text"].endswith("… (720 characters)")
        seen = [*seen, *(row["number"] for row in out["rows"])]
        assert out.get("next", 61) == seen[-1] + 2
        assert out["total"] == 60
    assert set(seen) == set(range(60))


def test_a_row_of_hundreds_of_columns_is_shown_in_part(ask: Any) -> None:
    rows = [{f"a_rather_long_name_of_a_column_{column}": column for column in range(400)} for _ in range(30)]
    asked = ask([rows], "artifact_rows")
    assert len(asked.ended.text) <= 8000
    assert asked.out["total"] == 30
    picked = ask([rows], "artifact_rows", columns=["a_rather_long_name_of_a_column_399"], limit=1)
    assert picked.rows == [{"a_rather_long_name_of_a_column_399": 399}]


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        ({"filters": [is_("amuont", "eq", 1)]}, "UNKNOWN_COLUMN", "**Did you mean:** `amount`"),
        ({"columns": ["id", "nope"]}, "UNKNOWN_COLUMN", "Columns: id, owner, amount"),
        ({"group_by": ["ovner"]}, "UNKNOWN_COLUMN", "`owner`"),
        ({"aggregates": [{"op": "sum", "column": "x"}]}, "UNKNOWN_COLUMN", "there is no column 'x'"),
        ({"sort": ["-amount", "zzz"]}, "UNKNOWN_COLUMN", "'zzz'"),
        ({"filters": [is_("amount", "gt", "much")]}, "INVALID_VALUE", "amount holds numbers, not 'much'"),
        ({"filters": [is_("open", "eq", "perhaps")]}, "INVALID_VALUE", "holds true or false"),
        ({"filters": [is_("amount", "between", [1])]}, "INVALID_VALUE", "[low, high]"),
        ({"filters": [is_("amount", "in", 1)]}, "INVALID_VALUE", "a list of 1 to 500"),
        ({"filters": [is_("amount", "gt", [1])]}, "INVALID_VALUE", "one value, not a list"),
        ({"filters": [is_("amount", "gt")]}, "INVALID_VALUE", "needs a value"),
        ({"aggregates": [{"op": "sum"}]}, "INVALID_VALUE", "sum needs a column"),
        (
            {"group_by": ["id"], "aggregates": [{"op": "count", "name": "id"}]},
            "INVALID_VALUE",
            "two columns of the answer",
        ),
    ],
)
def test_what_cannot_be_asked_is_said(ask: Any, question: Any, code: str, said: str) -> None:
    asked = ask([DEALS], "artifact_rows", **question)
    assert asked.code == code
    assert said in asked.ended.text


def test_names_and_values_are_never_sql(ask: Any) -> None:
    nasty = "x\"; DROP TABLE spillover_artifact; --'"
    rows = [{nasty: nasty, "n": number} for number in range(100)]
    calls = [
        ("artifact_rows", {"handle": "A", "filters": [is_(nasty, "eq", nasty)], "limit": 1}),
        (
            "artifact_rows",
            {
                "handle": "A",
                "group_by": [nasty],
                "aggregates": [{"op": "sum", "column": "n", "name": nasty + "2"}],
            },
        ),
        ("artifact_rows", {"handle": "A", "sort": ["n; DROP"]}),
    ]
    first, second, third = ask([rows], calls=calls).calls
    assert first.result.outputs["rows"] == [{nasty: nasty, "n": 0}]
    assert second.result.outputs["rows"] == [{nasty: nasty, nasty + "2": sum(range(100))}]
    assert third.result.code == "UNKNOWN_COLUMN"


def test_a_large_table_is_asked_through_its_file(ask: Any) -> None:
    rows: list[dict[str, Any]] = [
        {"id": number, "Id": f"v{number % 7}", "f": number / 3} for number in range(5000)
    ]
    asked = ask(
        [lambda: iter(rows)],
        "artifact_rows",
        filters=[is_("id", "ge", 1000)],
        group_by=["Id"],
        aggregates=[{"op": "sum", "column": "f"}, {"op": "count"}],
        limit=1,
    )
    wanted = [row for row in rows if row["id"] >= 1000 and row["Id"] == "v0"]
    (row,) = asked.rows
    assert (row["Id"], row["count"]) == ("v0", len(wanted))
    assert row["sum_f"] == pytest.approx(sum(each["f"] for each in wanted))


def test_what_is_no_number_is_skipped_by_figures_and_comparisons(ask: Any) -> None:
    rows = [
        {
            "amount": float("nan") if n % 3 == 0 else float("inf") if n % 3 == 1 else n,
            "in": {"size": n, "w": "w" * 40},
        }
        for n in range(300)
    ]
    figures = [{"op": op, "column": "amount"} for op in ("avg", "sum", "stddev")]
    calls = [
        ("artifact_rows", {"handle": "A", "aggregates": figures}),
        ("artifact_rows", {"handle": "A", "filters": [{"column": "amount", "op": "gt", "value": "100"}]}),
        ("artifact_rows", {"handle": "A", "filters": [{"column": "in.size", "op": "gt", "value": "99"}]}),
        ("artifact_rows", {"handle": "A", "columns": ["amount"], "limit": 2}),
    ]
    summed, more, inside, shown = ask([rows], calls=calls).calls
    finite = [n for n in range(300) if n % 3 == 2]
    (figure,) = summed.result.outputs["rows"]
    assert (figure["sum_amount"], figure["avg_amount"]) == (sum(finite), sum(finite) / len(finite))
    assert "avg_amount 200" in summed.result.message
    assert more.result.outputs["total"] == sum(n > 100 for n in finite)
    assert inside.result.outputs["total"] == 200
    assert [row["amount"] for row in shown.result.outputs["rows"]] == ["NaN", "Infinity"]


def test_a_figure_beyond_all_bounds_is_shown_as_text(ask: Any) -> None:
    rows = [{"amount": 1e308, "word": "w" * 40} for _ in range(300)]
    figure = ask([rows], "artifact_rows", aggregates=[{"op": "sum", "column": "amount"}])
    assert figure.rows in ([{"sum_amount": "inf"}], [{"sum_amount": "nan"}])  # as DuckDB's version adds
