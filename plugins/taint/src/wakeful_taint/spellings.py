"""The ways in which a forgiving reader may read a text: look-alikes, invisible characters, entities."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate
from string import ascii_uppercase
from typing import Final
from urllib.parse import unquote

from attrs import evolve, frozen

#: What breaks a marker: visible, not a letter, the same in every reading.
DOT: Final = "·"
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
_ENTITY = re.compile(r"(&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[0-9A-Za-z]{1,32});?)")
_NUMBER = re.compile(r"(&#[xX]?)0*([0-9A-Fa-f]+);?")
#: It begins with a character of its own, not with a group: the engine searches much faster for those.
_PERCENT = re.compile(r"(%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+)")
#: What is no part of a name or of an encoding, and stays where it is in every reading.
_SIGNS = re.compile(r"[!\"$'()*+,./:<=>?@\[\\\]^`{|}~]+")
#: Characters up to which replacing one by one is tried: translating is slower where few characters change.
_FEW = 64
#: Characters of an encoding that is worth remembering, and how many are.
_SHORT, _REMEMBERED = 64, 1024
_BLANK = re.compile(r"([\s_-]+)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Characters of Chinese, Japanese and Korean that read as nothing else; a run of them is as good as one, and
#: faster. Texts in these languages have some at their beginning.
_IDEOGRAPHS = re.compile("([\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2,})")
_BEGINNING = 256


@frozen
class Spelling:
    """A text as somebody may read it, which knows where its characters stand in the original.

    Args:
        text: as it is read.
        before: what it was made from; none for the original itself.
        found: that in pieces.
        pieces: these as they are read, but for what changes no length.
    """

    text: str
    before: Spelling | None = None
    found: Sequence[str] = ()
    pieces: Sequence[str] = ()

    def place(self, at: int) -> int:
        """Return where in the original a character stands."""
        if self.before is None:
            return at
        starts, befores = self._starts
        piece = bisect_right(starts, at) - 1
        # What a piece spells stands where it starts; what follows in it keeps its order.
        return self.before.place(min(befores[piece] + at - starts[piece], befores[piece + 1] - 1))

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where the pieces start as they are read, and where they did; and the two ends."""
        return [0, *accumulate(map(len, self.pieces))], [0, *accumulate(map(len, self.found))]

    def squeezed(self) -> Spelling:
        """Return it without blanks, dashes and underscores."""
        return self.replaced(_BLANK, "")

    def replaced(self, pattern: re.Pattern[str], read: str | Callable[[str], str]) -> Spelling:
        """Return it with everything that the only group of a pattern finds read as something else."""
        found = pattern.split(self.text)  # every other piece was found
        if len(found) == 1:
            return self
        pieces = list(found)
        pieces[1::2] = [read] * (len(found) // 2) if isinstance(read, str) else map(read, found[1::2])
        return Spelling("".join(pieces), self, found, pieces)


class _Table(dict[int, str]):
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

    def spelt(self, character: str) -> str:
        """Return a character as it is read."""
        return self[ord(character)]

    def __missing__(self, code: int) -> str:
        read = self._made(code)
        if len(self) < 1 << 16:
            self[code] = read
        return read

    def _made(self, code: int) -> str:
        if code in _TAG_TEXT and self._tags:
            return chr(code - _TAGS).casefold()
        each = chr(code)
        if each in "\n\r\t":
            return each
        found = "".join(_LOOKALIKES.get(ord(part), part) for part in unicodedata.normalize("NFKC", each))
        found = "".join(part for part in unicodedata.normalize("NFKD", found) if not _is_invisible(part))
        return "".join(_LOOKALIKES.get(ord(part), part) for part in found.casefold())


class _Undone(dict[str, str]):
    """What entities and runs of percent signs spell; most texts have few different ones."""

    def __missing__(self, spelt: str) -> str:
        if spelt.startswith("%"):
            read = unquote(spelt)
        elif number := _NUMBER.fullmatch(spelt):
            # Eight digits are beyond Unicode already, and thousands are more than int() takes.
            read = html.unescape(f"{number[1]}{number[2][:8]};")
        else:
            read = html.unescape(spelt)
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(spelt) <= _SHORT:
            self[spelt] = read
        return read


_UNDONE = _Undone()


def _is_invisible(each: str) -> bool:
    return unicodedata.category(each) in {"Cf", "Cc", "Mn", "Me"} and each not in "\n\r\t"


@cache
def _table(*, tags: bool) -> _Table:
    return _Table(tags=tags)


def squeeze(text: str) -> str:
    """Return a text without blanks, dashes and underscores."""
    return "".join(text.split()).replace("_", "").replace("-", "")


def undone(text: str, *, telling: bool = False) -> Iterator[str]:
    """Yield a text with entities and percent signs undone once, twice and so on, without places.

    Args:
        text: any.
        telling: whether to stop where nothing but signs comes of it, which spell no name then or later.
    """
    for _ in range(ROUNDS):
        before, spelt = text, set[str]()
        for mark, pattern in (("&", _ENTITY), ("%", _PERCENT)):
            if mark in text:
                pieces = pattern.split(text)  # every other one is encoded
                pieces[1::2] = map(_UNDONE.__getitem__, pieces[1::2])
                spelt.update(pieces[1::2])
                text = "".join(pieces)
        if text == before or (telling and all(map(_SIGNS.fullmatch, spelt))):
            return
        yield text


def spelled(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text as it stands."""
    return _read(Spelling(text))


def spelled_undone(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text after undoing entities and percent signs once, twice and so on."""
    spelling = Spelling(text)
    for _ in undone(text):
        spelling = spelling.replaced(_ENTITY, _UNDONE.__getitem__).replaced(_PERCENT, _UNDONE.__getitem__)
        yield from _read(spelling)


def _is_plain(text: str) -> bool:
    """Whether every character of a text reads as itself, but for its case."""
    if not (text.isascii() or text.replace(DOT, "").isascii()):
        return False
    return text.isprintable() or not _CONTROL.search(text)


def _read(spelling: Spelling) -> Iterator[Spelling]:
    if _is_plain(spelling.text):
        yield evolve(spelling, text=spelling.text.lower())
        return
    if max(spelling.text[:_BEGINNING]) >= "\u3041":
        spelling = spelling.replaced(_IDEOGRAPHS, "\u4e00")
    characters = set(spelling.text)
    # Tag characters are read as nothing, and as what they spell.
    for tags in (False, True) if any(ord(each) in _TAG_TEXT for each in characters) else (False,):
        table = _table(tags=tags)
        # Most characters read as one: what stands where is told by the others alone.
        others = "".join(each for each in characters if len(table[ord(each)]) != 1)
        whole = spelling.replaced(re.compile(f"([{re.escape(others)}])"), table.spelt) if others else spelling
        yield evolve(whole, text=table.read(spelling.text, characters))
