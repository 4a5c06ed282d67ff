"""Numbers as people write them: amounts in local formats, account and telephone numbers in groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

# An amount whose marks leave one reading: groups and places marked differently, blanks or apostrophes
# between groups, several groups, or two places after a comma. 1,500 is not among them: it may be either.
_AMOUNT = re.compile(
    r"(?<![\w.,'\u2019\u2212-])(?<!\d )"
    r"(?:\d{1,3}+(?P<mark>[ '\u2019])\d{3}(?:(?P=mark)\d{3})*+(?:[.,]\d\d?)?"
    r"|\d{1,3}+(?:,\d{3})++\.\d\d?|\d{1,3}+(?:\.\d{3})++,\d\d?"
    r"|\d{1,3}+(?:,\d{3}){2,}+|\d{1,3}+(?:\.\d{3}){2,}+"
    r"|\d++,\d\d)"
    r"(?![\w'\u2019]|[.,]\w| \d)"
)
_PLACES = re.compile(r"[.,](\d\d?)$")
_NO_DIGIT = re.compile(r"\D")
# An account or card number in groups of four, and a telephone number with its country.
_ACCOUNT = re.compile(
    r"(?<![\w-])(?:(?:[a-z]{2}\d\d(?:[ -]?[a-z]{4})?|\d{4})"
    r"(?:[ -]?(?=[a-z]*\d)[a-z\d]{4}){2,7}+(?:[ -]?\d{1,4})?"
    r"|\+\d(?:[ ()./-]{0,2}\d){6,14})(?!\w)"
)
_BETWEEN = str.maketrans("", "", " ()./-")


def amounts(text: str) -> set[str]:
    """Return the amounts of a text that are not written plainly, as plain decimals without needless zeros."""
    found = set()
    for each in _AMOUNT.finditer(text):
        places = _PLACES.search(each[0]) if "," in each[0] or "." in each[0] else None
        whole = _NO_DIGIT.sub("", each[0][: places.start()] if places else each[0])
        found.add(plain_number(f"{whole}.{places[1]}" if places else whole))
    return found


def plain_number(text: str) -> str:
    """Return a decimal without zeros behind its places."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def accounts(text: str) -> Iterator[re.Match[str]]:
    """Yield where account and telephone numbers stand in a text in lower case."""
    return _ACCOUNT.finditer(text)


def account(text: str) -> str:
    """Return an account or telephone number without what stands between its groups; empty if it is none."""
    return text.translate(_BETWEEN) if _ACCOUNT.fullmatch(text) else ""
