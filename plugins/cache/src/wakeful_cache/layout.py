"""Composing requests: a frozen prefix, the history as it was sent, what changed of the state at the end."""

from __future__ import annotations

from attrs import define, field, frozen

from wakeful.types import (
    AgentView,
    Break,
    Declared,
    Draft,
    Json,
    Kept,
    Request,
    Sent,
    Text,
    WakefulError,
)
from wakeful_cache.breaks import (
    agreed,
    noting,
    of_epoch,
    of_messages,
    parts_of,
    points,
    repeats,
    without_reasoning,
)
from wakeful_cache.marks import marks
from wakeful_cache.pieces import Memory, Pieces, linked, spelled
from wakeful_cache.settings import CacheSettings
from wakeful_cache.state import block, changed, texts_of

#: How sent state is retained; decided once for each epoch.
APPEND, REPLACE = "append", "replace"


@frozen
class _Tail:
    """The state of one request, and whether it stays in the history."""

    text: str
    keep: Kept | None


@define(eq=False)
class CacheLayout:
    """Fills the slot ``prompt_layout``.

    What is sent follows from the draft alone. The memory only saves hashing what was hashed before, and
    makes the description of a break exact.
    """

    settings: CacheSettings = CacheSettings()
    memory: Memory = field(factory=Memory)
    _parts: tuple[Declared, dict[str, str]] | None = field(default=None, init=False)

    def decide(self, agent: AgentView) -> dict[str, Json]:  # noqa: ARG002  (the protocol's argument)
        """Return how sent state is retained."""
        return {"retention": REPLACE if self.settings.retention == REPLACE else APPEND}

    def compose(self, draft: Draft) -> Request:
        """Return the request of a draft.

        Raises:
            WakefulError: with ``strict``, the request breaks the prefix without saying so.
        """
        declared, before = draft.epoch.declared, draft.previous
        pieces, change = self._pieces(draft)
        if change is not None and self.settings.strict and not change.declared:
            raise WakefulError(f"undeclared break of the prefix: {change.section}: {change.reason}")
        tail = self._tail(draft, pieces)
        kept = tail.keep is not None and not draft.trailing
        own = [Text("user", tail.text)] if tail.text else []
        stable = len(pieces.items) + (len(own) if kept else 0)
        repeated = before.items if before is not None and change is None else 0
        return Request(
            model=declared.model,
            tools=declared.tools,
            system=tuple(section.text for section in declared.sections),
            items=(*pieces.items, *own, *draft.trailing),
            marks=marks(draft.profile, declared, stable, repeated, pieces.size),
            cache_key=draft.conversation,
            keep=tail.keep if kept else None,
            sent=self._sent(draft, pieces, tail.keep if kept else None, change),
            change=change,
            state=len(own) + len(draft.trailing),
        )

    def _pieces(self, draft: Draft) -> tuple[Pieces, Break | None]:
        """Return the pieces, and where they stop repeating those of the request before."""
        before, old = draft.previous, self.memory.last(draft.conversation)
        size = old.size
        fresh = before is None or before.epoch != draft.epoch.id
        known = () if before is None or fresh else before.left_out
        change = None
        if fresh:
            known = without_reasoning(draft, Pieces(), 0, ())
            if before is not None:
                change = noting(of_epoch(draft, before, self._digests(draft.epoch.declared)), known)
        pieces = old.follow(draft, known)
        if before is not None and not fresh and not repeats(pieces, before):
            change = of_messages(draft, pieces, old, before)
            if change.declared:
                left_out = without_reasoning(draft, pieces, agreed(pieces, before), known)
                change = noting(change, left_out if left_out != known else ())
                pieces = pieces.follow(draft, left_out)
        self.memory.keep(draft.conversation, pieces, size)
        return pieces, change

    def _tail(self, draft: Draft, pieces: Pieces) -> _Tail:
        texts = texts_of(draft.state)
        if draft.epoch.declared.decisions.get("layout", {}).get("retention") == REPLACE:
            return _Tail(block(texts), None)
        keep = changed(texts, pieces.placed, draft.rows[-1].seq if draft.rows else 0)
        return _Tail(keep.text, keep) if keep else _Tail("", None)

    def _sent(self, draft: Draft, pieces: Pieces, keep: Kept | None, change: Break | None) -> Sent:
        chain, count, items = pieces.chain, len(pieces.chains), len(pieces.items)
        if keep is not None:  # it will be a piece of the next request
            chain, count, items = linked(chain, spelled([Text("user", keep.text)])), count + 1, items + 1
        return Sent(
            last_seq=draft.rows[-1].seq if draft.rows else 0,
            chain=chain,
            parts=self._digests(draft.epoch.declared),
            view=draft.view,
            epoch=draft.epoch.id,
            count=count,
            items=items,
            points=points(pieces, draft.previous if change is None else None),
            left_out=pieces.left_out,
        )

    def _digests(self, declared: Declared) -> dict[str, str]:
        if self._parts is None or self._parts[0] is not declared:
            tools = tuple(tool.spelling for tool in declared.tools)
            sections = tuple((section.name, section.text) for section in declared.sections)
            self._parts = (declared, parts_of(declared.model, tools, sections))
        return self._parts[1]
