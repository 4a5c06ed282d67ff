"""Everything that goes wrong ends in one classified outcome, and nothing is acted on twice."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from wakeful import action
from wakeful.app import App
from wakeful.models import PatientModel
from wakeful.models.tries import counting
from wakeful.types import ModelError, RunEnded, RunStatus, StepStarted, Text, TextDelta, TextWithdrawn, Usage

from .conftest import KEY, RawServer, asked, http, sse

Desk = Callable[..., AbstractAsyncContextManager[App]]
Bind = Callable[..., Any]

STREAM_FAULTS = {"truncate": "network", "bad_json": "malformed", "error_event": "overloaded"}

BEGUN = {
    "type": "message_start",
    "message": {"usage": {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 3}},
}


async def failure(model: Any, *items: Any, emit: Any = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(asked(*(items or ("Hello",))), "c-1", emit)
    error = caught.value
    assert "\n" not in str(error)
    assert len(str(error)) <= 300
    assert KEY not in str(error)
    assert error.__cause__ is None  # nothing of the SDK, with its request and headers, hangs on it
    assert error.__context__ is None or not hasattr(error.__context__, "request")
    return error


@pytest.mark.parametrize(("fault", "kind"), STREAM_FAULTS.items())
async def test_each_fault_of_a_stream_is_classified_and_may_pass(
    wire: Any, bind: Bind, screen: Any, fault: str, kind: str
) -> None:
    wire.play([{"text": "word " * 60, "error": {"stream": fault}}])
    error = await failure(bind(wire.url), emit=screen)
    assert (error.kind, error.retryable) == (kind, True)
    assert error.usage is not None
    assert error.usage.input == wire.meter.rows[0]["input_tokens"]


@pytest.mark.parametrize("fault", STREAM_FAULTS)
async def test_a_broken_reply_is_withdrawn_asked_for_again_and_paid_for(
    wire: Any, patient_desk: Desk, hurry: Any, fault: str
) -> None:
    ran = []

    @action(effect="external")
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    call = {"tool": "pay", "args": {"amount": 5}}
    broken = {"text": "I pay now. " * 20, "calls": [call], "error": {"stream": fault, "at": 9}}
    wire.play([broken, {"text": "Paying.", "calls": [call]}, {**broken, "calls": []}, "Paid."])
    async with patient_desk(pay) as app:
        events = [event async for event in app.stream("agent", "Pay 5.", conversation="c-1")]
    answer = next(event.answer for event in events if isinstance(event, RunEnded))
    assert (answer.text, answer.status) == ("Paid.", RunStatus.COMPLETED)
    assert ran == [5]
    assert len(hurry.pauses) == 2
    assert len([event for event in events if isinstance(event, TextWithdrawn)]) == 2
    assert answer.usage.input == sum(row["input_tokens"] for row in wire.meter.rows)
    assert on_screen(events) == "Paying.Paid."


def on_screen(events: list[Any]) -> str:
    """Return the text that stands when all is over: what was withdrawn of a step is gone."""
    before, now = "", ""
    for event in events:
        if isinstance(event, StepStarted):
            before, now = before + now, ""
        elif isinstance(event, TextDelta):
            now += event.text
        elif isinstance(event, TextWithdrawn):
            now = ""
    return before + now


async def test_a_fault_that_does_not_pass_fails_the_turn_with_what_it_used(
    wire: Any, patient_desk: Desk
) -> None:
    wire.play([{"text": "word " * 60, "error": {"stream": "truncate"}}], loop=True)
    async with patient_desk() as app:
        answer = await app.send("agent", "Hello", conversation="c-1")
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith("network: anthropic:claude-sonnet-5: the connection to ")
    assert answer.usage.input == sum(row["input_tokens"] for row in wire.meter.rows)
    assert len(wire.meter.rows) > 2


@pytest.mark.parametrize("at", range(1, 14))
async def test_a_stream_cut_anywhere_gives_no_reply(wire: Any, bind: Bind, screen: Any, at: int) -> None:
    call = {"tool": "look", "args": {"key": "a" * 60}}
    wire.play(
        [{"thinking": "Hm.", "text": "Look:", "calls": [call], "error": {"stream": "truncate", "at": at}}]
    )
    error = await failure(bind(wire.url), emit=screen)
    assert (error.kind, error.retryable) == ("network", True)
    assert error.usage is not None


@pytest.mark.parametrize(
    ("scripted", "kind", "retryable", "words"),
    [
        ("auth", "auth", False, "auth (401): invalid x-api-key"),
        ("permission", "permission", False, "permission (403)"),
        ("quota", "permission", False, "credit balance"),
        ("not_found", "unknown", False, "not found error (404): model: no-such-model"),
        ("context_too_long", "context_too_long", False, "214335 tokens > 200000 maximum"),
        ("too_large", "context_too_long", False, "(413)"),
        ("rate_limit", "rate_limit", True, "rate limit (429)"),
        ("blocked", "refused", False, "content filtering"),
        ("server", "server", True, "server (500): Internal server error"),
        ("overloaded", "overloaded", True, "overloaded (529)"),
        ("timeout", "timeout", True, "timeout (504)"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_each_error_of_the_api_has_its_kind(
    wire: Any, bind: Bind, screen: Any, scripted: str, kind: str, retryable: bool, words: str, stream: bool
) -> None:
    wire.play([{"error": {"kind": scripted}}])
    error = await failure(bind(wire.url), emit=screen if stream else None)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert words in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "2.5"}, 2.5),
        ({"retry_after": "Mon, 05 Jan 2026 09:00:40 GMT"}, 40.0),
        ({"retry_after": "Mon, 05 Jan 2026 08:00:00 GMT"}, 0.0),
        ({"retry_after": "-3"}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "9", "retry_after_ms": "1500"}, 1.5),
        ({}, None),
    ],
)
async def test_the_pause_that_the_provider_asks_for_is_read(
    raw: RawServer, bind: Bind, headers: dict[str, str], seconds: float | None
) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}}
    raw.answers = [http(body, 429, **headers)]
    assert (await failure(bind(raw.url))).retry_after == seconds


async def test_an_error_that_is_marked_as_final_is_not_tried_again(wire: Any, bind: Bind) -> None:
    wire.play([{"error": {"kind": "rate_limit", "should_retry": False, "retry_after": 5}}])
    error = await failure(bind(wire.url))
    assert (error.kind, error.retryable, error.retry_after) == ("rate_limit", False, None)


async def test_a_pause_is_kept_and_the_turn_goes_on(wire: Any, patient_desk: Desk, hurry: Any) -> None:
    wire.play(
        [{"error": {"kind": "rate_limit", "retry_after": 11}}, {"error": {"kind": "overloaded"}}, "Hello."]
    )
    async with patient_desk() as app:
        answer = await app.send("agent", "Hello", conversation="c-1")
    assert answer.text == "Hello."
    assert hurry.pauses[0] == 11
    assert len(hurry.pauses) == 2


@pytest.mark.parametrize("status", [502, 503, 520, 403, 404])
async def test_a_page_instead_of_an_error_is_named_and_not_shown(wire: Any, bind: Bind, status: int) -> None:
    wire.play([{"error": {"status": status, "html": True}}])
    error = await failure(bind(wire.url))
    assert error.retryable == (status >= 500)
    assert f"({status}): an HTML page ({status}" in str(error)
    assert "<" not in str(error)


async def test_a_page_instead_of_a_reply_is_malformed(raw: RawServer, bind: Bind, screen: Any) -> None:
    raw.answers = [http("<!DOCTYPE html><html><head><title>Sign in</title></head></html>")]
    for emit in (None, screen):
        error = await failure(bind(raw.url), emit=emit)
        assert (error.kind, error.retryable) == ("malformed", False)
        assert "an HTML page (Sign in)" in str(error)


async def test_an_error_under_a_good_status_is_an_error(raw: RawServer, bind: Bind, screen: Any) -> None:
    raw.answers = [http({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})]
    for emit in (None, screen):
        error = await failure(bind(raw.url), emit=emit)
        assert (error.kind, error.retryable) == ("overloaded", True)


@pytest.mark.parametrize(
    "body", [b'{"type": "message", "content": [{"type"', b"", {"type": "message"}, {"content": ["x"]}]
)
async def test_a_reply_that_cannot_be_read_may_pass(raw: RawServer, bind: Bind, body: Any) -> None:
    raw.answers = [http(body, content_type="application/json")]
    error = await failure(bind(raw.url))
    assert (error.kind, error.retryable) == ("malformed", True)


async def test_a_reply_cut_in_one_piece_is_a_network_error(raw: RawServer, bind: Bind) -> None:
    raw.answers = [http({"type": "message", "content": []})[:-10]]
    error = await failure(bind(raw.url))
    assert (error.kind, error.retryable) == ("network", True)


async def test_what_a_broken_stream_used_is_priced(raw: RawServer, bind: Bind, screen: Any) -> None:
    raw.answers = [sse(BEGUN)]
    error = await failure(bind(raw.url), emit=screen)
    assert error.usage is not None
    assert (error.usage.read, error.usage.uncached, error.usage.output) == (900, 100, 3)
    assert error.usage.cost == pytest.approx((900 * 0.2 + 100 * 2 + 3 * 10) / 1e6)


@pytest.mark.parametrize("reply", [sse(), sse({"type": "ping"}), http(b"{", content_type="application/json")])
async def test_a_reply_that_broke_before_it_said_what_it_used_is_unknown(
    raw: RawServer, bind: Bind, screen: Any, reply: bytes
) -> None:
    raw.answers = [reply]
    assert (await failure(bind(raw.url), emit=screen)).usage == Usage(reported=False)


async def test_no_connection_is_one_line_that_says_where(closed_port: str, bind: Bind) -> None:
    error = await failure(bind(closed_port))
    assert (error.kind, error.retryable, error.usage) == ("network", True, None)
    assert str(error).startswith(f"anthropic:claude-sonnet-5: cannot connect to {closed_port}")


async def test_a_server_that_says_nothing_times_out(bind: Bind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = await failure(bind(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.05))
    assert (error.kind, error.retryable) == ("timeout", True)


async def test_cancelling_passes_at_once(wire: Any, bind: Bind, screen: Any, hurry: Any) -> None:
    wire.play([{"text": "word " * 100, "hold_at": 4}, {"text": "x", "hold": True}])
    model = PatientModel((("anthropic:x", bind(wire.url)),), hurry, 120.0)
    for number, emit in enumerate((screen, None), 1):
        task = asyncio.create_task(model.complete(asked("Hello"), "c-1", emit))
        await wire.reached(held=number)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wire.reached(left=number)


async def test_what_a_cancelled_stream_used_is_counted(wire: Any, bind: Bind) -> None:
    wire.play([{"text": "word " * 100}])
    shown = asyncio.Event()

    async def stay(_: Any) -> None:
        shown.set()
        await asyncio.Event().wait()

    with counting() as used:
        task = asyncio.create_task(bind(wire.url).complete(asked("Hello"), "c-1", stay))
        await shown.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (usage,) = used
    assert usage.input == wire.meter.rows[0]["input_tokens"]
    assert usage.cost is not None


async def test_a_model_without_credit_hands_over_to_the_next(wire: Any, bind: Bind, hurry: Any) -> None:
    wire.play([{"error": {"kind": "quota"}}, "Hello."])
    first, second = bind(wire.url), bind(wire.url, "claude-haiku-4-5")
    model = PatientModel((("anthropic:a", first), ("anthropic:b", second)), hurry, 120.0)
    reply = await model.complete(asked("Hello"), "c-1")
    assert (reply.items, reply.model) == ((Text("assistant", "Hello."),), "anthropic:b")
    assert [request["model"] for request in wire.requests] == ["claude-sonnet-5", "claude-haiku-4-5"]
