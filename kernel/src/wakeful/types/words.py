"""Texts as people write and see them: whether a value stands among words, and what a line shows."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

#: As far as it is looked beside a value and into its own edges.
_FAR: Final = 16
_EDGE: Final = 4
#: What joins the parts of addresses, links, names and numbers; any dash does as well.
_JOINS = frozenset("./\\+&=%#?~\u00b7")
#: At signs, slashes, and what a name may begin behind.
_AT, _SLASHES, _OPENING = frozenset("@\uff20\ufe6b"), frozenset("/\\"), frozenset(" ([{<,;|")
#: Signs of a number, marks before its places, and what only separates two numbers.
_SIGNS, _POINTS, _SPACED = frozenset("-\u2212"), frozenset(".,\u00b7\u066b\uff0e"), frozenset(" \t\n;|\0")
#: A number in groups of three with blanks between: what stands before the last group, a group, one more.
_BEFORE, _GROUP, _MORE = (
    re.compile(r"(?<!\d)\d{1,3} $"),
    re.compile(r"\d{3}(?!\d)"),
    re.compile(r" \d{3}(?!\d)"),
)
_LAST = re.compile(r"(?<!\d)\d{1,3}$")
#: Categories of dashes, and of what joins words as an underscore does.
_DASHES = frozenset({"Pd", "Pc"})
_DECIMAL = re.compile(r"([0-9]+)(?:\.([0-9]+))?")

#: What people would take for the end of a line, or not see at all; letters and marks that show nothing.
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
#: Selectors of a sign's look. One of the last two belongs to many emoji; more can only hide something.
_SELECTORS = frozenset(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
_LOOKS = frozenset("\ufe0e\ufe0f")


def written(text: str) -> str:
    """Return a text as it is written: composed characters, one blank between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def exact(text: str) -> str:
    """Return a text as it is compared with somebody's words: as it is written, in one case.

    Nothing else is folded: \u00df and ss, fullwidth letters and hidden characters make other addresses.
    """
    return written(text).lower()


def spellings(text: str) -> tuple[str, ...]:
    """Return how people write a value: a number also with zeros to two places, and without; never rounded."""
    found = _DECIMAL.fullmatch(text)
    if not found:
        return (text,)
    whole, places = found[1], (found[2] or "").rstrip("0")
    short = f"{whole}.{places}" if places else whole
    return (text, short, f"{whole}.{places:0<2}")


def stands_apart(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a word, name or number of its own, and no part of a longer one.

    The parts of an address, of a file's name, of a hyphenated name and of a number are other things than the
    whole: 50 does not stand in 50.25, 1,050, 50 000 or -50, nor shop.example.co in shop.example.co.uk.

    Args:
        text: as :func:`exact` or :func:`written` gives it.
        start: where the value begins.
        end: where it ends; it is not empty.
    """
    first, last = text[start : min(end, start + _EDGE)], text[max(start, end - _EDGE) : end]
    before, after = _visible(text[max(0, start - _FAR) : start]), _visible(text[end : end + _FAR])
    if first[0].isdigit() and before[-1:] in _POINTS:
        return False
    if _GROUP.match(first) and _BEFORE.search(before):
        return False
    if _MORE.match(after) and _LAST.search(last):
        return False
    before = before[::-1]
    return not (_begun(before) or _goes_on(before, first[0]) or _goes_on(after, last[-1]))


def _visible(text: str) -> str:
    """Return a text without characters that nobody sees."""
    return text if text.isascii() else "".join(each for each in text if not hidden(each))


def _begun(before: str) -> bool:
    """Whether what stands before a value, the nearest first, begins a path or an address that it ends."""
    near, far = before[:1], before[1:2]
    return bool(far) and far not in _OPENING and (near in _SLASHES or near in _AT)


def _goes_on(beside: str, edge: str) -> bool:
    """Whether what stands beside a value, the nearest first, goes on with it."""
    if not beside:
        return False
    near, far = beside[0], beside[1:2]
    if edge.isdigit() and (far.isdigit() or beside.lstrip(".\u2026")[:1].isdigit()):
        return near not in _SPACED
    if edge.isdigit() and near in _SIGNS and not far.isalnum():
        return True
    further = next((each for each in beside if not _joins(each)), None)
    return len(beside) == _FAR if further is None else _in_word(further)


def _joins(each: str) -> bool:
    return each in _JOINS or each in _AT or (each != "_" and unicodedata.category(each) in _DASHES)


def _in_word(each: str) -> bool:
    return each.isalnum() or each == "_" or unicodedata.category(each)[0] == "M"


def in_line(text: str) -> str:
    """Return a text as it stands inside one line: what breaks, turns or hides text is spelt out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        json.dumps(each)[1:-1] if _hides(each, before) else each
        for before, each in zip(f" {text}", text, strict=False)
    )


def _hides(each: str, before: str) -> bool:
    if each in _LOOKS:
        return before in _SELECTORS
    return hidden(each) or unicodedata.category(each) in _UNSEEN


def hidden(each: str) -> bool:
    """Whether a character shows nothing, and is no blank either."""
    return each in _BLANK or each in _SELECTORS or unicodedata.category(each) == "Cf"
