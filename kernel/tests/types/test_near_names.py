"""Names as they are written by models: the one that is meant, or near ones."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from wakeful.types import ActionError, meant, near

NAMES = ["customer", "get_weather", "list_entities", "order_item", "orders", "send_email"]


@pytest.mark.parametrize("written", ["send_email", "Send Email", "send-email", "sendEmail", "SEND_EMAIL"])
def test_case_blanks_dashes_and_underscores_do_not_count(written: str) -> None:
    assert meant(written, NAMES) == "send_email"


def test_two_names_that_are_spelt_alike_are_told_apart_only_exactly() -> None:
    names = ["a_b", "ab"]
    assert meant("ab", names) == "ab"
    assert meant("A-B", names) is None
    assert meant("", names) is None


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("sendEmial", "send_email"),
        ("weather_get", "get_weather"),
        ("entities", "list_entities"),
        ("ordr", "orders"),
        ("Customers", "customer"),
    ],
)
def test_the_nearest_comes_first(written: str, first: str) -> None:
    assert near(written, NAMES)[0] == first


def test_nothing_near_is_nothing_and_never_more_than_five() -> None:
    assert near("zzz", NAMES) == ()
    assert len(near("order", [f"order_{number}" for number in range(50)])) == 5


def test_the_same_names_in_another_order_give_the_same() -> None:
    assert near("ordre", NAMES) == near("ordre", reversed(NAMES))


def test_a_thousand_names_take_little_longer_than_splitting_them() -> None:
    chance = random.Random(1)  # noqa: S311  (names, not secrets)
    words = ["get", "list", "create", "update", "delete", "send", "customer", "order", "report", "user"]
    names = [f"{'_'.join(chance.choices(words, k=chance.randint(2, 5)))}{i}" for i in range(1000)]

    def took(work: Callable[[], object]) -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    # In turns, so that a slow moment of the machine hits both; it takes some 4 times as long.
    both = [
        (
            took(lambda: near("customer-send", names)),
            took(lambda: [name.casefold().split("_") for name in names]),
        )
        for _ in range(20)
    ]
    comparing, splitting = map(min, zip(*both, strict=True))
    assert comparing < 10 * splitting


def test_one_suggested_value_is_no_list_of_letters() -> None:
    assert ActionError("NO_SUCH", "no", suggested="Ana").recovery.suggested_values == ("Ana",)
    assert ActionError("NO_SUCH", "no", suggested=[1, 2]).recovery.suggested_values == ("1", "2")
