"""Messages spelled once: what of a conversation was sent before stays bytes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator

from attrs import define, field

from wakeful.types import Item, Json, clean

#: Bytes of spelled messages that are kept for all conversations of a model together.
KEPT_BYTES = 64 * 2**20

#: Makes messages of items, from a place on: (index after the last item, message or None).
Make = Callable[[tuple[Item, ...], int, frozenset[int]], Iterator[tuple[int, Json]]]


def spell(value: Json) -> bytes:
    """Return ``value`` as JSON in UTF-8; what UTF-8 cannot hold is replaced."""
    try:
        return _dumps(value).encode()
    except UnicodeEncodeError:
        return _dumps(clean(value)).encode()


def _dumps(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@define
class Thread:
    """The messages of one conversation as they were last spelled."""

    items: tuple[Item, ...] = ()
    marked: frozenset[int] = frozenset()
    ends: list[int] = field(factory=list)
    spelled: list[bytes] = field(factory=list)
    size: int = 0

    def advance(self, items: tuple[Item, ...], marked: frozenset[int], make: Make) -> list[bytes]:
        """Return all messages; only those from the first change on are made anew."""
        same = self._same(items, marked)
        while self.ends and self.ends[-1] > same:
            self._drop()
        if self.ends:
            self._drop()  # what follows may belong to the last message
        start = self.ends[-1] if self.ends else 0
        for end, message in make(items, start, marked):
            text = b"" if message is None else spell(message)
            self.ends.append(end)
            self.spelled.append(text)
            self.size += len(text)
        self.items, self.marked = items, marked
        return [text for text in self.spelled if text]

    def _drop(self) -> None:
        self.ends.pop()
        self.size -= len(self.spelled.pop())

    def _same(self, items: tuple[Item, ...], marked: frozenset[int]) -> int:
        """Return how many items from the beginning are as they were, marks included."""
        old, length = self.items, min(len(self.items), len(items))
        same = length
        if old[:length] != items[:length]:
            same = next(n for n in range(length) if old[n] is not items[n] and old[n] != items[n])
        return min(same, min(self.marked ^ marked, default=same))


@define
class Threads:
    """The conversations of a model, the least recently used ones given up first."""

    _known: OrderedDict[str, Thread] = field(factory=OrderedDict)
    _size: int = 0

    def messages(
        self, conversation: str, items: tuple[Item, ...], marked: frozenset[int], make: Make
    ) -> list[bytes]:
        """Return the messages of a conversation, made as far as they are new."""
        thread = self._known.setdefault(conversation, Thread())
        self._known.move_to_end(conversation)
        before = thread.size
        messages = thread.advance(items, marked, make)
        self._size += thread.size - before
        while self._size > KEPT_BYTES and len(self._known) > 1:
            self._size -= self._known.popitem(last=False)[1].size
        return messages
