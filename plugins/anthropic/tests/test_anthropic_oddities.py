"""Bytes that proxies and compatible servers send; written from public reports, harmless ones are accepted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from wakeful.types import Call, ModelError, Opaque, Stop, Text, TextDelta, Trust, Usage

from .conftest import RawServer, asked, http, sse

Bind = Callable[..., Any]

START: dict[str, Any] = {
    "type": "message_start",
    "message": {"usage": {"input_tokens": 7, "output_tokens": 1}},
}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}
STOP = {"type": "message_stop"}


def block(*pieces: str, index: int = 0) -> list[dict[str, Any]]:
    deltas = [
        {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": p}}
        for p in pieces
    ]
    start = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
    return [start, *deltas, {"type": "content_block_stop", "index": index}]


def call_block(*pieces: str, **start: Any) -> list[dict[str, Any]]:
    own = {"type": "tool_use", "id": "t1", "name": "look", "input": {}, **start}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    parts = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    return [{"type": "content_block_start", "index": 0, "content_block": own}, *parts]


def message(*content: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 5}
    return {"type": "message", "content": list(content), "stop_reason": "end_turn", "usage": usage, **more}


TEXT = {"type": "text", "text": "Hello."}
USED = (7, 5)

STREAMS: dict[str, tuple[bytes, tuple[Any, ...], Stop]] = {
    "plain": (sse(START, *block("Hel", "lo."), END, STOP), (Text("assistant", "Hello."),), Stop.END),
    "CRLF": (
        sse(*(f"data: {json.dumps(e)}\r\n\r\n".encode() for e in (START, *block("Hello."), END, STOP))),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "no blank after the colon": (
        sse(*(f"data:{json.dumps(e)}\n\n".encode() for e in (START, *block("Hello."), END))),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "comments, ids and retries": (
        sse(b": keep-alive\n\n", START, b"id: 7\nretry: 10\n\n", *block("Hello."), b":\n\n", END, STOP),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "data over two lines": (
        sse(
            START,
            b'data: {"type": "content_block_start", "index": 0,\n'
            b'data: "content_block": {"type": "text", "text": "Hello."}}\n\n',
            END,
        ),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "unknown events and deltas": (
        sse(
            START,
            {"type": "something_new", "index": 3},
            *block("Hello.")[:-1],
            {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}},
            END,
            STOP,
        ),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "no message_stop": (sse(START, *block("Hello."), END), (Text("assistant", "Hello."),), Stop.END),
    "an empty text block": (
        sse(START, *block(index=0), *block("Hello.", index=1), END, STOP),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "characters of four bytes": (
        sse(START, *block("Hé🙂", "🙂"), END, STOP),
        (Text("assistant", "Hé🙂🙂"),),
        Stop.END,
    ),
    "a call whose pieces are empty": (
        sse(START, *call_block("", ""), END, STOP),
        (Call("t1", "look", "{}"),),
        Stop.CALLS,
    ),
    "a call without pieces": (
        sse(START, *call_block(input={"key": "é"}), END, STOP),
        (Call("t1", "look", '{"key":"é"}'),),
        Stop.CALLS,
    ),
    "a call under an ordinary end": (
        sse(START, *call_block('{"key"', ': "a"}'), END, STOP),
        (Call("t1", "look", '{"key": "a"}'),),
        Stop.CALLS,
    ),
    "an unknown stop reason": (
        sse(START, *block("Hello."), {**END, "delta": {"stop_reason": "out_of_ideas"}}, STOP),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "a full window": (
        sse(
            START, *block("Hello."), {**END, "delta": {"stop_reason": "model_context_window_exceeded"}}, STOP
        ),
        (Text("assistant", "Hello."),),
        Stop.LENGTH,
    ),
    "a stop sequence": (
        sse(START, *block("Hello."), {**END, "delta": {"stop_reason": "stop_sequence"}}, STOP),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "calls announced and none made": (
        sse(START, *block("Hello."), {**END, "delta": {"stop_reason": "tool_use"}}, STOP),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "a whole reply instead of a stream": (http(message(TEXT)), (Text("assistant", "Hello."),), Stop.END),
}


@pytest.mark.parametrize("size", [1, 7, 65_536])
@pytest.mark.parametrize("name", STREAMS)
async def test_a_harmless_oddity_of_a_stream(
    raw: RawServer, bind: Bind, screen: Any, name: str, size: int
) -> None:
    answer, items, stop = STREAMS[name]
    raw.answers, raw.size = [answer], size
    reply = await bind(raw.url).complete(asked("Hi"), "c", screen)
    assert (reply.items, reply.stop) == (items, stop)
    assert (reply.usage.uncached, reply.usage.output) == USED
    said = "".join(item.text for item in items if isinstance(item, Text))
    if answer.startswith(b"HTTP/1.1 200 OK") and name != "data over two lines":
        assert "".join(delta.text for delta in screen.shown) == said


WHOLE: dict[str, tuple[dict[str, Any], tuple[Any, ...], Stop]] = {
    "citations": (message({**TEXT, "citations": [{"type": "x"}]}), (Text("assistant", "Hello."),), Stop.END),
    "null text": (message({"type": "text", "text": None}, TEXT), (Text("assistant", "Hello."),), Stop.END),
    "arguments as a string": (
        message({"type": "tool_use", "id": "t1", "name": "look", "input": '{"key": "a"}'}),
        (Call("t1", "look", '{"key": "a"}'),),
        Stop.CALLS,
    ),
    "null arguments": (
        message({"type": "tool_use", "id": "t1", "name": "look", "input": None}),
        (Call("t1", "look", "{}"),),
        Stop.CALLS,
    ),
    "an unknown block": (
        message({"type": "hologram", "z": 1, "a": 2}, TEXT),
        (Opaque("anthropic", {"type": "hologram", "z": 1, "a": 2}), Text("assistant", "Hello.")),
        Stop.END,
    ),
    "no type": (
        {k: v for k, v in message(TEXT).items() if k != "type"},
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
    "a null error": (message(TEXT, error=None), (Text("assistant", "Hello."),), Stop.END),
    "unknown fields": (message(TEXT, x=1, container=None), (Text("assistant", "Hello."),), Stop.END),
    "null counts": (
        message(TEXT, usage={"input_tokens": 7, "output_tokens": 5, "cache_creation_input_tokens": None}),
        (Text("assistant", "Hello."),),
        Stop.END,
    ),
}


@pytest.mark.parametrize("name", WHOLE)
async def test_a_harmless_oddity_of_a_reply(raw: RawServer, bind: Bind, name: str) -> None:
    answer, items, stop = WHOLE[name]
    raw.answers = [http(answer)]
    reply = await bind(raw.url).complete(asked("Hi"), "c")
    assert (reply.items, reply.stop) == (items, stop)
    assert (reply.usage.uncached, reply.usage.output) == USED


async def test_missing_usage_is_not_zero_usage(raw: RawServer, bind: Bind, screen: Any) -> None:
    bare = {"type": "message_start", "message": {}}
    told = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    raw.answers = [
        http({"content": [TEXT], "stop_reason": "end_turn"}),
        sse(bare, *block("Hello."), told, STOP),
    ]
    for emit in (None, screen):
        assert (await bind(raw.url).complete(asked("Hi"), "c", emit)).usage == Usage(reported=False)


async def test_a_compressed_reply_is_read(raw: RawServer, bind: Bind, screen: Any) -> None:
    packed = gzip.compress(sse(START, *block("Hello."), END, STOP).partition(b"\r\n\r\n")[2])
    raw.answers = [http(packed, content_type="text/event-stream", content_encoding="gzip")]
    reply = await bind(raw.url).complete(asked("Hi"), "c", screen)
    assert reply.items == (Text("assistant", "Hello."),)
    assert screen.shown == [TextDelta("Hello.")]


BROKEN = {
    "a piece before its block": sse(START, *block("x")[1:], END, STOP),
    "an event without a type": sse(START, b'data: {"x": 1}\n\n', END),
    "an event that is a list": sse(START, b"data: []\n\n", END),
    "a piece without text": sse(
        START, *block("x")[:1], {**block("x")[1], "delta": {"type": "text_delta"}}, END
    ),
    "a call without an id": sse(START, *call_block("{}", id=None), END, STOP),
    "a call without a name": sse(START, *call_block("{}", name=""), END, STOP),
    "an own block with broken input": sse(START, *call_block('{"q', type="server_tool_use"), END, STOP),
    "an end without a reason": sse(START, *block("Hello."), STOP),
    "no JSON": sse(START, b"data: [DONE]\n\n"),
    "half a character": sse(START, b'data: {"type": "\xf0\x9f"}\n\n'),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_reply_that_makes_no_sense_is_malformed_and_may_pass(
    raw: RawServer, bind: Bind, screen: Any, name: str
) -> None:
    raw.answers = [BROKEN[name]]
    with pytest.raises(ModelError) as caught:
        await bind(raw.url).complete(asked("Hi"), "c", screen)
    assert (caught.value.kind, caught.value.retryable) == ("malformed", True)
    assert caught.value.usage is not None
    assert caught.value.usage.uncached == 7


async def test_a_stream_that_ends_early_without_a_fault_is_no_reply(
    raw: RawServer, bind: Bind, screen: Any
) -> None:
    raw.answers = [sse(START, *block("Hello."))]
    with pytest.raises(ModelError, match="the stream ended before the reply did") as caught:
        await bind(raw.url).complete(asked("Hi"), "c", screen)
    assert (caught.value.kind, caught.value.retryable) == ("network", True)


@pytest.mark.parametrize(
    ("kind", "expected"), [("gremlin_error", ("server", True)), ("not_found_error", ("unknown", False))]
)
async def test_an_error_inside_a_reply_is_the_same_whole_or_in_a_stream(
    raw: RawServer, bind: Bind, screen: Any, kind: str, expected: tuple[str, bool]
) -> None:
    told = {"type": "error", "error": {"type": kind, "message": "Oh."}}
    raw.answers = [sse(START, told), http({**told, **START["message"]})]
    for emit in (screen, None):
        with pytest.raises(ModelError, match="Oh") as caught:
            await bind(raw.url).complete(asked("Hi"), "c", emit)
        assert (caught.value.kind, caught.value.retryable) == expected
        assert caught.value.usage is not None
        assert caught.value.usage.uncached == 7


@pytest.mark.parametrize("pieces", [(), ('{"query": "hal',), ('{"query": "half"}',)])
async def test_a_call_of_the_providers_own_tool_that_was_cut_is_dropped(
    raw: RawServer, bind: Bind, screen: Any, pieces: tuple[str, ...]
) -> None:
    end = {**END, "delta": {"stop_reason": "max_tokens"}}
    call = [{**event, "index": 1} for event in call_block(*pieces, type="server_tool_use")]
    raw.answers = [sse(START, *block("Hello."), *call, end, STOP)]
    reply = await bind(raw.url).complete(asked("Hi"), "c", screen)
    assert (reply.items, reply.stop) == ((Text("assistant", "Hello."),), Stop.LENGTH)


@pytest.mark.parametrize(
    ("kind", "source"),
    [("web_search_tool_result", "anthropic:web_search"), ("tool_search_tool_result", "")],
)
async def test_what_the_providers_own_tools_bring_from_outside_is_not_trusted(
    raw: RawServer, bind: Bind, screen: Any, kind: str, source: str
) -> None:
    found = {"type": kind, "tool_use_id": "s1", "content": []}
    start = {"type": "content_block_start", "index": 1, "content_block": found}
    raw.answers = [sse(START, *block("Hello."), start, END, STOP)]
    reply = await bind(raw.url).complete(asked("Hi"), "c", screen)
    assert reply.items == (Text("assistant", "Hello."), Opaque("anthropic", found))
    trust = Trust.UNTRUSTED if source else Trust.TRUSTED
    assert (reply.trust, reply.source) == (trust, source)
