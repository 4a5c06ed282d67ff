"""The ways in which a forgiving reader may read a text: look-alikes, invisible characters, entities."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final
from urllib.parse import unquote

from attrs import evolve, frozen

from wakeful_taint.lookalikes import TAG_TEXT, Table, table

#: What breaks a marker: visible, not a letter, the same in every reading.
DOT: Final = "·"
#: How often entities and percent signs are undone; a text that was escaped more often stays escaped.
ROUNDS: Final = 3
_ENTITY = re.compile(r"(&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[0-9A-Za-z]{1,32});?)")
_NUMBER = re.compile(r"(&#[xX]?)0*([0-9A-Fa-f]+);?")
#: Spelt so that it begins with one character, which is searched for much faster than a repeated group is.
_PERCENT = re.compile(r"(%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+)")
#: What is no part of a name or of an encoding, and stays where it is in every reading.
_SIGNS = re.compile(r"[!\"$'()*+,./:<=>?@\[\\\]^`{|}~]+")
#: Characters of an encoding that is worth remembering, and how many are.
_SHORT, _REMEMBERED = 64, 1024
_BLANK = re.compile(r"([\s_-]+)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Characters of Chinese, Japanese and Korean that read as nothing else; a run of them is as good as one.
_IDEOGRAPHS = re.compile("([\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2,})")


@frozen
class Spelling:
    """A text as somebody may read it, which knows where its characters stand in the original.

    Args:
        text: as it is read.
        before: the spelling it was made from; none for the original itself.
        pieces: makes, when a place is asked for, the text of that one in pieces and how each is read.
    """

    text: str
    before: Spelling | None = None
    pieces: Callable[[], Iterable[Sequence[str]]] = tuple

    def place(self, at: int) -> int:
        """Return where in the original a character stands."""
        if self.before is None:
            return at
        olds, news = self._starts
        piece = bisect_right(news, at) - 1
        # What a piece spells stands where it starts; what follows in it keeps its order.
        return self.before.place(min(olds[piece] + at - news[piece], olds[piece + 1] - 1))

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where pieces start in the text before and in this one, with the ends of both."""
        olds, news = ([0, *accumulate(map(len, pieces))] for pieces in self.pieces())
        return olds, news

    def squeezed(self) -> Spelling:
        """Return it without blanks, dashes and underscores."""
        return self.replaced(_BLANK, lambda _: "")

    def replaced(self, pattern: re.Pattern[str], read: Callable[[str], str]) -> Spelling:
        """Return it with everything that a pattern of one group finds read as something else."""
        found = pattern.split(self.text)
        if len(found) == 1:
            return self
        pieces = _read_as(found, read)
        return Spelling("".join(pieces), self, lambda: (found, pieces))

    def translated(self, reader: Table, characters: set[str]) -> Spelling:
        """Return it as a table reads its characters, which are given."""
        text = reader.read(self.text, characters)
        # Most characters are read as one: what stands where is told by the others alone.
        others = [each for each in characters if len(reader[ord(each)]) != 1]
        if not others:
            return evolve(self, text=text)

        def pieces() -> Iterable[Sequence[str]]:
            found = re.split(f"([{re.escape(''.join(others))}])", self.text)
            return found, _read_as(found, lambda each: reader[ord(each)])

        return Spelling(text, self, pieces)


def _read_as(found: Sequence[str], read: Callable[[str], str]) -> list[str]:
    """Return what a pattern was split into with every other piece, which it found, as it is read."""
    pieces = list(found)
    pieces[1::2] = map(read, found[1::2])
    return pieces


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


def squeeze(text: str) -> str:
    """Return a text without blanks, dashes and underscores."""
    return "".join(text.split()).replace("_", "").replace("-", "")


def undone(text: str, *, names_only: bool = False) -> Iterator[str]:
    """Yield a text with entities and percent signs undone once, twice and so on, without places.

    Args:
        text: any.
        names_only: whether to stop where nothing but signs comes of it, which spell no name then or later.
    """
    for _ in range(ROUNDS):
        before, spelt = text, set[str]()
        for mark, pattern in (("&", _ENTITY), ("%", _PERCENT)):
            if mark in text:
                pieces = _read_as(pattern.split(text), _UNDONE.__getitem__)
                spelt.update(pieces[1::2])
                text = "".join(pieces)
        if text == before or (names_only and all(map(_SIGNS.fullmatch, spelt))):
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
    spelling = spelling.replaced(_IDEOGRAPHS, lambda _: "\u4e00")
    characters = set(spelling.text)
    yield spelling.translated(table(tags=False), characters)
    if any(ord(each) in TAG_TEXT for each in characters):
        yield spelling.translated(table(tags=True), characters)
