"""The user's own words, and which values are taken from them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator

from attrs import field, frozen

from wakeful_taint.numbers import account, accounts, amounts, plain_number
from wakeful_taint.texts import (
    address_places,
    addresses,
    codes_in,
    exact,
    folded,
    found_by,
    host_of,
    is_number,
    link_places,
    links,
    plain_link,
    recipients,
    spellings,
    written,
)

#: What stands between two messages of the user; no value holds it.
APART = "\n\0\n"
#: Characters that make one name of what stands around them.
_BINDERS = frozenset("./\\+&=%#?~")
#: At signs, slashes, and what a name may begin behind.
_AT, _SLASHES, _OPENING = frozenset("@\uff20\ufe6b"), frozenset("/\\"), frozenset(" ([{<,;|")
#: Signs of a number, marks before its places, and what only separates two numbers.
_SIGNS, _POINTS, _SPACED = frozenset("-\u2212"), frozenset(".,\u00b7\u066b\uff0e"), frozenset(" \n;|")
#: A number in groups of three with blanks between: what stands before the last group, a group, one more.
_BEFORE, _GROUP, _MORE = (
    re.compile(r"(?<!\d)\d{1,3} $"),
    re.compile(r"\d{3}(?!\d)"),
    re.compile(r" \d{3}(?!\d)"),
)
_LAST = re.compile(r"(?<!\d)\d{1,3}$")
#: Characters that are compared in search of one value, a place counting as some; then it is not found.
WORK, PLACE = 5_000_000, 50
#: Characters beside a value that are looked at, and of its own edges.
_FAR, _EDGE = 16, 4


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
    _amounts: set[str] = field(init=False)
    _accounts: set[str] = field(init=False)
    _whole: tuple[list[int], list[int]] = field(init=False)
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

    @_amounts.default
    def _find_amounts(self) -> set[str]:
        return amounts(self._text)

    @_accounts.default
    def _find_accounts(self) -> set[str]:
        return {account(found[0]) for found in accounts(self._text)}

    @_whole.default
    def _find_whole(self) -> tuple[list[int], list[int]]:
        """Return where addresses, links and account numbers start and end, those that overlap as one."""
        starts: list[int] = []
        ends: list[int] = []
        text = self._text
        numbers = (found.span() for found in accounts(text))
        for start, end in sorted((*address_places(text), *link_places(text), *numbers)):
            if ends and start < ends[-1]:
                ends[-1] = max(end, ends[-1])
            else:
                starts.append(start)
                ends.append(end)
        return starts, ends

    def have(self, value: str) -> bool:
        """Whether a value stands in the words, as a word of its own; addresses and links as a whole."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = any(map(self._has, spellings(value))) or self._has_amount(value)
        return known

    def _has_amount(self, value: str) -> bool:
        return is_number(value) and plain_number(value) in self._amounts

    def _has(self, value: str) -> bool:
        said = exact(value)
        if not said or APART.strip() in said:
            return False
        if addresses(said) == {said}:
            return said in self._addresses
        several = recipients(value)
        if several:
            return all(map(self.have, several))
        number = account(said)
        if number:
            return number in self._accounts
        link = plain_link(written(value))
        if link in self._links:
            return True
        if link in links(written(value)):
            # A host that was named without a scheme is the same page.
            return link == host_of(link) and any(True for _ in self._places(exact(link)))
        return any(True for _ in self._places(said))

    def _places(self, value: str) -> Iterator[int]:
        text, start = self._text, -1
        for _ in range(WORK // (len(value) + PLACE)):
            start = text.find(value, start + 1)
            if start < 0:
                return
            end = start + len(value)
            if not self._cuts(start) and not self._cuts(end) and _is_apart(text, start, end):
                yield start

    def _cuts(self, place: int) -> bool:
        """Whether a place is inside of an address, a link or an account number."""
        starts, ends = self._whole
        at = bisect_left(starts, place) - 1
        return at >= 0 and place < ends[at]

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
        return found_by(text) - self._codes


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a word, name or number of its own, and no part of a longer one.

    The parts of an address, of a file's name, of a hyphenated name and of a number are other things than the
    whole: 50 does not stand in 50.25, 1,050, 50 000 or -50, nor shop.example.co in shop.example.co.uk.
    """
    first, last = text[start : min(end, start + _EDGE)], text[max(start, end - _EDGE) : end]
    before, after = _visible(text[max(0, start - _FAR) : start]), _visible(text[end : end + _FAR])
    if first[0].isdigit() and before[-1:] in _POINTS:
        return False
    if _GROUP.match(first) and _BEFORE.search(before):
        return False
    if _MORE.match(after) and _LAST.search(last):
        return False
    return not (_begun(before[::-1]) or _bound(before[::-1], first[0]) or _bound(after, last[-1]))


def _visible(text: str) -> str:
    """Return a text without characters that nobody sees."""
    return text if text.isascii() else "".join(each for each in text if unicodedata.category(each) != "Cf")


def _begun(before: str) -> bool:
    """Whether what stands before a value, the nearest first, begins a path or an address that it ends."""
    near, far = before[:1], before[1:2]
    return bool(far) and far not in _OPENING and (near in _SLASHES or near in _AT)


def _bound(beside: str, edge: str) -> bool:
    """Whether a character and what stands beside it, the nearest first, belong together."""
    if not beside:
        return False
    near, far = beside[0], beside[1:2]
    if near.isalnum() or near == "_" or unicodedata.category(near)[0] == "M":
        return True
    if edge.isdigit() and (far.isdigit() or beside.lstrip(".\u2026")[:1].isdigit()):
        return near not in _SPACED
    if not far.isalnum():
        return edge.isdigit() and near in _SIGNS
    return near in _BINDERS or near in _AT or unicodedata.category(near) in {"Pd", "Pc"}
