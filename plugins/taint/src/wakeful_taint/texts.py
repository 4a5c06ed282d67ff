"""Pieces of texts and of arguments that can be found again: leaves, addresses, links, codes."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping

from wakeful.types import Json, canonical

#: Characters that a code has at least; shorter ones are found by chance.
CODE_LENGTH = 5
#: Parts of a dashed code that are also found alone; longer ones are found whole.
CODE_PARTS = 8

# Every pattern starts where its run of characters starts and gives nothing back: no text makes it slow.
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+")
_LINK = re.compile(r"(?<![\w+-])(?:[a-z][a-z0-9+]*+://|www\.)[^\s'\"<>)\]}|]+", re.IGNORECASE)
_BARE = re.compile(r"(?<![\w@./:-])(?:[a-z0-9-]++\.)+[a-z]{2,}+(?::\d++)?/[^\s'\"<>)\]}|]*", re.IGNORECASE)
_CODE = re.compile(r"(?<![\w-])[A-Za-z_-]*+\d[\w-]*+")
# Groups of an account or card number; dates and times are shorter.
_GROUPED = re.compile(r"(?<![\w-])(?:[A-Za-z]{2})?\d(?:(?: ?\d){8,}+|(?:-?\d){11,}+)")
_WHOLE = re.compile(r"(-?\d+)\.0+")
_TWO_DIGITS = re.compile(r"\d\D*\d")
_DECIMAL = re.compile(r"(\d+)\.(\d+)")
_SPACES = re.compile(r"\s+")


def folded(text: str) -> str:
    """Return a text as it is compared: one case, compatible characters alike, one blank between words."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(each for each in text if unicodedata.category(each) != "Cf")
    return _SPACES.sub(" ", text.casefold()).strip()


def leaves(value: Json) -> Iterator[str]:
    """Yield the texts of a JSON value: its scalars, and the names of nested objects, which carry data too."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif value is not None:
        yield str(value)


def is_given(value: Json) -> bool:
    """Whether an argument says anything: neither null nor empty."""
    return value is not None and value not in ("", [], {}, ())


def spellings(text: str) -> tuple[str, ...]:
    """Return how people write a value: a number also with two places, or as a whole one."""
    if text.isascii() and text.isdigit():
        return (text, f"{text}.00")
    found = _DECIMAL.fullmatch(text)
    if not found:
        return (text,)
    whole = (found[1],) if not found[2].strip("0") else ()
    return (text, f"{float(text):.2f}", *whole)


def addresses(text: str) -> set[str]:
    """Return the mail addresses of a folded text."""
    return set(_MAIL.findall(text)) if "@" in text else set()


def links(text: str) -> set[str]:
    """Return the links of a folded text, without scheme and last slash, so that spellings are alike."""
    found: set[str] = set()
    if "/" in text or "www." in text:
        found.update(_LINK.findall(text))
        found.update(_BARE.findall(text))
    return {plain_link(each) for each in found}


def plain_link(link: str) -> str:
    """Return a folded link without scheme, closing punctuation and last slash."""
    bare = link.split("://", 1)[-1] if link.startswith(("http://", "https://")) else link
    return bare.rstrip(".,;:!?/")


def codes(text: str) -> set[str]:
    """Return the codes of a folded text: account numbers, bookings, dates, other words with two digits."""
    found = {each for each in _CODE.findall(text) if _is_code(each)}
    for each in _GROUPED.findall(text):
        found.add(each.replace(" ", "").replace("-", ""))
    return found


def parts(code: str) -> Iterator[str]:
    """Yield the codes that a dashed code is made of, itself included."""
    yield code
    pieces = code.split("-")
    if 1 < len(pieces) <= CODE_PARTS:
        for start in range(len(pieces)):
            for end in range(start + 1, len(pieces) + 1):
                piece = "-".join(pieces[start:end])
                if _is_code(piece):
                    yield piece


def _is_code(word: str) -> bool:
    return len(word) >= CODE_LENGTH and _TWO_DIGITS.search(word) is not None


def is_firm(text: str) -> bool:
    """Whether finding an identifier in a text is no accident: 6 characters, or 3 with a letter."""
    return len(text) >= 6 or (len(text) >= 3 and any(map(str.isalpha, text)))  # noqa: PLR2004  (said above)


def normal(args: Json) -> str:
    """Return arguments in a form in which the same call is the same text, whoever checked or wrote it."""
    return canonical(_plain(args))


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items() if is_given(each)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    text = folded(json.dumps(value) if isinstance(value, bool) else str(value))
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text
