"""The prefix: frozen for an epoch, and every change of it recorded with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from wakeful import Agent, action, hookimpl
from wakeful.testing import Database, ScriptedModel
from wakeful.types import EpochStarted, Section


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


@action(effect="read", output_trust="trusted")
async def pong() -> str:
    """Pong."""
    return "ping"


@action("Ping", effect="read", output_trust="trusted")
async def other_ping(host: str) -> str:
    """Ping a host.

    Args:
        host: which.
    """
    return host


class House:
    """Brings sections."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    @hookimpl
    def prompt_sections(self) -> Any:
        return [Section(name, 10, text) for name, text in reversed(self.texts.items())]


async def turn(wakeful_app: Any, **agent: Any) -> tuple[list[EpochStarted], ScriptedModel]:
    """Run one turn of conversation c and return the epochs it started and the model."""
    model = ScriptedModel(["Fine."])
    async with wakeful_app(Agent(model=model, **agent)) as app:
        events = [event async for event in app.stream("agent", "Hi", conversation="c")]
    return [event for event in events if isinstance(event, EpochStarted)], model


async def test_the_first_turn_starts_an_epoch_and_the_next_keeps_it(
    wakeful_app: Any, store: Database
) -> None:
    (first,), one = await turn(wakeful_app, actions=[ping], instructions="Be kind.")
    again, two = await turn(wakeful_app, actions=[ping], instructions="Be kind.")
    assert (first.epoch, first.reason) == (1, "first turn")
    assert again == []
    assert one.requests[0].tools == two.requests[0].tools
    assert len(store.rows("select * from epoch")) == 1
    assert len(store.rows("select * from declaration")) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"actions": [ping, pong]}, "tools: +pong"),
        ({"actions": []}, "tools: -ping"),
        ({"actions": [other_ping]}, "tools: ~ping"),
        ({"instructions": "Be brief."}, "sections: instructions"),
        ({"plugins": [House(b="B", a="A")]}, "sections: a, b"),
        (
            {"actions": [pong], "instructions": ""},
            "tools: +pong -ping; sections: instructions",
        ),
    ],
)
async def test_a_change_starts_a_new_epoch_that_says_why(
    wakeful_app: Any, store: Database, change: dict[str, Any], reason: str
) -> None:
    before: dict[str, Any] = {"actions": [ping], "instructions": "Be kind."}
    await turn(wakeful_app, **before)
    (started,), _ = await turn(wakeful_app, **before | change)
    assert (started.epoch, started.reason) == (2, reason)
    epochs = store.rows("select id, reason from epoch order by id")
    assert epochs == [{"id": 1, "reason": "first turn"}, {"id": 2, "reason": reason}]
    back, _ = await turn(wakeful_app, **before)
    assert back[0].epoch == 3
    assert len(store.rows("select * from declaration")) == 2


async def test_the_order_of_actions_and_plugins_makes_no_difference(wakeful_app: Any) -> None:
    class Other(House):
        """The same under another name."""

    plugins = [House(b="B", z="Z"), Other(a="A")]
    _, one = await turn(wakeful_app, actions=[ping, pong], plugins=plugins)
    again, two = await turn(wakeful_app, actions=[pong, ping], plugins=plugins[::-1])
    assert again == []
    assert one.requests[0].system == two.requests[0].system == ("A", "B", "Z")
    assert [tool.name for tool in two.requests[0].tools] == ["ping", "pong"]


async def test_conversations_have_epochs_of_their_own(wakeful_app: Any) -> None:
    async with wakeful_app(Agent(model=ScriptedModel(["Fine."]))) as app:
        for conversation in "ab":
            events = [event async for event in app.stream("agent", "Hi", conversation=conversation)]
            assert [event.epoch for event in events if isinstance(event, EpochStarted)] == [1]
