"""Making harmless what would read as an envelope, runtime state, a role or a tool's marker.

A text is searched as a forgiving reader reads it; what is found gets one dot inside, so that it no longer is
what it looked like. Everything else stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from wakeful_taint.spellings import DOT, Spelling, readings, spelled, spelled_undone, squeeze, undone

#: The envelope's tag.
TAG: Final = "untrusted_external_data"
#: Rounds after which a text that still reads as a marker has every bracket and colon broken.
PASSES: Final = 8

_NAMES = [squeeze(TAG), "runtimestate"]
_NAMES += [name[::-1] for name in _NAMES]
_NAME = re.compile("|".join(r"[\s_-]*+".join(name) for name in _NAMES))
_ROLES = "human|assistant|system|user|developer|tool|model"
#: Markers wherever they stand, and written backwards.
_MARKERS = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_?of_?turn>"
    r"|</?(?:tool|function)_?(?:use|result|call)s?"
    rf"|[\"']role[\"']\s*:\s*[\"'](?:{_ROLES})[\"']"
)
_BACKWARDS = re.compile(
    r">\|[^<>|\n]{1,40}\|<|\]tsni/?\[|>>sys/?<<|>nrut_?fo_?(?:trats|dne)<"
    r"|(?:esu|tluser|llac)_?(?:loot|noitcnuf)/?<"
    rf"|[\"'](?:{_ROLES[::-1]})[\"']\s*:\s*[\"']elor[\"']"
)
#: Turn labels at the start of a line.
_LABELS = re.compile(rf"(?:^|\n)\s*+(?:#+\s*+)?({_ROLES})\s*:|(?:^|\n)\s*+#+\s*+(system|assistant|user)\b")
_SLELBAL = re.compile(
    rf":\s*+({_ROLES[::-1]})\s*(?:#+\s*)?(?=\n|$)|\b(metsys|tnatsissa|resu)\s*+#+[^\S\n]*+(?=\n|$)"
)
_LEADS = "# \t\r\f\v\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_STARTS = tuple(_ROLES.split("|"))
_ENDS = tuple(each[::-1] for each in _STARTS)
#: Characters at the two ends of a text in which a label may stand.
_EDGE = 64
#: One of these stands in every text that holds a marker, blanks left out.
_SIGNS: tuple[str, ...] = ("<|", "|<", ">|", "inst]", "tsni/", "]tsni", "sys>", ">sys", "ofturn", "nrutfo")
_SIGNS += ("<tool", "/tool", "<function", "/function", "loot<", "loot/", "noitcnuf<", "noitcnuf/")
_SIGNS += ('"role', "'role", 'elor"', "elor'")
#: And one of these; they are looked for much faster.
_EDGES = "<>]/\"'"


def neutral(text: str) -> str:
    """Return a text in which nothing reads as a marker; the same object if nothing did."""
    for _ in range(PASSES):
        if not reads_as_marker(text):
            return text
        text = _broken(text, next(filter(None, map(_places, _ways(text))), []))
    return re.sub(r"[^\w\s]", DOT, text) if reads_as_marker(text) else text


def reads_as_marker(text: str) -> bool:
    """Whether a text reads as a marker to somebody."""
    return any(_is_marked(each) for each in readings(text)) or any(
        _has_name(squeeze(each)) for after in undone(text) for each in readings(after)
    )


def _has_name(tight: str) -> bool:
    return any(name in tight for name in _NAMES)


def _is_marked(plain: str) -> bool:
    """Whether a text as it is read holds a marker; quick where it does not."""
    tight = squeeze(plain)
    if _has_name(tight):
        return True
    if _may_be_marked(tight) and any(
        pattern.search(form) for pattern in (_MARKERS, _BACKWARDS) for form in (plain, tight)
    ):
        return True
    # Without its line breaks a text has one line; its two ends are all that can read as a label there.
    if _LABELS.match(tight[:_EDGE]) or _SLELBAL.search(tight[-_EDGE:]):
        return True
    if _may_start(plain) and _LABELS.search(plain):
        return True
    return _may_end(plain) and bool(_SLELBAL.search(plain))


def _may_be_marked(tight: str) -> bool:
    return any(edge in tight for edge in _EDGES) and any(sign in tight for sign in _SIGNS)


def _may_start(text: str) -> bool:
    return any(each.lstrip(_LEADS).startswith(_STARTS) for each in text.split("\n"))


def _may_end(text: str) -> bool:
    return any(each.rstrip(_LEADS).endswith(_ENDS) for each in text.split("\n"))


def _ways(text: str) -> Iterator[list[Spelling]]:
    """Yield ways to read a text, the plainest first: most markers stand there undisguised."""
    plain = list(spelled(text))
    yield plain
    yield [each.squeezed() for each in plain]
    after = list(spelled_undone(text))
    yield [*after, *(each.squeezed() for each in after)]


def _places(spellings: Iterable[Spelling]) -> list[int]:
    """Return where dots belong, as places in the original, in order."""
    return sorted({place for spelling in spellings for place in _in(spelling)})


def _in(spelling: Spelling) -> Iterator[int]:
    text, places, tight = spelling.text, spelling.places, squeeze(spelling.text)
    if _has_name(tight):
        yield from (places[found.start() + 1] for found in _NAME.finditer(text))
    if _may_be_marked(tight):
        for pattern in (_MARKERS, _BACKWARDS):
            yield from (places[found.start() + 1] for found in pattern.finditer(text))
    if _may_start(text):
        yield from (places[found.start(found.lastindex or 0)] for found in _LABELS.finditer(text))
    if _may_end(text):
        yield from (places[found.end(found.lastindex or 0) - 1] + 1 for found in _SLELBAL.finditer(text))


def _broken(text: str, places: list[int]) -> str:
    pieces, end = [], 0
    for place in places:
        pieces += [text[end:place], DOT]
        end = place
    return "".join((*pieces, text[end:]))
