"""Finding actions of one catalogue: by a name as models write it, and by a few words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from wakeful.types import Action, ActionResult, ErrorRecovery, Json, failure, fold, near
from wakeful_multiplexer.index import Hit, Index, bare_name
from wakeful_multiplexer.synonyms import Synonyms

#: Near names of one failed result.
SUGGESTIONS = 5
#: Catalogues whose index is kept: the agent's, and those of runs that add actions of their own.
KEPT = 4


class Finder:
    """Finds actions of one catalogue. The index is built when it is first searched.

    Args:
        actions: what may be found.
        synonyms: see :class:`Synonyms`.
    """

    def __init__(self, actions: Mapping[str, Action], synonyms: Synonyms) -> None:
        self.actions = tuple(actions[name] for name in sorted(actions))
        self._by_tool = dict(actions)
        self._synonyms = synonyms
        self._index: Index | None = None
        self._full = self._folded(lambda action: (action.tool_name, action.name))
        self._bare = self._folded(lambda action: (bare_name(action),))

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the best actions for a query; a hit's place is that in ``actions``."""
        if self._index is None:
            self._index = Index(self.actions, self._synonyms)
        return self._index.search(query, limit)

    def named(self, name: str) -> str | ActionResult:
        """Return the tool name of the action that ``name`` means, or the failed result that says what may.

        Tool names and human names count, whatever their case and separators, with or without the prefix of
        a server or ``functions.``.
        """
        if name in self._by_tool:
            return name
        for written in dict.fromkeys((name, *_without_prefix(name))):
            for known in (self._full, self._bare):
                found = known.get(fold(written), ())
                if len(found) == 1:
                    return found[0]
                if found:
                    return _failed("AMBIGUOUS_ACTION", f"{name[:80]!r} means several actions", found)
        return self.unknown(name)

    def unknown(self, name: str, code: str = "UNKNOWN_ACTION") -> ActionResult:
        """Return the failed result for a name that no action has, with at most five near ones."""
        close = near(name, [action.tool_name for action in self.actions], SUGGESTIONS)
        others = [self.actions[hit.place].tool_name for hit in self.search(name, SUGGESTIONS)]
        return _failed(code, f"there is no action {name[:80]!r}", tuple(dict.fromkeys((*close, *others))))

    def _folded(self, names: Json) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for action in self.actions:
            for name in names(action):
                found[fold(name)][action.tool_name] = None
        return {name: tuple(tools) for name, tools in found.items()}


class Finders:
    """The finders of the catalogues seen last."""

    def __init__(self, synonyms: Synonyms, without: frozenset[str]) -> None:
        """Keep the words to find by, and the names of tools that are never found."""
        self._synonyms, self._without = synonyms, without
        self._known: list[tuple[Mapping[str, Action], Finder]] = []

    def of(self, catalogue: Mapping[str, Action]) -> Finder:
        """Return the finder of a catalogue, the same as long as the catalogue is the same object."""
        for known, finder in self._known:
            if known is catalogue:
                return finder
        found = {name: action for name, action in catalogue.items() if name not in self._without}
        self._known = [(catalogue, Finder(found, self._synonyms)), *self._known[: KEPT - 1]]
        return self._known[0][1]


def _without_prefix(name: str) -> list[str]:
    return [name.rpartition(mark)[2] for mark in (".", ":", "/", "__") if mark in name]


def _failed(code: str, message: str, close: tuple[str, ...]) -> ActionResult:
    recovery = ErrorRecovery(
        retryable=True,
        suggestion="Use one of these names, or search for what you need.",
        suggested_values=close[:SUGGESTIONS],
    )
    return failure(code, message, recovery)
