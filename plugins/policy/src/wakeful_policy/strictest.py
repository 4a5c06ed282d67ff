"""Which of several judgements on one call counts, where rules are about it in part or nearly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from attrs import evolve

from wakeful.types import Judgement, Verdict

T = TypeVar("T")
_PARTLY: Final = "it reaches outside or cannot be undone, and a rule is about a part of it, or nearly"


def strictest(said: Sequence[tuple[Judgement, T]]) -> tuple[Judgement, T]:
    """Return the strictest judgement with what it comes from; of equal ones the first."""
    found, source = max(said, key=lambda each: _strictness(each[0]))
    if found.fallback and any(not each.fallback and each.verdict for each, _ in said):
        # What a rule says of an item must not yield to another plugin because of the items beside it.
        found = evolve(found, reason=_PARTLY, fallback=False)
    return found, source


def _strictness(said: Judgement) -> tuple[Verdict, bool, bool, bool, float]:
    """Return what to compare: of equal verdicts, that which fewer people may decide is the stricter."""
    return said.verdict, not said.fallback, not said.asker_decides, not said.assignee, said.confidence
