"""An agent whose one action fails as a test says, called as often as the test likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import define, field

from wakeful import ActionError, Agent, action
from wakeful.testing import TurnResult, say
from wakeful.types import Action, ActionEnded


@define
class Shop:
    """What the agent can do, what was really done, and what fails: code to whether it may be retried."""

    fails: dict[str, tuple[str, bool | None]] = field(factory=dict)
    done: list[str] = field(factory=list)

    def actions(self) -> list[Action]:
        """Declare a reading, a writing and another reading action."""

        async def look_up(item: str) -> str:
            """Look an item up."""
            return self._do("look_up", item)

        async def place_order(item: str) -> str:
            """Order an item."""
            return self._do("place_order", item)

        async def list_items(item: str = "all") -> str:
            """List items."""
            return self._do("list_items", item)

        reads = action(effect="read", output_trust="trusted")
        return [
            reads(look_up),
            action(effect="write", output_trust="trusted")(place_order),
            reads(list_items),
        ]

    def _do(self, name: str, item: str) -> str:
        self.done.append(f"{name} {item}")
        found = self.fails.get(item)
        if found is not None:
            raise ActionError(found[0], f"{item} failed", retryable=found[1])
        return item


@pytest.fixture
def shop() -> Shop:
    """Give a shop in which nothing fails yet."""
    return Shop()


@pytest.fixture
def steps(run_turn: Callable[..., TurnResult], shop: Shop) -> Callable[..., list[ActionEnded]]:
    """Make the calls, one a step unless a step is a list, and return how they ended."""

    def play(*calls: Any, **settings: Any) -> list[ActionEnded]:
        agent = Agent(model="", actions=shop.actions(), plugins=["recovery"], settings={"recovery": settings})
        replies = [say(calls=_calls(each)) for each in calls]
        return list(run_turn(agent, "Go", replies=[*replies, "Done."]).calls)

    return play


def _calls(step: Any) -> Sequence[tuple[str, Any]]:
    many = step if isinstance(step, list) else [step]
    return [(tool, {"item": item}) for tool, item in (each.split(" ", 1) for each in many)]
