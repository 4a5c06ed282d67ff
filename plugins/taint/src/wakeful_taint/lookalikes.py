"""How single characters are read: look-alikes, invisible ones, whatever Unicode holds to be the same."""

from __future__ import annotations

import unicodedata
from functools import cache
from string import ascii_uppercase
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
#: Tag characters, which spell ASCII invisibly.
_TAGS: Final = 0xE0000
TAG_TEXT: Final = range(0xE0020, 0xE007F)
#: Characters up to which replacing one by one is tried: translating is slower where few characters change.
_FEW = 64


class Table(dict[int, str]):
    """Characters as they are read, made when they are first met."""

    def __init__(self, *, tags: bool) -> None:
        super().__init__()
        self._tags = tags

    def read(self, text: str, characters: set[str]) -> str:
        """Return a text of certain characters as it is read."""
        others = {each for each in characters if self[ord(each)] != each}
        if len(others) > _FEW:
            return text.translate(self)
        # Nothing that is read as something reads as something else again, so one after the other will do.
        capitals = others.intersection(ascii_uppercase)
        for each in others - capitals:
            text = text.replace(each, self[ord(each)])
        if text.isascii():
            return text.lower()
        for each in capitals:
            text = text.replace(each, self[ord(each)])
        return text

    def __missing__(self, code: int) -> str:
        read = self._made(code)
        if len(self) < 1 << 16:
            self[code] = read
        return read

    def _made(self, code: int) -> str:
        if code in TAG_TEXT and self._tags:
            return chr(code - _TAGS).casefold()
        each = chr(code)
        if each in "\n\r\t":
            return each
        found = "".join(_LOOKALIKES.get(ord(part), part) for part in unicodedata.normalize("NFKC", each))
        found = "".join(part for part in unicodedata.normalize("NFKD", found) if not _is_invisible(part))
        return "".join(_LOOKALIKES.get(ord(part), part) for part in found.casefold())


@cache
def table(*, tags: bool) -> Table:
    """Return how characters are read; with ``tags``, tag characters as the letters that they spell."""
    return Table(tags=tags)


def _is_invisible(each: str) -> bool:
    return unicodedata.category(each) in {"Cf", "Cc", "Mn", "Me"} and each not in "\n\r\t"
