"""The official SDKs against the server, streaming and not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from wakeful.testing.wire import App

Serve = Callable[[dict[str, Any]], Awaitable[tuple[str, App]]]
Client = Callable[..., Awaitable[Any]]

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL: dict[str, Any] = {"name": "add", "description": "adds", "input_schema": SCHEMA}
FUNCTION = {"type": "function", "function": {"name": "add", "description": "adds", "parameters": SCHEMA}}
ARGS = {"a": 1, "text": "naïve ☃ " * 20}
STEP = [
    {"text": "let me add", "calls": [{"tool": "add", "args": ARGS}, {"tool": "add", "args": {}}]},
    {"text": "done"},
]

streaming = pytest.mark.parametrize("stream", [False, True])


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


async def ask_claude(client: Any, *, stream: bool = False, **request: Any) -> Any:
    request = {"model": "claude-sonnet-4-6", "max_tokens": 100, **request}
    if not stream:
        return await client.messages.create(**request)
    async with client.messages.stream(**request) as pieces:
        return await pieces.get_final_message()


async def ask_responses(client: Any, *, stream: bool = False, **request: Any) -> Any:
    request = {"model": "gpt-5.2", **request}
    if not stream:
        return await client.responses.create(**request)
    async with client.responses.stream(**request) as pieces:
        async for _ in pieces:
            pass
        return await pieces.get_final_response()


@streaming
async def test_anthropic_tool_round_trip(serve: Serve, claude: Client, stream: bool) -> None:
    url, app = await serve({"replies": STEP})
    client = await claude(url)
    more: dict[str, Any] = {
        "tools": [TOOL],
        "system": "x" * 9000,
        "cache_control": {"type": "ephemeral"},
        "stream": stream,
    }
    messages = said("go")
    one = await ask_claude(client, messages=messages, **more)
    assert one.stop_reason == "tool_use"
    assert [block.type for block in one.content] == ["text", "tool_use", "tool_use"]
    assert one.content[1].input == ARGS
    results = [{"type": "tool_result", "tool_use_id": b.id, "content": "3"} for b in one.content[1:]]
    messages += [{"role": "assistant", "content": one.content}, {"role": "user", "content": results}]
    two = await ask_claude(client, messages=messages, **more)
    assert two.content[0].text == "done"
    assert two.stop_reason == "end_turn"
    assert one.usage.cache_creation_input_tokens > 2000
    assert one.usage.cache_read_input_tokens == 0
    assert two.usage.cache_read_input_tokens == one.usage.cache_creation_input_tokens
    assert app.meter.summary()["prefix_breaks"] == 0


async def test_openai_chat_round_trip(serve: Serve, gpt: Client) -> None:
    client = await gpt((await serve({"replies": STEP}))[0])
    request: dict[str, Any] = {"model": "gpt-5.2", "tools": [FUNCTION], "messages": said("go " * 3000)}
    one = await client.chat.completions.create(**request)
    message = one.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "3"} for call in message.tool_calls]
    request["messages"] += [message, *results]
    two = await client.chat.completions.create(**request)
    assert two.choices[0].message.content == "done"
    assert two.usage.prompt_tokens_details.cached_tokens >= 1024


async def test_openai_chat_streams(serve: Serve, gpt: Client) -> None:
    client = await gpt((await serve({"replies": STEP}))[0])
    chunks = [
        chunk
        async for chunk in await client.chat.completions.create(
            model="gpt-5.2",
            tools=[FUNCTION],
            messages=said("go " * 3000),
            stream=True,
            stream_options={"include_usage": True},
        )
    ]
    assert chunks[-1].usage.prompt_tokens > 1024
    assert chunks[-1].choices == []
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls = [delta.tool_calls[0] for delta in deltas if delta.tool_calls]
    args = "".join(call.function.arguments or "" for call in calls if call.index == 0)
    assert "☃" in args


async def test_an_openai_stream_that_did_not_ask_has_no_usage(serve: Serve, gpt: Client) -> None:
    client = await gpt((await serve({"replies": [{"text": "hi"}]}))[0])
    stream = await client.chat.completions.create(model="gpt-5.2", messages=said("x"), stream=True)
    chunks = [chunk async for chunk in stream]
    assert all(chunk.usage is None for chunk in chunks)
    assert chunks[-1].choices


@streaming
@pytest.mark.parametrize("chained", [False, True])
async def test_openai_responses_round_trip(serve: Serve, gpt: Client, stream: bool, chained: bool) -> None:
    url, app = await serve({"replies": STEP})
    client = await gpt(url)
    tool = {"type": "function", "name": "add", "parameters": SCHEMA, "strict": False}
    more: dict[str, Any] = {"tools": [tool], "instructions": "be brief " * 800, "stream": stream}
    start = said("go")
    one = await ask_responses(client, input=start, **more)
    calls = [item for item in one.output if item.type == "function_call"]
    assert len(calls) == 2
    answers = [{"type": "function_call_output", "call_id": call.call_id, "output": "3"} for call in calls]
    if chained:
        two = await ask_responses(client, input=answers, previous_response_id=one.id, **more)
    else:
        output = [item.model_dump(exclude_none=True) for item in one.output]
        two = await ask_responses(client, input=[*start, *output, *answers], **more)
    assert two.output_text == "done"
    assert two.usage.input_tokens_details.cached_tokens >= 1024
    assert app.meter.summary()["prefix_breaks"] == 0


async def test_errors_retries_and_broken_streams(serve: Serve, claude: Client) -> None:
    faults = [{"text": "y" * 400, "error": {"stream": s}} for s in ("truncate", "bad_json", "error_event")]
    replies: list[Any] = [
        {"error": {"status": 529}},
        {"error": {"status": 429, "retry_after": 0}},
        {"error": {"status": 500, "retry_after": 0}},
        {"text": "after two tries"},
    ]
    url, _ = await serve({"replies": replies + faults})
    once, thrice = await claude(url), await claude(url, max_retries=2)
    with pytest.raises(anthropic.APIStatusError) as got:
        await ask_claude(once, messages=said("x"))
    assert got.value.status_code == 529
    fine = await ask_claude(thrice, messages=said("x"))
    assert fine.content[0].text == "after two tries"
    for name in ("RemoteProtocolError", "JSONDecodeError", "APIStatusError"):

        def named(error: BaseException, name: str = name) -> bool:
            return type(error).__name__ == name

        with pytest.raises(Exception, check=named):  # noqa: B017  # the SDK's own transport errors
            await ask_claude(once, messages=said("x"), stream=True)


async def test_a_missing_tool_result_is_refused(serve: Serve, claude: Client, gpt: Client) -> None:
    url, app = await serve({"replies": [{"text": "never"}]})
    anthropics, openais = await claude(url), await gpt(url)
    use = {"type": "tool_use", "id": "t1", "name": "add", "input": {}}
    messages = [*said("x"), {"role": "assistant", "content": [use]}, *said("no result")]
    with pytest.raises(anthropic.BadRequestError, match="tool_use"):
        await ask_claude(anthropics, messages=messages)
    function = {"id": "t", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    chat = [*said("x"), {"role": "assistant", "tool_calls": [function]}, *said("y")]
    with pytest.raises(openai.BadRequestError, match="tool_call"):
        await openais.chat.completions.create(model="m", messages=chat)
    call = {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "1"}
    with pytest.raises(openai.BadRequestError, match="No tool output found"):
        await openais.responses.create(model="m", input=[*said("x"), call])
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        await openais.responses.create(model="m", input=[*said("x"), answer])
    assert app.meter.summary()["failed_requests"] == 4


async def test_hidden_tools_are_searched_for_first(serve: Serve, claude: Client) -> None:
    replies = [{"calls": [{"tool": "send_mail", "args": {"to": "a"}}]}, {"text": "sent"}]
    client = await claude((await serve({"replies": replies}))[0])
    names = ("search_available_actions", "execute_discovered_action")
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    messages = said("go")
    found = []
    for _ in range(3):
        got = await ask_claude(client, tools=tools, messages=messages)
        uses = [block for block in got.content if block.type == "tool_use"]
        found.append([(block.name, block.input) for block in uses])
        messages.append({"role": "assistant", "content": got.content})
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": "ok"} for block in uses]
        messages += [{"role": "user", "content": results}] if uses else []
    execute = {"actions": [{"actionName": "send_mail", "parameters": {"to": "a"}}]}
    assert found == [[(names[0], {"query": "send mail"})], [(names[1], execute)], []]


async def test_provider_side_tool_search_and_thinking(serve: Serve, claude: Client) -> None:
    replies = [{"thinking": "hm", "calls": [{"tool": "add", "args": {}}]}, {"text": "ok"}]
    url, app = await serve({"replies": replies})
    client = await claude(url)
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    tools = [search, {**TOOL, "defer_loading": True}]
    got = await ask_claude(client, tools=tools, messages=said("go"), stream=True)
    kinds = [block.type for block in got.content]
    assert kinds == ["thinking", "server_tool_use", "tool_search_tool_result", "tool_use"]
    result = {"type": "tool_result", "tool_use_id": got.content[-1].id, "content": "1"}
    messages = [
        *said("go"),
        {"role": "assistant", "content": got.content},
        {"role": "user", "content": [result]},
    ]
    await ask_claude(client, tools=tools, messages=messages)
    assert app.meter.summary()["prefix_breaks"] == 0


async def test_conversations_rules_clock_count_and_diagnostics(serve: Serve, claude: Client) -> None:
    rule = {"when": {"last_contains": "banana"}, "reply": {"text": "fruit"}}
    url, app = await serve({"replies": [{"text": "one"}, {"text": "two"}], "rules": [rule]})
    a, b = await claude(f"{url}/c/a"), await claude(url)
    marked = [{"type": "text", "text": "s" * 9000, "cache_control": {"type": "ephemeral"}}]
    more: dict[str, Any] = {"model": "claude-opus-5", "system": marked}
    first = await ask_claude(a, messages=said("x"), **more)
    other = await ask_claude(b, messages=said("[[conv:b]] say banana"), **more)
    assert (first.content[0].text, other.content[0].text) == ("one", "fruit")
    app.meter.clock.advance(400)
    wanted = {"diagnostics": {"previous_message_id": first.id}}
    late = await ask_claude(a, messages=said("x"), **{**more, "system": "changed"}, extra_body=wanted)
    assert late.diagnostics.cache_miss_reason.type == "system_changed"
    counted = await a.messages.count_tokens(model="m", messages=said("12345678"))
    assert counted.input_tokens > 1
    assert {row["conversation"] for row in app.meter.rows} == {"a", "b"}


SUB = {**TOOL, "name": "sub", "defer_loading": True, "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([TOOL, SUB], "cannot carry cache_control"),
        ([{**TOOL, "defer_loading": True}], "must not be deferred"),
    ],
)
async def test_deferred_tools_are_refused_as_the_endpoint_does(
    serve: Serve, claude: Client, tools: list[Any], words: str
) -> None:
    client = await claude((await serve({"replies": [{"text": "ok"}]}))[0])
    with pytest.raises(anthropic.BadRequestError, match=words):
        await ask_claude(client, tools=tools, messages=said("hi"))
