"""Agents with very many actions, before a scripted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from wakeful import Agent
from wakeful.testing import TurnResult
from wakeful.testing.catalogue import actions
from wakeful.types import Action, Json

#: An agent's turn: replies, then settings of the plugin.
Play = Callable[..., TurnResult]


@pytest.fixture
def play(run_turn: Any) -> Play:
    """Play turns of an agent with the kit's catalogue and a scripted model."""

    def turn(
        *replies: Any,
        own: Sequence[Action] = (),
        plugins: Sequence[Any] = (),
        texts: Sequence[str] = ("Go",),
        number: int = 120,
        **settings: Json,
    ) -> TurnResult:
        agent = Agent(
            model="",
            actions=(*own, *actions(number)),
            plugins=("multiplexer", *plugins),
            settings={"multiplexer": settings},
        )
        result: TurnResult = run_turn(agent, *texts, replies=[*replies, "Done."])
        return result

    return turn
