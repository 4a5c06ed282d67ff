"""Making harmless what would read as an envelope, runtime state, a role or a tool's marker.

A text is searched as a forgiving reader reads it; what is found gets one dot inside, so that it no longer is
what it looked like. Everything else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from wakeful_taint.spellings import DOT, Spelling, spelled, spelled_undone, squeeze, undone

#: The envelope's tag.
TAG: Final = "untrusted_external_data"
#: Rounds after which a text that still reads as a marker has every bracket and colon broken.
PASSES: Final = 8

_NAMES = [squeeze(TAG), "runtimestate"]
_NAMES += [name[::-1] for name in _NAMES]
_NAME = re.compile("|".join(r"[\s_-]*+".join(name) for name in _NAMES))
_ROLES = "human|assistant|system|user|developer|tool|model"
_SELOR = _ROLES[::-1]
#: Markers by what stands in every one of them, forwards and backwards. Most patterns begin with that one
#: character, and the others are rarely tried: all of them in one take much longer.
_MARKERS: Final = {
    "<": r"<(?:\|[^<>|\n]{1,40}\|>|</?sys>>|(?:start|end)_?of_?turn>"
    r"|/?(?:tool|function)_?(?:use|result|call)s?)",
    ">": r">(?:\|[^<>|\n]{1,40}\|<|>sys/?<<|nrut_?fo_?(?:trats|dne)<)",
    "[": r"\[/?inst\]",
    "]": r"\]tsni/?\[",
    "loot": r"(?:esu|tluser|llac)_?loot/?<",
    "noitcnuf": r"(?:esu|tluser|llac)_?noitcnuf/?<",
    "role": rf"[\"']role[\"']\s*:\s*[\"'](?:{_ROLES})[\"']",
    "elor": rf"[\"'](?:{_SELOR})[\"']\s*:\s*[\"']elor[\"']",
}
#: Turn labels, each the group of its pattern: after a line break, and backwards before one.
_LABELS: Final = {
    ":": rf"\n[^\S\n]*+(?:#+\s*+)?({_ROLES})\s*:",
    "#": r"\n[^\S\n]*+#+\s*+(system|assistant|user)\b",
}
_SLEBAL: Final = {
    ":": rf":\s*+({_SELOR})\s*(?:#+\s*)?(?=\n|$)",
    "#": r"\b(metsys|tnatsissa|resu)\s*+#+[^\S\n]*+(?=\n|$)",
}


def neutral(text: str) -> str:
    """Return a text in which nothing reads as a marker; the same object if nothing did."""
    for _ in range(PASSES):
        places = _places(text)
        if places is None:
            return text
        text = _broken(text, places)
    return text if _places(text) is None else re.sub(r"[^\w\s]", DOT, text)


def _places(text: str) -> list[int] | None:
    """Return where dots belong, in order; None if nothing reads as a marker to anybody.

    The plainest way to read the text in which a marker stands decides: most stand there undisguised.
    """
    plain = list(spelled(text))
    tight = [squeeze(each.text) for each in plain]
    named = any(map(_has_name, tight))
    if places := _in(plain, named=named):
        return places
    marked = named or any(list(_dots(each)) for each in tight)
    if marked and (places := _in([each.squeezed() for each in plain])):
        return places
    if marked or _hides_name(text):
        after = list(spelled_undone(text))
        return _in([*after, *(each.squeezed() for each in after)])
    return None


def _hides_name(text: str) -> bool:
    return any(
        _has_name(squeeze(each.text)) for after in undone(text, names_only=True) for each in spelled(after)
    )


def _has_name(tight: str) -> bool:
    return any(name in tight for name in _NAMES)


def _in(spellings: Sequence[Spelling], *, named: bool = True) -> list[int]:
    """Return the places in the original of what reads as a marker; of names only if there may be some."""
    places = {each.place(at) + after for each in spellings for at, after in _dots(each.text)}
    for each in spellings if named else ():
        places |= {each.place(found.start() + 1) for found in _NAME.finditer(each.text)}
    return sorted(places)


def _dots(text: str) -> Iterator[tuple[int, int]]:
    """Yield where markers other than names stand: a character of each, and whether the dot follows it."""
    for found in _found(_MARKERS, text):
        yield found.start() + 1, 0
    for found in _found(_LABELS, f"\n{text}"):
        yield found.start(1) - 1, 0
    for found in _found(_SLEBAL, text):
        yield found.end(1) - 1, 1


def _found(patterns: Mapping[str, str], text: str) -> Iterator[re.Match[str]]:
    for sign, pattern in patterns.items():
        if sign in text:
            yield from re.finditer(pattern, text)


def _broken(text: str, places: list[int]) -> str:
    pieces, end = [], 0
    for place in places:
        pieces += [text[end:place], DOT]
        end = place
    return "".join((*pieces, text[end:]))
