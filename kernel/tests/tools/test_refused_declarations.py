from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pytest

from wakeful import action
from wakeful.types import DeclarationError

if TYPE_CHECKING:
    from decimal import Decimal as Hidden


def variadic(*names: str) -> None: ...
def keywords(**names: str) -> None: ...
def positional(name: str, /) -> None: ...
def bare(name) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001  (wrong on purpose)
def hidden(name: Hidden) -> None: ...
def missing(name: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821  (wrong on purpose)
def implicit(name: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013  (wrong on purpose)
def mistyped(name: int = "x") -> None: ...  # type: ignore[assignment]  # wrong on purpose
def truthful(name: int = True) -> None: ...
def listed(name: list[str] = "abc") -> None: ...  # type: ignore[assignment]  # wrong on purpose
def outside(name: Literal["red", "blue"] = "green") -> None: ...  # type: ignore[assignment]  # wrong on purpose
def endless(name: float = float("nan")) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (variadic, "*names cannot be declared"),
        (keywords, "**names cannot be declared"),
        (positional, "positional-only"),
        (bare, "no type annotation"),
        (hidden, "outside TYPE_CHECKING"),
        (missing, "'NoSuchType' cannot be resolved"),
        (implicit, "write 'X | None'"),
        (mistyped, "defaults to 'x', a string; its type is integer"),
        (truthful, "defaults to True, a boolean; its type is integer"),
        (listed, "defaults to 'abc', a string; its type is array"),
        (outside, "defaults to 'green', which is none of 'red', 'blue'"),
        (endless, "defaults to nan, a string; its type is number"),
    ],
)
def test_what_cannot_be_declared_is_an_error_naming_action_and_parameter(function: Any, said: str) -> None:
    with pytest.raises(DeclarationError) as error:
        action(function)
    text = str(error.value)
    assert said in text
    assert f"action {function.__name__.title()!r}" in text
    assert "parameter 'name" in text
    assert "\n" not in text


def test_a_field_of_a_class_that_cannot_be_resolved_names_the_class() -> None:
    @attrs.frozen
    class Box:
        inside: Hidden

    def pack(box: Box) -> None: ...

    with pytest.raises(DeclarationError, match="parameter 'box': Box has an unresolved type"):
        action(pack)


def test_a_method_declared_in_the_class_body_says_what_to_do() -> None:
    with pytest.raises(DeclarationError, match=r"action\(\.\.\.\)\(self\.method\)"):

        class Plugin:
            @action
            def find(self, word: str) -> None: ...


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"effect": "reed"}, "did you mean 'read'"),
        ({"output_trust": "semi-trusted"}, "did you mean 'semi_trusted'"),
        ({"timeouts": 3}, "did you mean 'timeout_s'"),
        ({"external_if_present": ["too"]}, "did you mean 'to'"),
        ({"tool_name": "x" * 65}, "65 characters"),
        ({"tool_name": ""}, "tool name is empty"),
        ({"tool_name": "a b"}, "only letters, digits"),
        ({"name": "…"}, "tool name is empty"),
    ],
)
def test_wrong_settings_are_errors_with_the_nearest_name(settings: dict[str, Any], said: str) -> None:
    def send(to: str) -> None: ...

    with pytest.raises(DeclarationError, match=said):
        action(**settings)(send)


def test_defaults_that_fit_are_declared() -> None:
    def plan(
        ratio: float = 1,
        big: int = 2**70,
        day: date = date(2026, 1, 31),
        words: tuple[str, ...] = ("a",),
        either: int | str | None = "x",
        colour: Literal["red", "blue"] | None = None,
    ) -> None: ...

    assert action(plan).schema["properties"]["day"]["default"] == "2026-01-31"


def test_a_function_without_a_name_needs_one() -> None:
    with pytest.raises(DeclarationError, match="give name="):
        action(lambda: 1)
    assert action(name="One")(lambda: 1).tool_name == "one"
