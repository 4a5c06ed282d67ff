"""The ways in which a forgiving reader may read a text: look-alikes, invisible characters, entities."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final
from urllib.parse import unquote

from attrs import evolve, frozen

from wakeful_taint.lookalikes import FOREIGN, LATIN, NOT_ONE, READERS, TAG_BYTES, Reader, Readings

#: How often entities and percent signs are undone; a text that was escaped more often stays escaped.
ROUNDS: Final = 3
_ENTITY = re.compile(r"(&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[0-9A-Za-z]{1,32});?)")
_NUMBER = re.compile(r"(&#[xX]?)0*([0-9A-Fa-f]+);?")
#: Spelt so that it begins with one character, which is searched for much faster than a repeated group is.
_PERCENT = re.compile(r"(%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+)")
_UTF_8 = getincrementaldecoder("utf-8")
#: What is no part of a name or of an encoding, and stays where it is in every reading.
_SIGNS = re.compile(r"[!\"$'()*+,./:<=>?@\[\\\]^`{|}~]+")
#: Blanks that are left in a reading, with dashes and underscores; one after the other is fastest.
_BLANKS: Final = " \t\n\r_-"
_BLANK = re.compile(f"([{_BLANKS}]+)")


@frozen
class Spelling:
    """A text as somebody may read it, which knows where its characters stand in the original.

    Args:
        text: as it is read.
        before: the spelling it was made from; none for the original itself.
        pieces: the text of that one in pieces, and how each is read; every other one is read as it is.
        origins: tells from which characters of one of the others those of its reading come.
    """

    text: str
    before: Spelling | None = None
    pieces: tuple[Sequence[str], Sequence[str]] = ((), ())
    origins: Callable[[str], Sequence[int]] = lambda _: ()

    def places(self, at: Sequence[int]) -> Sequence[int]:
        """Return where in the original characters stand, or where it ends; they are given in order."""
        return self.before.places([*self._places(at)]) if self.before and at else at

    def _places(self, at: Sequence[int]) -> Iterator[int]:
        olds, news = self._starts
        last = -1
        origins: Sequence[int] = ()
        for each in at:
            piece = bisect_right(news, each) - 1
            within = each - news[piece]
            if piece == len(self.pieces[0]) or piece % 2 == 0:
                yield olds[piece] + within
                continue
            if piece != last:
                last, origins = piece, self.origins(self.pieces[0][piece])
            yield olds[piece] + origins[min(within, len(origins) - 1)]

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where pieces start in the text before and in this one, with the ends of both."""
        olds, news = ([0, *accumulate(map(len, pieces))] for pieces in self.pieces)
        return olds, news

    def squeezed(self) -> Spelling:
        """Return it without blanks, dashes and underscores."""
        return self.replaced(_BLANK, lambda _: "")

    def replaced(
        self,
        pattern: re.Pattern[str],
        read: Callable[[str], str],
        origins: Callable[[str], Sequence[int]] = lambda _: (),
    ) -> Spelling:
        """Return it with everything that a pattern of one group finds read as something else."""
        found = pattern.split(self.text)
        if len(found) == 1:
            return self
        pieces = _read_as(found, read)
        return Spelling("".join(pieces), self, (found, pieces), origins)

    def read(self, found: Sequence[str], read: Sequence[str], reader: Reader) -> Spelling:
        """Return it as a reader has read what was found that is foreign to Latin-1."""
        text = "".join(read).encode("latin-1").translate(LATIN).decode("latin-1")
        return Spelling(text, self, (found, read), reader.origins)


def _read_as(found: Sequence[str], read: Callable[[str], str]) -> list[str]:
    """Return what a pattern was split into with every other piece, which it found, as it is read."""
    pieces = list(found)
    pieces[1::2] = map(read, found[1::2])
    return pieces


class _Undone(Readings):
    """What entities and runs of percent signs spell."""

    def made(self, spelt: str) -> str:
        """Return what one of them spells."""
        if spelt.startswith("%"):
            return unquote(spelt)
        if number := _NUMBER.fullmatch(spelt):
            # Eight digits are beyond Unicode already, and thousands are more than int() takes.
            return html.unescape(f"{number[1]}{number[2][:8]};")
        return html.unescape(spelt)


_UNDONE = _Undone()


def squeeze(text: str) -> str:
    """Return a text without blanks, dashes and underscores."""
    for each in _BLANKS:
        text = text.replace(each, "")
    return text


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
        spelling = spelling.replaced(_ENTITY, _UNDONE.__getitem__, _letters_of)
        spelling = spelling.replaced(_PERCENT, _UNDONE.__getitem__, _signs_of)
        yield from _read(spelling)


def _letters_of(entity: str) -> Sequence[int]:
    """Return where each character that an entity spells begins; what follows a short one spells itself."""
    read, end = _UNDONE[entity], len(entity)
    same = max(count for count in range(end + 1) if read.endswith(entity[end - count :]))
    return [*[0] * (len(read) - same), *range(end - same, end)]


def _signs_of(percent: str) -> Sequence[int]:
    """Return where in a run of percent signs each character that it spells begins."""
    decoder = _UTF_8(errors="replace")
    origins, start = list[int](), 0
    for at in range(0, len(percent), 3):
        read = decoder.decode(bytes.fromhex(percent[at + 1 : at + 3]))
        begun = len(decoder.getstate()[0])
        origins += [start] * len(read)
        if len(read) > 1 and not begun:
            origins[-1] = at  # What was begun before is no character; this one is.
        start = at + 3 - 3 * begun
    return [*origins, start]


def _read(spelling: Spelling) -> Iterator[Spelling]:
    latin = spelling.text.encode("latin-1", "ignore").translate(LATIN, NOT_ONE)
    if len(latin) == len(spelling.text):
        yield evolve(spelling, text=latin.decode("latin-1"))
        return
    found = FOREIGN.split(spelling.text)
    tagged = TAG_BYTES in spelling.text.encode(errors="surrogatepass")
    for reader, flipped in READERS if tagged else READERS[1:]:
        forwards, backwards = (_read_as(found, each.__getitem__) for each in (reader, flipped))
        yield spelling.read(found, forwards, reader)
        if backwards != forwards:
            yield spelling.read(found, backwards, flipped)
