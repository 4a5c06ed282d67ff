"""Both protocols against the wire server, through the real SDK: what is sent, and what comes back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from attrs import evolve

from wakeful.prompt import state_block
from wakeful.types import Call, Fragment, Marks, Opaque, Reply, Result, Stop, Text

BOTH = pytest.mark.parametrize("api", ["responses", "chat"])
EACH = pytest.mark.parametrize("stream", [False, True])
TWO_CALLS = {
    "text": "Let me add.",
    "calls": [
        {"tool": "add", "args": {"a": 1, "text": "naïve ☃ 😀 " * 20}},
        {"tool": "add", "args": {"a": 2}},
    ],
}


def results(reply: Reply) -> tuple[Result, ...]:
    return tuple(Result(item.id, "3") for item in reply.items if isinstance(item, Call))


@BOTH
@EACH
async def test_a_tool_loop_with_parallel_calls(
    api: str, stream: bool, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([TWO_CALLS, "Done 😀."])
    model = bench.bind(wire.openai_url, api=api, stream=stream)
    long = "x" * 9000
    first = await model.complete(ask("go", system=(long,)), "c", screen)
    assert first.items[0] == Text("assistant", "Let me add.")
    one, two = (item for item in first.items if isinstance(item, Call))
    assert (one.tool, two.args, first.stop) == ("add", '{"a":2}', Stop.CALLS)
    assert "naïve ☃ 😀" in one.args
    assert one.id != two.id
    assert screen.text() == ("Let me add." if stream else "")
    assert first.usage.reported
    assert first.usage.read == 0
    assert first.usage.uncached > 1024
    items = ("go", *first.items, *results(first))
    second = await model.complete(ask(*items, system=(long,)), "c", screen)
    assert (second.items, second.stop) == ((Text("assistant", "Done 😀."),), Stop.END)
    assert second.usage.read >= 1024
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()


@BOTH
async def test_only_new_messages_are_made_and_the_bytes_before_them_stay(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play([TWO_CALLS, "Two.", "Three."])
    model = bench.bind(wire.openai_url, api=api)
    first = await model.complete(ask("go"), "c")
    items = ("go", *first.items, *results(first))
    second = await model.complete(ask(*items, "<state>1</state>"), "c")
    await model.complete(ask(*items, *second.items, "and now", "<state>2</state>"), "c")
    field = "input" if api == "responses" else "messages"
    bodies = [request[field] for request in wire.requests]
    stable = len(bodies[1]) - 1  # the state is the last message
    assert bodies[2][:stable] == bodies[1][:stable]
    fresh = bench.bind(wire.openai_url, api=api)  # knows nothing of what was sent before
    wire.play(["Three."])
    await fresh.complete(ask(*items, *second.items, "and now", "<state>2</state>"), "c")
    assert wire.requests[0][field] == bodies[2]


@BOTH
async def test_names_and_ids_that_the_api_refuses_are_changed_alike_in_calls_and_results(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play(["Sorry."])
    own, long = "functions.add:0", "chatcmpl-tool-" + "4" * 64
    calls = (Call(own, "functions.add", "{}"), Call(long, "ädd " * 40, "{}"), Call("c-3", "add", "{}"))
    answers = tuple(Result(call.id, "no such tool") for call in calls)
    await bench.bind(wire.openai_url, api=api).complete(ask("go", *calls, *answers), "c")
    (body,) = wire.requests
    if api == "responses":
        made = [(item["call_id"], item["name"]) for item in body["input"] if "name" in item]
        given = [item["call_id"] for item in body["input"] if "output" in item]
    else:
        (said,) = (message for message in body["messages"] if message["role"] == "assistant")
        made = [(call["id"], call["function"]["name"]) for call in said["tool_calls"]]
        given = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    assert given == [marker for marker, _ in made]
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for _, name in made)
    assert (given[0], made[2]) == (own, ("c-3", "add"))  # some servers insist on ids of their own form
    assert len(given[1]) <= (64 if api == "responses" else 40)


async def test_a_changed_history_is_sent_as_changed(wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["One.", "Two.", "Three."])
    model = bench.bind(wire.openai_url, api="responses")
    await model.complete(ask("a", Text("assistant", "b"), "c"), "c")
    await model.complete(ask("a", Text("assistant", "B"), "c"), "c")
    await model.complete(ask("a"), "c")
    sent = [[item["content"] for item in request["input"][1:]] for request in wire.requests]
    assert sent == [["a", "b", "c"], ["a", "B", "c"], ["a"]]


async def test_reasoning_comes_back_encrypted_and_is_replayed_unchanged(
    wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"thinking": "Hm, numbers.", **TWO_CALLS}, "Done."])
    model = bench.bind(wire.openai_url, api="responses")
    first = await model.complete(ask("go"), "c", screen)
    reasoning = first.items[0]
    assert isinstance(reasoning, Opaque)
    assert reasoning.provider == "openai"
    assert reasoning.data["type"] == "reasoning"
    assert reasoning.data["encrypted_content"]
    assert screen.text(thinking=True) == "Hm, numbers."
    foreign = Opaque("anthropic", {"type": "thinking"})
    await model.complete(ask("go", foreign, *first.items, *results(first)), "c")
    one, two = wire.requests
    assert one["store"] is False
    assert one["include"] == ["reasoning.encrypted_content"]
    kinds = [item["type"] for item in two["input"]]
    assert kinds == [
        *("message", "message", "reasoning", "message"),
        *("function_call", "function_call", "function_call_output", "function_call_output"),
    ]
    assert two["input"][2] == reasoning.data


async def test_reasoning_that_led_to_nothing_is_left_out(wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["Well."])
    model = bench.bind(wire.openai_url, api="responses")
    thought = Opaque("openai", {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"})
    await model.complete(ask("go", thought, "Go on."), "c")
    assert [item.get("role") for item in wire.requests[0]["input"]] == ["system", "user", "user"]


@BOTH
@EACH
async def test_a_refusal_is_said_and_stops(
    api: str, stream: bool, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"refusal": "I will not.", "stop": "refusal"}])
    model = bench.bind(wire.openai_url, api=api, stream=stream)
    reply = await model.complete(ask("go"), "c", screen)
    assert (reply.stop, reply.items) == (Stop.REFUSED, (Text("assistant", "I will not."),))
    assert reply.usage.reported


@BOTH
@EACH
async def test_a_call_that_the_output_limit_cut_keeps_its_part(
    api: str, stream: bool, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"calls": [{"tool": "add", "args": {"text": "word " * 30}, "cut": 40}], "stop": "max_tokens"}])
    model = bench.bind(wire.openai_url, api=api, stream=stream)
    reply = await model.complete(ask("go"), "c", screen)
    (call,) = reply.items
    assert isinstance(call, Call)
    assert (reply.stop, len(call.args)) == (Stop.LENGTH, 40)


@BOTH
async def test_marks_are_explicit_where_the_model_has_breakpoints(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play([TWO_CALLS, "Done."])
    facts = {"gpt-5.6": _facts(family="breakpoint")}
    model = bench.bind(wire.openai_url, "gpt-5.6-sol", api=api, models=facts)
    assert model.profile.family == "breakpoint"
    long = ("x" * 9000,)
    marks = Marks(tools=True, system=True, items=frozenset({0}))
    first = await model.complete(ask("go", system=long, marks=marks), "c")
    items = ("go", *first.items, *results(first))
    marks = Marks(tools=True, system=True, items=frozenset({0, len(items) - 1}))
    second = await model.complete(ask(*items, "state", system=long, marks=marks), "c")
    assert first.usage.write > 1024
    assert first.usage.uncached < 100
    assert second.usage.read >= first.usage.write - 10
    body = wire.requests[1]
    assert body["prompt_cache_options"] == {"mode": "explicit"}
    field = "input" if api == "responses" else "messages"
    marked = [n for n, message in enumerate(body[field]) if "prompt_cache_breakpoint" in str(message)]
    assert marked == [0, 1, len(body[field]) - 2]
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()


@BOTH
async def test_state_at_the_end_is_not_written_into_the_cache_at_each_step(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    model = bench.bind(wire.openai_url, "gpt-5.6", api=api, models={"gpt-5.6": _facts(family="breakpoint")})
    long = ("x " * 3000,)
    wire.play(["One.", "Two."])
    for count in (1, 2):  # as the kernel lays requests out without a plugin
        state = state_block([Fragment("steps", 0, str(count))])
        await model.complete(evolve(ask("go", state, system=long), state=1), "c")
    assert wire.summary()["cache_write"] == 0, wire.explain()
    wire.play(["One.", "Two."])
    await model.complete(ask("go", system=long), "c")
    await model.complete(evolve(ask("go", "Is that right?", system=long), state=1), "c")  # a side question
    assert wire.summary()["cached_read"] > 1500, wire.explain()


@BOTH
async def test_no_marks_where_prefixes_are_cached_unasked(api: str, wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["Hi."])
    model = bench.bind(wire.openai_url, "gpt-5.2", api=api)
    await model.complete(ask("go", marks=Marks(True, True, frozenset({0}))), "c")
    assert "prompt_cache_options" not in wire.requests[0]
    assert "prompt_cache_breakpoint" not in str(wire.requests[0])


@BOTH
async def test_what_the_settings_say_is_in_the_body(api: str, wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["Hi."])
    model = bench.bind(
        wire.openai_url,
        api=api,
        max_tokens=77,
        effort="low",
        parallel_calls=False,
        extra={"top_k": 3},
        models={"gpt-5.2": _facts(cache_key=True)},
    )
    await model.complete(ask("go", cache_key="conv-9"), "c")
    (body,) = wire.requests
    assert body["parallel_tool_calls"] is False
    assert body["top_k"] == 3
    assert body["prompt_cache_key"] == "conv-9"
    if api == "responses":
        assert (body["max_output_tokens"], body["reasoning"]) == (77, {"effort": "low"})
        assert body["tools"][0]["strict"] is False
    else:
        assert (body["max_tokens"], body["reasoning_effort"]) == (77, "low")


@BOTH
async def test_a_model_that_makes_one_call_at_a_time_is_not_told_so(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play(["Hi."])  # OpenAI's o-models refuse the parameter
    await bench.bind(wire.openai_url, "o4-mini", api=api, parallel_calls=False).complete(ask("go"), "c")
    assert "parallel_tool_calls" not in wire.requests[0]


async def test_streams_ask_for_usage_and_never_lose_it(wire: Any, bench: Any, ask: Any, screen: Any) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}}
    wire.play([{"text": "Hi.", "usage": usage}, {"text": "Hi.", "usage": False}])
    model = bench.bind(wire.openai_url, api="chat")
    reply = await model.complete(ask("go"), "c", screen)
    assert (reply.usage.read, reply.usage.uncached, reply.usage.output) == (40, 10, 7)
    assert wire.requests[0]["stream_options"] == {"include_usage": True}
    silent = await model.complete(ask("go"), "c", screen)
    assert not silent.usage.reported


async def test_costs_follow_the_price_list(wire: Any, bench: Any, ask: Any) -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0, "input_tokens_details": {"cached_tokens": 0}}
    wire.play([{"text": "Hi.", "usage": usage}, {"text": "Hi.", "usage": usage}, {"text": "Hi."}])
    model = bench.bind(wire.openai_url, api="responses", models={"gpt": _facts(price="openai:gpt-5.2")})
    first, second = [await model.complete(ask("go"), "c") for _ in range(2)]
    assert first.usage.cost is not None
    assert first.usage.cost > 0.5
    assert second.usage.cost == pytest.approx(first.usage.cost)
    nobody = bench.bind(wire.openai_url, api="responses")
    assert (await nobody.complete(ask("go"), "c")).usage.cost is None


def _facts(**values: Any) -> Any:
    from wakeful_openai.settings import ModelFacts

    return ModelFacts(**values)
