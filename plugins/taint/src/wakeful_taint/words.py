"""The user's own words, and which values are taken from them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from attrs import field, frozen

from wakeful.types.words import exact, spellings, stands_apart, written
from wakeful_taint.texts import (
    account_places,
    address_places,
    addresses,
    codes_in,
    folded,
    found_by,
    link_places,
    links,
    plain_link,
)

#: What stands between two messages of the user; no value holds it.
APART = "\n\0\n"
#: Characters that are compared in search of one value, a place counting as some; then it is not found.
WORK, PLACE = 5_000_000, 50


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

    @_whole.default
    def _find_whole(self) -> tuple[list[int], list[int]]:
        """Return where addresses, links and account numbers start and end, those that overlap as one."""
        starts: list[int] = []
        ends: list[int] = []
        text = self._text
        for start, end in sorted((*address_places(text), *link_places(text), *account_places(text))):
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
            known = self._known[value] = any(map(self._has, spellings(value)))
        return known

    def _has(self, value: str) -> bool:
        said = exact(value)
        if not said or APART.strip() in said:
            return False
        if addresses(said) == {said}:
            return said in self._addresses
        link = plain_link(written(value))
        if link in links(written(value)):
            return link in self._links
        return any(True for _ in self._places(said))

    def _places(self, value: str) -> Iterator[int]:
        text, start = self._text, -1
        for _ in range(WORK // (len(value) + PLACE)):
            start = text.find(value, start + 1)
            if start < 0:
                return
            end = start + len(value)
            if not self._cuts(start) and not self._cuts(end) and stands_apart(text, start, end):
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
