"""JSON paths (RFC 9535) that a model wrote: patterns in linear time, and an end when time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathNode
from jsonpath_rfc9535.exceptions import JSONPathError
from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction

from wakeful.types import ActionError, InvalidParam, Json
from wakeful_spillover.patterns import Pattern, compiled

if TYPE_CHECKING:
    from jsonpath_rfc9535 import JSONPathQuery

#: Longest path, in characters.
LONGEST = 1000
#: Nodes between two looks at the time.
_OFTEN = 64
#: Parts of an expression in which there may be another query.
_PARTS = ("expression", "left", "right", "query", "args", "selectors", "segments")

Check = Callable[[], None]


class _Matching(FilterFunction):
    """``match`` and ``search`` with RE2 in the place of an engine that can hang."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012  # as the library declares it
    return_type = ExpressionType.LOGICAL

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._known: dict[str, Pattern] = {}

    def __call__(self, text: object, pattern: object) -> bool:
        """Return whether a text matches; what is no text does not."""
        if not isinstance(text, str) or not isinstance(pattern, str):
            return False
        known = self._known.get(pattern)
        if known is None:
            known = self._known[pattern] = compiled(pattern, ignore_case=False)
        content = text.encode("utf-8", "replace")
        return (known.fullmatch(content) if self._whole else known.search(content)) is not None


class _Checked:
    """A segment of a path that looks at the time, at the first node in and out and then often."""

    def __init__(self, segment: Any, check: Check) -> None:
        self._segment, self._check = segment, check
        self.selectors = segment.selectors

    def __str__(self) -> str:
        """Return it as a path spells it."""
        return str(self._segment)

    def resolve(self, nodes: Iterable[Any]) -> Iterator[Any]:
        """Apply the segment."""
        for count, node in enumerate(self._segment.resolve(self._each(nodes))):
            if not count % _OFTEN:
                self._check()
            yield node

    def _each(self, nodes: Iterable[Any]) -> Iterator[Any]:
        for count, node in enumerate(nodes):
            if not count % _OFTEN:
                self._check()
            yield node


def found(
    path: str, value: Json, check: Check, where: str = "path"
) -> Iterator[tuple[Callable[[], str], Json]]:
    """Yield everything a path leads to: what makes its normalised path, which takes a while, and the value.

    Args:
        path: with or without ``$`` at its beginning.
        value: where to look.
        check: called often; raises when time is over.
        where: the argument, for the message.

    Raises:
        ActionError: INVALID_PATH, INVALID_PATTERN, or what ``check`` raises.
    """
    query = compiled_path(path, check, where)
    try:
        for node in query.finditer(value):
            yield node.path, node.value
    except (JSONPathError, RecursionError) as error:
        raise _invalid(path, _why(error), where) from None


def compiled_path(path: str, check: Check, where: str) -> JSONPathQuery:
    """Return a path, compiled.

    Args:
        path: with or without ``$`` at its beginning.
        check: called often by its segments; raises when time is over.
        where: the argument, for the message.

    Raises:
        ActionError: INVALID_PATH.
    """
    environment = JSONPathEnvironment()
    environment.function_extensions["match"] = _Matching(whole=True)
    environment.function_extensions["search"] = _Matching(whole=False)
    text = _rooted(path)
    if len(text) > LONGEST:
        raise _invalid(path[:40] + "…", f"it has more than {LONGEST} characters", where)
    try:
        query = environment.compile(text)
        _watch(query, check)
    except (JSONPathError, RecursionError) as error:
        raise _invalid(path, _why(error), where) from None
    return query


def roots(values: Iterable[Json]) -> Iterator[JSONPathNode]:
    """Yield each value as a place from which a path goes."""
    for value in values:
        yield JSONPathNode(value=value, location=(), parent=None, root=value)


def _why(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0] or "it goes too deep"


def _rooted(path: str) -> str:
    text = path.strip()
    if text.startswith("$"):
        return text
    if not text or text == ".":
        return "$"
    return f"${text}" if text.startswith(("[", ".")) else f"$.{text}"


def _watch(part: Any, check: Check) -> None:
    """Put a check around every segment of a query and of the queries in its filters."""
    if isinstance(part, list | tuple):
        for each in part:
            _watch(each, check)
        return
    for name in _PARTS:
        inside = getattr(part, name, None)
        if inside is None:
            continue
        if name == "segments":
            for segment in inside:
                _watch(segment.selectors, check)
            part.segments = tuple(_Checked(segment, check) for segment in inside)
        elif not isinstance(inside, str):
            _watch(inside, check)


def _invalid(path: str, why: str, where: str) -> ActionError:
    reason = f"{path!r} is no path: {why}"
    return ActionError(
        "INVALID_PATH",
        reason,
        suggestion="Paths are JSONPath: $.items[0].name, $..price, $.items[?@.price > 10].",
        invalid=[InvalidParam(where, reason)],
    )
