import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, TypedDict
from uuid import UUID

import attrs
import pytest

from wakeful import Param, action
from wakeful.tools.arguments import check_arguments
from wakeful.types import DeclarationError, Json, canonical

Customer = NewType("Customer", str)


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Number(IntEnum):
    ONE = 1
    TWO = 2


class Odd(Enum):
    PAIR = (1, 2)


@attrs.frozen
class Address:
    """Where someone lives.

    Args:
        street: with the number.
    """

    street: str
    country: str = "DE"
    lines: list[str] = attrs.field(factory=list, metadata={"description": "more lines"})


@dataclass
class Person:
    name: str
    home: Address
    born: date | None = None
    tags: set[str] = field(default_factory=set)


class Options(TypedDict):
    depth: int
    deep: NotRequired[bool]


@attrs.define
class Node:
    name: str
    children: "list[Node]" = attrs.field(factory=list)


class Bytes(bytes):
    pass


def declared(hint: Any) -> Json:
    def take(value: Any) -> None: ...

    take.__annotations__["value"] = hint
    return action(take).schema["properties"]["value"]


async def loaded(hint: Any, value: Json) -> Any:
    """Check ``value`` as a model would send it, and return what the function got."""
    got: list[Any] = []

    async def take(value: Any) -> None:
        got.append(value)

    take.__annotations__["value"] = hint
    act = action(take)
    args = check_arguments(act, json.dumps({"value": value}))
    assert isinstance(args, dict), args
    result = await act.run(args, None)  # type: ignore[arg-type]  # no context is needed
    assert result.success, result
    return got[0]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Customer, {"type": "string"}),
        (int | None, {"type": ["integer", "null"]}),
        (int | str, {"type": ["integer", "string"]}),
        (int | float, {"type": "number"}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Literal["a", 1], {"enum": ["a", 1], "type": ["integer", "string"]}),
        (Level, {"enum": ["low", "high"], "type": "string"}),
        (Level | None, {"enum": ["low", "high", None], "type": ["string", "null"]}),
        (Number, {"enum": [1, 2], "type": "integer"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (list, {"type": "array", "items": {}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, int], {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (time, {"type": "string", "format": "time"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (
            list[Annotated[str, "a word"]],
            {"type": "array", "items": {"type": "string", "description": "a word"}},
        ),
        (
            Annotated[int, Param("days", schema={"minimum": 1})],
            {"type": "integer", "minimum": 1, "description": "days"},
        ),
    ],
)
def test_a_hint_declares_its_schema(hint: Any, schema: Json) -> None:
    assert canonical(declared(hint)) == canonical(schema)


def test_classes_become_closed_objects_with_their_texts_and_defaults() -> None:
    assert declared(Person) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "home": {
                "type": "object",
                "properties": {
                    "street": {"type": "string", "description": "with the number."},
                    "country": {"type": "string", "default": "DE"},
                    "lines": {"type": "array", "items": {"type": "string"}, "description": "more lines"},
                },
                "required": ["street"],
                "additionalProperties": False,
            },
            "born": {"type": ["string", "null"], "format": "date", "default": None},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "required": ["home", "name"],
        "additionalProperties": False,
    }
    assert declared(Options)["required"] == ["depth"]


@pytest.mark.parametrize(
    ("hint", "sent", "got"),
    [
        (float, 5, 5.0),
        (int | float, 5, 5),
        (datetime, "2026-01-31T09:30:00Z", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        (date, "2026-01-31", date(2026, 1, 31)),
        (time, "09:30", time(9, 30)),
        (UUID, "123e4567-e89b-12d3-a456-426614174000", UUID("123e4567-e89b-12d3-a456-426614174000")),
        (Decimal, "12.50", Decimal("12.50")),
        (Decimal, 12, Decimal(12)),
        (Level, "high", Level.HIGH),
        (Literal[Level.LOW], "low", Level.LOW),
        (Number | None, None, None),
        (tuple[int, int], [1, 2], (1, 2)),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (dict[str, date], {"a": "2026-01-31"}, {"a": date(2026, 1, 31)}),
        (list[date] | None, ["2026-01-31"], [date(2026, 1, 31)]),
        (Address | str, "home", "home"),
        (Address | str, {"street": "x 1"}, Address("x 1")),
        (Options, {"depth": 1}, {"depth": 1}),
        (
            Person,
            {"name": "Ana", "home": {"street": "x 1"}, "born": "2000-01-01", "tags": ["a"]},
            Person("Ana", Address("x 1"), date(2000, 1, 1), {"a"}),
        ),
    ],
)
async def test_the_function_gets_what_its_hint_says(hint: Any, sent: Json, got: Any) -> None:
    found = await loaded(hint, sent)
    assert found == got
    assert type(found) is type(got)


async def test_a_decimal_keeps_every_digit_the_model_wrote() -> None:
    got: list[Decimal] = []

    @action
    def pay(amount: Decimal) -> None:
        got.append(amount)

    args = check_arguments(pay, '{"amount": 0.12345678901234567890123}')
    assert isinstance(args, dict)
    await pay.run(args, None)  # type: ignore[arg-type]  # no context is needed
    assert got == [Decimal("0.12345678901234567890123")]


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (Any, "dict[str, Any]"),
        (object, "dict[str, Any]"),
        (Path, "use str"),
        (timedelta, "say the unit"),
        (bytes, "use str"),
        (Bytes, "use str"),
        (complex, "cannot be declared"),
        (Odd, "must be strings, numbers or booleans"),
        (dict[int, str], "use dict[str, ...]"),
        (str | date, "tell its members apart"),
        (Address | Person, "tell its members apart"),
        (list[Path], "parameter 'value'[]"),
        (tuple[int, str], "named fields"),
        (Node, "Node contains itself"),
    ],
)
def test_a_hint_that_cannot_be_declared_names_the_parameter_and_what_to_use(hint: Any, said: str) -> None:
    with pytest.raises(DeclarationError) as error:
        declared(hint)
    assert said in str(error.value)
    assert "action 'Take', parameter 'value'" in str(error.value)


PROGRAM = """
import enum
from wakeful import action
from wakeful.types import canonical
class L(enum.StrEnum):
    B = "b"; A = "a"
@action
def f(z: set[str], a: L | None = None, *, k: frozenset[int] = frozenset({3, 1})) -> None:
    '''F.'''
print(canonical([f.schema, f.description]))
"""


def test_every_process_declares_the_same_bytes() -> None:
    runs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(runs) == 1
    assert b'"default":[1,3]' in runs.pop()


def test_declaring_imports_no_heavy_library() -> None:
    program = (
        "import sys, wakeful\n@wakeful.action\ndef f(days: int = 3) -> int: ...\n"
        "print(sorted({'cattrs', 'jsonschema_rs', 'sqlmodel', 'sqlalchemy', 'rich'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert found.stdout == "[]\n"
