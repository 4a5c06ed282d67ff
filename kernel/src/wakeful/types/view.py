"""Rewrites of what is sent: results that age, arguments that shrink, room that is made when it is short.

Rows stay as they are in the store. A change stands for one item of a row in the view that is sent; the
kernel stores it, so that every later request, in whatever process, sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from attrs import evolve, field, frozen

from wakeful.types.transcript import Call, Item, Opaque, Row, View

if TYPE_CHECKING:
    from wakeful.types.run import Run


class ChangeKind(StrEnum):
    """What was done to an item of the view."""

    COMPACTED = "compacted"
    """A result is shown shorter."""
    EXPIRED = "expired"
    """A result grew too old and only a line says that it was there."""
    REMOVED = "removed"
    """The same, because there was no room."""
    SHORTENED = "shortened"
    """Long arguments of an answered call, or a long message of a person, are shown shorter."""
    DROPPED = "dropped"
    """The whole row is left out of what is sent. A person asked for it, between two runs."""


@frozen
class Change:
    """What stands for one item in the view.

    A result or text keeps its place, a call its id and name, so that pairs stay together.

    Args:
        seq: sequence of the row.
        place: the item's place in the row, from 0.
        kind: see :class:`ChangeKind`.
        text: what is shown instead: the text of a result or message, the arguments of a call (JSON).
            Words of the harness, never of the row.
        quoted: what is kept of the row's own text, below ``text``; the kernel puts it in an envelope if
            the row is not trusted. Empty in stored changes: ``text`` has it then.
        reason: why, in words.
        expandable: whether the original may be shown again on request.
        plugin: whose strategy it was; filled in by the kernel.
        saved: about how many tokens it saves; filled in by the kernel.
    """

    seq: int
    place: int
    kind: ChangeKind
    text: str
    quoted: str = ""
    reason: str = ""
    expandable: bool = False
    plugin: str = ""
    saved: int = 0


@frozen
class Rewrites:
    """The changes in force in a conversation, as they are stored; an empty one changes nothing.

    Args:
        number: how often the view was rewritten; part of the view's name.
        reason: of the last rewrite.
        share: of the budget that the request took after the last rewrite, as estimated.
        changes: (sequence, place) to what stands there.
    """

    number: int = 0
    reason: str = ""
    share: float = 0.0
    changes: Mapping[tuple[int, int], Change] = field(factory=dict, repr=False)
    _by_row: dict[int, list[Change]] = field(init=False, repr=False, eq=False)
    _made: dict[int, tuple[Row, Row]] = field(init=False, factory=dict, repr=False, eq=False)

    @_by_row.default
    def _group(self) -> dict[int, list[Change]]:
        groups: dict[int, list[Change]] = {}
        for change in self.changes.values():
            groups.setdefault(change.seq, []).append(change)
        return groups

    def apply(self, view: View) -> View:
        """Return the view with the changes; a row that has none stays the same object.

        The name of the view says which rewrite it is after and why, so that its change is a declared one.
        """
        if not self.changes:
            return view
        rows = tuple(
            self._changed(row) if row.seq in self._by_row else row
            for row in view.rows
            if not self.drops(row.seq)
        )
        return View(rows, f"{view.name} #{self.number} {self.reason}")

    def drops(self, seq: int) -> bool:
        """Whether the row of that sequence is left out of what is sent."""
        return any(change.kind is ChangeKind.DROPPED for change in self._by_row.get(seq, ()))

    def with_changes(self, changes: Sequence[Change], reason: str, share: float) -> Rewrites:
        """Return the rewrites after another one."""
        merged = {**self.changes, **{(change.seq, change.place): change for change in changes}}
        return Rewrites(self.number + 1, reason, share, merged)

    def _changed(self, row: Row) -> Row:
        made = self._made.get(row.seq)
        if made is None or made[0] is not row:
            items = list(row.items)
            for change in self._by_row[row.seq]:
                if change.place < len(items):
                    items[change.place] = changed(items[change.place], change)
            made = self._made[row.seq] = (row, evolve(row, items=tuple(items)))
        return made[1]


def changed(item: Item, change: Change) -> Item:
    """Return an item as a change shows it; a provider's own block is never touched."""
    if isinstance(item, Opaque):
        return item
    return evolve(item, args=change.text) if isinstance(item, Call) else evolve(item, text=change.text)


class Relief(Protocol):
    """A strategy that makes what is sent shorter; what it does is stored as a rewrite of the view.

    The budget is what a request may take, the tokens reserved for the reply included.
    """

    @property
    def name(self) -> str:
        """Return its name; it is part of the rewrite's reason."""
        ...

    @property
    def share(self) -> float:
        """Return the share of the budget from which it applies: 0.65 batched expiry … 1.0 overflow."""
        ...

    @property
    def until(self) -> float:
        """Return the share that is low enough: strategies of the same share are tried in order until then."""
        ...

    @property
    def order(self) -> int:
        """Return its place among those of the same share."""
        ...

    @property
    def between_runs(self) -> bool:
        """Return whether it also applies between two runs, whatever the use."""
        ...

    async def relieve(self, run: Run, view: View, excess: int) -> Sequence[Change]:
        """Return what to change, none twice.

        Args:
            run: the run with its whole rows; ``run.rewrites`` says what is changed already.
            view: what would be sent.
            excess: tokens above ``until``; never below 0. At 0 only what is due anyway is worth changing.
        """
        ...
