"""The settings table of a plugin's README."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from attrs import field, frozen, resolve_types

from wakeful.plugins.settings import settings_table


class Mode(StrEnum):
    AUTO = "auto"


@frozen
class Limit:
    rows: int = 3


@frozen
class Settings:
    url: str = field(metadata={"help": "where the\n database is"})
    threshold: int = field(default=4000, metadata={"help": "a | b"})
    hidden: tuple[str, ...] = field(factory=tuple, metadata={"help": "left out"})
    names: list[str] = field(factory=lambda: ["a", "b"])
    mode: Mode = Mode.AUTO
    strict: bool = False
    limit: Limit = Limit()
    key: str | None = None
    twice: int = field()

    @twice.default
    def _twice(self) -> int:
        return self.threshold * 2


@frozen
class Nothing:
    pass


def test_the_table_shows_name_type_default_and_help() -> None:
    assert settings_table(Settings).splitlines() == [
        "| setting | type | default | meaning |",
        "|---|---|---|---|",
        "| `url` | `str` | required | where the database is |",
        "| `threshold` | `int` | `4000` | a \\| b |",
        "| `hidden` | `tuple[str, ...]` | `[]` | left out |",
        '| `names` | `list[str]` | `["a", "b"]` |  |',
        '| `mode` | `Mode` | `"auto"` |  |',
        "| `strict` | `bool` | `false` |  |",
        "| `limit` | `Limit` | `{ rows = 3 }` |  |",
        "| `key` | `str \\| None` | none |  |",
        "| `twice` | `int` | computed |  |",
    ]


def test_no_settings_are_said_in_words() -> None:
    assert settings_table(Nothing) == "This plugin has no settings."


@frozen
class Hinted:
    mode: Literal["replay", "a.b"] = "replay"
    rates: Mapping[str, float] = field(factory=dict)
    limit: Limit | None = None


def test_a_table_is_the_same_before_and_after_its_types_are_resolved() -> None:
    before = settings_table(Hinted)
    resolve_types(Hinted)
    assert settings_table(Hinted) == before
    assert "`Literal['replay', 'a.b']`" in before
    assert "`Mapping[str, float]`" in before
    assert "`Limit \\| None`" in before
