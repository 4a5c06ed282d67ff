"""Which actions are hidden, decided when an epoch starts, and what the prompt says of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import ceil

from attrs import frozen

from wakeful.tools.describe import declare_tool, shrink
from wakeful.types import Action, Section, fold
from wakeful_multiplexer.settings import MultiplexerSettings

#: Category of an action that has none.
UNCATEGORIZED = "Uncategorized"
#: Tokens that a character of a declaration is, about: the kernel's rule of thumb for a text never sent.
TOKENS_PER_CHAR = 0.25
#: Place of the section among the static ones: after instructions and rules.
ORDER = 80
#: Categories that the section counts where there are too many names to list.
CATEGORIES = 40
#: Longest category that is shown.
CATEGORY_LENGTH = 40


@frozen
class Choice:
    """The actions that stay declared and those that are hidden, both by tool name."""

    shown: tuple[Action, ...]
    hidden: tuple[Action, ...]


def choose(actions: Sequence[Action], settings: MultiplexerSettings) -> Choice:
    """Return what is hidden.

    Args:
        actions: in the agent's own order.
        settings: see :class:`MultiplexerSettings`.
    """
    if settings.mode == "never":
        return _choice(actions, ())
    pinned = {a.tool_name for a in actions if a.pinned or any(matches(a, name) for name in settings.pinned)}
    pinned = pinned or {action.tool_name for action in actions[: settings.pin_top]}
    hidden = [action for action in actions if action.tool_name not in pinned]
    if settings.mode == "auto" and not _worth_it(len(actions), hidden, settings):
        return _choice(actions, ())
    return _choice([action for action in actions if action.tool_name in pinned], hidden)


def _worth_it(count: int, hidden: Iterable[Action], settings: MultiplexerSettings) -> bool:
    if count <= settings.threshold:
        return False
    saved = 0
    for action in hidden:
        saved += ceil(len(declare_tool(action).spelling) * TOKENS_PER_CHAR)
        if saved > settings.min_hidden_tokens:
            return True
    return False


def _choice(shown: Iterable[Action], hidden: Iterable[Action]) -> Choice:
    return Choice(*(tuple(sorted(each, key=lambda action: action.tool_name)) for each in (shown, hidden)))


def matches(action: Action, pattern: str) -> bool:
    """Whether a name or glob of the settings means an action, by its tool name or its human name."""
    names = (action.tool_name, action.name)
    return fold(pattern) in map(fold, names) or any(fnmatchcase(name, pattern) for name in names)


def category_of(action: Action) -> str:
    """Return an action's category on one line."""
    return shrink(" ".join(action.category.split()), CATEGORY_LENGTH) or UNCATEGORIZED


def categories(actions: Iterable[Action]) -> dict[str, int]:
    """Return categories and how many actions are in each: most first, then by name."""
    counts = Counter(map(category_of, actions))
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def section(hidden: Sequence[Action], names_up_to: int, how: str) -> Section:
    """Return what the prompt says of hidden actions: their names, or their categories if they are too many.

    Args:
        hidden: the actions.
        names_up_to: most names that are listed.
        how: how to reach them.
    """
    intro = f"Beside your tools there are {len(hidden)} more actions. {how}"
    if len(hidden) <= names_up_to:
        return Section("more_actions", ORDER, f"{intro} Their names:\n{_names(hidden)}")
    counted = list(categories(hidden).items())
    listed = ", ".join(f"{name} ({count})" for name, count in counted[:CATEGORIES])
    more = ", …" if len(counted) > CATEGORIES else ""
    return Section("more_actions", ORDER, f"{intro} Their categories: {listed}{more}.")


def _names(hidden: Iterable[Action]) -> str:
    groups: Mapping[str, list[str]] = defaultdict(list)
    for action in hidden:
        groups[category_of(action)].append(action.tool_name)
    if set(groups) == {UNCATEGORIZED}:
        return ", ".join(groups[UNCATEGORIZED])
    return "\n".join(f"{name}: {', '.join(found)}" for name, found in sorted(groups.items()))
