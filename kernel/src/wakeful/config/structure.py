"""Structuring tables into attrs classes, strictly: nothing unknown, nothing coerced.

An integer will do where a number is expected. Everything else must be what the type hint says; every
problem is reported, not the first.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.errors import ClassValidationError, StructureHandlerNotFoundError
from cattrs.gen import make_dict_structure_fn

from wakeful.config.explain import Finding, WrongValueError, below_path, did_you_mean, explain, wrong
from wakeful.config.secrets import Secret, join, redact, secrets_in
from wakeful.types import ConfigError, Json, Problem, nearest

_T = TypeVar("_T")
Hook = Callable[[Any, Any], Any]
Report = Callable[[str, str], None]


def structure(cls: type[_T], raw: Mapping[str, Json], where: str) -> _T:
    """Return an instance of an attrs class from a table.

    Args:
        cls: the class; settings it does not have are refused.
        raw: the table.
        where: file and path of the table, for the problems.

    Raises:
        ConfigError: every problem, sorted by path, with the nearest name of what is unknown.
    """
    problems: list[Problem] = []
    value = try_structure(cls, raw, lambda path, what: problems.append(Problem(_at(where, path), what)))
    if problems:
        raise ConfigError(sorted(problems, key=lambda each: (each.where, each.what)))
    checked: _T = value
    return checked


def try_structure(hint: Any, raw: Json, report: Report) -> Any:
    """Return ``raw`` structured as ``hint``, or report everything that is wrong and return None.

    Args:
        hint: a class or another type hint.
        raw: what stands in the file.
        report: called with (path below ``raw``, what is wrong).
    """
    try:
        return _converter().structure(raw, hint)
    except Exception as error:  # noqa: BLE001  (validators and converters of a settings class raise anything)
        secrets = tuple(secrets_in(raw))
        for path, what, foreign in explain(error):
            report(path, redact(what, secrets) if foreign else what)
        return None


def partial(cls: type, raw: Mapping[str, Json], report: Report) -> dict[str, Any]:
    """Return those fields of an attrs class that ``raw`` gives correctly, and report the others.

    So the correct half of a table can be checked further, and all problems be found at once.
    """
    attrs.resolve_types(cls)
    known = {field.name: field for field in attrs.fields(cls)}
    for key in raw:
        if key not in known:
            report(join("", key), f"unknown setting{nearest(key, known)}")
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name in raw:
            found: list[tuple[str, str]] = []
            value = try_structure(field.type, raw[name], lambda *each, found=found: found.append(each))
            for path, what in found:
                report(below_path(name, path), what)
            if not found:
                values[name] = value
        elif field.default is attrs.NOTHING:
            report(name, "missing")
    return values


def _at(where: str, path: str) -> str:
    return below_path(where, path) if where.strip() else path


@lru_cache(maxsize=1)
def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    rules: tuple[tuple[Callable[[Any], bool], Callable[[Any, Converter], Hook]], ...] = (
        (lambda hint: isinstance(hint, type) and attrs.has(hint), _table_hook),
        (lambda hint: _origin(hint) in {dict, Mapping, MutableMapping}, _mapping_hook),
        (lambda hint: _origin(hint) in _BUILD, _sequence_hook),
        (lambda hint: isinstance(hint, type) and issubclass(hint, Enum), lambda *_: _enum),
        (lambda hint: get_origin(hint) is Literal, _literal_hook),
        (lambda hint: get_origin(hint) in {Union, types.UnionType}, _union_hook),
    )
    for matches, make in rules:  # the rule registered last is asked first
        converter.register_structure_hook_factory(matches, make)
    for kind in (*_SCALARS, bytes):  # cattrs asks its classes, which coerce, before any rule
        converter.register_structure_hook(kind, _scalar)
    return converter


def _scalar(value: Any, hint: Any) -> Any:
    """Structure a scalar. Called for subclasses too, so also for enums that are texts or integers."""
    if hint in _SCALARS:
        return _SCALARS[hint](value, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(value, hint)
    raise StructureHandlerNotFoundError("", hint)


def _origin(hint: Any) -> Any:
    return get_origin(hint) or hint


def _plain(kind: type, expected: str) -> Hook:
    """Return the hook for a type whose values must already be of it."""

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise wrong(expected, value)
        return value

    return hook


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise wrong("a string", value)
    return str(value)  # a secret loses its wrapping here; from now on it is the owner's


def _number(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong("a number", value)
    if not math.isfinite(value):
        raise wrong("a finite number", value)
    return float(value)


_SCALARS: dict[Any, Hook] = {
    int: _plain(int, "an integer"),
    bool: _plain(bool, "true or false"),
    float: _number,
    str: _text,
    Path: lambda value, hint: Path(_text(value, hint)),
    datetime: _plain(datetime, "a date with time"),
    date: _plain(date, "a date"),
    time: _plain(time, "a time"),
}
_BUILD: dict[Any, Callable[[Iterable[Any]], Any]] = {
    list: list,
    Sequence: tuple,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    AbstractSet: frozenset,
}


def _table_hook(cls: Any, converter: Converter) -> Hook:
    inner = make_dict_structure_fn(
        cls, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
    )

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise wrong("a table", value)
        findings: list[Finding] = []
        left = dict(value)
        while True:
            try:
                done = inner(left, cls)
            except ClassValidationError as error:
                gone = set(value) - set(left)
                found = [
                    each for each in explain(error) if each not in findings and not _starts(each[0], gone)
                ]
            else:
                found = []
            findings += found
            # attrs stops at the first validator that refuses, and asks none while a type is wrong: leave out
            # what is known to be wrong and look again, until there is nothing new.
            wrong_keys = {key for key in left if any(_starts(path, {key}) for path, _, _ in found)}
            if not wrong_keys:
                break
            left = {key: item for key, item in left.items() if key not in wrong_keys}
        if findings:
            raise WrongValueError(findings)
        return done

    return hook


def _starts(path: str, keys: AbstractSet[str]) -> bool:
    """Return whether a path lies at or below one of the keys."""
    return any(path == (at := join("", key)) or path.startswith((f"{at}.", f"{at}[")) for key in keys)


def _items(converter: Converter, items: Iterable[tuple[str, Any, Any]]) -> list[Any]:
    """Return (path, value, hint) structured one by one.

    Raises:
        WrongValueError: everything that is wrong in any of them.
    """
    done: list[Any] = []
    findings: list[Finding] = []
    for path, value, hint in items:
        try:
            done.append(converter.structure(value, hint))
        except Exception as error:  # noqa: BLE001  (as in try_structure)
            findings += [(below_path(path, below), what, foreign) for below, what, foreign in explain(error)]
    if findings:
        raise WrongValueError(findings)
    return done


def _mapping_hook(hint: Any, converter: Converter) -> Hook:
    _, inner = get_args(hint) or (str, Any)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise wrong("a table", value)
        items = _items(converter, ((join("", key), item, inner) for key, item in value.items()))
        return dict(zip(value, items, strict=True))

    return hook


def _sequence_hook(hint: Any, converter: Converter) -> Hook:
    build, arguments = _BUILD[_origin(hint)], get_args(hint) or (Any, ...)
    fixed = arguments if _origin(hint) is tuple and arguments[-1] is not ... else None

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise wrong("a list", value)
        if fixed is not None and len(value) != len(fixed):
            raise wrong(f"a list of {len(fixed)} items", value, f" of {len(value)}")
        hints = fixed or (arguments[0],) * len(value)
        return build(_items(converter, ((f"[{at}]", item, hints[at]) for at, item in enumerate(value))))

    return hook


def _choice(names: Mapping[str, Any], value: Any) -> Any:
    """Return what a name stands for, or raise the error that lists the names."""
    if isinstance(value, str) and value in names:
        return names[value]
    hint = did_you_mean(value, names) if isinstance(value, str) and not isinstance(value, Secret) else ""
    raise wrong(f"one of {', '.join(names)}", value, hint)


def _enum(value: Any, cls: type[Enum]) -> Any:
    """Return the member with this text, or with this name in lower case if its values are no texts."""
    names = {each.value if isinstance(each.value, str) else each.name.lower(): each for each in cls}
    return _choice(names, value)


def _literal_hook(hint: Any, _: Converter) -> Hook:
    values = get_args(hint)
    if all(isinstance(each, str) for each in values):
        return lambda value, _: _choice({each: each for each in values}, value)

    def hook(value: Any, _: Any) -> Any:
        if not any(type(each) is type(value) and each == value for each in values):
            raise wrong(f"one of {', '.join(map(repr, values))}", value)
        return value

    return hook


def _union_hook(hint: Any, converter: Converter) -> Hook:
    """Return the hook that takes the first alternative that fits."""
    arms = [arm for arm in get_args(hint) if arm is not types.NoneType]
    optional = len(arms) < len(get_args(hint))

    def hook(value: Any, _: Any) -> Any:
        if value is None and optional:
            return None
        errors: list[Exception] = []
        for arm in arms:
            try:
                return converter.structure(value, arm)
            except Exception as error:  # noqa: BLE001  (as in try_structure)
                errors.append(error)
        raise WrongValueError(_closest([tuple(explain(error)) for error in errors]))

    return hook


def _closest(answers: Sequence[tuple[Finding, ...]]) -> Iterator[Finding]:
    """Yield what the alternatives of a union say: the one that got furthest, else all in one sentence."""
    deeper = [findings for findings in answers if any(path for path, _, _ in findings)]
    if len(answers) == 1 or len(deeper) == 1:
        yield from (deeper or answers)[0]
        return
    sentences = [what for findings in answers for _, what, _ in findings]
    yield "", " or ".join(dict.fromkeys(sentences)), any(f for findings in answers for _, _, f in findings)
