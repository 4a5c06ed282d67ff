"""Loops and the payload: what they go over, what they hand on, and conditions on it."""

from __future__ import annotations

from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import ScriptedModel, say
from wakeful.types import Result, RunStatus

WRITTEN = {
    "changes": [
        {
            "op": "new",
            "path": "",
            "value": {"people": [{"name": "Ada"}, {"name": "Bo"}], "tone": {"word": "Dear"}, "open": True},
        }
    ]
}


class Desk:
    """What the agent can do, and what was done."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def agent(self, *steps: Any) -> Agent:
        """Make the agent; its steps are calls."""

        @action(effect="write", output_trust="trusted")
        async def greet(name: str, how: dict[str, Any]) -> str:
            """Greet somebody."""
            self.done.append((name, how))
            return name

        replies: list[Any] = [*(say(calls=[call]) for call in (("change_payload", WRITTEN), *steps)), "Done."]
        return Agent(model=ScriptedModel(replies), actions=[greet], plugins=["loops", "payload"])


async def told(wakeful_app: Any, agent: Agent) -> str:
    """Run the agent and return its last result."""
    async with wakeful_app(agent) as app:
        answer = await app.send("agent", "Go", conversation="c")
        assert answer.status is RunStatus.COMPLETED, answer.error
    assert isinstance(agent.model, ScriptedModel)
    return [item.text for item in agent.model.requests[-1].items if isinstance(item, Result)][-1]


@pytest.mark.parametrize("items", [{"$from": "payload.people"}, "payload.people", "'payload.people'"])
async def test_a_loop_goes_over_the_payload_and_hands_on_what_is_in_it(wakeful_app: Any, items: Any) -> None:
    desk = Desk()
    args = {"name": "item.name", "how": {"word": "payload.tone.word", "index": "index"}}
    loop = {"action": "greet", "items": items, "args": args}
    text = await told(wakeful_app, desk.agent(("for_each", loop)))
    assert "2 processed, 0 failed" in text
    assert desk.done == [("Ada", {"word": "Dear", "index": 0}), ("Bo", {"word": "Dear", "index": 1})]


@pytest.mark.parametrize(
    ("items", "code", "words"),
    [
        ("payload.peple", "NO_SUCH_VALUE", "At its beginning there are: open, people, tone."),
        ("payload.tone.wrod", "NO_SUCH_VALUE", "**Did you mean:** `tone.word`"),
        ("payload.tone", "NO_COLLECTION", "there is no list at 'payload.tone'"),
        ("people", "NO_COLLECTION", "there is no list at 'people'"),
        ('["Ada", "Bo"]', "SUCCESS", "2 processed, 0 failed"),
    ],
)
async def test_items_that_are_a_text_are_a_place_or_a_list(
    wakeful_app: Any, items: str, code: str, words: str
) -> None:
    loop = {"action": "greet", "items": items, "args": {"name": "item", "how": {}}}
    text = await told(wakeful_app, Desk().agent(("for_each", loop)))
    assert f"**Result:** {code}" in text
    assert words in text


async def test_a_place_that_the_payload_has_not_fails_the_item(wakeful_app: Any) -> None:
    desk = Desk()
    loop = {"action": "greet", "items": [1], "args": {"name": "payload.nobody", "how": {}}}
    text = await told(wakeful_app, desk.agent(("for_each", loop)))
    assert "NO_SUCH_VALUE" in text
    assert desk.done == []


async def test_while_sees_what_its_own_iterations_wrote(wakeful_app: Any) -> None:
    closing = {"changes": [{"op": "replace", "path": "open", "value": False}]}
    loop = {"action": "change_payload", "value": "payload.open", "operator": "is_true", "args": closing}
    text = await told(wakeful_app, Desk().agent(("while", loop)))
    assert "1 processed, 0 failed" in text


async def test_while_over_what_is_not_there_runs_not_at_all(wakeful_app: Any) -> None:
    loop = {"action": "greet", "value": "payload.nothing", "operator": "is_true", "args": {}}
    text = await told(wakeful_app, Desk().agent(("while", loop)))
    assert "0 processed, 0 failed" in text
