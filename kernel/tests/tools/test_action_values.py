from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakeful import ActionResult
from wakeful.tools.values import to_result
from wakeful.types import Disposition, Final, Json, Trust, canonical


class Pair(NamedTuple):
    left: int
    right: int


class Colour(Enum):
    RED = "red"


@attrs.frozen
class Invoice:
    number: int
    due: date
    total: Decimal


@dataclass
class Point:
    x: float
    colour: Colour


class Row(tuple[Any, ...]):
    """A row as SQLAlchemy gives it: a tuple that knows its columns."""

    __slots__ = ()

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(("a", "b"), self, strict=True))


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ("text", "text"),
        (3, 3),
        (True, True),
        (1.5, 1.5),
        (2**63, "9223372036854775808"),
        (-(2**63), -(2**63)),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+3"), "1000"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Colour.RED, "red"),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 9, 30, tzinfo=UTC), "2026-01-31T09:30:00+00:00"),
        (timedelta(minutes=2), 120.0),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (Invoice(1, date(2026, 1, 31), Decimal("9.90")), {"number": 1, "due": "2026-01-31", "total": "9.90"}),
        (Point(1.5, Colour.RED), {"x": 1.5, "colour": "red"}),
        (Pair(1, 2), {"left": 1, "right": 2}),
        (Row((1, 2)), {"a": 1, "b": 2}),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        ({1: "a", None: "b", Colour.RED: "c"}, {"1": "a", "null": "b", "red": "c"}),
        ({"a": [Colour.RED]}.values(), [["red"]]),
        (range(3), [0, 1, 2]),
        ((number for number in range(3)), [0, 1, 2]),
        ("a\ud800\0", "a\ufffd\ufffd"),
        ({"k\0": "v"}, {"k\ufffd": "v"}),
    ],
)
def test_a_value_becomes_plain_json(value: Any, output: Json) -> None:
    result = to_result(value)
    assert (result.success, result.code) == (True, "SUCCESS")
    assert canonical(result.outputs) == canonical({"result": output})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"id": 1, "name": "a"}, {"id": 2, "city": "x"}], "2 rows, columns: id, name, city"),
        ([{"id": 1}], "1 row, columns: id"),
        (
            [{str(number): 1 for number in range(14)}],
            "1 row, columns: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … (14 in all)",
        ),
        ([1, 2], "2 items"),
        ([], "0 items"),
        ({"a": 1, "b": 2}, "1 record, fields: a, b"),
        ({}, "an empty record"),
        ("secret words", "12 characters"),
        (5, ""),
    ],
)
def test_the_message_sums_up_and_never_repeats_the_data(value: Any, message: str) -> None:
    assert to_result(value).message == message


def test_nothing_is_a_success_without_outputs() -> None:
    assert to_result(None) == ActionResult()


def test_a_result_stays_as_it_is_with_plain_outputs() -> None:
    given_result = ActionResult(False, "NO_SUCH", "not there", {"near": ["a"]}, Trust.UNTRUSTED, "db")
    assert to_result(given_result) == given_result
    rich = ActionResult(message="m\0", outputs={"rows": ({"n": Decimal(number)} for number in range(2))})
    assert to_result(rich) == ActionResult(message="m\ufffd", outputs={"rows": [{"n": "0"}, {"n": "1"}]})


def test_a_final_ends_the_run() -> None:
    final = Final("done", Disposition.SILENT_LOG)
    assert to_result(final) == ActionResult(final=final)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"x", "bytes"),
        ({"a": [bytearray(b"x")]}, "bytes"),
        (object(), "builtins.object"),
        ([1, {"a": lambda: 1}], "builtins.function"),
        (Invoice, "builtins.type"),
        ({1: "a", "1": "b"}, "written the same"),
    ],
)
def test_what_cannot_be_expressed_is_a_failed_result_naming_the_type(value: Any, said: str) -> None:
    result = to_result(value)
    assert (result.success, result.code, result.trust) == (False, "UNSERIALISABLE", Trust.TRUSTED)
    assert said in result.message
    assert "\n" not in result.message


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "contains itself" in to_result(loop).message


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.dates()
    | st.decimals()
    | st.uuids(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(anything)
def test_every_plain_value_can_be_stored(value: Any) -> None:
    result = to_result(value)
    assert result.success or "written the same" in result.message
    canonical(dict(result.outputs)).encode("utf-8")
