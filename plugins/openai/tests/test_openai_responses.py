"""Responses, byte by byte: what the last event lacks, items nobody knows, phases, and failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wakeful.types import Call, ModelError, Opaque, Result, Stop, Text, Trust

CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'}
SAID = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}


def event(kind: str, **values: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()


def body(*output: Any, **more: Any) -> bytes:
    return json.dumps({"status": "completed", "output": list(output), **more}).encode()


@pytest.fixture
def model(raw: Any, bench: Any) -> Any:
    return bench.bind(raw.url, api="responses")


async def test_items_are_taken_from_the_stream_where_the_last_event_has_none(
    raw: Any, model: Any, ask: Any, screen: Any
) -> None:
    raw.answer(
        event("response.created", response={}),
        event("response.output_text.delta", delta="Hi"),
        event("response.output_item.done", item=SAID),
        event("response.output_item.done", item=CALL),
        event("response.completed", response={"status": "completed", "output": []}),
    )
    reply = await model.complete(ask("go"), "c", screen)
    assert reply.items == (Text("assistant", "Hi"), Call("c1", "add", '{"a":1}'))
    assert (reply.stop, reply.usage.reported, screen.text()) == (Stop.CALLS, False, "Hi")


async def test_events_without_names_are_known_by_their_type(
    raw: Any, model: Any, ask: Any, screen: Any
) -> None:
    last = {"type": "response.completed", "response": {"output": [SAID]}}
    raw.answer(f"data: {json.dumps(last)}\r\n\r\n".encode())
    assert (await model.complete(ask("go"), "c", screen)).items == (Text("assistant", "Hi"),)


async def test_items_nobody_knows_are_kept_and_sent_again(
    raw: Any, wire: Any, bench: Any, model: Any, ask: Any
) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    raw.answer(body(search, SAID), kind="application/json")
    reply = await model.complete(ask("go"), "c")
    assert reply.items == (Opaque("openai", search), Text("assistant", "Hi"))
    wire.play(["Done."])
    again = bench.bind(wire.openai_url, api="responses")
    await again.complete(ask("go", *reply.items, "on"), "c")
    assert wire.requests[0]["input"][2] == search


async def test_phases_of_an_answer_are_sent_again(
    raw: Any, wire: Any, bench: Any, model: Any, ask: Any
) -> None:
    raw.answer(body({**SAID, "phase": "commentary"}, CALL), kind="application/json")
    reply = await model.complete(ask("go"), "c")
    assert [item.text for item in reply.items if isinstance(item, Text)] == ["Hi"]
    items = ("go", *reply.items, Result("c1", "2"))
    wire.play(["Done.", "Done."])
    again = bench.bind(wire.openai_url, api="responses")
    await again.complete(ask(*items), "c")
    said = [item for item in wire.requests[0]["input"] if item.get("role") == "assistant"]
    assert said == [{"type": "message", "role": "assistant", "content": "Hi", "phase": "commentary"}]
    chat = bench.bind(wire.openai_url, api="chat")
    await chat.complete(ask(*items), "c")
    assert wire.requests[1]["messages"][2]["content"] == "Hi"


async def test_ids_and_arguments_as_servers_send_them(raw: Any, model: Any, ask: Any) -> None:
    odd = [
        {**CALL, "call_id": None, "arguments": {"a": 1}},
        {**CALL, "call_id": None, "id": "fc_1", "arguments": ""},
        {**CALL, "call_id": "fc_1"},
    ]
    raw.answer(body(*odd), kind="application/json")
    reply = await model.complete(ask("go"), "c")
    assert [(call.id, call.args) for call in reply.items] == [
        ("c00001000", '{"a": 1}'),
        ("fc_1", "{}"),
        ("c00001001", '{"a":1}'),
    ]


async def test_calls_of_a_refused_reply_are_dropped(raw: Any, model: Any, ask: Any) -> None:
    filtered = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    raw.answer(body(SAID, CALL, **filtered), kind="application/json")
    reply = await model.complete(ask("go"), "c")
    assert (reply.stop, reply.items) == (Stop.REFUSED, (Text("assistant", "Hi"),))


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, None),
        ({"reasoning_summary": "auto"}, {"summary": "auto"}),
        ({"reasoning_summary": "auto", "effort": "low"}, {"effort": "low", "summary": "auto"}),
    ],
)
async def test_a_summary_of_the_reasoning_is_asked_for(
    settings: Any, sent: Any, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play(["Hi."])
    await bench.bind(wire.openai_url, api="responses", **settings).complete(ask("go"), "c")
    assert wire.requests[0].get("reasoning") == sent


async def test_reasoning_without_its_content_is_not_sent_again(wire: Any, bench: Any, ask: Any) -> None:
    bare = Opaque("openai", {"type": "reasoning", "id": "rs_1", "summary": []})
    wire.play(["Hi."])
    model = bench.bind(wire.openai_url, api="responses")
    await model.complete(ask("go", bare, Text("assistant", "Hi"), "on"), "c")
    assert [item["type"] for item in wire.requests[0]["input"]] == ["message"] * 4


@pytest.mark.parametrize("store", [False, True])
async def test_reasoning_is_sent_to_models_that_reason_only(
    store: bool, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play([{"thinking": "hm", "calls": [{"tool": "add", "args": {"a": 1}}]}, "Done.", "Done."])
    models = [
        bench.bind(wire.openai_url, name, api="responses", store=store) for name in ("gpt-5.2", "gpt-4.1")
    ]
    first = await models[0].complete(ask("go"), "c")
    items = ("go", *first.items, Result(first.items[-1].id, "1"))
    for model in models:
        await model.complete(ask(*items), "c")
    kinds = [[item["type"] for item in request["input"]] for request in wire.requests[1:]]
    calls = ["function_call", "function_call_output"]
    assert kinds == [["message", "message", "reasoning", *calls], ["message", "message", *calls]]


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (event("error", code="rate_limit_exceeded", message="slow"), "rate_limit", "slow"),
        (event("error", error={"code": "server_is_overloaded", "message": "busy"}), "overloaded", "busy"),
        (b'data: {"error": {"message": "gone", "code": "server_error"}}\n\n', "server", "gone"),
        (event("response.failed", response={"status": "failed", "error": {"message": "no"}}), "server", "no"),
        (event("response.completed", response=None), "malformed", "no last event"),
        (event("response.completed", response={"status": "queued"}), "malformed", "'queued'"),
        (
            event("response.completed", response={"model": "x"}),
            "malformed",
            "no output; its fields are model",
        ),
        (event("response.completed", response={"output": [{"x": 1}]}), "malformed", "without a type"),
        (
            event("response.completed", response={"output": [{**CALL, "name": ""}]}),
            "malformed",
            "without a name",
        ),
        (
            event("response.completed", response={"output": [{**CALL, "arguments": 5}]}),
            "malformed",
            "no object: 5",
        ),
        (event("response.output_text.delta", delta="Hi") + b"data: {broken\n\n", "malformed", "broken JSON"),
        (event("response.output_text.delta", delta="Hi"), "network", "ended before"),
        (b"data: [1]\n\n", "malformed", "no object"),
    ],
)
async def test_failures(
    answer: bytes, kind: str, says: str, raw: Any, model: Any, ask: Any, screen: Any
) -> None:
    raw.answer(answer)
    with pytest.raises(ModelError) as caught:
        await model.complete(ask("go"), "c", screen)
    assert caught.value.kind == kind
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "source"), [("web_search_call", "openai:web_search_call"), ("reasoning", "")]
)
async def test_what_the_providers_own_tools_bring_from_outside_is_not_trusted(
    raw: Any, model: Any, ask: Any, kind: str, source: str
) -> None:
    raw.answer(body({"type": kind, "id": "i_1"}, SAID), kind="application/json")
    reply = await model.complete(ask("go"), "c")
    trust = Trust.UNTRUSTED if source else Trust.TRUSTED
    assert (reply.trust, reply.source) == (trust, source)
