"""A mechanical repairer: reads a failed call and its failed result, and nothing else, and makes another call.

It knows the lines that results are rendered with and no tool, no schema and no database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from attrs import frozen

_INVALID = re.compile(r"`([^`]+)` (.*?)(?:; expected (.*?))?(?:; allowed: (.*))?")
#: ``'x' is not a parameter; did you mean 'y'?`` and ``'x' (near: y, z)``.
_NEAR = re.compile(r"'([^']+)'(?:[^';]*(?:\"[^\"]*\")?; did you mean '([^']+)'| \(near: ([^,)]+))")
_SAMPLES = {
    "array": [],
    "list": [],
    "object": {},
    "integer": 1,
    "number": 1,
    "boolean": True,
    "true or false": True,
}
#: Codes that say which argument is wrong, and how.
_ARGUMENTS = {"UNKNOWN_ARGUMENT", "MISSING_ARGUMENT", "INVALID_ARGUMENT", "INVALID_VALUE", "NOT_NULL"}
_GONE: Any = object()


@frozen
class Said:
    """What the lines of a failed result say."""

    code: str
    message: str
    invalid: tuple[tuple[str, str, str, str], ...]
    means: tuple[str, ...]
    advice: str
    example: Any

    @classmethod
    def read(cls, text: str) -> Said:
        """Read a rendered result."""
        lines: dict[str, list[str]] = {}
        for line in text.splitlines():
            if line.startswith("**"):
                head, _, rest = line[2:].partition(":** ")
                lines.setdefault(head, []).append(rest)
        code, _, message = lines["Result"][0].partition(" — ")
        matched = (_INVALID.fullmatch(line) for line in lines.get("Invalid", ()))
        invalid = tuple((m[1], m[2], m[3] or "", m[4] or "") for m in matched if m)
        examples = lines.get("Valid example")
        return cls(
            code,
            message,
            invalid,
            tuple(re.findall("`([^`]+)`", "".join(lines.get("Did you mean", ())))),
            " ".join(lines.get("How to recover", ())),
            json.loads(examples[0].strip("`")) if examples else _GONE,
        )

    @property
    def near(self) -> dict[str, str]:
        """What was written, or the parameter it was written for, to what is meant."""
        return {wrong: one or other for wrong, one, other in _NEAR.findall(self.message)}


def repair(tool: str, args: Mapping[str, Any], text: str) -> tuple[str, dict[str, Any]]:
    """Return the second try of a call that failed with ``text``."""
    said, new = Said.read(text), deepcopy(dict(args))
    if said.code == "UNKNOWN_TOOL" and said.means:
        return said.means[0], new
    exchange = {} if said.code in _ARGUMENTS else _exchanged(new, said)
    if exchange:
        return tool, _replaced(new, exchange)
    for path, reason, expected, allowed in said.invalid:
        _correct(new, said, path, (reason, expected, allowed))
    return tool, new


def _correct(args: dict[str, Any], said: Said, path: str, what: tuple[str, str, str]) -> None:
    """Correct the argument at ``path``: rename or drop an unknown one, give another value to a wrong one."""
    reason, expected, allowed = what
    steps = _steps(path)
    if reason.startswith("is not a parameter"):
        value, meant = _get(args, steps), said.near.get(path)
        _set(args, steps, _GONE)
        if meant is not None:
            _set(args, [*steps[:-1], meant], value)
        return
    if reason == "is required" and _get(args, steps) is not _GONE:
        return  # it came with the right name for another one
    value = said.near.get(path, _GONE)
    if value is _GONE and allowed:
        value = _json(allowed.split(", ")[0])
    if value is _GONE and said.example is not _GONE:
        value = _get(said.example, steps)
    if value is _GONE:
        value = _sample(f"{expected or reason}", _get(args, steps))
    _set(args, steps, value)


def _exchanged(args: Any, said: Said) -> dict[str, str]:
    """Return which words of the arguments to exchange for which: what the message quotes for what is near."""
    meant = [*said.means, *re.findall(r"\[([A-Z]+)\]", said.advice)]
    if said.near or not meant:
        return said.near
    written = " ".join(map(str, _words(args)))
    quoted = [word for word in re.findall(r"'([^']+)'", said.message) if word in written]
    numbers = [word for word in re.findall(r"\b\d+\b", said.message) if word in written]
    return dict.fromkeys((quoted or numbers)[:1], meant[0])


def _replaced(value: Any, exchange: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {exchange.get(key, key): _replaced(item, exchange) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, exchange) for item in value]
    if str(value) in exchange:
        meant = exchange[str(value)]
        return meant if isinstance(value, str) else _json(meant)
    if isinstance(value, str):
        for wrong, right in exchange.items():
            value = re.sub(rf"\b{re.escape(wrong)}\b", right, value)
    return value


def _words(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *(word for item in value.values() for word in _words(item))]
    if isinstance(value, list):
        return [word for item in value for word in _words(item)]
    return [value]


def _sample(expected: str, value: Any) -> Any:
    """Return a value of the kind that the text describes."""
    shown = re.search(r"(?:such as|like) (\S+)", expected)
    if shown:
        return shown[1].strip('",')
    fewer = re.search(r"at most (\d+) (?:characters|items)", expected)
    if fewer and isinstance(value, str | list):
        return value[: int(fewer[1])]
    bound = re.search(r"at (?:most|least) (-?\d+)", expected)
    if bound:
        return int(bound[1])
    chosen = re.search(r"one of (\S+?)(?:,|$)", expected)
    if chosen:
        return _json(chosen[1])
    return next((sample for word, sample in _SAMPLES.items() if word in expected), "text")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _steps(path: str) -> list[Any]:
    return [int(number) if number else name for number, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)]


def _get(value: Any, steps: list[Any]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return _GONE
    return value


def _set(value: Any, steps: list[Any], new: Any) -> None:
    """Set, or take away, what is at a path; parts that are missing on the way are made."""
    for step in steps[:-1]:
        value = value.setdefault(step, {}) if isinstance(value, dict) else value[step]
    if new is _GONE:
        value.pop(steps[-1], None)
    else:
        value[steps[-1]] = new
