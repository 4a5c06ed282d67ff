"""Slow replies: held until a test lets them go, and given up by the client."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import anthropic
import openai

from wakeful.testing.wire import Wire

HI: Any = [{"role": "user", "content": "hi"}]


def claude(wire: Wire) -> Any:
    return anthropic.AsyncAnthropic(api_key="k", base_url=wire.anthropic_url, max_retries=0)


def gpt(wire: Wire) -> Any:
    return openai.AsyncOpenAI(api_key="k", base_url=wire.openai_url, max_retries=0)


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_reply_is_held_until_released(wire: Wire) -> None:
    wire.play([{"text": "Late.", "hold": True}])
    async with claude(wire) as client:
        asked = asyncio.create_task(client.messages.create(model="m", max_tokens=9, messages=HI))
        await wire.reached(held=1)
        assert not asked.done()
        assert len(wire.requests) == 1
        wire.release()
        assert (await asked).content[0].text == "Late."


async def test_a_client_that_gives_up_is_noticed(wire: Wire) -> None:
    wire.play([{"text": "Never.", "hold": True}, "Next."])
    async with claude(wire) as client:
        await cancelled_when_held(wire, client)
        await wire.reached(left=1)
        again = await client.messages.create(model="m", max_tokens=9, messages=HI)
    assert again.content[0].text == "Next."
    assert [row.get("status", 200) for row in wire.meter.rows] == [499, 200]
    assert wire.summary()["failed_requests"] == 1
    assert wire.summary()["prefix_breaks"] == 0


async def cancelled_when_held(wire: Wire, client: Any) -> None:
    asked = asyncio.create_task(client.messages.create(model="m", max_tokens=9, messages=HI))
    await wire.reached(held=1)
    await cancelled(asked)


async def test_a_stream_is_held_in_the_middle_and_given_up(wire: Wire) -> None:
    wire.play([{"text": "word " * 100, "hold_at": 4}])
    seen = asyncio.Queue[Any]()

    async def ask(client: Any) -> None:
        stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
        async for chunk in stream:
            await seen.put(chunk)

    async with gpt(wire) as client:
        asked = asyncio.create_task(ask(client))
        first = [await seen.get() for _ in range(4)]
        await wire.reached(held=1)
        await cancelled(asked)
        await wire.reached(left=1)
    assert "".join(chunk.choices[0].delta.content for chunk in first) == ("word " * 100)[: 48 * 3]
    assert seen.empty()
    assert wire.meter.rows[0]["abandoned"] is True
    assert wire.summary()["requests"] == 1


async def test_a_timeout_of_the_client_ends_a_slow_reply(wire: Wire) -> None:
    wire.play([{"text": "Never.", "latency_ms": 60_000}])
    async with claude(wire) as client:
        try:
            await client.with_options(timeout=0.05).messages.create(model="m", max_tokens=9, messages=HI)
        except anthropic.APITimeoutError:
            await wire.reached(left=1)
    assert [row["status"] for row in wire.meter.rows] == [499]


async def test_errors_can_be_held_too(wire: Wire) -> None:
    wire.play(
        [{"error": {"kind": "overloaded"}, "hold": True}, {"error": {"kind": "rate_limit"}, "hold": True}]
    )
    async with claude(wire) as client:
        for held in (1, 2):
            asked = asyncio.create_task(client.messages.create(model="m", max_tokens=9, messages=HI))
            await wire.reached(held=held)
            wire.release()
            with suppress(anthropic.APIStatusError):
                await asked
    assert [row["status"] for row in wire.meter.rows] == [529, 429]
