from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from wakeful.testing.wire import App, Meter, Running, Scenario, Tokenizer

Serve = Callable[[dict[str, Any]], Awaitable[tuple[str, App]]]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
def serve(stack: AsyncExitStack) -> Serve:
    """Serve a scenario in the test's own event loop; four bytes are a token."""

    async def start(spec: dict[str, Any]) -> tuple[str, App]:
        app = App(Scenario(spec), Meter(tokenizer=Tokenizer("bytes")), keep_bodies=True)
        return await stack.enter_async_context(Running(app)), app

    return start


@pytest.fixture
async def claude(stack: AsyncExitStack) -> Callable[..., Awaitable[AsyncAnthropic]]:
    async def start(url: str, **more: Any) -> AsyncAnthropic:
        client = AsyncAnthropic(**{"api_key": "k", "base_url": url, "max_retries": 0, **more})
        return await stack.enter_async_context(client)

    return start


@pytest.fixture
async def gpt(stack: AsyncExitStack) -> Callable[..., Awaitable[AsyncOpenAI]]:
    async def start(url: str, **more: Any) -> AsyncOpenAI:
        client = AsyncOpenAI(**{"api_key": "k", "base_url": f"{url}/v1", "max_retries": 0, **more})
        return await stack.enter_async_context(client)

    return start
