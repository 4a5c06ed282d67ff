"""What ends a run before the model does: limits, time-outs, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from wakeful import Agent, Limits, action
from wakeful.store.verify import verify
from wakeful.testing import Database, FakeClock, Gate, ScriptedModel, TurnResult, say, shown
from wakeful.types import (
    RunStatus,
)

Turn = Callable[..., TurnResult]


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def gated(gate: Gate, **settings: Any) -> Any:
    """Return an action that stands at a gate."""

    @action("Work", effect="read", output_trust="trusted", **settings)
    async def work() -> str:
        """Work."""
        await gate.wait()
        return "worked"

    return work


async def legal(app: Any) -> list[str]:
    """Return what is wrong with any transcript of the application's database."""
    found: list[str] = await app.store.read(lambda conn: [str(problem) for problem in verify(conn)])
    return found


# ---- limits


def test_the_step_limit_ends_the_run_with_an_answer_that_says_so(run_turn: Turn) -> None:
    agent = Agent(model="", actions=[ping], limits=Limits(steps=2))
    result = run_turn(agent, "Go", replies=[say(calls=["ping"])] * 5)
    assert result.answer.status is RunStatus.LIMIT_REACHED
    assert "limit of 2 steps" in result.answer.text
    assert "2 steps" in result.answer.error
    assert len(result.requests) == 2
    assert result.rows[-1].kind.value == "result"


def test_the_step_limit_is_not_reached_by_a_run_that_ends_in_time(run_turn: Turn) -> None:
    agent = Agent(model="", actions=[ping], limits=Limits(steps=2))
    assert run_turn(agent, "Go", replies=[say(calls=["ping"]), "Done."]).answer.text == "Done."


def test_the_token_limit_ends_the_run(run_turn: Turn) -> None:
    agent = Agent(model="", actions=[ping], limits=Limits(tokens=100))
    cheap = say(calls=["ping"], usage={"uncached": 30, "output": 10})
    result = run_turn(agent, "Go", replies=[cheap] * 9)
    assert result.answer.status is RunStatus.LIMIT_REACHED
    assert "100 tokens (120 used)" in result.answer.text
    assert len(result.requests) == 3


def test_the_cost_limit_ends_the_run(run_turn: Turn) -> None:
    agent = Agent(model="", actions=[ping], limits=Limits(cost=0.25))
    result = run_turn(agent, "Go", replies=[say(calls=["ping"], usage={"cost": 0.2})] * 9)
    assert result.answer.status is RunStatus.LIMIT_REACHED
    assert "$0.25 ($0.4000 spent)" in result.answer.text


def test_no_limits_means_none(run_turn: Turn) -> None:
    agent = Agent(model="", actions=[ping], limits=Limits(steps=0, seconds=0))
    replies = [*[say(calls=["ping"])] * 60, "Done."]
    assert run_turn(agent, "Go", replies=replies).answer.text == "Done."


async def test_the_time_limit_interrupts_the_model(
    wakeful_app: Any, clock: FakeClock, store: Database
) -> None:
    gate = Gate()
    model = ScriptedModel([say(calls=["ping"]), say("Too late.", wait=gate)])
    agent = Agent(model=model, actions=[ping], limits=Limits(seconds=60))
    async with wakeful_app(agent) as app:
        sending = asyncio.ensure_future(app.send("agent", "Go"))
        await gate.reached()
        clock.advance(59)
        await asyncio.sleep(0)
        assert not sending.done()
        clock.advance(1)
        answer = await sending
        assert answer.status is RunStatus.LIMIT_REACHED
        assert "60 seconds" in answer.text
        assert await legal(app) == []
    assert [row["status"] for row in store.rows("select status from step order by number")] == [
        "closed",
        "failed",
    ]


async def test_the_time_limit_interrupts_actions_that_still_run(wakeful_app: Any, clock: FakeClock) -> None:
    gate = Gate()
    model = ScriptedModel([say(calls=["ping", "work"]), "never asked"])
    agent = Agent(model=model, actions=[ping, gated(gate)], limits=Limits(seconds=60))
    async with wakeful_app(agent) as app:
        sending = asyncio.ensure_future(app.send("agent", "Go"))
        await gate.reached()
        clock.advance(60)
        answer = await sending
        assert answer.status is RunStatus.LIMIT_REACHED
        assert "60 seconds" in answer.text
        assert await legal(app) == []
    assert len(model.requests) == 1


# ---- time-outs


async def test_an_action_that_takes_too_long_is_given_up(wakeful_app: Any, clock: FakeClock) -> None:
    gate, cleaned = Gate(), asyncio.Event()

    @action(effect="read", output_trust="trusted", timeout_s=5)
    async def slow() -> str:
        """Be slow."""
        try:
            await gate.wait()
        finally:
            cleaned.set()
        return "late"

    model = ScriptedModel([say(calls=["slow", "ping"]), "Done."])
    async with wakeful_app(Agent(model=model, actions=[slow, ping])) as app:
        sending = asyncio.ensure_future(app.send("agent", "Go"))
        await gate.reached()
        clock.advance(5)
        answer = await sending
    assert answer.text == "Done."
    assert cleaned.is_set()
    late, quick = model.requests[1].items[-2:]
    assert "**Result:** TIMEOUT — Slow did not end within 5 s" in shown(late)
    assert "pong" in shown(quick)


def test_a_time_out_inside_an_action_is_the_actions_own(run_turn: Turn) -> None:
    @action(effect="read")
    async def fetch() -> str:
        """Fetch."""
        raise TimeoutError("the server did not answer")

    result = run_turn(Agent(model="", actions=[fetch]), "Go", replies=[say(calls=["fetch"]), "Done."])
    assert result.calls[0].result.code == "ERROR"
    assert "the server did not answer" in result.calls[0].text
