"""Estimates of tokens follow what the provider last reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wakeful import Agent, action, hookimpl
from wakeful.models import PatientModel
from wakeful.testing import FakeClock, ScriptedModel, TurnResult, say
from wakeful.types import Fragment, ModelError, Request, Run, Usage

Turn = Callable[..., TurnResult]
TEXT = "x" * 1000


class Guess:
    """A plugin that notes what it is told, before each step."""

    name = "guess"

    def __init__(self) -> None:
        self.seen: list[int] = []

    @hookimpl
    def prompt_state(self, run: Run) -> list[Fragment]:
        self.seen.append(run.estimate(TEXT))
        return []


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def rated(rate: float, *, calls: bool = True, **usage: Any) -> Callable[[Request], Any]:
    """Reply with a usage that means so many tokens for each character of the request."""

    def reply(request: Request) -> Any:
        tokens = round(len(request.canonical()) * rate)
        read = tokens // 2
        return say("Hm.", calls=["ping"] if calls else [], usage=Usage(read, 0, tokens - read, 5, **usage))

    return reply


def seen(run_turn: Turn, *replies: Any) -> list[int]:
    guess = Guess()
    run_turn(Agent(model="", actions=[ping], plugins=[guess]), "Go", replies=[*replies, "Done."])
    return guess.seen


def test_at_first_a_token_is_four_characters(run_turn: Turn) -> None:
    assert seen(run_turn) == [250]


def test_a_reported_usage_says_what_a_character_is(run_turn: Turn) -> None:
    first, *later = seen(run_turn, rated(0.5), rated(0.2))
    assert first == 250
    assert later == pytest.approx([500, 200], abs=10)


@pytest.mark.parametrize(
    "reply",
    [
        rated(0.5, reported=False),
        rated(0.0),
        rated(0.001),  # only what was not cached
        rated(40.0),  # a prompt of the server's own
    ],
)
def test_what_cannot_be_is_not_believed(run_turn: Turn, reply: Any) -> None:
    assert seen(run_turn, reply) == [250, 250]


@pytest.mark.parametrize("said", [True, False])
async def test_failed_tries_do_not_count(wakeful_app: Any, said: bool) -> None:
    class BrokenError(ModelError):
        def __init__(self, request: Request) -> None:
            spent = Usage(uncached=len(request.canonical())) if said else Usage(reported=False)
            super().__init__("network", "cut", retryable=True, usage=spent)

    class Hurried(FakeClock):
        async def sleep(self, seconds: float) -> None:
            self.advance(seconds)

    guess = Guess()
    inner = ScriptedModel([BrokenError, rated(0.5), "Done."])
    model = PatientModel((("scripted:x", inner),), Hurried(), 60.0)
    async with wakeful_app(Agent(model=model, actions=[ping], plugins=[guess])) as app:
        answer = await app.send("agent", "Go")
    assert guess.seen == pytest.approx([250, 500], abs=10)
    assert answer.usage.reported is said
    assert answer.usage.input == pytest.approx(
        (1.5 if said else 0.5) * len(inner.requests[0].canonical()), abs=2
    )


def test_an_estimate_is_rounded_up(run_turn: Turn) -> None:
    found: list[int] = []

    class Short:
        name = "short"

        @hookimpl
        def prompt_state(self, run: Run) -> list[Fragment]:
            found.extend(run.estimate(text) for text in ("", "a", "abcd", "abcde"))
            return []

    run_turn(Agent(model="", plugins=[Short()]), "Go", replies=["Done."])
    assert found == [0, 1, 1, 2]
