"""Actions that one run has more or less of than its agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wakeful import Agent
from wakeful.testing import ScriptedModel, say
from wakeful.testing.catalogue import actions
from wakeful.types import ActionChange, ActionEnded

MORE = '''
from wakeful import action


@action(effect="read", output_trust="trusted", category="shop")
def polish_silver(grams: int) -> str:
    """Polish the silver of the shop window."""
    return f"{grams} g shine"
'''


async def test_what_a_run_adds_is_found_and_run_and_what_it_lacks_is_not(
    wakeful_app: Any, tmp_path: Path
) -> None:
    (tmp_path / "more.py").write_text(MORE, encoding="utf-8")
    look = ("search_available_actions", {"queries": ["polish silver", "delete coupon shop"]})
    entries = [
        {"action_name": "polish_silver", "parameters": {"grams": 7}},
        {"action_name": "shop_delete_coupon", "parameters": {"coupon_id": "1"}},
        {"action_name": "shop_delet_coupon", "parameters": {"coupon_id": "1"}},
    ]
    run = ("execute_discovered_action", {"actions": entries})
    model = ScriptedModel([say(calls=[look]), say(calls=[run]), "Done."] * 2)
    agent = Agent(model=model, actions=actions(), plugins=["multiplexer"], folder=tmp_path)
    changes = [
        ActionChange("add", "more:polish_silver"),
        ActionChange("remove", "shop_delete_coupon"),
    ]
    told = []
    async with wakeful_app(agent) as app:
        for each in (changes, []):
            stream = app.stream("agent", "Go", conversation="c-1", action_changes=each)
            told.append([event async for event in stream if isinstance(event, ActionEnded)])
    (found, polished, dropped, near), (found_later, polished_later, dropped_later, near_later) = told
    assert "polish_silver [shop]: Polish the silver" in found.text
    assert "shop_delete_coupon" not in found.text
    assert (polished.result.code, dropped.result.code) == ("SUCCESS", "ACTION_REMOVED")
    assert "shop_delete_coupon" not in near.text
    assert "shop_delete_coupon" in near_later.text
    assert "polish_silver" not in found_later.text
    assert "shop_delete_coupon" in found_later.text
    assert (polished_later.result.code, dropped_later.result.code) == ("UNKNOWN_ACTION", "SUCCESS")
    assert len({tuple(tool.spelling for tool in request.tools) for request in model.requests}) == 1
