"""Finding names the way people and models write them, and the nearest ones when none is meant."""

from __future__ import annotations

from collections.abc import Iterable

#: Most near matches of one failed result.
NEAR_LIMIT = 5
#: Least similarity of a near match, in per cent of the characters that two names share in order.
_SIMILAR = 60
#: Least similarity once the words of both names are sorted: ``email_send`` for ``send_email``.
_SAME_WORDS = 80
#: Shortest word that is looked for inside other names.
_PART_LENGTH = 3


def fold(name: str) -> str:
    """Return ``name`` without what people vary: case, blanks, dashes and underscores."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def meant(written: str, names: Iterable[str]) -> str | None:
    """Return the name that is meant: the exact one, else the only one that folds to the same, else None."""
    known = list(names)
    if written in known:
        return written
    word = fold(written)
    found = [name for name in known if fold(name) == word] if word else []
    return found[0] if len(found) == 1 else None


def near(written: str, names: Iterable[str], limit: int = NEAR_LIMIT) -> tuple[str, ...]:
    """Return the names close to ``written``, the closest first; case and separators do not count.

    Less than 2 ms for 1,000 names.

    Args:
        written: what was written.
        names: what may be named: only what the reader of the answer may see.
        limit: most names returned.
    """
    from rapidfuzz import fuzz, process  # late: only who makes a mistake pays for it

    known = sorted(set(names))
    word, folded = fold(written), [fold(name) for name in known]
    close = process.extract(word, folded, scorer=fuzz.ratio, limit=limit, score_cutoff=_SIMILAR)
    spaced = [_words(name) for name in known]
    turned = process.extract(
        _words(written), spaced, scorer=fuzz.token_sort_ratio, limit=limit, score_cutoff=_SAME_WORDS
    )
    inside = [
        index
        for index, name in enumerate(folded)
        if len(word) >= _PART_LENGTH and len(name) >= _PART_LENGTH and (word in name or name in word)
    ]
    # By similarity, whichever way it was found; of equals, the first in the order of the alphabet.
    similar = sorted((*close, *turned), key=lambda found: (-found[1], found[2]))
    ranked = dict.fromkeys([*(index for _, _, index in similar), *inside])
    return tuple(known[index] for index in ranked)[:limit]


def _words(name: str) -> str:
    return name.casefold().replace("_", " ").replace("-", " ")
