"""The ways in which a forgiving reader may read a text: look-alikes, invisible characters, entities."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final
from urllib.parse import unquote

from attrs import frozen

#: Letters and brackets that look like others without being the same to Unicode.
_LOOKALIKES: Final = {
    0x0430: "a",
    0x0435: "e",
    0x0501: "d",
    0x043E: "o",
    0x0440: "p",
    0x0441: "c",
    0x0445: "x",
    0x0443: "y",
    0x0456: "i",
    0x04BB: "h",
    0x0455: "s",
    0x0458: "j",
    0x051B: "q",
    0x051D: "w",
    0x2039: "<",
    0x203A: ">",
    0x3008: "<",
    0x3009: ">",
    0x27E8: "<",
    0x27E9: ">",
    0x2215: "/",
    0x2044: "/",
    0x019A: "l",
    0x0269: "l",
    0x0131: "i",
    0x03B1: "a",
    0x03BF: "o",
    0x03C5: "u",
    0x03BD: "v",
}
#: Tag characters, which spell ASCII invisibly.
_TAGS: Final = 0xE0000
_TAG_TEXT: Final = range(0xE0020, 0xE007F)
#: How often entities and percent signs are undone; a text that was escaped more often stays escaped.
ROUNDS: Final = 3
_ENCODED = re.compile(r"&#?[0-9A-Za-z]{1,32};?|(?:%[0-9A-Fa-f]{2})+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TAGGED = re.compile("[\U000e0020-\U000e007e]")
#: Characters of Chinese, Japanese and Korean that read as nothing else; a run of them is as good as one.
_IDEOGRAPHS = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2,}")


@frozen
class Spelling:
    """A text as somebody may read it; ``places`` says where in the original each character stands."""

    text: str
    places: tuple[int, ...]

    def squeezed(self) -> Spelling:
        """Return it without blanks, dashes and underscores."""
        kept = [at for at, each in enumerate(self.text) if not (each.isspace() or each in "_-")]
        return Spelling("".join(self.text[at] for at in kept), tuple(self.places[at] for at in kept))


class _Table(dict[int, str]):
    """Characters as they are read, made when they are first met."""

    def __init__(self, *, tags: bool) -> None:
        super().__init__()
        self._tags = tags

    def __missing__(self, code: int) -> str:
        read = self._read(code)
        if len(self) < 1 << 16:
            self[code] = read
        return read

    def _read(self, code: int) -> str:
        if code in _TAG_TEXT and self._tags:
            return chr(code - _TAGS).casefold()
        each = chr(code)
        if each in "\n\r\t":
            return each
        found = "".join(_LOOKALIKES.get(ord(part), part) for part in unicodedata.normalize("NFKC", each))
        found = "".join(part for part in unicodedata.normalize("NFKD", found) if not _is_invisible(part))
        return "".join(_LOOKALIKES.get(ord(part), part) for part in found.casefold())


def _is_invisible(each: str) -> bool:
    return unicodedata.category(each) in {"Cf", "Cc", "Mn", "Me"} and each not in "\n\r\t"


@cache
def _table(*, tags: bool) -> _Table:
    return _Table(tags=tags)


def readings(text: str) -> tuple[str, ...]:
    """Return a text as it is read, quickly and without places; long runs of ideographs are cut short."""
    if text.isascii() and not _CONTROL.search(text):
        return (text.lower(),)
    short = _IDEOGRAPHS.sub("\u4e00", text)
    plain = short.translate(_table(tags=False))
    return (plain, short.translate(_table(tags=True))) if _TAGGED.search(short) else (plain,)


def squeeze(text: str) -> str:
    """Return a text without blanks, dashes and underscores."""
    return "".join(text.split()).replace("_", "").replace("-", "")


def decoded(text: str) -> str:
    """Return a text with entities and percent signs undone, quickly and without places."""
    if "&" in text or "%" in text:
        for _ in range(ROUNDS):
            text = unquote(html.unescape(text))
    return text


def spelled(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text, those after undoing entities too."""
    current, places = text, tuple(range(len(text)))
    yield from _readings(current, places)
    for _ in range(ROUNDS):
        after, where = _undone(current, places)
        if after == current:
            return
        current, places = after, where
        yield from _readings(current, places)


def _readings(text: str, places: tuple[int, ...]) -> Iterator[Spelling]:
    tables = [_table(tags=tags) for tags in ((False,) if text.isascii() else (False, True))]
    for table in tables:
        read_, where = [], []
        for each, place in zip(text, places, strict=True):
            for part in table[ord(each)]:
                read_.append(part)
                where.append(place)
        yield Spelling("".join(read_), tuple(where))


def _undone(text: str, places: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    pieces: list[str] = []
    where: list[int] = []
    end = 0
    for found in _ENCODED.finditer(text):
        pieces.append(text[end : found.start()])
        where.extend(places[end : found.start()])
        read_ = unquote(html.unescape(found[0]))
        pieces.append(read_)
        # What one entity spells stands where it starts; what follows in the match keeps its order.
        where.extend(places[min(found.start() + at, found.end() - 1)] for at in range(len(read_)))
        end = found.end()
    pieces.append(text[end:])
    where.extend(places[end:])
    return "".join(pieces), tuple(where)
