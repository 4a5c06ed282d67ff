"""Compatible servers: what they send is taken where that is harmless, else refused saying what was seen."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wakeful.types import Call, ModelError, Result, Text

FOLDER = Path(__file__).with_name("oddities")
ODDITIES = [
    odd for path in sorted(FOLDER.glob("*.toml")) for odd in tomllib.loads(path.read_text("utf-8"))["odd"]
]


def answer(raw: Any, odd: dict[str, Any]) -> None:
    pieces = [piece.encode() for piece in odd.get("pieces") or [odd["body"]]]
    size = odd.get("split")
    if size:
        pieces = [pieces[0][i : i + size] for i in range(0, len(pieces[0]), size)]
    raw.answer(*pieces, status=odd.get("status", 200), kind=odd.get("kind", "text/event-stream"))


@pytest.mark.parametrize("odd", ODDITIES, ids=lambda odd: odd["name"])
async def test_oddity(odd: dict[str, Any], raw: Any, bench: Any, ask: Any, screen: Any) -> None:
    answer(raw, odd)
    model = bench.bind(raw.url, "some-model", api="chat", stream="whole" not in odd)
    if "error" in odd:
        with pytest.raises(ModelError) as caught:
            await model.complete(ask("go"), "c", screen)
        error, line = caught.value, str(caught.value)
        assert (error.kind, error.retryable) == (odd["error"], odd.get("retryable", False)), line
        assert odd.get("says", "") in line
        assert len(line) <= 300
        assert line.isprintable()
        return
    reply = await model.complete(ask("go"), "c", screen)
    text = "".join(item.text for item in reply.items if isinstance(item, Text))
    calls = [[item.tool, item.args] for item in reply.items if isinstance(item, Call)]
    assert (text, calls, reply.stop) == (odd.get("text", ""), odd.get("calls", []), odd.get("stop", "end"))
    usage = reply.usage
    assert ([usage.read, usage.uncached, usage.output] if usage.reported else None) == odd.get("used")
    if "whole" not in odd:
        shown = screen.text().strip().replace("\ufffd", "")
        assert (shown, screen.text(thinking=True)) == (text.replace("\ufffd", ""), odd.get("thinking", ""))


def test_names_are_unique_and_there_are_enough() -> None:
    names = [odd["name"] for odd in ODDITIES]
    assert len(names) == len(set(names))
    assert len(names) >= 40


async def test_one_delta_of_a_megabyte(raw: Any, bench: Any, ask: Any, screen: Any) -> None:
    long = "x" * 2**20
    choice = {"delta": {"content": long}, "finish_reason": "stop"}
    body = f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()
    raw.answer(*(body[i : i + 1000] for i in range(0, len(body), 1000)))
    reply = await bench.bind(raw.url).complete(ask("go"), "c", screen)
    assert reply.items == (Text("assistant", long),)


async def test_a_long_error_is_cut(raw: Any, bench: Any, ask: Any) -> None:
    raw.answer(json.dumps({"error": {"message": "x" * 5000}}).encode(), status=400, kind="application/json")
    with pytest.raises(ModelError) as caught:
        await bench.bind(raw.url).complete(ask("go"), "c")
    assert 200 < len(str(caught.value)) <= 300


async def test_made_up_ids_are_unique_in_a_conversation_and_the_same_again(
    raw: Any, bench: Any, ask: Any
) -> None:
    function = {"name": "add", "arguments": "{}"}
    message = {"tool_calls": [{"function": function}, {"id": "given", "function": function}]}
    raw.answer(json.dumps({"choices": [{"message": message}]}).encode(), kind="application/json")
    model = bench.bind(raw.url)
    first = await model.complete(ask("go"), "c")
    again = await model.complete(ask("go"), "c")
    assert first.items == again.items
    results = tuple(Result(call.id, "1") for call in first.items)
    second = await model.complete(ask("go", *first.items, *results), "c")
    ids = [call.id for call in (*first.items, *second.items)]
    assert ids.count("given") == 1  # the server gave it twice
    assert len(set(ids)) == len(ids) == 4


async def test_reasoning_is_sent_back_where_the_server_wants_it(wire: Any, bench: Any, ask: Any) -> None:
    thought = {
        "thinking": "hm",
        "reasoning_field": "reasoning_content",
        "calls": [{"tool": "add", "args": {}}],
    }
    for model, wanted in (("kimi-k2-thinking", ["hm"]), ("qwen3", [None])):
        wire.play([thought, "Done."])
        bound = bench.bind(wire.openai_url, model)
        first = await bound.complete(ask("go"), "c")
        call = first.items[-1]
        await bound.complete(ask("go", *first.items, Result(call.id, "1")), "c")
        said = [message for message in wire.requests[1]["messages"] if message["role"] == "assistant"]
        assert [message.get("reasoning_content") for message in said] == wanted


async def test_arguments_that_are_no_object_go_back_as_one(wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["Hi."])
    cut = Call("c1", "add", '{"text": "wo')
    await bench.bind(wire.openai_url).complete(ask("go", cut, Result("c1", "It was cut.")), "c")
    (call,) = wire.requests[0]["messages"][2]["tool_calls"]
    assert call["function"]["arguments"] == '{"INVALID_JSON": "{\\"text\\": \\"wo"}'


async def test_user_texts_in_a_row_are_one_message(wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["Hi."])
    await bench.bind(wire.openai_url).complete(ask("go", "<state>now</state>"), "c")
    roles = [(message["role"], message["content"]) for message in wire.requests[0]["messages"]]
    assert roles == [("system", "You add.\n\nBe brief."), ("user", "go\n\n<state>now</state>")]
