"""Making harmless what would read as an envelope, runtime state, a role or a tool's marker.

A text is searched as a forgiving reader reads it; what is found gets one dot inside, so that it no longer is
what it looked like. Everything else stays as it is.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from wakeful_taint.lookalikes import DOT
from wakeful_taint.spellings import Spelling, letters, spelled, spelled_undone, squeeze, undone, unmarked

#: The envelope's tag.
TAG: Final = "untrusted_external_data"
#: Rounds after which a text that still reads as a marker has dots for all of its signs.
PASSES: Final = 8

#: Patterns of what may stand in a text forwards, and of what may stand in it backwards.
_Kinds = list[list[str]]
#: Letters and the digits that are written for them.
_ALIKE: Final = {"o": "[o0]", "e": "[e3]", "a": "[a4]", "s": "[s5]", "t": "[t7]"}
#: What may stand between the letters of a name: of the envelope's, which no other text has, whatever is no
#: letter; of the other's, which is two ordinary words, blanks and what Markdown leaves. Strokes may
#: stand for I and L, so that these are not looked for.
_NO_LETTER: Final = r"[^02-9a-hjkm-z\xaa\xb5\xb7\xba\xc0-\xd6\xd8-\xf6\xf8-\xff]*+"
_BLANKS: Final = r"(?:[\s_`~-]|\\[_-]|(?<!\s)\*(?!\s))*+"
_GAPS: Final = {squeeze(TAG): _NO_LETTER, "runtimestate": _BLANKS}


def _named(name: str, gap: str) -> str:
    """Return the pattern of a name, however its letters are set apart."""
    read = [_ALIKE.get(each, "[il1|]*+" if each in "il" else each) for each in name]
    return f"{name[0]}(?={gap}{gap.join(read[1:])})"


_NAMES: Final = [_named(name, gap) for name, gap in _GAPS.items()]
#: The names as :func:`letters` gives them, in both directions.
_LETTERS: Final = [each for name in map(letters, _GAPS) for each in (name, name[::-1])]
#: JSON may escape a slash, once or more.
_SLASH: Final = r"(?:\\*+/)?"
#: A name in a namespace.
_SPACE: Final = r"(?:[a-z]{1,20}:)?"
_ROLES: Final = "human|assistant|system|user|developer|tool|model"
#: What stands in special tokens with a stroke on one side.
_ONE_SIDED: Final = "(?:(?:start|end)_of_)?(?:turn|channel|message|tool[a-z_]*+)"
#: A turn's label, which follows a line break; one is put before every text.
_LABEL: Final = (
    rf"\n[^\S\n]*+(?:#++\s*+(?=(?:system|assistant|user)\b|(?:{_ROLES})\s*:)|(?=(?:{_ROLES})\s*:))"
)
#: Markers: signs and a part that stand in every one, also without blanks, and a pattern after which a dot is
#: set. Signs and parts are looked for first, since most texts hold none and that takes a tenth of the time.
#: For the same reason each pattern begins with one character.
_KINDS: Final = (
    ("<|>", "<|", rf"<(?=\|(?:(?:[^<>|\n]{{1,40}}|[a-z_]++)\||{_ONE_SIDED})>)"),
    ("<|>", "|>", rf"<(?={_ONE_SIDED}\|>)"),
    ("<>", "sys>>", rf"<(?=<{_SLASH}sys>>)"),
    ("<>", "turn>", r"<(?=(?:start|end)_?of_?turn>)"),
    ("<", "tool", rf"<(?={_SLASH}{_SPACE}tool(?:_?(?:use|result|call)|_(?:response|code|output)\b))"),
    ("<", "function", rf"<(?={_SLASH}{_SPACE}function_?(?:use|result|call))"),
    ("<", "invoke", rf"<(?={_SPACE}invoke\s++name\b|\\*+/{_SPACE}invoke>)"),
    ("[]", "tool", rf"\[(?<!\w\[)(?={_SLASH}(?:available_tools|tool_calls|tool_results)\])"),
    ("[]", "inst]", rf"\[(?={_SLASH}inst\])"),
    (":", "role", rf"[\"'](?=role[\"']\s*:\s*[\"'](?:{_ROLES})[\"'])"),
    (":", "", _LABEL),
    ("#", "", _LABEL),
)


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

    The first reading in which a marker stands decides; most stand in the plain ones, which come first.
    """
    marked: list[tuple[Spelling, _Kinds]] = []
    for each in spelled(text):
        tight = squeeze(each.text)
        kinds = _kinds(tight)
        if places := _in(each, kinds) | _in_names(each):
            return sorted(places)
        if _dots(tight, kinds):
            marked.append((each, kinds))
    if places := set().union(*(_in(each.squeezed(), kinds) for each, kinds in marked)):
        return sorted(places)
    if marked or _hides_name(text):
        return sorted(set().union(*map(_in_undone, spelled_undone(text)))) or None
    return None


def _in_undone(spelling: Spelling) -> set[int]:
    kinds = _kinds(squeeze(spelling.text))
    return _in(spelling, kinds) | _in(spelling.squeezed(), kinds) | _in_names(spelling)


def _in_names(spelling: Spelling) -> set[int]:
    """Return the places of names, also of those that only who leaves out the markup reads."""
    found = _in(spelling, [_NAMES, _NAMES]) if _has_name(spelling.text) else set()
    if any(map(_has_name, unmarked(spelling.text))):
        return found.union(*(_in(each, [_NAMES, _NAMES]) for each in spelling.unmarked()))
    return found


def _has_name(text: str) -> bool:
    """Whether the letters of a name follow each other in a reading, whatever stands between them."""
    found = letters(text)
    return any(name in found for name in _LETTERS)


def _hides_name(text: str) -> bool:
    """Whether a name comes of undoing encodings."""
    after = (each.text for text in undone(text) for each in spelled(text))
    return any(_has_name(each) or any(map(_has_name, unmarked(each))) for each in after)


def _kinds(tight: str) -> _Kinds:
    """Return the patterns of the markers that may stand in a text, which is given without blanks."""
    kinds = [kind for kind in _KINDS if all(sign in tight for sign in kind[0])]
    return [
        [*dict.fromkeys(pattern for _, part, pattern in kinds if part in each)]
        for each in (tight, tight[::-1])
    ]


def _in(spelling: Spelling, kinds: _Kinds) -> set[int]:
    """Return the places in the original of what reads as a marker."""
    return set(spelling.places(sorted(_dots(spelling.text, kinds))))


def _dots(text: str, kinds: _Kinds) -> list[int]:
    """Return before which characters of a text dots belong."""
    forwards, backwards = kinds
    end, back, text = len(text) + 1, f"\n{text[::-1]}", f"\n{text}"
    dots = [found.end() - 1 for each in forwards for found in re.finditer(each, text)]
    return dots + [end - found.end() for each in backwards for found in re.finditer(each, back)]


def _broken(text: str, places: list[int]) -> str:
    return DOT.join(text[start:end] for start, end in pairwise((0, *places, len(text))))
