import json
from typing import Annotated, Literal

import attrs
from hypothesis import given
from hypothesis import strategies as st

from wakeful import Action, ActionResult, Param, action
from wakeful.tools.arguments import check_arguments
from wakeful.types import Json, canonical


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


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
anything = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
valid_lines = st.lists(st.fixed_dictionaries({"sku": texts}, optional={"count": st.integers()}), max_size=3)
valid = st.fixed_dictionaries(
    {"lines": valid_lines},
    optional={
        "days": st.integers(1, 90),
        "level": st.sampled_from(["low", "high"]),
        "rate": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
        "urgent": st.booleans(),
        "note": st.none() | st.integers() | texts,
        "either": st.none() | valid_lines,
        "extra": st.none() | st.dictionaries(texts, st.integers(), max_size=3),
    },
)
KNOWN = set(order.schema["properties"])


@given(valid)
def test_valid_arguments_come_through_unchanged(args: dict[str, Json]) -> None:
    assert accepted(order, json.dumps(args)) == args
    assert accepted(order, args) == args


@given(valid, texts.filter(lambda name: name not in KNOWN), anything)
def test_any_unknown_name_is_refused_at_any_depth(args: dict[str, Json], name: str, value: Json) -> None:
    assert refused(order, json.dumps({**args, name: value})).code == "UNKNOWN_ARGUMENT"
    if name not in {"sku", "count"}:
        line = {"sku": "a", name: value}
        assert refused(order, json.dumps({**args, "lines": [line]})).code == "UNKNOWN_ARGUMENT"


@given(valid)
def test_arguments_spelt_as_strings_mean_the_same(args: dict[str, Json]) -> None:
    spelt = {
        name: value if isinstance(value, str) or name == "note" else json.dumps(value)
        for name, value in args.items()
    }
    assert accepted(order, json.dumps(spelt)) == args


def meaning(value: Json) -> str:
    """What a value says, however it is spelt."""
    if isinstance(value, dict):
        return canonical({name: meaning(part) for name, part in value.items()})
    if isinstance(value, list):
        return canonical([meaning(part) for part in value])
    if isinstance(value, float) and value.is_integer():
        return canonical(int(value))
    if not isinstance(value, str):
        return canonical(value)
    try:
        read = json.loads(value.lower() if value in {"True", "False"} else value, parse_constant=str)
    except ValueError:
        return value
    return value if isinstance(read, str) else meaning(read)


@given(st.dictionaries(st.sampled_from(sorted(KNOWN)), anything, max_size=4))
def test_whatever_is_sent_the_answer_is_arguments_or_a_clear_refusal(args: dict[str, Json]) -> None:
    found = check_arguments(order, json.dumps(args))
    if isinstance(found, ActionResult):
        assert found.code in {"MISSING_ARGUMENT", "INVALID_ARGUMENT", "UNKNOWN_ARGUMENT", "INVALID_JSON"}
        return
    assert meaning(found) == meaning(args)


@given(texts)
def test_any_text_is_handled(raw: str) -> None:
    found = check_arguments(nothing, raw)
    assert found == {} or isinstance(found, ActionResult)
