"""Questions about JSON and texts, chains of them, and what cannot be asked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import say

TREE = {
    "name": "root",
    "children": [
        {
            "id": number,
            "title": f"Unit {number}",
            "upper": None,
            "people": [{"name": f"P{number}{place}", "age": number + place} for place in range(3)],
        }
        for number in range(120)
    ],
    "notes": {"long": "word " * 2_000, "it's": {"a b": [1, [2, 3]]}},
}
LOG = "".join(
    f"2026-11-{n % 28 + 1:02} {'ERROR' if n % 50 == 0 else 'INFO'} worker={n % 7} took {n}ms\n"
    for n in range(1, 2_001)
)
PAGE = "<html>" + "".join(f"<p id='p{n}'>Tier {n} costs {n * 3} EUR</p>" for n in range(600)) + "</html>"


def test_paths_lead_to_values(ask: Any) -> None:
    paths = {
        "$.children[7].people[1].name": "P71",
        "children[7].title": "Unit 7",
        "$..people[?@.age > 119].name": ["P1191", "P1182", "P1192"],
        "$.children[?search(@.title, '9$')].id": list(range(9, 120, 10)),
        "$.children[?match(@.title, 'Unit 1.')].id": list(range(10, 20)),
        "$.notes[\"it's\"]['a b'][1]": [2, 3],
        "$.children[?@.id > 999].title": [],
        "$.children[?@.chief].title": [],
    }
    calls = [("artifact_json", {"handle": "A", "path": path}) for path in paths]
    for call, (path, wanted) in zip(ask([TREE], calls=calls).calls, paths.items(), strict=True):
        out = call.result.outputs
        found = out["value"] if "value" in out else out["values"]
        if isinstance(wanted, list) and path.startswith("$..people"):
            assert sorted(found) == sorted(wanted)
        else:
            assert found == wanted, path


def test_large_values_are_shown_by_pages_and_shapes(ask: Any) -> None:
    calls = [
        ("artifact_json", {"handle": "A"}),
        ("artifact_json", {"handle": "A", "path": "$.children", "start": 100}),
        ("artifact_json", {"handle": "A", "path": "$.notes.long", "start": 9_001}),
    ]
    whole, elements, text = ask([TREE], calls=calls).calls
    assert all(len(call.text) <= 8_000 for call in (whole, elements, text))
    assert whole.result.outputs["value"]["children"].startswith("[120 x {id: integer")
    assert [row["id"] for row in elements.result.outputs["values"]] == list(range(99, 120))
    assert text.result.outputs == {"value": ("word " * 2_000)[9_000:], "total": 10_000}


def test_keys_searches_and_parts_of_each_element(ask: Any) -> None:
    calls = [
        ("artifact_json", {"handle": "A", "path": "$.children", "keys": True}),
        ("artifact_json", {"handle": "A", "search": "^unit 11[0-2]$"}),
        (
            "artifact_json",
            {"handle": "A", "path": "$.children", "iterate": ["id", "people[0].age", "upper"], "start": 120},
        ),
    ]
    keys, found, parts = ask([TREE], calls=calls).calls
    assert keys.result.outputs["keys"] == [
        {"key": "id", "kind": "integer", "count": 120},
        {"key": "people", "kind": "array", "count": 120},
        {"key": "title", "kind": "text", "count": 120},
        {"key": "upper", "kind": "null", "count": 120},
    ]
    assert [row["value"] for row in found.result.outputs["matches"]] == ["Unit 110", "Unit 111", "Unit 112"]
    assert found.result.outputs["matches"][0]["path"] == "$['children'][110]['title']"
    assert parts.result.outputs["rows"] == [{"id": 119, "people[0].age": 119, "upper": None}]


@pytest.mark.parametrize(
    ("question", "message", "advice", "near"),
    [
        ({"path": "$.childs[0].id"}, "$ has no 'childs'", "There are: children, name, notes.", ["children"]),
        (
            {"path": "$.children[7].people[*].agee"},
            "$['children'][7]['people'][*] has no 'agee'",
            "There are: age, name.",
            ["age"],
        ),
        (
            {"path": "$.children.title"},
            "$['children'] is an array",
            "goes on with [*] or a number, from [0]. There are: id, people, title, upper.",
            ["title"],
        ),
        ({"path": "$.children[120].id"}, "$['children'] has 120 elements, from [0]", "", []),
        ({"path": "$[0]"}, "$ is no array", "There are: children, name, notes.", []),
        ({"path": "$..agee"}, "'agee' is nowhere below $", "title", ["age"]),
        ({"path": "$.name.first"}, "$['name'] has no 'first', nor anything else", "", []),
        (
            {"path": "$.children[?@.people[0].agee > 3].id"},
            "$['children'][*]['people'][0] has no 'agee'",
            "There are: age, name.",
            ["age"],
        ),
        ({"path": "$.childs", "search": "x"}, "$ has no 'childs'", "children", ["children"]),
        ({"path": "$.childs", "keys": True}, "$ has no 'childs'", "children", ["children"]),
        ({"path": "$.children", "iterate": ["id", "titel"]}, "@ has no 'titel'", "There are:", ["title"]),
    ],
)
def test_a_path_that_leads_to_nothing_tells_how_far_it_leads(
    ask: Any, question: Any, message: str, advice: str, near: list[str]
) -> None:
    asked = ask([TREE], "artifact_json", **question)
    failed = asked.ended.result
    assert (failed.success, failed.code) == (False, "NOTHING_THERE")
    assert failed.message.startswith("nothing is at ")
    assert failed.message.endswith(message)
    assert advice in failed.recovery.suggestion
    assert list(failed.recovery.suggested_values[: len(near)]) == near


def test_lines_are_found_with_what_is_around_them(ask: Any) -> None:
    calls = [
        ("artifact_text", {"handle": "A", "pattern": "error.*worker=3", "limit": 2}),
        ("artifact_text", {"handle": "A", "pattern": "took 1000ms", "context": 1}),
        ("artifact_text", {"handle": "A", "pattern": "took .*0ms", "literal": True}),
        ("artifact_text", {"handle": "A", "pattern": "error", "ignore_case": False}),
        ("artifact_text", {"handle": "A", "start": 1_999}),
        ("artifact_text", {"handle": "A", "start": -2}),
        ("artifact_text", {"handle": "A", "pattern": r"^2026-11-15 \w+ worker=\d took \d+ms$"}),
    ]
    errors, around, literal, case, last, tail, anchored = ask([LOG], calls=calls).calls
    lines = LOG.splitlines()
    wanted = [f"{n}: {line}" for n, line in enumerate(lines, 1) if "ERROR" in line and "worker=3" in line]
    out = errors.result.outputs
    assert (out["lines"].split("\n"), out["total"], out["next"]) == (wanted[:2], len(wanted), 3)
    assert around.result.outputs["lines"].split("\n") == [
        f"999- {lines[998]}",
        f"1000: {lines[999]}",
        f"1001- {lines[1000]}",
    ]
    assert (literal.result.outputs["total"], case.result.outputs["total"]) == (0, 0)
    assert last.result.outputs == {"lines": f"1999: {lines[1998]}\n2000: {lines[1999]}", "total": 2_000}
    assert tail.result.outputs == last.result.outputs
    assert anchored.result.outputs["total"] == sum(line.startswith("2026-11-15 ") for line in lines)


def test_matches_in_one_long_line_are_shown_with_their_surroundings(ask: Any) -> None:
    calls = [
        ("artifact_text", {"handle": "A", "pattern": "Tier 417 costs"}),
        ("artifact_text", {"handle": "A", "pattern": "Tier 1\\d\\d ", "start": 99}),
    ]
    one, many = ask([PAGE], calls=calls).calls
    assert "Tier 417 costs 1251 EUR" in one.result.outputs["lines"]
    assert one.result.outputs["total"] == 1
    assert (many.result.outputs["total"], many.result.outputs["matching_lines"]) == (100, 1)
    assert many.result.outputs["lines"].count("byte ") == 2


def test_steps_are_chained_in_one_call(ask: Any) -> None:
    log = {
        "handle": "A",
        "steps": [
            {"op": "text", "pattern": r"(?P<level>[A-Z]+) worker=(?P<worker>\d) took (?P<ms>\d+)ms"},
            {"op": "rows", "filters": [{"column": "ms", "op": "gt", "value": 1000}]},
            {
                "op": "rows",
                "group_by": ["level"],
                "aggregates": [{"op": "count"}, {"op": "sum", "column": "ms"}],
                "sort": ["-count"],
            },
        ],
    }
    tree = {
        "handle": "B",
        "steps": [
            {"op": "json", "path": "$.children[*].people[*]"},
            {
                "op": "rows",
                "filters": [{"column": "age", "op": "ge", "value": 100}],
                "sort": ["-age"],
                "limit": 5,
            },
            {"op": "json", "path": "$[*].age"},
        ],
    }
    grepped = {
        "handle": "B",
        "steps": [{"op": "json", "path": "$.children[*].title"}, {"op": "text", "pattern": "Unit 11.$"}],
    }
    lines = {
        "handle": "A",
        "steps": [{"op": "text", "pattern": "ERROR"}, {"op": "rows", "aggregates": [{"op": "count"}]}],
    }
    calls = [("run_pipeline", question) for question in (log, tree, grepped, lines)]
    first, second, third, fourth = ask([LOG, TREE], calls=calls).calls
    found = [(level, int(ms)) for level, ms in re.findall(r"([A-Z]+) worker=\d took (\d+)ms", LOG)]
    sums = {level: [ms for name, ms in found if name == level and ms > 1000] for level in ("INFO", "ERROR")}
    assert first.result.outputs["rows"] == [
        {"level": level, "count": len(sums[level]), "sum_ms": sum(sums[level])} for level in ("INFO", "ERROR")
    ]
    assert second.result.outputs["values"] == [121, 120, 120, 119, 119]
    assert third.result.outputs["total"] == 10
    assert fourth.result.outputs["rows"] == [{"count": 40}]


@pytest.mark.parametrize(
    ("tool", "question", "code"),
    [
        ("artifact_rows", {"handle": "B"}, "WRONG_KIND"),
        ("artifact_json", {"handle": "B"}, "WRONG_KIND"),
        ("artifact_json", {"path": "$.children[?"}, "INVALID_PATH"),
        ("artifact_json", {"path": "$" + ".a" * 600}, "INVALID_PATH"),
        ("artifact_json", {"path": "$.children[?search(@.title, '(?=x)')]"}, "INVALID_PATTERN"),
        ("artifact_json", {"search": "("}, "INVALID_PATTERN"),
        ("artifact_json", {"path": "$.children", "iterate": ["["]}, "INVALID_PATH"),
        ("artifact_text", {"pattern": "(a)\\1"}, "INVALID_PATTERN"),
        ("artifact_text", {"pattern": "a)|(b"}, "INVALID_PATTERN"),
        ("artifact_text", {"pattern": "x" * 2_000}, "INVALID_PATTERN"),
        ("artifact_info", {"handle": "Z"}, "NO_SUCH_ARTIFACT"),
        ("artifact_info", {"handle": "1"}, "NO_SUCH_ARTIFACT"),
        ("run_pipeline", {"steps": []}, "INVALID_VALUE"),
        ("run_pipeline", {"steps": [{"op": "json"}] * 9}, "INVALID_VALUE"),
        ("run_pipeline", {"steps": [{"op": "text"}]}, "INVALID_VALUE"),
    ],
)
def test_what_cannot_be_asked_is_a_failed_result(ask: Any, tool: str, question: Any, code: str) -> None:
    asked = ask([TREE, LOG], calls=[(tool, {"handle": "A", **question})])
    assert (asked.code, asked.ended.result.success) == (code, False)
    assert len(asked.ended.text) < 2_000


def test_a_row_of_a_table_is_read_as_json(ask: Any) -> None:
    rows = [{"id": number, "body": {"text": "t" * number}} for number in range(700)]
    paths = ["$[600].body.text", "$[600].body.txt", "$[700]"]
    asked = ask(
        [lambda: iter(rows)], calls=[("artifact_json", {"handle": "A", "path": path}) for path in paths]
    )
    found, misspelt, beyond = (call.result for call in asked.calls)
    assert found.outputs == {"value": "t" * 600, "total": 600}
    assert misspelt.message == "nothing is at $[600].body.txt: $[600]['body'] has no 'txt'"
    assert beyond.message == "nothing is at $[700]: [A] has 700 rows, from $[0] on"


def test_all_about_an_artifact(ask: Any) -> None:
    wide = [{f"column_{place}": place for place in range(60)} for _ in range(40)]
    about = ask([wide], "artifact_info").out["artifact"]
    assert (about["kind"], about["rows"], about["made_by"]) == (
        "table",
        40,
        "give 2026-01-05 09:00:00Z, output result, version 1",
    )
    assert about["columns"].endswith("column_59 integer")
    assert json.dumps(about)


def test_arguments_are_taken_out_of_artifacts_with_their_trust(run_turn: Any) -> None:
    heard: list[Any] = []

    @action(effect="read", output_trust="untrusted")
    def give() -> dict[str, Any]:
        """Give."""
        return TREE

    @action(effect="read", output_trust="trusted")
    def take(value: str | list[int]) -> str:
        """Take."""
        heard.append(value)
        return "taken"

    def taken(path: str) -> tuple[str, dict[str, Any]]:
        return ("take", {"value": {"$from": f"artifact{path}"}})

    paths = ["[A].children[7].people[1].name", "[a].children[*].id", "[A].nowhere", "[Q]", ".x"]
    replies = [say(calls=["give"]), say(calls=[taken(path) for path in paths]), "Done."]
    turn = run_turn(Agent(model="", actions=[give, take], plugins=["spillover"]), "Go", replies=replies)
    assert heard == ["P71", list(range(120))]
    codes = [call.result.code for call in turn.calls[1:]]
    assert codes == ["SUCCESS", "SUCCESS", "NOTHING_THERE", "NO_SUCH_ARTIFACT", "INVALID_REFERENCE"]
