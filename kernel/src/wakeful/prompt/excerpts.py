"""The place where two texts begin to differ, short enough to be shown."""

from __future__ import annotations

#: Characters of both texts that are shown before and after the first difference.
BEFORE, AFTER = 20, 60


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Return both texts around their first difference; where one ends first, that is the difference."""
    pairs = enumerate(zip(before, after, strict=False))
    place = next((n for n, (x, y) in pairs if x != y), min(len(before), len(after)))
    cut = slice(max(0, place - BEFORE), place + AFTER)
    return before[cut], after[cut]
