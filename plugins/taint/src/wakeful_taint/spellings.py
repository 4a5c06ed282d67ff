"""The ways in which a forgiving reader may read a text: look-alikes, invisible characters, entities."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final
from urllib.parse import unquote

from attrs import frozen

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
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[0-9A-Za-z]{1,32});?")
_NUMBER = re.compile(r"(&#[xX]?)0*([0-9A-Fa-f]+);?")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
#: Characters up to which replacing one by one is tried: translating is slower where few characters change.
_FEW = 64
#: Characters of an encoding that is worth remembering, and how many are.
_SHORT, _REMEMBERED = 64, 1024
_BLANK = re.compile(r"[\s_-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TAGGED = re.compile("[\U000e0020-\U000e007e]")
#: Characters of Chinese, Japanese and Korean that read as nothing else; a run of them is as good as one.
_IDEOGRAPHS = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2,}")


@frozen
class Spelling:
    """A text as somebody may read it; ``places`` says where in the original each character stands."""

    text: str
    places: Sequence[int]

    def squeezed(self) -> Spelling:
        """Return it without blanks, dashes and underscores."""
        return self.replaced(_BLANK, lambda _: "")

    def replaced(self, pattern: re.Pattern[str], read: Callable[[str], str]) -> Spelling:
        """Return it with everything that a pattern finds read as something else."""
        pieces: list[str] = []
        places: list[int] = []
        end = 0
        for found in pattern.finditer(self.text):
            start, stop = found.span()
            pieces.append(self.text[end:start])
            places += self.places[end:start]
            if after := read(found[0]):
                pieces.append(after)
                # What a match spells stands where it starts; what follows in it keeps its order.
                places += self.places[start : min(stop, start + len(after))]
                places += [self.places[stop - 1]] * (len(after) - (stop - start))
            end = stop
        if not end:
            return self
        pieces.append(self.text[end:])
        places += self.places[end:]
        return Spelling("".join(pieces), places)


class _Table(dict[int, str]):
    """Characters as they are read, made when they are first met."""

    def __init__(self, *, tags: bool) -> None:
        super().__init__()
        self._tags = tags

    def read(self, text: str) -> str:
        """Return a text as it is read."""
        others = [each for each in set(text) if self[ord(each)] != each]
        if len(others) > _FEW:
            return text.translate(self)
        # Nothing that is read as something reads as something else again, so one after the other will do.
        for each in others:
            text = text.replace(each, self[ord(each)])
        return text

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


def readings(text: str) -> tuple[str, ...]:
    """Return a text as it is read, quickly and without places; long runs of ideographs are cut short."""
    if _is_plain(text):
        return (text.lower(),)
    short = _IDEOGRAPHS.sub("\u4e00", text)
    return tuple(table.read(short) for table in _tables(text))


def squeeze(text: str) -> str:
    """Return a text without blanks, dashes and underscores."""
    return "".join(text.split()).replace("_", "").replace("-", "")


def undone(text: str) -> Iterator[str]:
    """Yield a text with entities and percent signs undone once, twice and so on, without places."""
    for _ in range(ROUNDS):
        before = text
        if "&" in text:
            text = _ENTITY.sub(lambda found: _UNDONE[found[0]], text)
        if "%" in text:
            text = _PERCENT.sub(lambda found: _UNDONE[found[0]], text)
        if text == before:
            return
        yield text


def spelled(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text as it stands."""
    return _read(Spelling(text, range(len(text))))


def spelled_undone(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text after undoing entities and percent signs once, twice and so on."""
    spelling = Spelling(text, range(len(text)))
    for _ in undone(text):
        spelling = spelling.replaced(_ENTITY, _UNDONE.__getitem__).replaced(_PERCENT, _UNDONE.__getitem__)
        yield from _read(spelling)


def _is_plain(text: str) -> bool:
    """Whether every character of a text reads as itself, but for its case."""
    return (text.isascii() or text.replace(DOT, "").isascii()) and not _CONTROL.search(text)


def _tables(text: str) -> Iterator[_Table]:
    yield _table(tags=False)
    if not text.isascii() and _TAGGED.search(text):
        yield _table(tags=True)


def _read(spelling: Spelling) -> Iterator[Spelling]:
    if _is_plain(spelling.text):
        yield Spelling(spelling.text.lower(), spelling.places)
        return
    for table in _tables(spelling.text):
        # Most characters read as one: what stands where is told by the others alone.
        others = "".join(each for each in set(spelling.text) if len(table[ord(each)]) != 1)
        whole = spelling.replaced(re.compile(f"[{re.escape(others)}]"), table.read) if others else spelling
        yield Spelling(table.read(spelling.text), whole.places)
