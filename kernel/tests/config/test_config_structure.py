"""Strict structuring of settings into attrs classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import define, field, frozen
from attrs.validators import ge, in_, le, matches_re
from hypothesis import given
from hypothesis import strategies as st

from wakeful.config import load_config, structure
from wakeful.types import ConfigError, Problem


class Mode(StrEnum):
    AUTO = "auto"
    OFF = "off"


class Level(IntEnum):
    LOW = 1
    VERY_HIGH = 2


@frozen
class Rule:
    action: str
    weight: float = 1.0


@frozen
class Settings:
    count: int = field(default=1, validator=ge(0))
    share: float = field(default=0.5, validator=[ge(0), le(1)])
    strict: bool = False
    name: str = ""
    mode: Mode = Mode.AUTO
    level: Level = Level.LOW
    size: Literal["s", "m"] = "s"
    port: Literal[80, 443] = 80
    path: Path | None = None
    when: datetime | None = None
    day: date | None = None
    at: time | None = None
    tags: frozenset[str] = frozenset()
    pair: tuple[int, str] = (1, "a")
    many: tuple[int, ...] = ()
    listed: list[int] = field(factory=list)
    seq: Sequence[float] = ()
    rules: list[Rule] = field(factory=list)
    by_name: Mapping[str, Rule] = field(factory=dict)
    either: int | str = 0
    one_or_more: Rule | list[Rule] | None = None
    anything: Any = None
    bare: list = field(factory=list)  # type: ignore[type-arg]  # a plugin author may write that
    key: str = field(default="abc", validator=matches_re("[a-c]+"))
    unit: str = field(default="g", validator=in_(["g", "kg"]))


def told(raw: dict[str, Any], cls: type = Settings) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        structure(cls, raw, "wakeful.toml: plugins.x")
    return [str(problem).removeprefix("wakeful.toml: plugins.x.") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, Settings()),
        ({"share": 1}, Settings(share=1.0)),
        (
            {"mode": "off", "level": "very_high", "size": "m", "port": 443},
            Settings(mode=Mode.OFF, level=Level.VERY_HIGH, size="m", port=443),
        ),
        ({"path": "a/b"}, Settings(path=Path("a/b"))),
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, Settings(when=datetime(2026, 1, 1, tzinfo=UTC))),
        ({"day": date(2026, 1, 1), "at": time(9)}, Settings(day=date(2026, 1, 1), at=time(9))),
        (
            {"tags": ["b", "a"], "pair": [2, "b"], "many": [1, 2]},
            Settings(tags=frozenset("ab"), pair=(2, "b"), many=(1, 2)),
        ),
        ({"seq": [1, 2.5]}, Settings(seq=(1.0, 2.5))),
        ({"rules": [{"action": "x"}]}, Settings(rules=[Rule("x")])),
        ({"by_name": {"a b": {"action": "x", "weight": 2}}}, Settings(by_name={"a b": Rule("x", 2.0)})),
        ({"either": "x"}, Settings(either="x")),
        ({"one_or_more": [{"action": "x"}]}, Settings(one_or_more=[Rule("x")])),
        ({"anything": {"a": [1, "b"]}, "bare": [1, "b"]}, Settings(anything={"a": [1, "b"]}, bare=[1, "b"])),
    ],
)
def test_what_fits_is_taken(raw: dict[str, Any], expected: Settings) -> None:
    assert structure(Settings, raw, "x") == expected


def test_an_integer_for_a_number_becomes_a_float() -> None:
    assert isinstance(structure(Settings, {"share": 1}, "x").share, float)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({"count": "20"}, 'count: expected an integer, got the string "20"'),
        ({"count": True}, "count: expected an integer, got true"),
        ({"count": None}, "count: expected an integer, got nothing"),
        ({"share": float("nan")}, "share: expected a finite number, got the number nan"),
        ({"strict": 1}, "strict: expected true or false, got the number 1"),
        ({"name": 5}, "name: expected a string, got the number 5"),
        ({"mode": "of"}, "mode: expected one of auto, off, got the string \"of\"; did you mean 'off'?"),
        ({"level": 1}, "level: expected one of low, very_high, got the number 1"),
        ({"size": "x"}, 'size: expected one of s, m, got the string "x"'),
        ({"port": "80"}, 'port: expected one of 80, 443, got the string "80"'),
        ({"port": 80.0}, "port: expected one of 80, 443, got the number 80.0"),
        ({"path": 1}, "path: expected a string, got the number 1"),
        ({"when": "2026-01-01"}, 'when: expected a date with time, got the string "2026-01-01"'),
        ({"day": datetime(2026, 1, 1, tzinfo=UTC)}, "day: expected a date, got a date or time"),
        ({"tags": "ab"}, 'tags: expected a list, got the string "ab"'),
        ({"many": {"a": 1}}, "many: expected a list, got a table"),
        ({"many": [1, "2", 3, False]}, 'many[1]: expected an integer, got the string "2"'),
        ({"pair": [1]}, "pair: expected a list of 2 items, got a list of 1"),
        ({"pair": [1, 2]}, "pair[1]: expected a string, got the number 2"),
        ({"rules": [{"action": "a"}, {}]}, "rules[1].action: missing"),
        ({"rules": [{"acton": "a"}]}, "rules[0].action: missing"),
        ({"rules": ["a"]}, 'rules[0]: expected a table, got the string "a"'),
        ({"by_name": []}, "by_name: expected a table, got a list"),
        ({"by_name": {"a b": {"action": 1}}}, 'by_name."a b".action: expected a string, got the number 1'),
        (
            {"either": 1.5},
            "either: expected an integer, got the number 1.5 or expected a string, got the number 1.5",
        ),
        ({"one_or_more": [{"action": 3}]}, "one_or_more[0].action: expected a string, got the number 3"),
        ({"count": -1}, "count: must be >= 0: -1"),
        ({"share": 2}, "share: must be <= 1: 2.0"),
        ({"key": "xyz"}, "key: must match regex '[a-c]+' ('xyz' doesn't)"),
        ({"unit": "lb"}, "unit: must be in ['g', 'kg'] (got 'lb')"),
        ({"cuont": 1}, "cuont: unknown setting; did you mean 'count'?"),
    ],
)
def test_what_does_not_fit_says_what_was_expected_and_got(raw: dict[str, Any], line: str) -> None:
    assert line in told(raw)


def test_every_wrong_item_and_every_refusing_validator_is_reported() -> None:
    raw = {"many": [1, "2", 3, False], "count": -1, "share": 2, "kye": 1, "strict": "no", "unit": "lb"}
    assert [line.split(":")[0] for line in told(raw)] == [
        "count",
        "kye",
        "many[1]",
        "many[3]",
        "share",
        "strict",
        "unit",
    ]


def test_required_settings_are_reported_once_beside_the_rest() -> None:
    assert told({"acton": "a", "weight": "heavy"}, Rule) == [
        "action: missing",
        "acton: unknown setting; did you mean 'action'?",
        'weight: expected a number, got the string "heavy"',
    ]


def test_a_rule_over_several_settings_names_the_table() -> None:
    @define
    class Range:
        low: int = 0
        high: int = 9

        def __attrs_post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low must not be above high")

    with pytest.raises(ConfigError) as caught:
        structure(Range, {"low": 10}, "wakeful.toml: plugins.x")
    assert str(caught.value) == "wakeful.toml: plugins.x: low must not be above high"


def test_a_type_that_no_file_can_express_is_said() -> None:
    @define
    class Odd:
        blob: bytes = b""

    assert told({"blob": "x"}, Odd) == ["blob: a setting of the type bytes is not supported"]


def test_secrets_stay_out_of_the_messages_of_validators(tmp_path: Path) -> None:
    (tmp_path / "wakeful.toml").write_text("[plugins.x]\nkey = 'k-${env:K}'\n[agents.a]\nmodel = 'm:n'\n")
    raw = load_config(tmp_path, {"K": "s3cret"}).agents["a"].settings["x"]
    assert told(dict(raw)) == ["key: must match regex '[a-c]+' ('k-${env:K}' doesn't)"]


def test_a_secret_that_fits_is_an_ordinary_text(tmp_path: Path) -> None:
    (tmp_path / "wakeful.toml").write_text("[plugins.x]\nkey = '${env:K}'\n[agents.a]\nmodel = 'm:n'\n")
    raw = load_config(tmp_path, {"K": "abc"}).agents["a"].settings["x"]
    key = structure(Settings, raw, "x").key
    assert (key, type(key)) == ("abc", str)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
NAMES = st.sampled_from(
    ["count", "share", "strict", "name", "many", "rules", "by_name", "either", "pair", "kount"]
)


@given(st.dictionaries(NAMES, TREES, max_size=5))
def test_any_table_is_either_taken_as_it_is_or_refused_with_problems(raw: dict[str, Any]) -> None:
    problems: Sequence[Problem] = ()
    try:
        settings = structure(Settings, raw, "x")
    except ConfigError as error:
        problems = error.problems
    else:
        for name in {"count", "strict", "name", "either"} & raw.keys():
            assert getattr(settings, name) == raw[name]
            assert type(getattr(settings, name)) is type(raw[name])
        return
    assert problems
    assert all(problem.where.startswith("x") and problem.what for problem in problems)
