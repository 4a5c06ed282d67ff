"""What is given up when the context is full, in order, until there is room again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import field, frozen

from wakeful.types import Change, ChangeKind, RowKind, Run, Text, View
from wakeful_recovery.lifecycle.ages import Aged, results
from wakeful_recovery.lifecycle.shorter import cut, gone, trimmed

#: Share of the budget that is room enough: below it no further strategy is tried.
ENOUGH = 0.8
#: The figures of the five strategies, in turns, tokens and characters (spec of actions, "Overflow").
REMOVE_FIRST, COMPACT, REMOVE_NEXT = 5, 3, 2
COMPACT_CHARS, LONG_TOKENS, LAST_CHARS, MESSAGE_CHARS = 500, 200, 200, 1_000

Propose = Callable[[Run, View], Iterator[Change]]


@frozen
class Overflow:
    """One strategy. It goes from the oldest to the newest and stops when enough is freed."""

    name: str
    order: int
    propose: Propose = field(repr=False)
    share: float = 1.0
    until: float = ENOUGH
    between_runs: bool = False

    async def relieve(self, run: Run, view: View, excess: int) -> Sequence[Change]:
        """Return the changes that free ``excess`` tokens, or all there are."""
        shown = {(row.seq, place): item for row in view.rows for place, item in enumerate(row.items)}
        found, freed = [], 0
        for change in self.propose(run, view):
            if freed >= excess:
                break
            item = shown[change.seq, change.place]
            before = item.text if hasattr(item, "text") else ""
            after = change.text + change.quoted
            if len(after) < len(before):
                freed += run.estimate(before) - run.estimate(after)
                found.append(change)
        return found


def _removed(turns: int) -> Propose:
    def propose(run: Run, view: View) -> Iterator[Change]:
        reason = f"no room, and {turns} turns old or more"
        for result in _standing(run, view):
            if result.age >= turns:
                yield gone(result, ChangeKind.REMOVED, reason)

    return propose


def _compacted(run: Run, view: View) -> Iterator[Change]:
    reason = f"no room, and {COMPACT} turns old or more"
    for result in _standing(run, view):
        if result.age >= COMPACT and len(result.text) > COMPACT_CHARS:
            yield cut(result, COMPACT_CHARS, reason, expandable=False)


def _all_compacted(run: Run, view: View) -> Iterator[Change]:
    reason = f"no room, and over {LONG_TOKENS} tokens"
    for result in _standing(run, view):
        if run.estimate(result.text) > LONG_TOKENS:
            yield cut(result, LAST_CHARS, reason, expandable=False)


def _message_trimmed(run: Run, view: View) -> Iterator[Change]:
    kinds = {RowKind.USER, RowKind.STEER, RowKind.INBOUND}
    for row in reversed(view.rows):
        if row.kind in kinds:
            for place, item in enumerate(row.items):
                fresh = (row.seq, place) not in run.rewrites.changes
                if fresh and isinstance(item, Text) and len(item.text) > MESSAGE_CHARS:
                    text = trimmed(item.text, MESSAGE_CHARS)
                    kind = ChangeKind.SHORTENED
                    yield Change(row.seq, place, kind, "", text, "no room, and the last message is long")
            return


def _standing(run: Run, view: View) -> Iterator[Aged]:
    """Yield the results that are still there, oldest first."""
    ended = {ChangeKind.EXPIRED, ChangeKind.REMOVED}
    for result in results(run, view):
        change = run.rewrites.changes.get(result.key)
        if change is None or change.kind not in ended:
            yield result


def strategies() -> tuple[Overflow, ...]:
    """Return the five strategies in their order."""
    return (
        Overflow("remove-old", 1, _removed(REMOVE_FIRST)),
        Overflow("compact-old", 2, _compacted),
        Overflow("remove-recent", 3, _removed(REMOVE_NEXT)),
        Overflow("compact-all", 4, _all_compacted),
        Overflow("trim-message", 5, _message_trimmed),
    )
