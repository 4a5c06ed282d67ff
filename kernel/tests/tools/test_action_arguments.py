import json
import math
from decimal import Decimal
from typing import Annotated, Literal

import attrs
import pytest

from wakeful import Action, ActionResult, Param, action
from wakeful.tools.arguments import check_arguments
from wakeful.types import Json


@attrs.frozen
class Line:
    sku: str
    count: int = 1


@action
def order(  # noqa: PLR0913  (one parameter of each kind)
    *,
    lines: list[Line],
    days: Annotated[int, Param(schema={"minimum": 1, "maximum": 90})] = 30,
    level: Literal["low", "high"] = "low",
    rate: float = 1.0,
    urgent: bool = False,
    to: Annotated[str, Param(format="email")] = "ana@example.com",
    when: Annotated[str | None, Param(format="date-time")] = None,
    note: int | str | None = None,
    either: Line | list[Line] | None = None,
    extra: dict[str, int] | None = None,
) -> None: ...


@action
def nothing() -> None: ...


@action
def count(n: int) -> None: ...


def accepted(act: Action, raw: str | dict[str, Json]) -> dict[str, Json]:
    found = check_arguments(act, raw)
    assert isinstance(found, dict), found
    return found


def refused(act: Action, raw: str | dict[str, Json]) -> ActionResult:
    found = check_arguments(act, raw)
    assert isinstance(found, ActionResult), found
    assert not found.success
    assert "\n" not in found.message
    assert found.recovery is not None
    assert found.recovery.retryable
    return found


LINES = {"lines": [{"sku": "a"}]}


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_an_action_without_parameters_takes_no_arguments(raw: str) -> None:
    assert accepted(nothing, raw) == {}


def test_arguments_may_come_as_a_mapping() -> None:
    assert accepted(order, LINES) == LINES


@pytest.mark.parametrize(
    ("name", "sent", "got"),
    [
        ("days", "5", 5),
        ("days", 5.0, 5),
        ("days", "5.0", 5),
        ("rate", "5.5", 5.5),
        ("rate", "5", 5),
        ("rate", 5, 5),
        ("urgent", "true", True),
        ("urgent", "False", False),
        ("extra", "null", None),
        ("note", "5", "5"),
        ("note", 5, 5),
        ("lines", '[{"sku": "a", "count": "2"}]', [{"sku": "a", "count": 2}]),
        ("lines", ['{"sku": "a"}'], [{"sku": "a"}]),
        ("lines", [{"sku": "a", "count": 2.0}], [{"sku": "a", "count": 2}]),
        ("either", '{"sku": "a", "count": "3"}', {"sku": "a", "count": 3}),
        ("either", '[{"sku": "a"}]', [{"sku": "a"}]),
        ("extra", {"x": "1", "y": 2.0}, {"x": 1, "y": 2}),
    ],
)
def test_coercion_changes_only_the_spelling(name: str, sent: Json, got: Json) -> None:
    found = accepted(order, json.dumps({**LINES, name: sent}))[name]
    assert found == got
    assert type(found) is type(got)


@pytest.mark.parametrize(
    ("name", "sent", "said"),
    [
        ("days", "5.5", "must be an integer"),
        ("days", 5.5, "must be an integer"),
        ("days", "007", "must be an integer"),
        ("days", " 5", "must be an integer"),
        ("days", True, "must be an integer"),
        ("days", None, "must be an integer"),
        ("days", 0, "at least 1"),
        ("days", 91, "at most 90"),
        ("rate", "0.1000000000000000000001", "must be a number"),
        ("rate", "NaN", "must be a number"),
        ("urgent", "yes", "must be a boolean"),
        ("urgent", 1, "must be a boolean"),
        ("level", "Low", "did you mean 'low'"),
        ("level", "middle", 'one of "low", "high"'),
        ("to", "ana", "valid email like ana@example.com"),
        ("to", 5, "must be a string"),
        ("when", "tomorrow", "valid date-time like"),
        ("when", "2026-01-31T09:30:00", "valid date-time like"),
        ("lines", "[1,", "must be an array"),
        ("lines", '{"sku": "a"}', "must be an array"),
        ("either", {"sku": 5}, "'either.sku' must be a string"),
        ("extra", {"x": "y"}, "'extra.x' must be an integer"),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_expected(name: str, sent: Json, said: str) -> None:
    found = refused(order, json.dumps({**LINES, name: sent}))
    assert found.code == "INVALID_ARGUMENT"
    assert said in found.message
    assert found.recovery is not None
    assert found.recovery.invalid_params[0].param.startswith(name)


def test_digits_that_a_float_would_drop_are_not_called_whole() -> None:
    found = refused(order, '{"lines": [], "days": 5.00000000000000000000001}')
    assert "must be an integer" in found.message


def test_a_huge_whole_number_keeps_its_digits() -> None:
    assert accepted(count, '{"n": 1e23}') == {"n": 10**23}
    assert accepted(count, '{"n": 123456789012345678901234567890}') == {"n": 123456789012345678901234567890}


def test_all_problems_come_at_once_each_with_its_place() -> None:
    found = refused(order, '{"lines": [{"sku": 1, "cuont": 2}], "dys": 3, "level": "Low", "to": "x"}')
    assert found.code == "UNKNOWN_ARGUMENT"
    recovery = found.recovery
    assert recovery is not None
    assert {problem.param for problem in recovery.invalid_params} == {
        "lines[0].sku",
        "lines[0].cuont",
        "dys",
        "level",
        "to",
    }
    assert {"count", "days", "low"} <= set(recovery.suggested_values)
    by_name = {problem.param: problem for problem in recovery.invalid_params}
    assert by_name["level"].allowed_values == ("low", "high")
    assert by_name["to"].expected_format == "email like ana@example.com"


def test_a_missing_argument_comes_with_a_valid_example() -> None:
    found = refused(order, "{}")
    assert (found.code, found.message) == ("MISSING_ARGUMENT", "order was not run: 'lines' is required")
    assert found.recovery is not None
    accepted(order, found.recovery.valid_example)
    nested = refused(order, '{"lines": [{}]}')
    assert (nested.code, "'lines[0].sku' is required" in nested.message) == ("MISSING_ARGUMENT", True)


@pytest.mark.parametrize("name", ["Days", "DAYS", "day", "da-ys"])
def test_an_unknown_name_offers_near_ones(name: str) -> None:
    found = refused(order, json.dumps({**LINES, name: 3}))
    assert "did you mean 'days'" in found.message
    assert "it takes none" in refused(nothing, '{"x": 1}').message


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("[]", "must be a JSON object, not an array"),
        ('"x"', "not a string"),
        ("5", "not a number"),
        ("null", "not null"),
        ('{"days": 1', "not valid JSON"),
        ("{'days': 1}", "not valid JSON"),
        ('{"days": NaN}', "NaN is not a JSON number"),
        ('{"days": -Infinity}', "-Infinity is not a JSON number"),
        ('{"rate": 1e999}', "out of range"),
        ('{"days": 1, "days": 2}', "name 'days' twice"),
        ('{"lines": [{"sku": "a", "sku": "b"}]}', "name 'sku' twice"),
        ('{"x":' * 70 + "1" + "}" * 70, "deeper than 64"),
        ("[" * 100_000, "deeper than 64"),
        ('{"days": ' + "9" * 5000 + "}", "not valid JSON"),
        (json.dumps({"to": "x" * 1_000_000}), "at most 1,000,000"),
        (json.dumps({"to": "é" * 600_000}, ensure_ascii=False), "at most 1,000,000"),
    ],
)
def test_text_that_is_not_one_clean_object_is_refused(raw: str, said: str) -> None:
    found = refused(order, raw)
    assert found.code == "INVALID_JSON"
    assert said in found.message
    assert len(found.message) < 200


def test_a_mapping_is_held_to_the_same_rules() -> None:
    deep: Json = 1
    for _ in range(70):
        deep = {"x": deep}
    assert refused(order, deep).code == "INVALID_JSON"
    assert refused(order, {"rate": math.nan}).code == "INVALID_JSON"
    assert "Decimal" in refused(order, {"rate": Decimal(1)}).message


def test_a_nested_json_string_with_a_duplicate_key_is_not_taken() -> None:
    assert "must be an object" in refused(order, {"lines": ['{"sku": "a", "sku": "b"}']}).message


def test_long_values_are_not_repeated() -> None:
    found = refused(order, json.dumps({**LINES, "days": "x" * 10_000, "y" * 10_000: 1}))
    assert len(found.message) < 600
    assert found.recovery is not None
    assert all(len(part.param) <= 80 and len(part.reason) < 250 for part in found.recovery.invalid_params)


def test_a_flood_of_problems_is_counted_and_not_listed() -> None:
    found = refused(order, json.dumps({"lines": [{"sku": 5}] * 1000}))
    assert found.message.endswith("and 994 more")
    assert found.recovery is not None
    assert len(found.recovery.invalid_params) == 50


def test_lone_surrogates_and_nul_are_replaced() -> None:
    assert accepted(order, '{"lines": [{"sku": "a\\ud800\\u0000"}]}') == {"lines": [{"sku": "a\ufffd\ufffd"}]}


def test_an_example_shows_what_goes_into_a_list() -> None:
    recovery = refused(order, "{}").recovery
    assert recovery is not None
    assert recovery.valid_example == {"lines": [{"sku": "text"}]}
