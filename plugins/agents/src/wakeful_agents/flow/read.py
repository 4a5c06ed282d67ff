"""Reading a flow from TOML, with every problem and its place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from typing import Any

from attrs import define, field

from wakeful.types import ConfigError, Problem, nearest
from wakeful_agents.flow.expressions import FlowError, Place, holes, parse_condition, places
from wakeful_agents.flow.graph import check_graph
from wakeful_agents.flow.model import (
    END,
    KINDS,
    LOOP_MOST,
    TYPES,
    WHILE_MOST,
    Case,
    Flow,
    FlowStep,
    Loop,
    Output,
)
from wakeful_agents.payload.paths import DEPTH, PathError, parse_path, spell

_TOP = ("start", "answer", "types", "payload", "steps")
_COMMON = ("output", "next", "on_error")
_KEYS = {
    "action": ("args", "for_each", "while", "max", *_COMMON),
    "prompt": _COMMON,
    "sub_agent": ("message", "payload", "for_each", "while", "max", *_COMMON),
    "branch": (),
}
#: What each kind of step is given.
_GIVEN = {"action": "args", "prompt": "args", "sub_agent": "payload"}


def read_flow(text: str, where: str) -> Flow:
    """Read and check a flow.

    Args:
        text: TOML.
        where: names it in problems.

    Raises:
        ConfigError: everything that is wrong, each with the step and key.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(where, f"is no TOML: {error}")]) from None
    except RecursionError:
        raise ConfigError([Problem(where, "is no flow: its values are nested too deep")]) from None
    reader = Reader(where)
    flow = reader.flow(raw)
    if not reader.problems:
        reader.problems += check_graph(flow, where)
    if reader.problems:
        raise ConfigError(reader.problems)
    return flow


@define
class Reader:
    """Reads one file and collects what is wrong with it."""

    where: str
    problems: list[Problem] = field(factory=list)
    names: tuple[str, ...] = ()

    def wrong(self, place: str, what: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(f"{self.where}: {place}" if place else self.where, what))

    def flow(self, raw: Mapping[str, Any]) -> Flow:
        """Read the whole."""
        self._keys("", raw, _TOP)
        steps = raw.get("steps")
        if not isinstance(steps, dict) or not steps:
            self.wrong("steps", "expected at least one table [steps.<name>]")
            return Flow("", {})
        self.names = (*steps, END)
        types = self._types(raw.get("types", {}))
        payload = raw.get("payload", {})
        if self._table("payload", payload):
            self._value("payload", payload)
        read = {name: self._step(name, table) for name, table in steps.items()}
        found = {name: step for name, step in read.items() if step is not None}
        start = raw.get("start", next(iter(steps)))
        if not isinstance(start, str) or start not in steps:
            self.wrong("start", f"there is no step {start!r}{nearest(str(start), steps)}")
        answer = raw.get("answer", "")
        self._text("answer", answer, empty=True)
        if isinstance(answer, str):
            self._places("answer", answer, in_loop=False)
        return Flow(str(start), found, str(answer), types, payload)

    def _types(self, raw: Any) -> dict[str, str]:
        if not self._table("types", raw):
            return {}
        found = {}
        for name, kind in raw.items():
            if kind not in TYPES:
                self.wrong(f"types.{name}", f"unknown type {kind!r}{nearest(str(kind), TYPES)}")
            path = self._guard(f"types.{name}", partial(parse_path, name))
            if path is not None:
                found[spell(path)] = str(kind)
        return found

    def _step(self, name: str, raw: Any) -> FlowStep | None:  # noqa: C901  (one check after the other)
        where, before = f"steps.{name}", len(self.problems)
        if name == END or not name.replace("_", "").replace("-", "").isalnum():
            self.wrong(where, f"expected a name of letters, digits, - and _, other than {END!r}")
            return None
        if not self._table(where, raw):
            return None
        kinds = [kind for kind in KINDS if kind in raw]
        if len(kinds) != 1:
            got = f"got {' and '.join(kinds)}" if kinds else "got none"
            self.wrong(where, f"expected one of {', '.join(KINDS)}; {got}")
            return None
        (kind,) = kinds
        self._keys(where, raw, (kind, *_KEYS[kind]))
        if kind == "branch":
            cases = self._cases(where, raw["branch"])
            return FlowStep(name, kind, cases=cases) if len(self.problems) == before else None
        self._text(f"{where}.{kind}", raw[kind])
        loop, in_loop = self._loop(where, raw), "for_each" in raw or "while" in raw
        args = self._arguments(f"{where}.{_GIVEN[kind]}", raw.get(_GIVEN[kind], {}), in_loop=in_loop)
        message = raw.get("message", "")
        if kind == "sub_agent":
            self._text(f"{where}.message", message)
        for key, text in (("message", message), ("prompt", raw.get("prompt", ""))):
            if isinstance(text, str):
                self._places(f"{where}.{key}", text, in_loop=in_loop)
        for key in ("next", "on_error"):
            if not isinstance(raw.get(key, ""), str):
                self.wrong(f"{where}.{key}", f"expected the name of a step, got {raw[key]!r}")
            elif key in raw:
                self._named(f"{where}.{key}", raw[key])
        kept = FlowStep(name, kind, loop=loop)
        outputs = self._outputs(f"{where}.output", raw.get("output", {}), kept)
        if len(self.problems) > before:
            return None
        return FlowStep(
            name,
            kind,
            raw[kind],
            args,
            message,
            outputs,
            raw.get("next", END),
            raw.get("on_error", ""),
            loop=loop,
        )

    def _arguments(self, where: str, args: Any, *, in_loop: bool) -> Any:
        """Check a template of arguments, or of the payload of a sub-agent, which may be a place as well."""
        place = isinstance(args, str) and bool(self._guard(where, lambda: places(args)))
        if place and not where.endswith("args"):
            self._guard(where, lambda: self._roots(where, places(args), in_loop=in_loop))
        elif self._table(where, args):
            self._value(where, args)
            for name, value in args.items():
                at = f"{where}.{name}"
                self._guard(at, lambda: self._roots(at, places(value), in_loop=in_loop))  # noqa: B023  (at once)
        return args

    def _table(self, where: str, raw: Any) -> bool:
        if not isinstance(raw, dict):
            self.wrong(where, f"expected a table, got {raw!r:.80}")
        return isinstance(raw, dict)

    def _value(self, where: str, value: Any, depth: int = 0) -> None:
        """Check that JSON can express what TOML can: no dates and no infinity, and not too deep."""
        if depth > DEPTH:
            self.wrong(where, f"is nested deeper than {DEPTH} levels")
        elif isinstance(value, dict):
            for name, item in value.items():
                self._value(f"{where}.{name}", item, depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._value(f"{where}[{index}]", item, depth + 1)
        elif not isinstance(value, str | int | float) or (isinstance(value, float) and not isfinite(value)):
            self.wrong(where, f"{value} is no value of JSON; write it as a text, in quotes")

    def _named(self, where: str, way: str) -> None:
        if way not in self.names:
            self.wrong(where, f"there is no step {way!r}{nearest(way, self.names)}")

    def _keys(self, where: str, raw: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in raw:
            if key not in known:
                self.wrong(f"{where}.{key}" if where else key, f"unknown key{nearest(key, known)}")

    def _text(self, where: str, value: Any, *, empty: bool = False) -> None:
        if not isinstance(value, str) or (not empty and not value.strip()):
            self.wrong(
                where, f"expected a text, got {value!r}" if value != "" else "expected a text, got nothing"
            )

    def _guard(self, where: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (FlowError, PathError) as error:
            self.wrong(where, str(error))
            return None

    def _places(self, where: str, text: str, *, in_loop: bool) -> None:
        self._guard(where, lambda: self._roots(where, holes(text), in_loop=in_loop))

    def _roots(self, where: str, found: list[Place], *, in_loop: bool) -> None:
        for place in found:
            if place.root != "payload" and not in_loop:
                self.wrong(where, f"{place.root!r} stands for something inside a loop only")

    def _cases(self, where: str, raw: Any) -> tuple[Case, ...]:
        if not isinstance(raw, list) or not raw or not all(isinstance(each, dict) for each in raw):
            self.wrong(f"{where}.branch", "expected a list of tables with when and next")
            return ()
        cases = []
        for index, table in enumerate(raw):
            at, last = f"{where}.branch[{index}]", index == len(raw) - 1
            self._keys(at, table, ("when", "next"))
            if not isinstance(table.get("next"), str):
                self.wrong(f"{at}.next", "expected the name of a step")
                continue
            if last and "when" in table:
                self.wrong(at, "the last way out has a condition; expected one without, for everything else")
            elif not last and "when" not in table:
                self.wrong(at, "has no condition, so that the ways out after it are never taken")
            condition = (
                self._condition(f"{at}.when", table["when"], in_loop=False) if "when" in table else None
            )
            self._named(f"{at}.next", table["next"])
            cases.append(Case(table["next"], condition))
        return tuple(cases)

    def _condition(self, where: str, text: Any, *, in_loop: bool) -> Any:
        condition = self._guard(where, lambda: parse_condition(text))
        for name in sorted(condition.names if condition else ()):
            if name != "payload" and not in_loop:
                self.wrong(where, f"{name!r} stands for something inside a loop only")
        return condition

    def _loop(self, where: str, raw: Mapping[str, Any]) -> Loop:
        if "for_each" in raw and "while" in raw:
            self.wrong(where, "for_each and while exclude each other")
            return Loop()
        most = raw.get("max", WHILE_MOST if "while" in raw else LOOP_MOST)
        if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= LOOP_MOST:
            self.wrong(f"{where}.max", f"expected a number of iterations from 1 to {LOOP_MOST}, got {most!r}")
        if "for_each" in raw:
            text = raw["for_each"]
            place = self._guard(f"{where}.for_each", lambda: Place.parse(str(text), ("payload",)))
            return Loop(each=place, most=most)
        if "while" in raw:
            return Loop(condition=self._condition(f"{where}.while", raw["while"], in_loop=True), most=most)
        if "max" in raw:
            self.wrong(f"{where}.max", "stands beside for_each or while only")
        return Loop()

    def _outputs(self, where: str, raw: Any, step: FlowStep) -> tuple[Output, ...]:
        if not self._table(where, raw):
            return ()
        found = []
        for target, source in raw.items():
            at = f"{where}.{target}"
            if not isinstance(source, str):
                self.wrong(at, f"expected what goes there, like {next(iter(step.gives))!r}, got {source!r}")
                continue
            place = self._guard(at, partial(Place.parse, source, tuple(step.gives)))
            path = self._guard(at, partial(parse_path, target))
            if place is not None and path is not None:
                found.append(Output(path, place.root, place.path))
        return tuple(found)
