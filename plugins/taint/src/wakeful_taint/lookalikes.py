"""How single characters are read: look-alikes, invisible ones, whatever Unicode holds to be the same.

All that a marker is made of is ASCII, so what is read is Latin-1, where searching and replacing are fastest.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

#: Letters and signs that look like others without being the same to Unicode: what its table of confusables
#: (UTS #39) has for whatever stands in markers, capitals too, and brackets and quotes that it leaves out.
_LOOKALIKES: Final = {
    ord(each): read
    for read, alike in {
        '"': "\u02ba\u201c\u201d\u201e\u201f\u2033",
        "#": "\u266f",
        "'": "\u02b9\u02bc\u2018\u2019\u201a\u201b\u2032",
        "/": "\u1735\u2041\u2044\u2215\u2571\u27cb\u29f8\u2cc6\u3033\U0001d23a",
        ":": "\u02d0\u02f8\u0589\u0903\u0a83\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789",
        "<": "\u02c2\u1438\u16b2\u2039\u276e\u2770\u27e8\u3008\U0001d236",
        ">": "\u02c3\u1433\u203a\u276f\u2771\u27e9\u3009\U00016f3f\U0001d237",
        "[": "\u2772\u3014",
        "]": "\u2773\u3015",
        "|": "\u01c0\u2223\u23d0\u2502\u2503\u2758",
        "a": "\u0251\u03b1\u0430\u13aa\u15c5\u237a\ua4ee\U000102a0\U00016f40",
        "b": (
            "\u0184\u0392\u0412\u042c\u13cf\u13f4\u1472\u15af\u15f7\ua4d0\ua7b4\U00010282\U000102a1\U00010301"
        ),
        "c": (
            "\u0441\u13df\u2ca5\ua4da\U000102a2\U00010302\U0001043d\U0001051c\U000118e9\U000118f2\U0001f74c"
        ),
        "d": "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
        "e": "\u0395\u0435\u04bd\u13ac\u212e\u22ff\u2d39\ua4f0\uab32\U00010286\U000118a6\U000118ae",
        "f": "\u03dc\u0584\u15b4\u1e9d\ua4dd\uab35\U00010287\U000102a5\U00010525\U000118c2\U0001d213",
        "g": "\u018d\u050c\u0581\u13c0\u13f3\ua4d6",
        "h": "\u0397\u041d\u04bb\u0570\u13bb\u13c2\u157c\u2c8e\ua4e7\U000102cf",
        "i": "\u0269\u0399\u03b9\u0406\u0456\u04c0\u04cf\u13a5\u2373\U000118c3",
        "j": "\u0458",
        "k": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7\U00010518",
        "l": (
            "\u0196\u13de\u14aa\u16c1\u23fd\u2c92\u2cd0\u2d4f\ua4e1\ua4f2\U0001028a\U00010309"
            "\U00010320\U0001041b\U00010526\U000118a3\U000118b2\U00016f16\U00016f28\U0001d22a"
        ),
        "m": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df\U000102b0\U00010311",
        "n": "\u039d\u0578\u057c\u2c9a\ua4e0\U00010513",
        "o": (
            "\u03bf\u03c3\u043e\u0585\u0966\u09e6\u0a66\u0ae6\u0b20\u0b66\u0be6\u0c02\u0c66\u0c82"
            "\u0ce6\u0d02\u0d20\u0d66\u0d82\u0e50\u0ed0\u101d\u1040\u10ff\u12d0\u1d11\u2c9f\u2d54\u3007"
            "\ua4f3\uab3d\U00010292\U000102ab\U0001042c\U000104ea\U00010516\U000114d0\U000118b5\U000118c8"
            "\U000118d7\U000118e0"
        ),
        "p": "\u03c1\u0440\u13e2\u146d\u2374\u2ca3\ua4d1\U00010295",
        "q": "\u051b",
        "r": (
            "\u01a6\u0433\u13a1\u13d2\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab81\U000104b4\U00016f35\U0001d216"
        ),
        "s": "\u01bd\u0455\u054f\u13d5\u13da\ua4e2\U00010296\U00010448\U000118c1\U00016f3a",
        "t": (
            "\u03a4\u0422\u13a2\u22a4\u27d9\u2ca6\ua4d4\U00010297\U000102b1\U00010315\U000118bc\U00016f0a"
            "\U0001f768"
        ),
        "u": "\u028b\u03c5\u057d\u1200\u144c\u222a\u22c3\ua4f4\ua79f\U000104f6\U000118d8\U00016f42",
        "v": (
            "\u03bd\u0475\u13d9\u142f\u2228\u22c1\u2d38\ua4e6\U0001051d\U00011706\U000118c0"
            "\U00016f08\U0001d20d"
        ),
        "w": "\u026f\u0461\u051d\u0561\u13b3\u13d4\ua4ea\U0001170a\U0001170e\U0001170f\U000118e6\U000118ef",
        "x": (
            "\u00d7\u03a7\u0445\u1541\u157d\u166d\u166e\u16b7\u2573\u292b\u292c\u2a2f\u2cac\u2d5d\ua4eb\ua7b3"
            "\U00010290\U000102b4\U00010317\U00010322\U00010527\U000118ec"
        ),
        "y": (
            "\u0263\u03a5\u03b3\u0443\u04af\u10e7\u13a9\u13bd\u1d8c\u2ca8\ua4ec\U000102b2\U000118a4"
            "\U000118dc\U00016f43"
        ),
    }.items()
    for each in alike
}
#: Letters that Unicode calls by the one that they are a form of: small capitals, with strokes, in squares.
_FORM_OF = re.compile(
    r"(?:.* )?LATIN (?:SMALL |CAPITAL )?LETTER (?:SMALL CAPITAL |SCRIPT |DOTLESS )?([A-Z])(?: WITH .*)?"
    r"|REGIONAL INDICATOR SYMBOL LETTER ([A-Z])"
)
#: The block of tag characters, which spell ASCII invisibly, and what stands in the UTF-8 of all of them.
_TAG_BLOCK: Final = range(0xE0000, 0xE0080)
TAG_BYTES: Final = b"\xf3\xa0"
#: What has no look although Unicode holds it to be a letter, a sign or nothing yet.
_IGNORED: Final = {0x115F, 0x1160, 0x2065, 0x3164, 0xFFA0, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}
_SPELLING_TAG = re.compile("[\U000e0020-\U000e007e]")
#: What breaks a marker: visible, not a letter, the same in every reading.
DOT: Final = "·"
#: A letter that is part of no marker.
_OTHER: Final = "þ"
#: A sign that is part of no marker; it does not break one, since a reader may leave it out.
_SIGN: Final = "¤"
#: Letters that read as no others, and what stands between them in sentences. Neither reads as a D, N, S or T
#: or as "<", one of which is in every marker: what begins and ends with such letters is as good as one, also
#: where the length of a special token is told.
_LETTERS: Final = (
    "\u03b2\u03b4\u03b6-\u03b8\u03ba-\u03bc\u03be\u03c0\u03c4\u03c6-\u03c9\u0411\u0414\u0416-\u0419\u041b"
    "\u041f\u0424\u0426-\u042b\u042d-\u042f\u0431\u0432\u0434\u0436-\u043d\u043f\u0442\u0444\u0446-\u044f"
    "\u0562-\u056f\u0571-\u0577\u0579-\u057b\u057e-\u0580\u0582\u0583\u0586\u05d0-\u05ea\u0620-\u064a"
    "\u0904-\u0939\u0995-\u09a8\u0a13-\u0a28\u0a93-\u0aa8\u0bae-\u0bb9\u0c12-\u0c28\u0c92-\u0ca8"
    "\u0d12-\u0d1f\u0d21-\u0d3a\u0e01-\u0e30\u10d0-\u10e6\u10e8-\u10fa\u3041-\u3096\u30a1-\u30fa"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_BETWEEN: Final = (
    "\u00ab\u00bb\u0300-\u039c\u039e-\u03a3\u03a5-\u0404\u0406-\u0421\u0423-\u0454\u0456-\u04ff"
    "\u0502-\u0547\u0549-\u054b\u054d-\u054e\u0550-\u0577\u0579-\u057b\u057d-\u06ff\u0900-\u0e7f"
    "\u10d0-\u10ff\u2010-\u2015\u2018-\u201f\u2026\u3001-\u3002\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
    "\uff01\uff0c\uff1b\uff1f"
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
        parts = (each for each in unicodedata.normalize("NFKD", spelt) if not _is_invisible(each))
        found = "".join(map(_looks_like, "".join(map(_looks_like, parts)).casefold()))
        return "".join(map(_in_latin, found[::-1] if self._flipped else found))


def _looks_like(each: str) -> str:
    """Return what a character looks like; a capital is not told by what its small letter looks like."""
    if each.isascii():
        return each
    if read := _LOOKALIKES.get(ord(each)):
        return read
    form = _FORM_OF.fullmatch(unicodedata.name(each, ""))
    return form[form.lastindex or 1].casefold() if form else each


def _in_latin(each: str) -> str:
    """Return what stands in Latin-1 for a character that is part of no marker, or that is blank."""
    if each <= "\xff":
        return each
    kind = unicodedata.category(each)
    if kind in {"Me", "Pd", "Pc"}:
        return "-"  # An enclosing mark, or a dash, ends a word, and a name is read with it and without it.
    if each.isspace() or each == "\u2800":  # of Braille
        return " "
    return _OTHER if each.isalnum() else _SIGN


def _is_invisible(each: str) -> bool:
    return unicodedata.category(each) in {"Cf", "Cc", "Mn"} or ord(each) in _IGNORED


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
