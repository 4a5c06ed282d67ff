"""How single characters are read: look-alikes, invisible ones, whatever Unicode holds to be the same.

All that a marker is made of is ASCII, so what is read is Latin-1, where searching and replacing are fastest.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

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
#: The block of tag characters, which spell ASCII invisibly, and what stands in the UTF-8 of all of them.
_TAG_BLOCK: Final = range(0xE0000, 0xE0080)
TAG_BYTES: Final = b"\xf3\xa0"
_SPELLING_TAG = re.compile("[\U000e0020-\U000e007e]")
#: What breaks a marker: visible, not a letter, the same in every reading.
DOT: Final = "·"
#: A letter that is part of no marker.
_OTHER: Final = "þ"
#: Letters that read as no others, and what stands between them in sentences. Neither reads as an L, N, R or T
#: or as "<", one of which is in every marker: what begins and ends with such letters is as good as one, also
#: where the length of a special token is told.
_LETTERS: Final = (
    "\u0411-\u0414\u0416-\u0419\u041b-\u041d\u041f\u0424\u0426-\u042f\u0431-\u0434\u0436-\u043d\u043f\u0442\u0444"
    "\u0446-\u044f\u03b2-\u03b4\u03b6-\u03b8\u03ba-\u03bc\u03be\u03c0\u03c1\u03c3\u03c4\u03c6-\u03c9\u0561-\u0586"
    "\u05d0-\u05ea\u0620-\u064a\u0904-\u0939\u0995-\u09a8\u0a13-\u0a28\u0a93-\u0aa8\u0bae-\u0bb9\u0c12-\u0c28"
    "\u0c92-\u0ca8\u0d12-\u0d3a\u0e01-\u0e30\u10d0-\u10fa\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3"
)
_BETWEEN: Final = (
    "\u0300-\u06ff\u0900-\u0e7f\u10d0-\u10ff\u3001\u3002\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01\uff0c\uff1b\uff1f"
    "\u00ab\u00bb\u2010-\u2015\u2018-\u201f\u2026"
    r"\n\t !\"'(),\-.0-9:;?"
)
_BEGINS_SENTENCE = re.compile(f"[{_LETTERS}]")
#: Characters of what is worth remembering, and how much is remembered.
_SHORT, _REMEMBERED = 64, 4096


class Readings(dict[str, str], ABC):
    """How certain strings are read, made when they are first met; most texts have few different ones."""

    def __missing__(self, spelt: str) -> str:
        read = self.made(spelt)
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(spelt) <= _SHORT:
            self[spelt] = read
        return read

    @abstractmethod
    def made(self, spelt: str) -> str:
        """Return how a string is read."""


class Reader(Readings):
    """How what is foreign to Latin-1 is read.

    Args:
        tags: whether tag characters are read as the letters that they spell, and not as nothing.
        flipped: whether what reads as several characters is read from its end, as it is in a text that was
            written backwards.
    """

    def __init__(self, *, tags: bool, flipped: bool = False) -> None:
        super().__init__()
        self._tags, self._flipped = tags, flipped

    def __missing__(self, spelt: str) -> str:
        return _OTHER if _BEGINS_SENTENCE.match(spelt) else super().__missing__(spelt)

    def latin(self, each: str) -> str | None:
        """Return a character as the one of Latin-1 that it is read as; None if that is none."""
        read = each if each in "\t\n\r" else self[each]
        return read if len(read) == 1 else None

    def origins(self, foreign: str) -> Sequence[int]:
        """Return from which characters of something foreign those of its reading come."""
        if _BEGINS_SENTENCE.match(foreign):
            return [0]
        return [at for at, each in enumerate(foreign) for _ in self[each]]

    def made(self, spelt: str) -> str:
        """Return how a character is read, or each of several."""
        if len(spelt) > 1:
            return "".join(map(self.__getitem__, spelt))
        if self._tags and _SPELLING_TAG.match(spelt):
            return chr(_TAG_BLOCK.index(ord(spelt))).casefold()
        found = "".join(_LOOKALIKES.get(ord(part), part) for part in unicodedata.normalize("NFKC", spelt))
        found = "".join(part for part in unicodedata.normalize("NFKD", found) if not _is_invisible(part))
        found = "".join(_LOOKALIKES.get(ord(part), part) for part in found.casefold())
        return "".join(map(_in_latin, found[::-1] if self._flipped else found))


def _in_latin(each: str) -> str:
    """Return what stands in Latin-1 for a character that is part of no marker, or that is blank."""
    if each <= "\xff":
        return each
    if unicodedata.category(each) == "Me":
        return "-"  # An enclosing mark ends a word, and a name is read with it and without it.
    return " " if each.isspace() else _OTHER if each.isalnum() else DOT


def _is_invisible(each: str) -> bool:
    return unicodedata.category(each) in {"Cf", "Cc", "Mn"} or ord(each) in _TAG_BLOCK


#: Who reads tag characters as letters, and who reads them as nothing; each in both directions.
READERS: Final = tuple((Reader(tags=tags), Reader(tags=tags, flipped=True)) for tags in (True, False))
_LATIN: Final = [READERS[0][0].latin(chr(code)) for code in range(256)]
#: How Latin-1 is read, each character as one, and the characters of it that read as none or as several.
LATIN: Final = bytes(ord(read or chr(code)) for code, read in enumerate(_LATIN))
NOT_ONE: Final = bytes(code for code, read in enumerate(_LATIN) if read is None)
_PLAIN: Final = re.escape(bytes({*range(256)}.difference(NOT_ONE)).decode("latin-1"))
#: What is left to readers: sentences of letters that read as no others, and as many other characters as are
#: worth remembering.
FOREIGN = re.compile(
    f"([^{_PLAIN}](?:(?<=[{_LETTERS}])(?:[{_BETWEEN}]*[{_LETTERS}])?|[^{_PLAIN}{_LETTERS}]{{,{_SHORT - 1}}}))"
)
