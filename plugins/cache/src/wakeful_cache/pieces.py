"""What a conversation puts into requests, piece by piece, with a chain of hashes over it.

A piece is what one row, or one state that stays in the history, contributes. A request repeats the pieces of
the one before it, so only new ones are escaped and hashed; whether the old ones are the same is seen by the
identity of their rows.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from attrs import define, field

from wakeful.prompt import escape_item
from wakeful.types import Draft, Item, Kept, Opaque, Row, RowKind, Text, dump_item

#: Characters of hashed pieces that are remembered for all conversations of an agent together; beyond it the
#: conversation that was used longest ago is forgotten and hashed anew when it comes back.
REMEMBERED = 32 * 2**20
#: Hexadecimal characters of a link of the chain.
LINK = 32
#: What a provider calls a block with the model's reasoning contains one of these.
_REASONING = ("thinking", "reasoning")

Source = Row | Kept
Ranges = tuple[tuple[int, int], ...]


def spelled(items: Sequence[Item]) -> str:
    """Return items as JSON; the order of keys in a provider's own block is content."""
    return json.dumps([dump_item(item) for item in items], separators=(",", ":"), ensure_ascii=False)


def linked(chain: str, text: str) -> str:
    """Return the chain with one more piece."""
    raw = chain + text
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:LINK]


def is_reasoning(item: Item) -> bool:
    """Return whether an item is a provider's block of reasoning."""
    if not isinstance(item, Opaque) or not isinstance(item.data, dict):
        return False
    kind = str(item.data.get("type", ""))
    return any(word in kind for word in _REASONING)


def items_of(source: Source, left_out: Ranges) -> list[Item]:
    """Return what a source puts into a request.

    Args:
        source: a row, or state that was sent.
        left_out: (first, last) sequences of rows whose reasoning is not sent.
    """
    if isinstance(source, Kept):
        return [Text("user", source.text)]
    bare = any(first <= source.seq <= last for first, last in left_out)
    return [escape_item(item) for item in source.items if not (bare and is_reasoning(item))]


@define(eq=False)
class Pieces:
    """The pieces of one conversation as they were composed last.

    Attributes:
        rows, kept, left_out: what they were made of.
        sources: row or state of each piece.
        items: of all pieces.
        ends: number of items up to the end of each piece.
        chains: the chain at the end of each piece.
        placed: states that have a place: the row they follow is still sent.
        size: characters that were hashed.
    """

    rows: tuple[Row, ...] = ()
    kept: tuple[Kept, ...] = ()
    left_out: Ranges = ()
    sources: list[Source] = field(factory=list)
    items: list[Item] = field(factory=list)
    ends: list[int] = field(factory=list)
    chains: list[str] = field(factory=list)
    placed: list[Kept] = field(factory=list)
    size: int = 0

    @property
    def chain(self) -> str:
        """The chain over all pieces."""
        return self.chains[-1] if self.chains else ""

    def follow(self, draft: Draft, left_out: Ranges) -> Pieces:
        """Return the pieces of a draft; these ones, grown, if it only adds to them."""
        rows, kept = draft.rows, draft.kept
        grows = (
            left_out == self.left_out
            and rows[: len(self.rows)] == self.rows
            and kept[: len(self.kept)] == self.kept
        )
        after = self.rows[-1].seq if grows and self.rows else 0
        fresh = kept[len(self.kept) :] if grows else kept
        if grows and any(state.after < after for state in fresh):
            grows = False
        if not grows:
            return _grown(Pieces(left_out=left_out), rows, kept, rows, kept)
        return _grown(self, rows[len(self.rows) :], fresh, rows, kept)

    def add(self, source: Source) -> None:
        """Append a piece."""
        items = items_of(source, self.left_out)
        text = spelled(items)
        self.sources.append(source)
        self.items += items
        self.ends.append(len(self.items))
        self.chains.append(linked(self.chain, text))
        self.size += len(text)


def _grown(
    pieces: Pieces, new: Sequence[Row], fresh: Sequence[Kept], rows: tuple[Row, ...], kept: tuple[Kept, ...]
) -> Pieces:
    last = pieces.rows[-1].seq if pieces.rows else -1
    for source in _in_order(new, fresh, last):
        pieces.add(source)
        if isinstance(source, Kept):
            pieces.placed.append(source)
    pieces.rows, pieces.kept = rows, kept
    return pieces


def _in_order(rows: Sequence[Row], kept: Sequence[Kept], last: int) -> Iterator[Source]:
    """Yield rows, each with the states that follow it; states whose row is not sent are left out."""
    by_row: dict[int, list[Kept]] = {}
    for state in kept:
        by_row.setdefault(state.after, []).append(state)
    yield from by_row.pop(last, ())
    for row in rows:
        if row.kind is not RowKind.STATE:
            yield row
        yield from by_row.pop(row.seq, ())


@define(eq=False)
class Memory:
    """The pieces of conversations, the least recently used ones given up first."""

    limit: int = REMEMBERED
    _known: OrderedDict[str, Pieces] = field(factory=OrderedDict, init=False)
    _size: int = field(default=0, init=False)

    def last(self, conversation: str) -> Pieces:
        """Return what was composed last; empty pieces if nothing is remembered."""
        return self._known.get(conversation) or Pieces()

    def keep(self, conversation: str, pieces: Pieces, before: int) -> None:
        """Remember pieces.

        Args:
            conversation: whose they are.
            pieces: what was composed.
            before: their size when they were taken out.
        """
        self._size += pieces.size - before
        self._known[conversation] = pieces
        self._known.move_to_end(conversation)
        while self._size > self.limit and len(self._known) > 1:
            self._size -= self._known.popitem(last=False)[1].size
