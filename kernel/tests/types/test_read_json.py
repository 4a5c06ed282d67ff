"""Text that somebody outside wrote is read as JSON, or refused in the one way that is expected."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakeful.types import read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_values_are_read_as_they_were_written(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@given(st.text(alphabet='[]{}":,1e-.\\ ', max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_json(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"\S"):
            json.loads(text)


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_64_levels_are_read_and_more_are_refused(opens: str, closes: str) -> None:
    inner = "1" if closes == "}" else ""
    assert read_json(opens * 64 + inner + closes * 64)
    for levels in (65, 900, 100_000):
        with pytest.raises(ValueError, match="nests deeper than 64 levels"):
            read_json(opens * levels + inner + closes * levels)


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    assert len(read_json("[" + ",".join(["[]", "{}"] * 500) + "]")) == 1_000


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(ValueError, match="digits"):
        read_json("1" * 5_000)
