"""The user's own words, and which values are taken from them."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from wakeful_taint.texts import addresses, codes, folded, links, parts, plain_link, spellings


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
    _codes: set[str] = field(init=False)
    _known: dict[str, bool] = field(init=False, factory=dict)

    @_text.default
    def _fold(self) -> str:
        return folded(self.text)

    @_addresses.default
    def _find_addresses(self) -> set[str]:
        return addresses(self._text)

    @_links.default
    def _find_links(self) -> set[str]:
        return links(self._text)

    @_codes.default
    def _find_codes(self) -> set[str]:
        return {piece for code in codes(self._text) for piece in parts(code)}

    def have(self, value: str) -> bool:
        """Whether a value stands in the words, as a word of its own; addresses and links as a whole."""
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = any(self._has(folded(each)) for each in spellings(value))
        return known

    def _has(self, value: str) -> bool:
        if not value:
            return False
        if addresses(value) == {value}:
            return value in self._addresses
        if links(value) == {plain_link(value)}:
            return plain_link(value) in self._links
        return any(True for _ in self._places(value))

    def _places(self, value: str) -> Iterator[int]:
        text, start = self._text, self._text.find(value)
        while start >= 0:
            if _is_apart(text, start, start + len(value)):
                yield start
            start = text.find(value, start + 1)

    def foreign(self, text: str) -> Iterator[str]:
        """Yield addresses and links of a folded text that are not the user's, whoever made them up."""
        yield from sorted(addresses(text) - self._addresses)
        yield from sorted(links(text) - self._links)

    def foreign_codes(self, text: str) -> set[str]:
        """Return codes of a folded text that the user did not say."""
        return codes(text) - self._codes


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a word, name or number of its own."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if _joins(before) or _joins(after):
        return False
    # A part of a longer number is another number: 50 does not stand in 50.25 or 1,050.
    if text[end - 1].isdigit() and after in {".", ","} and text[end + 1 : end + 2].isdigit():
        return False
    within = before in {".", ","} and text[max(0, start - 2) : start - 1].isdigit()
    return not (within and text[start].isdigit())


def _joins(each: str) -> bool:
    return bool(each) and (each.isalnum() or each in {"_", "@"})
