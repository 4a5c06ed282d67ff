"""Conversations of the tests of the lifecycle: an agent that looks things up, one turn after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from wakeful import Agent, action
from wakeful import open as open_app
from wakeful.testing import FakeClock, FakeIds, ScriptedModel, say
from wakeful.types import (
    Action,
    ActionContext,
    Answer,
    Call,
    Event,
    Expiration,
    MessageChanged,
    Profile,
    Request,
    Result,
    RunEnded,
)

#: A window in which nothing is short.
WIDE = Profile("scripted", window=200_000, output=1_000)


def report(number: int, characters: int) -> str:
    """Return a text of that length that names its number at the start and at the end."""
    middle = f"the report {number} goes on about other things; "
    text = f"report {number} begins. " + middle * (characters // len(middle) + 1)
    return text[:characters] + f" (end of {number})"


def look_up(characters: int = 2_000, **declared: Any) -> Action:
    """Declare the action that returns a report."""

    @action(effect="read", output_trust=declared.pop("output_trust", "trusted"), **declared)
    async def look_up(n: int, note: str = "") -> str:
        """Look a report up."""
        return report(n, characters)

    return look_up


def loop(**declared: Any) -> Action:
    """Declare an action whose results are of the type of a loop's."""

    async def run(args: Mapping[str, Any], ctx: ActionContext) -> Any:
        from wakeful.types import ActionResult, Trust

        return ActionResult(outputs={"text": report(args["n"], 2_000)}, trust=Trust.TRUSTED)

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return Action(
        "Go Through", "Go through many.", schema, run, message_type="loop-result", idempotent=True, **declared
    )


def called(number: int, tool: str = "look_up", **args: Any) -> list[Any]:
    """Return the replies of a turn with one call."""
    return [say(calls=[(tool, {"n": number, **args})]), f"Turn {number} is done."]


@frozen
class Played:
    """What a conversation gave."""

    answers: tuple[Answer, ...]
    events: tuple[Event, ...]
    requests: tuple[Request, ...]

    @property
    def changes(self) -> list[MessageChanged]:
        """What changed in what was sent, in order."""
        return [event for event in self.events if isinstance(event, MessageChanged)]


def agent_of(model: ScriptedModel, actions: Sequence[Action], **given: Any) -> Agent:
    """Return an agent with the lifecycle."""
    given = {"plugins": ["lifecycle"], **given}
    return Agent(model=model, actions=list(actions), **given)


def play(
    agent: Agent,
    texts: Sequence[str],
    *,
    options: Mapping[int, Mapping[str, Any]] | None = None,
    conversation: str = "c",
    first: int = 0,
) -> Played:
    """Run turns of one conversation; ``options`` are those of a turn, by its number from 0."""
    events: list[Event] = []

    async def run() -> None:
        ids = FakeIds()
        ids.skip("run", first)
        async with open_app(agent, clock=FakeClock(), ids=ids) as app:
            assert not app.problems("agent"), app.problems("agent")
            for number, text in enumerate(texts):
                given = (options or {}).get(number)
                stream = app.stream("agent", text, conversation=conversation, options=given)
                events.extend([event async for event in stream])

    asyncio.run(run())
    answers = tuple(event.answer for event in events if isinstance(event, RunEnded))
    model: Any = agent.model
    return Played(answers, tuple(events), tuple(model.requests))


def at(folder: Path) -> str:
    """Return the address of a database in a folder."""
    return f"sqlite:///{folder / 'wakeful.db'}"


def paired(request: Request) -> bool:
    """Return whether every call of a request has its result behind it, and every result its call before."""
    open_calls: list[str] = []
    for item in request.items:
        if isinstance(item, Call):
            open_calls.append(item.id)
        elif isinstance(item, Result):
            if item.call_id not in open_calls:
                return False
            open_calls.remove(item.call_id)
    return not open_calls


def texts_of(request: Request) -> list[str]:
    """Return the texts of the results in a request."""
    return [item.text for item in request.items if isinstance(item, Result)]


__all__ = [
    "WIDE",
    "Expiration",
    "Played",
    "agent_of",
    "at",
    "called",
    "look_up",
    "loop",
    "paired",
    "play",
    "report",
    "texts_of",
]
