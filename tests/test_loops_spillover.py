"""A loop's results beyond the bound are an artifact where spillover is on; no result is lost to the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import ScriptedModel, run_turn, say

pytest.importorskip("wakeful_recovery")
pytest.importorskip("wakeful_spillover")

ITEMS = 1_500


@action(effect="read", output_trust="trusted")
async def weigh(item: int) -> dict[str, Any]:
    """Weigh an item."""
    return {"grams": item * 3, "label": f"item number {item} of the warehouse"}


def test_the_results_are_an_artifact_with_a_handle(tmp_path: Path) -> None:
    call = ("for_each", {"action": "weigh", "args": {"item": "item"}, "items": list(range(ITEMS))})
    model = ScriptedModel([say(calls=[call]), "All are in [A]."])
    result = run_turn(
        Agent(model=model, actions=[weigh], plugins=["loops", "spillover"], folder=tmp_path), "Go"
    )
    (ended,) = result.calls
    assert f"for_each over items ({ITEMS:,}): {ITEMS:,} processed, 0 failed" in ended.text
    (artifact,) = ended.result.artifacts
    assert (artifact.handle, artifact.kind, artifact.rows) == ("A", "table", ITEMS)
    assert "results are shown" not in ended.text
    assert len(ended.text) < 10_000
    assert result.answer.artifacts == ("A",)
