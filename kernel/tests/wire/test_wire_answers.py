"""Refusals, calls that are cut off, thoughts that come back, pauses and usage, on every wire format."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from wakeful.testing.wire import App

Serve = Callable[[dict[str, Any]], Awaitable[tuple[str, App]]]
Client = Callable[..., Awaitable[Any]]

TOOLS = [{"name": "write", "input_schema": {"type": "object"}}]
FUNCTIONS = [{"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}]
FLAT = [{"type": "function", "name": "write", "parameters": {"type": "object"}, "strict": False}]
HI = [{"role": "user", "content": "hi"}]
NO = "I can't help with that, however you put it, and I will say so at some length."

streaming = pytest.mark.parametrize("stream", [False, True])


async def messages(client: Any, *, stream: bool, **more: Any) -> Any:
    request: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 99, "messages": HI, **more}
    if not stream:
        return await client.messages.create(**request)
    async with client.messages.stream(**request) as pieces:
        return await pieces.get_final_message()


async def chat(client: Any, *, stream: bool, **more: Any) -> dict[str, Any]:
    """Return the choice with the fields of a whole completion, and ``usage``."""
    request: dict[str, Any] = {"model": "gpt-5.2", "messages": HI, **more}
    if not stream:
        whole = await client.chat.completions.create(**request)
        choice: dict[str, Any] = whole.model_dump()["choices"][0]
        return {**choice["message"], "finish_reason": choice["finish_reason"], "usage": whole.usage}
    got: dict[str, Any] = {"content": "", "refusal": "", "tool_calls": [], "usage": None}
    options = {"include_usage": True}
    async for chunk in await client.chat.completions.create(**request, stream=True, stream_options=options):
        got["usage"] = chunk.usage or got["usage"]
        for choice in chunk.model_dump()["choices"]:
            got["finish_reason"] = choice["finish_reason"]
            delta = choice["delta"]
            for name in ("content", "refusal", "reasoning_content"):
                got[name] = got.get(name, "") + (delta.get(name) or "")
            for call in delta["tool_calls"] or []:
                if call["id"]:
                    got["tool_calls"].append({"id": call["id"], "function": dict(call["function"])})
                else:
                    got["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return got


async def responses(client: Any, *, stream: bool, **more: Any) -> Any:
    request: dict[str, Any] = {"model": "gpt-5.2", "input": HI, **more}
    if not stream:
        return await client.responses.create(**request)
    last = None
    async for event in await client.responses.create(**request, stream=True):
        last = event
    assert last is not None
    return last.response


@streaming
async def test_a_refusal_on_every_format(serve: Serve, claude: Client, gpt: Client, stream: bool) -> None:
    url, _ = await serve({"replies": [{"refusal": NO}], "loop": True})
    message = await messages(await claude(url), stream=stream)
    assert message.stop_reason == "refusal"
    assert message.stop_details.explanation == NO
    assert message.content == []
    completion = await chat(await gpt(url), stream=stream)
    assert completion["refusal"] == NO
    assert completion["finish_reason"] == "stop"
    response = await responses(await gpt(url), stream=stream)
    assert [part.type for part in response.output[0].content] == ["refusal"]
    assert response.output[0].content[0].refusal == NO
    assert response.status == "completed"


async def test_streamed_refusals_of_responses_come_in_pieces(serve: Serve, gpt: Client) -> None:
    client = await gpt((await serve({"replies": [{"refusal": NO}]}))[0])
    stream = await client.responses.create(model="gpt-5.2", input=HI, stream=True)
    events = [event async for event in stream]
    pieces = [event.delta for event in events if event.type == "response.refusal.delta"]
    assert len(pieces) > 1
    assert "".join(pieces) == NO
    assert [event.sequence_number for event in events] == list(range(len(events)))


@streaming
async def test_a_filter_stops_openais_answers(serve: Serve, gpt: Client, stream: bool) -> None:
    client = await gpt((await serve({"replies": [{"text": "Well", "stop": "refusal"}], "loop": True}))[0])
    assert (await chat(client, stream=stream))["finish_reason"] == "content_filter"
    response = await responses(client, stream=stream)
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "content_filter"


ARGS = {"id": "n-1", "text": "a long text that is not going to fit into what is left", "tags": ["a"]}
CUT = {"replies": [{"text": "So:", "calls": [{"tool": "write", "args": ARGS, "cut": 40}]}], "loop": True}


async def test_the_output_limit_inside_a_call_of_anthropics(serve: Serve, claude: Client) -> None:
    client = await claude((await serve(CUT))[0])
    request = {"model": "m", "max_tokens": 9, "messages": HI, "tools": TOOLS}
    sent = ""
    async with client.messages.stream(**request) as pieces:
        async for event in pieces:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                sent += event.delta.partial_json
        message = await pieces.get_final_message()
    assert sent == json.dumps(ARGS, separators=(",", ":"))[:40]
    with pytest.raises(json.JSONDecodeError):
        json.loads(sent)
    assert message.stop_reason == "max_tokens"
    whole = await messages(client, stream=False, tools=TOOLS)
    assert whole.stop_reason == "max_tokens"
    assert whole.content[1].input == {"id": "n-1"}


@streaming
async def test_the_output_limit_inside_a_call_of_openais(serve: Serve, gpt: Client, stream: bool) -> None:
    client = await gpt((await serve(CUT))[0])
    part = json.dumps(ARGS, separators=(",", ":"))[:40]
    completion = await chat(client, stream=stream, tools=FUNCTIONS)
    assert completion["finish_reason"] == "length"
    assert completion["tool_calls"][0]["function"]["arguments"] == part
    response = await responses(client, stream=stream, tools=FLAT)
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.output[1].arguments == part
    assert response.output[1].status == "incomplete"


async def test_a_cut_ends_the_reply_and_half_is_the_default(serve: Serve, gpt: Client) -> None:
    calls = [{"tool": "write", "args": {"a": "12345"}, "cut": True}, {"tool": "write", "args": {}}]
    client = await gpt((await serve({"replies": [{"calls": calls}]}))[0])
    completion = await chat(client, stream=False, tools=FUNCTIONS)
    assert [call["function"]["arguments"] for call in completion["tool_calls"]] == ['{"a":"']


@streaming
async def test_arguments_can_be_any_characters(serve: Serve, gpt: Client, stream: bool) -> None:
    calls = [{"tool": "write", "raw": "{'id': n-1}"}]
    client = await gpt((await serve({"replies": [{"calls": calls}]}))[0])
    completion = await chat(client, stream=stream, tools=FUNCTIONS)
    assert completion["tool_calls"][0]["function"]["arguments"] == "{'id': n-1}"
    assert completion["finish_reason"] == "tool_calls"


THINK: dict[str, Any] = {
    "replies": [
        {"thinking": "First I write. " * 9, "redacted": "hidden", "calls": [{"tool": "write", "args": {}}]},
        {"thinking": "It is written.", "text": "Done."},
    ]
}


def turn(content: Any) -> list[dict[str, Any]]:
    """The conversation after a first answer with one call."""
    uses = [block for block in content if block.get("type") == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": use["id"], "content": "ok"} for use in uses]
    return [*HI, {"role": "assistant", "content": content}, {"role": "user", "content": results}]


@streaming
async def test_thoughts_of_anthropics_come_back_unchanged(serve: Serve, claude: Client, stream: bool) -> None:
    client = await claude((await serve(THINK))[0])
    more: dict[str, Any] = {"tools": TOOLS, "thinking": {"type": "adaptive"}, "stream": stream}
    one = (await messages(client, **more)).model_dump(exclude_none=True)["content"]
    assert [block["type"] for block in one] == ["thinking", "redacted_thinking", "tool_use"]
    changed = [{**one[0], "thinking": "Something else."}, *one[1:]]
    with pytest.raises(anthropic.BadRequestError, match=r"1\.content\.0: Invalid `signature` in `thinking`"):
        await messages(client, **more | {"messages": turn(changed)})
    hidden = [one[0], {**one[1], "data": "x"}, one[2]]
    with pytest.raises(anthropic.BadRequestError, match=r"1\.content\.1: Invalid `data`"):
        await messages(client, **more | {"messages": turn(hidden)})
    with pytest.raises(anthropic.BadRequestError, match="must start with a thinking block"):
        await messages(client, **more | {"messages": turn(one[2:])})
    two = await messages(client, **more | {"messages": turn(one)})
    assert [block.type for block in two.content] == ["thinking", "text"]


async def test_thoughts_are_known_to_a_server_that_did_not_think_them(serve: Serve, claude: Client) -> None:
    first, second = await claude((await serve(THINK))[0]), await claude((await serve(THINK))[0])
    one = (await messages(first, stream=False, tools=TOOLS)).model_dump(exclude_none=True)["content"]
    again = await messages(second, stream=False, tools=TOOLS, messages=turn(one))
    assert again.stop_reason == "tool_use"


def after(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items after a first response with one call."""
    calls = [item for item in output if item["type"] == "function_call"]
    return [
        *HI,
        *output,
        *({"type": "function_call_output", "call_id": call["call_id"], "output": "ok"} for call in calls),
    ]


@streaming
async def test_reasoning_of_openais_comes_back_unchanged(serve: Serve, gpt: Client, stream: bool) -> None:
    client = await gpt((await serve(THINK))[0])
    more: dict[str, Any] = {
        "tools": FLAT,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "stream": stream,
    }
    response = await responses(client, **more)
    assert response.usage.output_tokens_details.reasoning_tokens > 10
    one = [item.model_dump(exclude_none=True) for item in response.output]
    assert [item["type"] for item in one] == ["reasoning", "function_call"]
    assert one[0]["summary"][0]["text"] == THINK["replies"][0]["thinking"]
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
        await responses(client, **more | {"input": after(one[1:])})
    with pytest.raises(openai.BadRequestError, match="without its required following item"):
        await responses(client, **more | {"input": [*HI, one[0]]})
    with pytest.raises(openai.BadRequestError, match="could not be verified") as got:
        await responses(client, **more | {"input": after([{**one[0], "encrypted_content": "x"}, one[1]])})
    assert got.value.code == "invalid_encrypted_content"
    bare = {name: value for name, value in one[0].items() if name != "encrypted_content"}
    with pytest.raises(openai.NotFoundError, match="not persisted"):
        await responses(client, **more | {"input": after([bare, one[1]])})
    two = await responses(client, **more | {"input": after(one)})
    assert two.output_text == "Done."


async def test_stored_reasoning_needs_no_content(serve: Serve, gpt: Client) -> None:
    client = await gpt((await serve(THINK))[0])
    one = [
        item.model_dump(exclude_none=True)
        for item in (await responses(client, stream=False, tools=FLAT)).output
    ]
    assert "encrypted_content" not in one[0]
    two = await responses(client, stream=False, tools=FLAT, input=after(one))
    assert two.output_text == "Done."


@streaming
async def test_compatible_servers_put_thinking_into_a_field(serve: Serve, gpt: Client, stream: bool) -> None:
    reply = {"thinking": "Let me see.", "text": "Yes.", "reasoning_field": "reasoning_content"}
    completion = await chat(await gpt((await serve({"replies": [reply]}))[0]), stream=stream)
    assert completion["reasoning_content"] == "Let me see."
    assert completion["content"] == "Yes."


@streaming
async def test_a_paused_turn_goes_on(serve: Serve, claude: Client, stream: bool) -> None:
    search = {"tool": "web_search", "args": {"query": "weather"}}
    replies = [{"text": "I look.", "server": [search], "stop": "pause_turn"}, {"text": "It will rain."}]
    url, app = await serve({"replies": replies})
    client = await claude(url)
    one = await messages(client, stream=stream)
    assert one.stop_reason == "pause_turn"
    assert (one.content[1].type, one.content[1].input) == ("server_tool_use", {"query": "weather"})
    paused = [*HI, {"role": "assistant", "content": one.content}]
    two = await messages(client, stream=stream, messages=paused)
    assert two.content[0].text == "It will rain."
    assert app.meter.summary()["prefix_breaks"] == 0


@streaming
async def test_usage_can_be_missing(serve: Serve, gpt: Client, stream: bool) -> None:
    client = await gpt((await serve({"replies": [{"text": "Hello.", "usage": False}], "loop": True}))[0])
    assert (await chat(client, stream=stream))["usage"] is None
    assert (await responses(client, stream=stream)).usage is None


async def test_usage_can_be_missing_in_a_message(serve: Serve, claude: Client) -> None:
    url, app = await serve({"replies": [{"text": "Hello.", "usage": False}]})
    message = await messages(await claude(url), stream=False)
    assert message.usage is None
    assert app.meter.summary()["output_tokens"] > 0


@streaming
async def test_usage_can_be_made_up(serve: Serve, claude: Client, gpt: Client, stream: bool) -> None:
    url, _ = await serve({"replies": [{"text": "Hello.", "usage": {"output_tokens": 4711}}], "loop": True})
    assert (await messages(await claude(url), stream=stream)).usage.output_tokens == 4711
    assert (await responses(await gpt(url), stream=stream)).usage.output_tokens == 4711
