"""Events in the order they happen; turns that wait for each other and turns that do not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import Database, Gate, ScriptedModel, say
from wakeful.types import (
    Answer,
    NotFoundError,
    Text,
    TextDelta,
)


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def names(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


async def heard(stream: Any) -> list[Any]:
    return [event async for event in stream]


# ---- events


async def test_events_come_in_the_order_they_happen(wakeful_app: Any) -> None:
    model = ScriptedModel([say("Look.", thinking="Hm", calls=["ping"]), "Done."])
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        events = await heard(app.stream("agent", "Go"))
    assert names(events) == [
        "RunStarted",
        "EpochStarted",
        "StepStarted",
        "TextDelta",
        "TextDelta",
        "ReplyReceived",
        "ActionStarted",
        "ActionEnded",
        "StepStarted",
        "TextDelta",
        "ReplyReceived",
        "RunEnded",
    ]
    deltas = [event for event in events if isinstance(event, TextDelta)]
    assert [(delta.text, delta.thinking) for delta in deltas] == [
        ("Hm", True),
        ("Look.", False),
        ("Done.", False),
    ]


async def test_a_long_text_streams_in_pieces_that_join_to_the_answer(wakeful_app: Any) -> None:
    text = "A sentence that is long enough. " * 200  # more pieces than the stream buffers
    async with wakeful_app(Agent(model=ScriptedModel([text]))) as app:
        events = await heard(app.stream("agent", "Go"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text
    assert events[-1].answer.text == text


async def test_a_reader_may_leave_before_anything_happened(wakeful_app: Any, store: Database) -> None:
    gate = Gate()
    model = ScriptedModel([say("x" * 10_000, wait=gate)])
    async with wakeful_app(Agent(model=model)) as app:
        stream = app.stream("agent", "Go")
        await anext(stream)
        gate.open()
        await stream.aclose()
        assert store.rows("select status from run") == [{"status": "cancelled"}]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_errors_before_a_run_reach_the_reader(wakeful_app: Any) -> None:
    async with wakeful_app(Agent(model=ScriptedModel([]), name="desk")) as app:
        with pytest.raises(NotFoundError, match=r"no agent 'dsk'; did you mean 'desk'\?"):
            await heard(app.stream("dsk", "Go"))


# ---- queues


async def test_turns_of_one_conversation_wait_for_each_other(wakeful_app: Any) -> None:
    first, second = Gate(), Gate()
    model = ScriptedModel([say("One.", wait=first), say("Two.", wait=second), "Three."])
    async with wakeful_app(Agent(model=model)) as app:
        turns = [asyncio.ensure_future(app.send("agent", word, conversation="c")) for word in "abc"]
        await first.reached()
        assert len(model.requests) == 1
        second.open()
        first.open()
        answers = await asyncio.gather(*turns)
    assert [answer.text for answer in answers] == ["One.", "Two.", "Three."]
    spoken = [item.text for item in model.requests[2].items if isinstance(item, Text)]
    assert spoken == ["a", "One.", "b", "Two.", "c"]


async def test_turns_of_different_conversations_run_at_once(wakeful_app: Any) -> None:
    gate = Gate()
    model = ScriptedModel([say("Done.", wait=gate)])
    async with wakeful_app(Agent(model=model)) as app:
        turns = [asyncio.ensure_future(app.send("agent", "Go", conversation=f"c{n}")) for n in range(5)]
        await gate.reached(5)
        gate.open()
        assert {answer.text for answer in await asyncio.gather(*turns)} == {"Done."}


async def test_a_turn_that_is_cancelled_in_the_queue_leaves_nothing(
    wakeful_app: Any, store: Database
) -> None:
    gate = Gate()
    model = ScriptedModel([say("One.", wait=gate), "Two."])
    async with wakeful_app(Agent(model=model)) as app:
        first = asyncio.ensure_future(app.send("agent", "a", conversation="c"))
        queued = asyncio.ensure_future(app.send("agent", "b", conversation="c"))
        await gate.reached()
        queued.cancel()
        gate.open()
        assert (await first).text == "One."
        with pytest.raises(asyncio.CancelledError):
            await queued
        assert (await app.send("agent", "c", conversation="c")).text == "Two."
    assert [row["turn"] for row in store.rows("select turn from run order by turn")] == [1, 2]


async def test_many_runs_at_once_keep_their_transcripts_apart(wakeful_app: Any) -> None:
    model = ScriptedModel([say(calls=["ping", "ping"]), "Done."])
    async with wakeful_app(Agent(model=model, actions=[ping])) as app:
        answers = await asyncio.gather(
            *(app.send("agent", str(n), conversation=f"c{n % 10}", user=f"u{n}") for n in range(10))
        )
        assert all(isinstance(answer, Answer) and answer.text == "Done." for answer in answers)
    assert asyncio.all_tasks() == {asyncio.current_task()}
