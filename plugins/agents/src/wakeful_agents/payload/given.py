"""The document that a caller gives a run, checked before the run begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from wakeful.types import Json, Problem, Trust, nearest
from wakeful_agents.payload.held import NAMESPACE
from wakeful_agents.payload.paths import PathError, parse_path

_WHERE: Final = f"options.{NAMESPACE}"
_KEYS: Final = ("document", "marks")
_MARK: Final = "a list of path, trust and source"
#: Characters of a wrong value that an error tells.
_SHOWN: Final = 60


def problems_of(options: Mapping[str, Mapping[str, Json]]) -> list[Problem]:
    """Return what is wrong with the document in the options of a run; nothing if there is none."""
    given = options.get(NAMESPACE)
    return [] if given is None else list(_problems(given))


def _problems(given: Mapping[str, Json]) -> Iterator[Problem]:
    for key in sorted(map(str, given.keys() - set(_KEYS))):
        what = f"unknown key{nearest(key, _KEYS)}; the document itself stands under 'document'"
        yield Problem(f"{_WHERE}.{key}", what)
    if "document" not in given:
        yield Problem(f"{_WHERE}.document", "missing; expected the document, which is any JSON")
    marks = given.get("marks", [])
    if not isinstance(marks, list | tuple):
        yield Problem(f"{_WHERE}.marks", f"expected a list of marks, got {_short(marks)}")
        return
    for index, mark in enumerate(marks):
        for what in _wrong(mark):
            yield Problem(f"{_WHERE}.marks[{index}]", what)


def _wrong(mark: Json) -> Iterator[str]:
    """Yield what is wrong with the mark of a place that is not trusted."""
    if not isinstance(mark, list | tuple) or len(mark) != len(("path", "trust", "source")):
        yield f"expected {_MARK}, got {_short(mark)}"
        return
    path, trust, source = mark
    if isinstance(path, str):
        try:
            parse_path(path)
        except PathError as error:
            yield str(error)
    else:
        yield f"expected {_MARK}; the path is {_short(path)}"
    if isinstance(trust, bool) or trust not in tuple(Trust):
        known = ", ".join(f"{int(each)} ({each.label})" for each in Trust)
        yield f"expected {_MARK}; the trust is one of {known}, got {_short(trust)}"
    if not isinstance(source, str):
        yield f"expected {_MARK}; the source is {_short(source)}"


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
