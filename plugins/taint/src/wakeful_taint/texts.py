"""Pieces of texts and of arguments that can be found again: leaves, addresses, links, codes."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

from wakeful.types import Json, canonical, read_json
from wakeful.types.words import exact, spellings

#: Characters that a code has at least; shorter ones are found by chance.
CODE_LENGTH = 5
#: Parts of a dashed code that are also found alone; longer ones are found whole.
CODE_PARTS = 8

# Every pattern starts where its run of characters starts and gives nothing back: no text makes it slow.
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+")
# A quote or bracket ends a link, unless its host goes on behind it: hosts may hold most of them.
_LINK = re.compile(
    r"(?<![\w+-])(?:[a-z][a-z0-9+]*+://|(?:https?|ftp):|www\.)(?=[^\s'\"<>)\]}|])"
    r"(?:[^\s'\"<>)\]}|/\\?#]|['\")}]++(?=[\w-]{0,63}+(?:\.[\w-]++)++(?![(\w])))*+"
    r"(?:[/\\?#][^\s'\"<>)\]}|]*+)?",
    re.IGNORECASE,
)
# A host after two slashes, or one that something follows, as a path, a query or a port: names of files and of
# modules are no links.
_BARE = re.compile(
    r"(?<![\w@.-])(?:(?<![:/])//(?:[\w-]++\.)+[^\W\d_][\w-]++(?![\w/\\?#:.])"
    r"|(?://)?+(?<![^/]/)(?:(?:[\w-]++\.)+[^\W\d_][\w-]++\.?+|\d{1,3}+(?:\.\d{1,3}+){3})"
    r"(?:(?::\d{2,5}+)?[/\\][^\s'\"<>)\]}|]*|[?#]\w[^\s'\"<>)\]}|]*|:\d{2,5}+(?!\w)))"
)
#: One of these is in every link; most texts have none.
_SIGNS, _PORT = ("/", "\\", "?", "#", "http", "ftp:", "www."), re.compile(r":(?<=[^\W\d]:)\d\d")
_WORD, _CODE = re.compile(r"[\w-]{5,}+"), re.compile(r"[A-Za-z_-]*+\d")
# Groups of an account or card number; dates and times are shorter.
_GROUPED = re.compile(r"(?<![\w-])(?:[A-Za-z]{2})?\d(?:(?: ?\d){8,}+|(?:-?\d){11,}+)")
_HOST = re.compile(r"(?:[A-Za-z][\w+.-]*://)?[^/?#]*")
#: What may stand around a value without making it another.
_AROUND = " \"'`,;."
_TWO_DIGITS = re.compile(r"\d\D*\d")
# Digits with one sign or blank between, and what may stand between the characters of a code.
_REGROUPED, _SIGN = re.compile(r"(?<!\w)(?<!\d[\W_])\d(?:[\W_]?\d)++"), re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_DECIMAL = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
# An account or card number in groups of four with signs between, and a telephone number with its country. The
# digits of one that is written without signs are apart from nothing anyway.
_ACCOUNT = re.compile(
    r"(?<![\w-])(?:(?:[a-z]{2}\d\d(?:[ -][a-z]{4})?(?:[ -](?=[a-z]*\d)[a-z\d]{4}){2,7}+"
    r"|\d{4}(?:[ -]\d{4}){3,7}+)(?:[ -]\d{1,4})?"
    r"|\+\d{1,4}+(?:[ ()./-]{1,2}\d{1,9}+){1,8})(?!\w)"
)
#: Wrappers of an address, which are not its first characters although mail allows them there.
_WRAPPERS = "'*_`~"
#: What mail and domain names may hold besides letters and digits, and what only joins letters of a name.
_IN_MAIL, _IN_DOMAIN, _JOINING = (
    frozenset("!#$%&'*+/=?^_`{|}~.-"),
    frozenset("_.-"),
    frozenset("\u00b7\u0375\u05f3\u05f4\u30fb"),
)
#: Joiners and selectors that nobody sees although they count as marks.
_HIDDEN = frozenset("\u034f\u180b\u180c\u180d\u180f").union(map(chr, range(0xFE00, 0xFE10)))
#: Full stops that name servers take for a dot.
_STOPS = str.maketrans({"\u3002": ".", "\uff61": "."})


def folded(text: str) -> str:
    """Return a text as a forgiving reader takes it: one case, compatible characters alike, nothing hidden.

    For finding what leads somewhere; two texts that fold to one may still be two addresses.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_STOPS)
        text = "".join(map(_plain_sign, text))
    return " ".join(text.casefold().split())


def _plain_sign(each: str) -> str:
    if each.isascii():
        return each
    if each.isdecimal():
        return str(unicodedata.decimal(each))
    return "" if unicodedata.category(each) == "Cf" or each in _HIDDEN else each


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


def addresses(text: str) -> set[str]:
    """Return the mail addresses of a text in one case, each with all that belongs to it."""
    return {text[start:end] for start, end in address_places(text)}


def address_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the mail addresses of a text in one case start and end."""
    if "@" in text:
        for found in _MAIL.finditer(text):
            yield _whole(text, *found.span())


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where an address with the characters that a mail server would take for parts of it is."""
    while start and _belongs(text[start - 1], _IN_MAIL):
        start -= 1
    if end < len(text) and _belongs(text[end], _JOINING):
        while end < len(text) and _belongs(text[end], _IN_DOMAIN):
            end += 1
    address = text[start:end]
    return end - len(address.lstrip(_WRAPPERS)), start + len(address.rstrip("."))


def _belongs(each: str, signs: frozenset[str]) -> bool:
    if each.isascii():
        return each in signs or (signs is not _JOINING and each.isalnum())
    return (
        each in _JOINING or (each.isalnum() and signs is not _JOINING) or unicodedata.category(each)[0] == "M"
    )


def account_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where account, card and telephone numbers in groups stand in a text in lower case."""
    for found in _ACCOUNT.finditer(text):
        yield found.span()


def links(text: str) -> set[str]:
    """Return the links of a text without the punctuation that follows them, each as :func:`plain_link`."""
    return {plain_link(text[start:end]) for start, end in link_places(text)}


def link_places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the links of a text start and end."""
    lower = text.lower()
    if not any(sign in lower for sign in _SIGNS) and not _PORT.search(text):
        return
    bare = _LINK.sub(lambda found: " " * len(found[0]), text)  # what a link holds is a part of it
    for found in (*_LINK.finditer(text), *_BARE.finditer(bare)):
        yield found.start(), found.start() + len(found[0].rstrip(".,;:!?"))


def plain_link(link: str) -> str:
    """Return a link without the web's scheme and its last slash, its host in lower case."""
    scheme, mark, rest = link.partition("://")
    bare = rest if mark and scheme.lower() in {"http", "https"} else link
    host = _HOST.match(bare)
    end = host.end() if host else 0
    return (bare[:end].lower() + bare[end:]).removesuffix("/")


def host_of(link: str) -> str:
    """Return the host of a link as :func:`links` gives it."""
    host = _HOST.match(link)
    return host[0] if host else ""


def codes(text: str) -> set[str]:
    """Return the codes of a folded text: account numbers, bookings, dates, other words with two digits."""
    found = {each for each in _WORD.findall(text) if _CODE.match(each) and _is_code(each)}
    for each in _GROUPED.findall(text):
        found.add(each.replace(" ", "").replace("-", ""))
    return found


@lru_cache(64)
def codes_in(text: str) -> frozenset[str]:
    """Return the codes of a text, their parts, and what they may be found by; see :func:`found_by`."""
    plain = folded(text)
    return frozenset(found_by(plain)).union(piece for code in codes(plain) for piece in parts(code))


def parts(code: str) -> Iterator[str]:
    """Yield the codes that a dashed code is made of, itself included, and it without its dashes."""
    yield code
    yield _SIGN.sub("", code)
    pieces = code.split("-")
    if 1 < len(pieces) <= CODE_PARTS:
        for start in range(len(pieces)):
            for end in range(start + 1, len(pieces) + 1):
                piece = "-".join(pieces[start:end])
                if _is_code(piece):
                    yield piece


def found_by(text: str) -> set[str]:
    """Return the codes of a folded text, and others that somebody may read in it.

    Those are its codes without dashes, long numbers in them, and its numbers without signs and blanks.
    """
    found = codes(text)
    for code in tuple(found):
        found.add(_SIGN.sub("", code))
        found.update(filter(_is_code, _DIGITS.findall(code)))
    found.update(filter(_is_code, (_SIGN.sub("", each) for each in _REGROUPED.findall(text))))
    return found


def _is_code(word: str) -> bool:
    return len(word) >= CODE_LENGTH and _TWO_DIGITS.search(word) is not None


def is_firm(text: str) -> bool:
    """Whether finding an identifier in a text is no accident: 6 characters, or 3 with a letter.

    Blanks around it and zeros behind it are not counted.
    """
    short = min(spellings(exact(text)), key=len)
    return len(short) >= 6 or (len(short) >= 3 and any(map(str.isalpha, short)))  # noqa: PLR2004  (said above)


def normal(args: Json) -> str:
    """Return arguments in a form in which the same call is the same text, whoever checked or wrote it."""
    return canonical(_plain(args))


def _plain(value: Json) -> Json:
    value = _opened(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items() if is_given(each)}
    if isinstance(value, list | tuple):
        items = list({canonical(each): each for each in map(_plain, value)}.values())
        return items[0] if len(items) == 1 else items
    text = folded(json.dumps(value) if isinstance(value, bool) else str(value)).strip(_AROUND)
    text = text.removeprefix("@")
    sign, number = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + min(spellings(number), key=len)


def _opened(value: Json) -> Json:
    """Return a list or an object that is written as text as what it is."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return read_json(value)
        except ValueError:
            return value
    return value
