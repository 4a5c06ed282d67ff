"""The ways in which a forgiving reader may read a text: look-alikes, what is invisible, encodings, markup."""

from __future__ import annotations

import html
import re
import sys
from bisect import bisect_right
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final
from urllib.parse import unquote

from attrs import evolve, frozen

from wakeful_taint.lookalikes import DOT, FOREIGN, LATIN, NOT_ONE, READERS, TAG_BYTES, Reader, Readings

#: How often encodings are undone; a text that was escaped more often stays escaped.
ROUNDS: Final = 3
_ENTITY = re.compile(r"(&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[0-9A-Za-z]{1,32});?)")
_NUMBER = re.compile(r"(&#[xX]?)0*([0-9A-Fa-f]+);?")
#: Spelt so that it begins with one character, which is searched for much faster than a repeated group is.
_PERCENT = re.compile(r"(%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+)")
#: Escapes of JSON and of programming languages; those of JSON in runs, since two may spell one character.
_ESCAPE = re.compile(
    r"(\\(?:u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*+|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}"
    r"|[0-3]?[0-7]{1,2})|%u[0-9A-Fa-f]{4})"
)
_CONTROLS: Final = {"\\n": "\n", "\\r": "\r", "\\t": "\t"}
#: Where an encoding spells part of what may be another, so that it matters which one is undone first.
_MIXED: Final = (
    re.compile(r"&#[xX]?[0-9A-Fa-f]*+[%\\]"),
    re.compile(r"%[0-9A-Fa-f]{0,2}[&\\]"),
    re.compile(r"\\[0-9A-FUa-fux{}]{1,12}[&%]"),
)
#: What nobody sees who sees the text that it marks, by what stands in a text with it: addresses of Markdown's
#: links, and elements of HTML. Each begins with one character, as above.
_MARKUP: Final = (("](", re.compile(r"(\]\([^()\n]*+\))")), ("<", re.compile(r"(<[^<>]*+>)")))
_UTF_8 = getincrementaldecoder("utf-8")
#: Blanks that are left in a reading, with dashes and underscores; one after the other is fastest.
_BLANKS: Final = " \t\n\r_-"
_BLANK = re.compile(f"([{_BLANKS}]+)")
#: What a name is not read by: whatever is no letter and no digit, and I and L, which a stroke may stand for.
_UNREAD: Final = bytes(
    code for code in range(256) if code in b"il1" or (chr(code) != DOT and not chr(code).isalnum())
)
#: Digits that letters are written for.
_ALIKE: Final = bytes.maketrans(b"03457", b"oeast")


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

    def unmarked(self) -> Iterator[Spelling]:
        """Yield it without one kind of markup, without the other too, then without what is markup now."""
        spelling = self
        for mark, pattern in ROUNDS * _MARKUP:
            before = spelling
            spelling = spelling.replaced(pattern, lambda _: "") if mark in spelling.text else spelling
            if spelling is not before:
                yield spelling

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
    """What entities, runs of percent signs and escapes spell."""

    def made(self, spelt: str) -> str:
        """Return what one of them spells."""
        if spelt in _CONTROLS:
            return _CONTROLS[spelt]
        if spelt.startswith(("\\", "%u")):
            return _escaped(spelt[1:])
        if spelt.startswith("%"):
            return unquote(spelt)
        if number := _NUMBER.fullmatch(spelt):
            # Eight digits are beyond Unicode already, and thousands are more than int() takes.
            return html.unescape(f"{number[1]}{number[2][:8]};")
        return html.unescape(spelt)


def _escaped(spelt: str) -> str:
    """Return what an escape, or a run of them, spells; it is given without its first sign."""
    if spelt[0] not in "uUx":
        return chr(int(spelt, 8))
    if spelt[0] == "u" and spelt[1] != "{":
        units = bytes.fromhex(spelt.replace("u", "").replace("\\", ""))
        return units.decode("utf-16-be", "surrogatepass")
    code = int(spelt[1:].strip("{}"), 16)
    return chr(code) if code <= sys.maxunicode else "\ufffd"


_UNDONE = _Undone()


def squeeze(text: str) -> str:
    """Return a text without blanks, dashes and underscores."""
    for each in _BLANKS:
        text = text.replace(each, "")
    return text


def letters(text: str) -> str:
    """Return the letters of a reading but I and L; digits as the letters that they are written for."""
    return text.encode("latin-1").translate(_ALIKE, _UNREAD).decode("latin-1")


def unmarked(text: str) -> Iterator[str]:
    """Yield the same of a text as :meth:`Spelling.unmarked`, without places."""
    for mark, pattern in ROUNDS * _MARKUP:
        before = text
        text = pattern.sub("", text) if mark in text else text
        if text != before:
            yield text


def spelled(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text as it stands."""
    return _read(Spelling(text))


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


def _units_of(escapes: str) -> Sequence[int]:
    """Return where in a run of escapes each character that it spells begins."""
    ends = accumulate(12 if each > "\uffff" else 6 for each in _UNDONE[escapes])
    return [0, *ends][:-1]


#: What stands in a text if an encoding does, how one is found, and whence the characters come that it spells.
_ENCODINGS: Final = (
    ("&", _ENTITY, _letters_of),
    ("%", _PERCENT, _signs_of),
    ("\\", _ESCAPE, _units_of),
    ("%u", _ESCAPE, _units_of),
    *((each, re.compile(f"({re.escape(each)})"), _units_of) for each in _CONTROLS),
)


#: Who undoes entities first and who undoes escapes first differ where one encoding spells part of another.
_ORDERS: Final = (_ENCODINGS, _ENCODINGS[::-1])


def undone(text: str) -> Iterator[str]:
    """Yield a text with its encodings undone once, twice and so on, each result once, without places."""
    seen, mixed = {text}, False
    for encodings in _ORDERS:
        after = text
        for _ in range(ROUNDS):
            before = after
            mixed = mixed or any(each.search(before) for each in _MIXED)
            for mark, pattern, _ in encodings:
                if mark in after and len(found := pattern.split(after)) > 1:
                    after = "".join(_read_as(found, _UNDONE.__getitem__))
            if after == before:
                break
            if after not in seen:
                seen.add(after)
                yield after
        if not mixed:
            return


def spelled_undone(text: str) -> Iterator[Spelling]:
    """Yield the readings of a text after undoing its encodings once, twice and so on."""
    for encodings in _ORDERS:
        spelling = Spelling(text)
        for _ in range(ROUNDS):
            before = spelling.text
            for mark, pattern, origins in encodings:
                if mark in spelling.text:
                    spelling = spelling.replaced(pattern, _UNDONE.__getitem__, origins)
            if spelling.text == before:
                break
            yield from _read(spelling)


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
