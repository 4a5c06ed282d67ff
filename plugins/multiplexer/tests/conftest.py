"""Agents with very many actions, before a scripted model or before the wire server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from attrs import frozen

from wakeful import Agent
from wakeful.app import App
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


@frozen
class Way:
    """A model behind one of the wire formats."""

    name: str
    model: str
    settings: Mapping[str, Json]
    searches: bool

    def url(self, wire: Any) -> str:
        return str(wire.anthropic_url if self.name == "anthropic" else wire.openai_url)


WAYS = (
    Way("anthropic", "anthropic:claude-sonnet-5", {}, searches=True),
    Way("responses", "openai:gpt-5.4", {"api": "responses"}, searches=True),
    Way("chat", "openai:gpt-5.4", {"api": "chat"}, searches=False),
)


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture
def desk(
    wire: Any, way: Way, wakeful_app: Callable[..., AbstractAsyncContextManager[App]]
) -> Callable[..., AbstractAsyncContextManager[App]]:
    """Open an agent with the kit's catalogue before the wire server."""

    def start(
        *own: Action, plugins: Sequence[Any] = ("multiplexer",), **settings: Json
    ) -> AbstractAsyncContextManager[App]:
        scheme = way.model.partition(":")[0]
        provider = {"api_key": "k", "base_url": way.url(wire), **way.settings}
        agent = Agent(
            model=way.model,
            instructions="Be brief.",
            actions=(*own, *actions()),
            plugins=plugins,
            settings={scheme: provider, **({"multiplexer": settings} if settings else {})},
        )
        return wakeful_app(agent)

    return start
