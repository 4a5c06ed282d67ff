"""Places in a JSON document, and rules that say which of them may be written.

A path is written ``orders[3].total``; a name that holds anything but letters, digits, ``_`` and ``-`` stands
in brackets as a JSON string: ``["odd.name"]``. The empty text is the whole document.

A rule is a pattern, then perhaps the operations it allows: ``orders[*].total:add,update``. In a pattern
``*`` is any one name or index, ``[*]`` any index, ``**`` any number of either. A rule covers the places it
names and everything below them, except names that start with ``_``: those must stand in the pattern.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen

from wakeful.types import Json, nearest

Path = tuple[str | int, ...]

#: What a rule may allow at a place; nothing said means all of it.
OPERATIONS: Final = ("add", "update", "remove")
#: Deepest place of a document. Deeper ones would exhaust the interpreter's stack before they help anybody.
DEPTH: Final = 32
#: Most digits of an index; a list that long fits into no document.
_DIGITS: Final = 9

_PART = re.compile(
    r"\.?(?P<name>[\w-]+|\*\*|\*)"
    r"|\[(?P<index>\d{1,9}|\*|\+)\]"
    r'|\.?\[(?P<quoted>"(?:[^"\\]|\\.)*")\]'
)


class PathError(ValueError):
    """A path or rule cannot be read; the text says where and what was expected."""


#: The place after the last item of a list.
APPEND: Final = "[+]"


@frozen
class Wild:
    """A part of a pattern that stands for several places: ``*``, ``[*]`` or ``**``."""

    text: str


ANY, ANY_INDEX, DEEP = Wild("*"), Wild("[*]"), Wild("**")
Pattern = tuple[str | int | Wild, ...]


def parse_path(text: str) -> Path:
    """Return the place that ``text`` names; an append, ``[+]``, is the index -1.

    Raises:
        PathError: it is no path.
    """
    parts = _parts(text)
    wild = next((part for part in parts if isinstance(part, Wild)), None)
    if wild is not None:
        raise PathError(f"path {text!r}: {wild.text} stands for several places; expected one")
    return tuple(part for part in parts if not isinstance(part, Wild))


def spell(path: Iterable[str | int]) -> str:
    """Return a path as :func:`parse_path` reads it."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += APPEND if part < 0 else f"[{part}]"
        elif re.fullmatch(r"[\w-]+", part):
            out += f".{part}" if out else part
        else:
            out += f"[{json.dumps(part, ensure_ascii=False)}]"
    return out


def _parts(text: str) -> Pattern:
    parts: list[str | int | Wild] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None or (at == 0 and text.startswith(".")):
            raise PathError(f"path {text[:80]!r}: cannot be read from character {at + 1} on; {_EXPECTED}")
        if found["name"] is not None and at and not found[0].startswith("."):
            raise PathError(f"path {text[:80]!r}: expected a dot before {found['name'][:40]!r}")
        parts.append(_part(found))
        at = found.end()
    if len(parts) > DEPTH:
        raise PathError(f"path {text[:80]!r}: {len(parts)} parts; expected at most {DEPTH}")
    return tuple(parts)


_EXPECTED = 'expected names and indexes, like orders[3].total or ["odd name"].x'


def _part(found: re.Match[str]) -> str | int | Wild:
    name, index = found["name"], found["index"]
    if name is not None:
        return {"*": ANY, "**": DEEP}.get(name, name)
    if index is not None:
        return ANY_INDEX if index == "*" else -1 if index == "+" else int(index)
    return str(json.loads(found["quoted"]))


@frozen
class Rule:
    """A pattern and the operations that are allowed at what it covers."""

    pattern: Pattern
    operations: frozenset[str]
    text: str

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a rule.

        Raises:
            PathError: the pattern cannot be read, or an operation is unknown.
        """
        pattern, colon, rest = _split(text)
        names = [name.strip() for name in rest.split(",")] if colon else list(OPERATIONS)
        for name in names:
            if name not in OPERATIONS:
                raise PathError(f"rule {text!r}: unknown operation {name!r}{nearest(name, OPERATIONS)}")
        if not pattern:
            raise PathError(f"rule {text!r}: no path before the operations; '**' is everything")
        parts = _parts(pattern)
        if -1 in parts:
            raise PathError(f"rule {text!r}: {APPEND} is for changes; a rule says [*] and 'add'")
        return cls(parts, frozenset(names), text)

    def covers(self, path: Path, operation: str) -> bool:
        """Whether the rule allows an operation at a place, that is, names it or something above it."""
        if operation not in self.operations:
            return False
        states = {0}
        for part in path:
            states = self._after(self._skipping(states), part)
        return len(self.pattern) in self._skipping(states)

    def _skipping(self, states: set[int]) -> set[int]:
        """Return the places in the pattern that are reached without another part: ``**`` may be nothing."""
        reached = set(states)
        for state in sorted(states):
            here = state
            while here < len(self.pattern) and self.pattern[here] is DEEP:
                here += 1
                reached.add(here)
        return reached

    def _after(self, states: set[int], part: str | int) -> set[int]:
        """Return the places in the pattern after one more part of the path."""
        hidden = isinstance(part, str) and part.startswith("_")
        after = set()
        for state in states:
            if state == len(self.pattern):
                if not hidden:
                    after.add(state)  # below what the pattern names
                continue
            wanted = self.pattern[state]
            if wanted is DEEP:
                if not hidden:
                    after.add(state)
            elif wanted is ANY or (wanted is ANY_INDEX and isinstance(part, int)):
                if not hidden:
                    after.add(state + 1)
            elif wanted == part:
                after.add(state + 1)
        return after


def _split(text: str) -> tuple[str, str, str]:
    """Split a rule at the colon that is outside of quotes."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "x" * len(found[0]), text)
    at = outside.rfind(":")
    return (text, "", "") if at < 0 else (text[:at].strip(), ":", text[at + 1 :])


#: Everywhere, except below names that start with ``_``.
EVERYWHERE = Rule((DEEP,), frozenset(OPERATIONS), "**")


def allowed(rules: Sequence[Rule], path: Path, operation: str) -> bool:
    """Whether any rule allows an operation at a place."""
    return any(rule.covers(path, operation) for rule in rules)


class Missing:
    """What stands where nothing is; ``None`` is a value of JSON."""


MISSING: Final = Missing()


def look(document: Json, path: Path) -> Json:
    """Return what stands at a place, or :data:`MISSING`."""
    for part in path:
        if isinstance(part, int):
            if not isinstance(document, list) or not 0 <= part < len(document):
                return MISSING
        elif not isinstance(document, dict) or part not in document:
            return MISSING
        document = document[part]
    return document
