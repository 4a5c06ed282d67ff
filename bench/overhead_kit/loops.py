"""The loops that are compared: a bare one for each SDK, typed as its documentation shows, and wakeful's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from overhead_kit.workload import Workload

CLAUDE = "claude-sonnet-4-6"
GPT = "gpt-5.6"
SYSTEM = "You are the assistant of a small office. Use the tools; answer in a sentence."

Converse = Callable[[str, int], Awaitable[None]]


@asynccontextmanager
async def bare_anthropic(load: Workload, url: str, folder: str) -> AsyncIterator[Converse]:
    """Yield a function that holds one conversation over ``anthropic``, with prompt caching switched on."""
    del folder
    import anthropic

    client = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0, timeout=600.0)
    tools: list[Any] = [
        {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]}
        for tool in load.tools
    ]
    cache: Any = {"type": "ephemeral"}

    async def converse(mark: str, turns: int) -> None:
        messages: list[Any] = []
        for turn in range(turns):
            messages.append({"role": "user", "content": load.question(turn, mark)})
            while True:
                got = await client.messages.create(
                    model=CLAUDE,
                    max_tokens=1024,
                    system=SYSTEM,
                    tools=tools,
                    messages=messages,
                    cache_control=cache,
                )
                content = [block.model_dump(exclude_none=True) for block in got.content]
                messages.append({"role": "assistant", "content": content})
                uses = [block for block in got.content if block.type == "tool_use"]
                if not uses:
                    break
                answers = [{"type": "tool_result", "tool_use_id": use.id, "content": "ok"} for use in uses]
                messages.append({"role": "user", "content": answers})

    yield converse
    await client.close()


@asynccontextmanager
async def bare_openai(load: Workload, url: str, folder: str) -> AsyncIterator[Converse]:
    """Yield a function that holds one conversation over ``openai``'s Responses API, typed."""
    del folder
    import openai

    client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, timeout=600.0)
    tools: list[Any] = [
        {
            "type": "function",
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["schema"],
            "strict": False,
        }
        for tool in load.tools
    ]

    async def converse(mark: str, turns: int) -> None:
        items: list[Any] = []
        for turn in range(turns):
            items.append({"role": "user", "content": load.question(turn, mark)})
            while True:
                got = await client.responses.create(
                    model=GPT, instructions=SYSTEM, tools=tools, input=items, store=False
                )
                items += [item.model_dump(exclude_none=True) for item in got.output]
                calls = [item for item in got.output if item.type == "function_call"]
                if not calls:
                    break
                for call in calls:
                    json.loads(call.arguments)
                    items.append({"type": "function_call_output", "call_id": call.call_id, "output": "ok"})

    yield converse
    await client.close()


def _wakeful(model: str, settings: Mapping[str, Any]) -> Callable[..., Any]:
    @asynccontextmanager
    async def loop(load: Workload, url: str, folder: str) -> AsyncIterator[Converse]:
        """Yield a function that holds one conversation through wakeful, every record in a SQLite file."""
        import wakeful
        from wakeful.tools.loaders import action_from_data
        from wakeful.types import ActionResult, Effect, Trust

        async def run(arguments: Mapping[str, Any], ctx: object) -> ActionResult:
            del arguments, ctx
            return ActionResult(message="ok")

        actions = [
            action_from_data(
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]},
                run,
                effect=Effect.READ,
                output_trust=Trust.TRUSTED,
            )
            for tool in load.tools
        ]
        scheme = model.partition(":")[0]
        own = {key: value.format(url=url) for key, value in settings.items()}
        agent = wakeful.Agent(
            model=model,
            instructions=SYSTEM,
            actions=actions,
            settings={scheme: {"api_key": "k", **own}},
            store=f"sqlite:///{folder}/wakeful.db",
        )
        async with wakeful.open(agent) as app:

            async def converse(mark: str, turns: int) -> None:
                for turn in range(turns):
                    answer = await app.send("agent", load.question(turn, mark), conversation=mark)
                    if answer.error:
                        raise SystemExit(f"{model}: {answer.error}")

            yield converse

    return loop


LOOPS: dict[str, Callable[..., Any]] = {
    "bare/anthropic": bare_anthropic,
    "bare/openai": bare_openai,
    "wakeful/anthropic": _wakeful(f"anthropic:{CLAUDE}", {"base_url": "{url}"}),
    "wakeful/openai": _wakeful(f"openai:{GPT}", {"base_url": "{url}/v1", "api": "responses"}),
}
