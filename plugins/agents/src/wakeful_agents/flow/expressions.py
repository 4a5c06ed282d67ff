"""Conditions and templates of a flow: places in the payload, compared and combined; nothing else.

A condition is written like Python: ``payload.total > 100 and not payload.paid``. Known are ``payload``,
``item`` and ``index`` inside a loop, numbers, texts, lists, ``true``, ``false``, ``null``, comparisons,
``in``, ``and``, ``or``, ``not`` and ``len(…)``. A place where nothing stands is ``null``.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from math import isinf
from typing import Final

from attrs import frozen

from wakeful.types import Json, canonical, near, nearest
from wakeful_agents.payload.paths import MISSING, Path, PathError, look, parse_path, spell

#: Longest condition; one that is longer is better written as several steps.
LENGTH: Final = 500
NAMES: Final = ("payload", "item", "index")
_CONSTANTS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Json, Json], bool]]] = {
    ast.Eq: lambda a, b: canonical(a) == canonical(b),
    ast.NotEq: lambda a, b: canonical(a) != canonical(b),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class FlowError(ValueError):
    """A condition or template is wrong, or cannot be evaluated; the text says why."""


@frozen
class Scope:
    """What names stand for while a step runs."""

    payload: Json = MISSING
    item: Json = MISSING
    index: Json = MISSING

    def look(self, root: str, path: Path) -> Json:
        """Return what stands at a place; MISSING if nothing does."""
        return look(getattr(self, root), path)


@frozen
class Condition:
    """A condition that was read; ``names`` are the roots it uses."""

    text: str
    tree: ast.expr
    names: frozenset[str]

    def holds(self, scope: Scope) -> bool:
        """Whether it holds.

        Raises:
            FlowError: values of different kinds are ordered.
        """
        try:
            return bool(_value(self.tree, scope))
        except TypeError as error:
            raise FlowError(f"{self.text!r} cannot be decided: {error}") from error


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        FlowError: it is none; says what is wrong.
    """
    if not isinstance(text, str) or not text.strip():
        got = "nothing" if text == "" else repr(text)
        raise FlowError(f"expected a condition like 'payload.total > 100', got {got}")
    if len(text) > LENGTH:
        raise FlowError(f"a condition of {len(text)} characters; expected at most {LENGTH}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FlowError(
            f"{text!r} is no condition: {getattr(error, 'msg', 'it is nested too deep')}"
        ) from None
    names: set[str] = set()
    _check(tree, text, names)
    return Condition(text, tree, frozenset(names))


def _check(node: ast.expr, text: str, names: set[str]) -> None:  # noqa: C901, PLR0912  (one case for each kind of node)
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return
    if isinstance(node, ast.Name):
        if node.id not in NAMES:
            known = [*NAMES, *_CONSTANTS]
            raise FlowError(f"{text!r}: unknown name {node.id!r}{nearest(node.id, known)}")
        names.add(node.id)
    elif isinstance(node, ast.Constant):
        value = node.value
        if not isinstance(value, str | int | float | None) or (isinstance(value, float) and isinf(value)):
            raise FlowError(f"{text!r}: {value!r} is no value of JSON")
    elif isinstance(node, ast.Attribute):
        if node.attr.startswith("__"):
            raise FlowError(f"{text!r}: {node.attr!r} names nothing in a payload")
        _check(node.value, text, names)
    elif isinstance(node, ast.Subscript):
        if not isinstance(node.slice, ast.Constant) or type(node.slice.value) not in {int, str}:
            raise FlowError(f"{text!r}: an index is a number or a text in quotes")
        _check(node.value, text, names)
    elif isinstance(node, ast.Call):
        if (
            not isinstance(node.func, ast.Name)
            or node.func.id != "len"
            or len(node.args) != 1
            or node.keywords
        ):
            raise FlowError(f"{text!r}: only len(…) can be called")
        _check(node.args[0], text, names)
    else:
        for part in _parts(node, text):
            _check(part, text, names)


def _parts(node: ast.expr, text: str) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return [node.operand]
    if isinstance(node, ast.Compare) and all(type(each) in _COMPARE for each in node.ops):
        return [node.left, *node.comparators]
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    raise FlowError(f"{text!r}: {type(node).__name__} has no place in a condition")


def _value(node: ast.expr, scope: Scope) -> Json:
    if isinstance(node, ast.BoolOp):
        both = isinstance(node.op, ast.And)
        found: Json = both
        for part in node.values:
            found = _value(part, scope)
            if bool(found) is not both:
                return found
        return found
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, scope)
        return not inner if isinstance(node.op, ast.Not) else -inner
    if isinstance(node, ast.Compare):
        left = _value(node.left, scope)
        for compare, part in zip(node.ops, node.comparators, strict=True):
            right = _value(part, scope)
            if not _COMPARE[type(compare)](left, right):
                return False
            left = right
        return True
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(part, scope) for part in node.elts]
    if isinstance(node, ast.Call):
        return len(_value(node.args[0], scope))
    return _simple(node, scope)


def _simple(node: ast.expr, scope: Scope) -> Json:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        found = _CONSTANTS[node.id] if node.id in _CONSTANTS else getattr(scope, node.id)
    elif isinstance(node, ast.Attribute):
        found = look(_value(node.value, scope), (node.attr,))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        found = look(_value(node.value, scope), (node.slice.value,))  # type: ignore[arg-type]  # as checked
    else:
        raise FlowError(f"{type(node).__name__} has no place in a condition")
    return None if found is MISSING else found


@frozen
class Place:
    """``payload.a.b``, ``item``, ``item.x`` or ``index``: a root and a path in it."""

    root: str
    path: Path = ()

    @classmethod
    def parse(cls, text: str, roots: tuple[str, ...] = NAMES) -> Place:
        """Read a place.

        Raises:
            FlowError: it is none.
        """
        found = re.match(r"[a-z]+", text)
        root = found[0] if found else ""
        rest = text[len(root) :]
        if root not in roots or (rest and rest[0] not in ".["):
            expected = " or ".join(f"{each}…" for each in roots)
            raise FlowError(
                f"{text!r} is no place; expected {expected}{nearest(root, roots) if root else ''}"
            )
        try:
            return cls(root, parse_path(rest.removeprefix(".")))
        except PathError as error:
            raise FlowError(str(error)) from error

    def __str__(self) -> str:
        """Return the place as :meth:`parse` reads it."""
        rest = spell(self.path)
        return f"{self.root}{rest}" if not rest or rest.startswith("[") else f"{self.root}.{rest}"

    def value(self, scope: Scope) -> Json:
        """Return what stands there.

        Raises:
            FlowError: nothing does.
        """
        found = scope.look(self.root, self.path)
        if found is MISSING:
            raise FlowError(f"nothing stands at {self}")
        return found


Template = Json
_PLACE = re.compile(r"(?:payload|item|index)(?:[.\[].*)?")
_HOLE = re.compile(r"\{((?:payload|item|index)[^{}]*)\}")
#: What looks like a place in braces, and may be one that is misspelled.
_LIKE_HOLE = re.compile(r"\{([a-z]+)[.\[][^{}]*\}")


def places(template: Template) -> list[Place]:
    """Return the places that a template of arguments names.

    Raises:
        FlowError: one of them cannot be read.
    """
    if isinstance(template, str):
        return [Place.parse(template)] if _PLACE.fullmatch(template) else []
    if isinstance(template, dict):
        return [place for item in template.values() for place in places(item)]
    if isinstance(template, list):
        return [place for item in template for place in places(item)]
    return []


def fill(template: Template, scope: Scope) -> Json:
    """Return arguments: a text that is a place is replaced by what stands there, anything else stays.

    Raises:
        FlowError: nothing stands at a place.
    """
    if isinstance(template, str):
        return Place.parse(template).value(scope) if _PLACE.fullmatch(template) else template
    if isinstance(template, dict):
        return {key: fill(item, scope) for key, item in template.items()}
    if isinstance(template, list):
        return [fill(item, scope) for item in template]
    return template


def holes(text: str) -> list[Place]:
    """Return the places that stand in braces in a text.

    Raises:
        FlowError: one of them cannot be read.
    """
    for root in _LIKE_HOLE.findall(text):
        if root not in NAMES and near(root, NAMES):
            raise FlowError(f"{{{root}…}} is no place{nearest(root, NAMES)}")
    return [Place.parse(found) for found in _HOLE.findall(text)]


def pieces(text: str, scope: Scope) -> Iterator[tuple[str, Place | None]]:
    """Yield the pieces of a text with ``{payload.x}`` replaced, each with the place that it stood at.

    Texts are replaced as they are, other values as JSON. What the text itself says has no place.

    Raises:
        FlowError: nothing stands at a place.
    """
    end = 0
    for found in _HOLE.finditer(text):
        yield text[end : found.start()], None
        place, end = Place.parse(found[1]), found.end()
        value = place.value(scope)
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), place
    yield text[end:], None


def written(text: str, scope: Scope) -> str:
    """Return a text with what stands in braces replaced; see :func:`pieces`."""
    return "".join(piece for piece, _ in pieces(text, scope))
