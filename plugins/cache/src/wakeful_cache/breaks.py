"""Where a request stops repeating the one before it of its conversation."""

from __future__ import annotations

from attrs import evolve

from wakeful.prompt import excerpts
from wakeful.types import Break, Draft, Kept, RowKind, Sent, digest
from wakeful_cache.pieces import Pieces, Ranges, Source, is_reasoning, items_of, spelled

#: Hexadecimal characters of the chain at a place that is remembered.
POINT = 16
#: Places are kept where their distance from the end is at least this share larger than that of the next one.
SPACING = 0.25
#: Rows that belong to a tool loop, which keeps its reasoning as long as it lasts.
_LOOP = frozenset({RowKind.ASSISTANT, RowKind.RESULT, RowKind.STATE})


def repeats(pieces: Pieces, before: Sent) -> bool:
    """Return whether the pieces begin with those of the request before."""
    if not before.count:
        return True
    return len(pieces.chains) >= before.count and pieces.chains[before.count - 1] == before.chain


def agreed(pieces: Pieces, before: Sent) -> int:
    """Return how many pieces are surely the same, by the places that were remembered.

    The answer follows from what is stored alone: it decides what is sent, which must not depend on the
    memory of a process.
    """
    sure = 0
    for count, chain in sorted(before.points):
        if count <= len(pieces.chains) and pieces.chains[count - 1].startswith(chain):
            sure = count
    return sure


def points(pieces: Pieces, before: Sent | None) -> tuple[tuple[int, str], ...]:
    """Return places to remember: the end, and ever fewer the further back."""
    end = len(pieces.chains)
    known = {count for count, _ in before.points} if before else set()
    kept, last = [end], 0.0
    for count in sorted((count for count in known if 0 < count < end), reverse=True):
        if (end - count) >= last * (1 + SPACING):
            kept.append(count)
            last = end - count
    return tuple((count, pieces.chains[count - 1][:POINT]) for count in sorted(kept) if count)


def without_reasoning(draft: Draft, pieces: Pieces, sure: int, known: Ranges) -> Ranges:
    """Return the rows whose reasoning is left out after something before it has changed.

    Reasoning is signed or encrypted with what led to it. What a tool loop that is still open has thought
    stays: providers refuse to go on without it.

    Args:
        draft: what is composed.
        pieces: its pieces.
        sure: how many of them are the same as before.
        known: what is left out already.
    """
    rows = draft.rows
    last = next((row.seq for row in reversed(rows) if row.kind not in _LOOP), 0)
    source = pieces.sources[sure - 1] if sure else None
    first = 0 if source is None else _seq(source) + 1
    if not any(first <= row.seq <= last and any(map(is_reasoning, row.items)) for row in rows):
        return known
    ranges = sorted({*known, (first, last)})
    merged = [ranges[0]]
    for low, high in ranges[1:]:
        if low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _seq(source: Source) -> int:
    return source.after if isinstance(source, Kept) else source.seq


def of_epoch(draft: Draft, before: Sent, parts: dict[str, str]) -> Break:
    """Return the break that a new epoch is."""
    if draft.epoch.change is not None:
        return draft.epoch.change
    names = dict.fromkeys([*parts, *before.parts])
    section = next((name for name in names if parts.get(name) != before.parts.get(name)), "decisions")
    return Break(section.replace(":", " "), draft.epoch.reason, declared=True)


def of_messages(draft: Draft, pieces: Pieces, old: Pieces, before: Sent) -> Break:
    """Return where the messages differ, as exactly as is remembered.

    Args:
        draft: what is composed.
        pieces: its pieces.
        old: what this process remembers of the request before, if anything.
        before: its fingerprint.
    """
    declared = draft.view != before.view
    reason = f"view {draft.view}" if declared else "was sent before and is sent otherwise"
    place = agreed(pieces, before)
    remembered = len(old.chains) >= before.count and old.chains[before.count - 1] == before.chain
    if not remembered:
        return Break(_called(pieces, place), reason, declared)
    pairs = zip(pieces.chains, old.chains, strict=False)
    place = next((n for n, (x, y) in enumerate(pairs) if x != y), min(len(pieces.chains), len(old.chains)))
    was = spelled(items_of(old.sources[place], old.left_out)) if place < len(old.sources) else ""
    now = spelled(items_of(pieces.sources[place], pieces.left_out)) if place < len(pieces.sources) else ""
    cut = excerpts(was, now)
    return Break(_called(old, place), reason, declared, before=cut[0], after=cut[1])


def _called(pieces: Pieces, place: int) -> str:
    if place >= len(pieces.sources):
        return f"message {_seq(pieces.sources[-1])}" if pieces.sources else "messages"
    source = pieces.sources[place]
    return f"state after message {source.after}" if isinstance(source, Kept) else f"message {source.seq}"


def noting(change: Break, left_out: Ranges) -> Break:
    """Return the break, its reason saying which reasoning is left out from here on."""
    if not left_out:
        return change
    messages = ", ".join(f"{max(first, 1)} to {last}" for first, last in left_out)
    return evolve(change, reason=f"{change.reason}; reasoning in messages {messages} is left out")


def parts_of(model: str, tools: tuple[str, ...], sections: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the digests of what comes before the messages."""
    return {
        "model": model,
        "tools": digest("\n".join(tools)),
        **{f"section:{name}": digest(text) for name, text in sections},
    }
