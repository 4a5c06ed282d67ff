"""Finding names the way people and models write them, and the nearest ones when none is meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

#: Most near matches of one failed result.
NEAR_LIMIT = 5
#: Shortest word that is looked for inside other names.
_PART_LENGTH = 3


def fold(name: str) -> str:
    """Return ``name`` without what people vary: case, blanks, dashes, underscores."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


def resolve(written: str, names: Iterable[str]) -> str | None:
    """Return the name that is meant: the exact one, else the only one that folds to the same."""
    known = list(names)
    if written in known:
        return written
    folded = fold(written)
    found = [name for name in known if fold(name) == folded]
    return found[0] if len(found) == 1 else None


def near(written: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return at most five names close to ``written``, the closest first."""
    folded: dict[str, str] = {}
    for name in sorted(names):
        folded.setdefault(fold(name), name)
    word = fold(written)
    close = difflib.get_close_matches(word, folded, n=NEAR_LIMIT, cutoff=0.6)
    inside = [
        key
        for key in folded
        if len(word) >= _PART_LENGTH and key not in close and (word in key or key in word)
    ]
    return tuple(folded[key] for key in [*close, *inside][:NEAR_LIMIT])


def matches(name: str, globs: Iterable[str]) -> bool:
    """Return whether any glob matches ``name``, regardless of case."""
    return any(fnmatchcase(name.casefold(), glob.casefold()) for glob in globs)
