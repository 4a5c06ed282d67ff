"""Texts as people write and see them."""

from __future__ import annotations

import pytest

from wakeful.types.words import exact, in_line, spellings, stands_apart


@pytest.mark.parametrize(
    ("text", "value", "apart"),
    [
        ("50 000", "50", False),
        ("50 000", "000", False),
        ("1 050 000", "050", False),
        ("50 000", "50 000", True),
        ("1234 567", "567", True),
        ("50.25", "50", False),
        ("-50", "50", False),
        ("50-", "50", False),
        ("50.", "50", True),
        ("50|60", "50", True),
        ("shop.example.co.uk", "shop.example.co", False),
        ("a \u2013 b", "a", True),
        ("a\u2013b", "a", False),
        ("@a", "a", True),
        ("b@a", "a", False),
        ("../a", "a", False),
        ("b//a", "b", False),
        ("b:a", "a", True),
        ("50:60", "50", False),
        ("\u2764\ufe0fa", "a", True),
        ("a" + "/" * 99, "a", False),
    ],
)
def test_a_value_stands_apart_from_what_is_beside_it(text: str, value: str, *, apart: bool) -> None:
    start = text.find(value)
    assert stands_apart(text, start, start + len(value)) is apart


def test_a_number_is_written_in_several_ways_and_never_rounded() -> None:
    assert spellings("50.0") == ("50.0", "50", "50.00")
    assert spellings("50.25") == ("50.25", "50.25", "50.25")
    assert spellings("fifty") == ("fifty",)
    assert exact("Stra\u00dfe  \n e\u0301") == "stra\u00dfe \u00e9"


def test_what_shows_nothing_is_spelt_out_and_emoji_are_not() -> None:
    assert in_line("\u2764\ufe0f") == "\u2764\ufe0f"
    assert in_line("a\ufe0f\ufe0f\U000e0101\u2800\u3164\u034f") == (
        "a\ufe0f\\ufe0f\\udb40\\udd01\\u2800\\u3164\\u034f"
    )
