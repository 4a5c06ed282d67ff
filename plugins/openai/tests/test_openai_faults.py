"""Every failure ends in exactly one classified outcome; nothing is acted on twice, no usage is lost."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from wakeful.models import PatientModel
from wakeful.models.tries import counting
from wakeful.types import ModelError, Text, TextDelta, TextWithdrawn

BOTH = pytest.mark.parametrize("api", ["responses", "chat"])
EACH = pytest.mark.parametrize("stream", [False, True])
LONG = "word " * 100


#: Kinds of the wire server to (kind, whether it may be tried again).
KINDS = {
    "auth": ("auth", False),
    "permission": ("permission", False),
    "not_found": ("unknown", False),
    "context_too_long": ("context_too_long", False),
    "too_large": ("context_too_long", False),
    "rate_limit": ("rate_limit", True),
    "quota": ("permission", False),
    "blocked": ("refused", False),
    "server": ("server", True),
    "overloaded": ("overloaded", True),
    "timeout": ("timeout", True),
}


@BOTH
@EACH
@pytest.mark.parametrize("error", KINDS)
async def test_each_error_of_the_api_has_its_kind(
    api: str, stream: bool, error: str, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"error": {"kind": error}}])
    model = bench.bind(wire.openai_url, api=api, stream=stream)
    with pytest.raises(ModelError) as caught:
        await model.complete(ask("go"), "c", screen)
    assert (caught.value.kind, caught.value.retryable) == KINDS[error]
    assert str(caught.value).startswith("openai:gpt-5.2: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300
    assert screen.deltas == []
    assert len(wire.requests) == 1  # the SDK tried once


@BOTH
@pytest.mark.parametrize(
    ("fault", "kind"), [("truncate", "network"), ("bad_json", "malformed"), ("error_event", "server")]
)
async def test_a_broken_stream_is_asked_for_again_and_its_text_withdrawn(
    api: str, fault: str, kind: str, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    broken = {"text": LONG, "error": {"stream": fault}}
    wire.play([broken, "Whole."])
    model = bench.bind(wire.openai_url, api=api)
    with pytest.raises(ModelError) as caught:
        await model.complete(ask("go"), "c", screen)
    assert (caught.value.kind, caught.value.retryable) == (kind, True)
    wire.play([broken, "Whole."])
    screen.deltas.clear()
    patient = PatientModel((("openai:gpt-5.2", model),), bench.kit.clock, 60.0)
    asking = asyncio.create_task(patient.complete(ask("go"), "c", screen))
    await _passes(bench.kit.clock, asking)
    reply = await asking
    assert reply.items == (Text("assistant", "Whole."),)
    shown = [type(delta) for delta in screen.deltas]
    assert shown.count(TextWithdrawn) == 1
    assert shown[-1] is TextDelta
    assert len(wire.requests) == 2


async def test_a_response_that_failed_is_asked_for_again(
    wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"text": LONG, "error": {"stream": "failed"}}])
    with pytest.raises(ModelError, match="failed to generate") as caught:
        await bench.bind(wire.openai_url, api="responses").complete(ask("go"), "c", screen)
    assert (caught.value.kind, caught.value.retryable) == ("server", True)


@BOTH
async def test_retry_after_is_obeyed_by_the_clock_of_the_application(
    api: str, wire: Any, bench: Any, ask: Any
) -> None:
    wire.play([{"error": {"kind": "rate_limit", "retry_after": 7}}, "Now."])
    clock = bench.kit.clock
    patient = PatientModel((("m", bench.bind(wire.openai_url, api=api)),), clock, 60.0)
    asking = asyncio.create_task(patient.complete(ask("go"), "c"))
    await _passes(clock, asking)
    assert (await asking).items == (Text("assistant", "Now."),)
    assert clock.monotonic() == 7.0


async def test_retry_after_in_milliseconds_and_as_a_date(raw: Any, bench: Any, ask: Any) -> None:
    model = bench.bind(raw.url)
    now = bench.kit.clock.now()
    for headers, seconds in (
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": now.strftime("%a, %d %b %Y %H:%M:10 GMT")}, 10.0),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ):
        raw.answer(b'{"error": {"message": "slow down"}}', status=429, kind="application/json", **headers)
        with pytest.raises(ModelError) as caught:
            await model.complete(ask("go"), "c")
        assert (caught.value.kind, caught.value.retry_after) == ("rate_limit", seconds)


async def test_a_server_that_says_not_to_try_again_is_believed(raw: Any, bench: Any, ask: Any) -> None:
    raw.answer(b"{}", status=500, kind="application/json", x_should_retry="false")
    with pytest.raises(ModelError) as caught:
        await bench.bind(raw.url).complete(ask("go"), "c")
    assert (caught.value.kind, caught.value.retryable) == ("server", False)


@EACH
async def test_no_network_is_one_line_that_names_the_place(
    stream: bool, bench: Any, ask: Any, screen: Any
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    model = bench.bind(f"http://{place}/v1", stream=stream)
    with pytest.raises(ModelError, match=f"cannot connect to {place}") as caught:
        await model.complete(ask("go"), "c", screen)
    assert (caught.value.kind, caught.value.retryable) == ("network", True)


@BOTH
async def test_a_silent_server_is_a_timeout(api: str, wire: Any, bench: Any, ask: Any, screen: Any) -> None:
    wire.play([{"text": LONG, "hold_at": 4}, {"text": LONG, "hold": True}])
    model = bench.bind(wire.openai_url, api=api, timeout_s=0.2)
    for _ in range(2):
        with pytest.raises(ModelError, match="no answer in time") as caught:
            await model.complete(ask("go"), "c", screen)
        assert (caught.value.kind, caught.value.retryable) == ("timeout", True)
    wire.release()


@BOTH
async def test_cancelling_ends_at_once_and_the_server_sees_the_client_go(
    api: str, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"text": LONG, "hold_at": 4}, "Again."])
    model = bench.bind(wire.openai_url, api=api)
    asking = asyncio.create_task(model.complete(ask("go"), "c", screen))
    await wire.reached(held=1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await wire.reached(left=1)
    assert (await model.complete(ask("go"), "c")).items == (Text("assistant", "Again."),)


async def test_usage_of_a_reply_that_broke_travels_with_the_error(
    raw: Any, bench: Any, ask: Any, screen: Any
) -> None:
    raw.answer(
        b'data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,',
        b'"completion_tokens":1}}\n\n',
        b'data: {"choi',
    )
    with pytest.raises(ModelError) as caught:
        await bench.bind(raw.url).complete(ask("go"), "c", screen)
    assert caught.value.usage is not None
    assert (caught.value.usage.uncached, caught.value.usage.output) == (9, 1)


async def test_a_failed_response_says_what_it_used(raw: Any, bench: Any, ask: Any) -> None:
    raw.answer(
        b'{"status":"failed","error":{"code":"server_error","message":"oops"},"output":[],'
        b'"usage":{"input_tokens":5,"output_tokens":2}}',
        kind="application/json",
    )
    with pytest.raises(ModelError, match="oops") as caught:
        await bench.bind(raw.url, api="responses").complete(ask("go"), "c")
    assert caught.value.usage is not None
    assert caught.value.usage.total == 7


async def test_a_closed_model_can_be_closed_twice_and_used_again(wire: Any, bench: Any, ask: Any) -> None:
    wire.play(["One.", "Two."])
    model = bench.bind(wire.openai_url)
    await model.complete(ask("go"), "c")
    await model.close()
    await model.close()
    assert (await model.complete(ask("go"), "c")).items == (Text("assistant", "Two."),)


def test_one_model_serves_several_event_loops(wire: Any, make_bench: Any, ask: Any) -> None:
    wire.play(["One.", "Two."])
    model = make_bench().bind(wire.openai_url)

    async def once() -> str:
        reply = await model.complete(ask("go"), "c")
        await model.close()
        return str(reply.items[0].text)

    assert [asyncio.run(once()) for _ in range(2)] == ["One.", "Two."]


async def _passes(clock: Any, task: asyncio.Task[Any]) -> None:
    """Let fake time pass to the next sleeper, until the task is done."""
    while not task.done():
        await asyncio.sleep(0)
        if clock.sleeping:
            await clock.elapse(clock.next_s())


async def test_what_a_cancelled_stream_used_is_counted(raw: Any, bench: Any, ask: Any) -> None:
    chunk = {
        "choices": [{"index": 0, "delta": {"content": "Hi"}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1},
    }
    raw.answer(f"data: {json.dumps(chunk)}\n\n".encode(), b"data: [DONE]\n\n")
    shown = asyncio.Event()

    async def stay(_: Any) -> None:
        shown.set()
        await asyncio.Event().wait()

    with counting() as used:
        task = asyncio.create_task(bench.bind(raw.url, api="chat").complete(ask("go"), "c", stay))
        await shown.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [(usage.uncached, usage.output) for usage in used] == [(7, 1)]
