"""What calls without a usable reply used is counted: in the answer, the run, the step and the call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.models import EnvelopeModel, PatientModel
from wakeful.testing import Database, FakeClock, Gate, ScriptedModel, say
from wakeful.types import Limits, ModelError, Profile, RunEnded, RunStatus, TextWithdrawn, Usage

SPENT = Usage(3, 0, 40, 5)


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def cut(**more: Any) -> ModelError:
    return ModelError("network", "cut", **{"retryable": True, "usage": SPENT, **more})


def books(store: Database) -> dict[str, int]:
    """Return the tokens that each table counts."""
    tokens = "coalesce(sum(tokens_read + tokens_write + tokens_uncached + tokens_output), 0) as tokens"
    return {
        table: store.rows(f"select {tokens} from {table}")[0]["tokens"]
        for table in ("run", "step", "model_call")
    }


def patient(clock: FakeClock, *replies: Any) -> PatientModel:
    return PatientModel((("scripted:x", ScriptedModel(list(replies))),), clock, 60.0)


async def pauses(clock: FakeClock, task: asyncio.Task[Any]) -> None:
    """Let fake time pass in small pieces until the task has ended."""
    while not task.done():
        await clock.elapse(0.5)


async def test_of_tries_before_a_good_one(wakeful_app: Any, store: Database) -> None:
    clock = FakeClock()
    agent = Agent(model=patient(clock, cut(), cut(), say("Done.", usage={"uncached": 10})))
    async with wakeful_app(agent) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        await pauses(clock, task)
        answer = await task
    assert answer.usage.total == 2 * SPENT.total + 10
    assert books(store) == {"run": 106, "step": 106, "model_call": 106}


async def test_that_nobody_knows_what_a_try_before_a_good_one_used(wakeful_app: Any, store: Database) -> None:
    clock = FakeClock()
    silent = cut(usage=Usage(reported=False))
    agent = Agent(model=patient(clock, silent, cut(), say("Done.", usage={"uncached": 10})))
    async with wakeful_app(agent) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        await pauses(clock, task)
        answer = await task
    assert (answer.usage.total, answer.usage.reported) == (SPENT.total + 10, False)
    for table in ("run", "step", "model_call"):
        assert store.rows(f"select reported from {table}") == [{"reported": 0}]


async def test_of_a_call_that_failed_for_good(wakeful_app: Any, store: Database) -> None:
    agent = Agent(model=patient(FakeClock(), cut(retryable=False)))
    async with wakeful_app(agent) as app:
        answer = await app.send("agent", "Go")
    assert (answer.status, answer.usage.total) == (RunStatus.FAILED, SPENT.total)
    assert books(store) == {"run": 48, "step": 48, "model_call": 48}


async def test_of_a_call_after_which_its_provider_broke(wakeful_app: Any, store: Database) -> None:
    clock = FakeClock()
    async with wakeful_app(Agent(model=patient(clock, cut(), KeyError("bug")))) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        await pauses(clock, task)
        answer = await task
    assert answer.error.startswith("unknown: the provider 'scripted' raised KeyError")
    assert answer.usage.total == SPENT.total
    assert books(store) == {"run": 48, "step": 48, "model_call": 48}


async def test_of_tries_before_the_time_was_over(wakeful_app: Any, store: Database, clock: FakeClock) -> None:
    agent = Agent(model=patient(clock, cut(retry_after=30.0)), limits=Limits(seconds=10))
    async with wakeful_app(agent) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        await pauses(clock, task)
        answer = await task
    assert (answer.status, answer.usage.total) == (RunStatus.LIMIT_REACHED, SPENT.total)
    assert books(store) == {"run": 48, "step": 48, "model_call": 48}


async def test_of_tries_before_the_run_was_cancelled(wakeful_app: Any, store: Database) -> None:
    gate, clock = Gate(), FakeClock()
    async with wakeful_app(Agent(model=patient(clock, cut(), say("Late.", wait=gate)))) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        while not gate.arrived:
            await clock.elapse(0.5)
        task.cancel()
        await asyncio.wait([task])
    assert books(store) == {"run": 48, "step": 48, "model_call": 48}


async def test_of_an_answer_in_the_wrong_form_of_a_models_own_object(
    wakeful_app: Any, store: Database
) -> None:
    replies = [say("Hm.", usage=SPENT), say('{"message": "Done."}', usage=SPENT)]
    model = ScriptedModel(replies, Profile("scripted", native_tools=False))
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        answer = await app.send("agent", "Go")
    assert (answer.text, answer.usage.total) == ("Done.", 2 * SPENT.total)
    assert books(store) == {"run": 96, "step": 96, "model_call": 96}


async def test_of_an_answer_in_the_wrong_form_before_the_run_was_cancelled(
    wakeful_app: Any, store: Database
) -> None:
    gate = Gate()
    inner = ScriptedModel([say("Hm.", usage=SPENT), say("Late.", wait=gate)])
    model = PatientModel((("scripted:x", EnvelopeModel(inner)),), FakeClock(), 60.0)
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        await gate.reached()
        task.cancel()
        await asyncio.wait([task])
    assert books(store) == {"run": 48, "step": 48, "model_call": 48}


@pytest.mark.parametrize("second", ["no form at all", '{"message": "Done.", "next": {"type": "chat"}}'])
async def test_of_an_answer_in_the_wrong_form(wakeful_app: Any, store: Database, second: str) -> None:
    replies = [say("Hm.", usage=SPENT), say(second, usage=SPENT)]
    model = PatientModel((("scripted:x", EnvelopeModel(ScriptedModel(replies))),), FakeClock(), 60.0)
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        answer = await app.send("agent", "Go")
    assert answer.usage.total == 2 * SPENT.total
    assert books(store) == {"run": 96, "step": 96, "model_call": 96}


async def test_of_answers_in_the_wrong_form_before_another_model_was_cancelled(
    wakeful_app: Any, store: Database
) -> None:
    gate = Gate()
    first = EnvelopeModel(ScriptedModel([say("Hm.", usage=SPENT), say("Hm.", usage=SPENT)]))
    second = ScriptedModel([say("Late.", wait=gate)])
    model = PatientModel((("scripted:x", first), ("scripted:y", second)), FakeClock(), 60.0)
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        task = asyncio.create_task(app.send("agent", "Go"))
        await gate.reached()
        task.cancel()
        await asyncio.wait([task])
    assert books(store) == {"run": 96, "step": 96, "model_call": 96}


async def test_of_an_answer_in_the_wrong_form_before_a_fault(wakeful_app: Any, store: Database) -> None:
    replies: list[Any] = [say("Hm.", usage=SPENT), cut(retryable=False)]
    model = PatientModel((("scripted:x", EnvelopeModel(ScriptedModel(replies))),), FakeClock(), 60.0)
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        answer = await app.send("agent", "Go")
    assert (answer.status, answer.usage.total) == (RunStatus.FAILED, 2 * SPENT.total)
    assert books(store) == {"run": 96, "step": 96, "model_call": 96}


async def test_text_that_was_shown_before_a_provider_broke_is_withdrawn(wakeful_app: Any) -> None:
    class Breaks(ScriptedModel):
        async def complete(self, request: Any, conversation: str, emit: Any = None) -> Any:
            await super().complete(request, conversation, emit)
            raise KeyError("bug")

    model = PatientModel((("scripted:x", Breaks(["I pay now."])),), FakeClock(), 60.0)
    async with wakeful_app(Agent(model=model)) as app:
        events = [event async for event in app.stream("agent", "Go")]
    assert [event.reason for event in events if isinstance(event, TextWithdrawn)] == ["KeyError"]
    (answer,) = (event.answer for event in events if isinstance(event, RunEnded))
    assert answer.status is RunStatus.FAILED
