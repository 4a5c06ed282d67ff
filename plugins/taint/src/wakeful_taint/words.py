"""The user's own words, and which values are taken from them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from attrs import field, frozen

from wakeful_taint.texts import (
    addresses,
    codes,
    codes_in,
    exact,
    folded,
    links,
    plain_link,
    spellings,
    written,
)

#: Characters that make one name of what stands around them.
_BINDERS = frozenset("./\\+&=%#?~")
#: Signs of a number, marks before its places, and what only separates two numbers.
_SIGNS, _POINTS, _APART = frozenset("-\u2212"), frozenset(".,\u00b7\u066b\uff0e"), frozenset(" \n;|")
#: A number in groups of three with blanks between: what stands before the last group, a group, one more.
_BEFORE, _GROUP, _MORE = (
    re.compile(r"(?<!\d)\d{1,3} $"),
    re.compile(r"\d{3}(?!\d)"),
    re.compile(r" \d{3}(?!\d)"),
)
_LAST = re.compile(r"(?<!\d)\d{1,3}$")


@frozen
class Words:
    """What the user said in this turn.

    Args:
        text: as it was written.
    """

    text: str
    _text: str = field(init=False)
    _addresses: set[str] = field(init=False)
    _links: set[str] = field(init=False)
    _folded: set[str] = field(init=False)
    _codes: frozenset[str] = field(init=False)
    _known: dict[str, bool] = field(init=False, factory=dict)

    @_text.default
    def _spell(self) -> str:
        return exact(self.text)

    @_addresses.default
    def _find_addresses(self) -> set[str]:
        return addresses(self._text)

    @_links.default
    def _find_links(self) -> set[str]:
        return links(written(self.text))

    @_folded.default
    def _find_folded(self) -> set[str]:
        text = folded(self.text)
        return addresses(text) | links(text)

    @_codes.default
    def _find_codes(self) -> frozenset[str]:
        return codes_in(self.text)

    def have(self, value: str) -> bool:
        """Whether a value stands in the words, as a word of its own; addresses and links as a whole."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = any(map(self._has, spellings(value)))
        return known

    def _has(self, value: str) -> bool:
        said = exact(value)
        if not said:
            return False
        if addresses(said) == {said}:
            return said in self._addresses
        link = plain_link(written(value))
        if link in links(written(value)):
            return link in self._links
        return any(True for _ in self._places(said))

    def _places(self, value: str) -> Iterator[int]:
        text, start = self._text, self._text.find(value)
        while start >= 0:
            if _is_apart(text, start, start + len(value)):
                yield start
            start = text.find(value, start + 1)

    def foreign(self, text: str) -> Iterator[str]:
        """Yield addresses and links of a text that are not the user's, whoever made them up."""
        plain = folded(text)
        found = (addresses(plain) | links(plain)) - self._folded
        # What folds to the user's may still be another address.
        found |= {folded(each) for each in addresses(exact(text)) - self._addresses}
        found |= {folded(each) for each in links(written(text)) - self._links}
        yield from sorted(found)

    def foreign_codes(self, text: str) -> set[str]:
        """Return codes of a folded text that the user did not say."""
        return codes(text) - self._codes


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a word, name or number of its own, and no part of a longer one.

    The parts of an address, of a file's name, of a hyphenated name and of a number are other things than the
    whole: 50 does not stand in 50.25, 1,050, 50 000 or -50, nor shop.example.co in shop.example.co.uk.
    """
    value, before, after = text[start:end], text[max(0, start - 5) : start], text[end : end + 5]
    if value[0].isdigit() and before[-1:] in _POINTS and before:
        return False
    if _GROUP.match(value) and _BEFORE.search(before):
        return False
    if _MORE.match(after) and _LAST.search(value):
        return False
    return not (_bound(before[:-3:-1], value[0]) or _bound(after[:2], value[-1]))


def _bound(beside: str, edge: str) -> bool:
    """Whether a character and what stands beside it, the nearest first, belong together."""
    if not beside:
        return False
    near, far = beside[0], beside[1:]
    if near.isalnum() or near in {"_", "@"}:
        return True
    if edge.isdigit() and far.isdigit():
        return near not in _APART
    if not far.isalnum():
        return edge.isdigit() and near in _SIGNS
    return near in _BINDERS or unicodedata.category(near) in {"Pd", "Pc", "Cf", "Mn", "Me"}
