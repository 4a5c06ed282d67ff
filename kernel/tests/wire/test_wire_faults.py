"""Every error a provider answers with, in its own words, and streams that go wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from wakeful.testing.wire import ERRORS, App
from wakeful.types import WakefulError

Serve = Callable[[dict[str, Any]], Awaitable[tuple[str, App]]]
Client = Callable[..., Awaitable[Any]]

HI: Any = [{"role": "user", "content": "hi"}]
LONG = "word " * 200


async def messages(client: Any, **more: Any) -> Any:
    return await client.messages.create(**{"model": "m", "max_tokens": 9, "messages": HI, **more})


async def chat(client: Any, **more: Any) -> Any:
    return await client.chat.completions.create(**{"model": "m", "messages": HI, **more})


async def responses(client: Any, **more: Any) -> Any:
    return await client.responses.create(**{"model": "m", "input": HI, **more})


@pytest.mark.parametrize(
    ("kind", "expected", "type_"),
    [
        ("auth", anthropic.AuthenticationError, "authentication_error"),
        ("permission", anthropic.PermissionDeniedError, "permission_error"),
        ("not_found", anthropic.NotFoundError, "not_found_error"),
        ("context_too_long", anthropic.BadRequestError, "invalid_request_error"),
        ("too_large", anthropic.APIStatusError, "request_too_large"),
        ("rate_limit", anthropic.RateLimitError, "rate_limit_error"),
        ("quota", anthropic.BadRequestError, "invalid_request_error"),
        ("blocked", anthropic.BadRequestError, "invalid_request_error"),
        ("server", anthropic.InternalServerError, "api_error"),
        ("overloaded", anthropic.APIStatusError, "overloaded_error"),
        ("timeout", anthropic.APIStatusError, "timeout_error"),
    ],
)
async def test_errors_of_anthropics(
    serve: Serve, claude: Client, kind: str, expected: type[Exception], type_: str
) -> None:
    url, _ = await serve({"replies": [{"error": {"kind": kind}}]})
    with pytest.raises(expected) as got:
        await messages(await claude(url))
    assert isinstance(got.value, anthropic.APIStatusError)
    status, _, _, _, words = ERRORS[kind]["anthropic"]
    assert got.value.status_code == status
    assert got.value.body == {
        "type": "error",
        "error": {"type": type_, "message": words},
        "request_id": "req_wire",
    }


@pytest.mark.parametrize("ask", [chat, responses])
@pytest.mark.parametrize(
    ("kind", "expected", "code"),
    [
        ("auth", openai.AuthenticationError, "invalid_api_key"),
        ("permission", openai.PermissionDeniedError, "insufficient_permissions"),
        ("not_found", openai.NotFoundError, "model_not_found"),
        ("context_too_long", openai.BadRequestError, "context_length_exceeded"),
        ("too_large", openai.APIStatusError, None),
        ("rate_limit", openai.RateLimitError, "rate_limit_exceeded"),
        ("quota", openai.RateLimitError, "insufficient_quota"),
        ("blocked", openai.BadRequestError, "invalid_prompt"),
        ("server", openai.InternalServerError, None),
        ("overloaded", openai.InternalServerError, "server_is_overloaded"),
        ("timeout", openai.InternalServerError, None),
    ],
)
async def test_errors_of_openais(
    serve: Serve, gpt: Client, ask: Any, kind: str, expected: type[Exception], code: str | None
) -> None:
    url, _ = await serve({"replies": [{"error": {"kind": kind}}]})
    with pytest.raises(expected) as got:
        await ask(await gpt(url))
    assert isinstance(got.value, openai.APIStatusError)
    assert got.value.code == code


def test_every_kind_is_tried_above() -> None:
    assert set(ERRORS) == {
        *("auth", "permission", "not_found", "context_too_long", "too_large", "rate_limit"),
        *("quota", "blocked", "server", "overloaded", "timeout"),
    }


async def test_errors_can_be_put_differently(serve: Serve, claude: Client) -> None:
    error = {"kind": "rate_limit", "retry_after": 7, "should_retry": False, "message": "Slow down"}
    url, _ = await serve({"replies": [{"error": error}]})
    with pytest.raises(anthropic.RateLimitError, match="Slow down") as got:
        await messages(await claude(url))
    assert got.value.response.headers["retry-after"] == "7"
    assert got.value.response.headers["x-should-retry"] == "false"


async def test_an_unknown_kind_is_named(serve: Serve, claude: Client) -> None:
    url, _ = await serve({"replies": [{"error": {"kind": "overload"}}]})
    with pytest.raises(anthropic.BadRequestError, match="did you mean 'overloaded'"):
        await messages(await claude(url))


@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_under_the_status_200(serve: Serve, claude: Client, gpt: Client, stream: bool) -> None:
    error = {"status": 200, "type": "server_error", "message": "upstream failed"}
    url, app = await serve({"replies": [{"error": error}], "loop": True})
    raw = await (await gpt(url)).chat.completions.with_raw_response.create(
        model="m", messages=HI, stream=stream
    )
    assert raw.status_code == 200
    assert raw.headers["content-type"].startswith("application/json")
    anthropics = await claude(url)
    reply = await anthropics.messages.with_raw_response.create(
        model="m", max_tokens=9, messages=HI, stream=stream
    )
    assert reply.status_code == 200
    assert app.meter.summary()["failed_requests"] == 2
    assert app.meter.summary()["requests"] == 0


@pytest.mark.parametrize("ask", [chat, responses])
async def test_a_page_instead_of_json(serve: Serve, claude: Client, gpt: Client, ask: Any) -> None:
    url, _ = await serve({"replies": [{"error": {"status": 502, "html": True}}], "loop": True})
    with pytest.raises(openai.InternalServerError) as got:
        await ask(await gpt(url))
    assert "<h1>502 Bad Gateway</h1>" in got.value.response.text
    assert got.value.response.headers["content-type"].startswith("text/html")
    with pytest.raises(anthropic.InternalServerError, match="<h1>502 Bad Gateway</h1>"):
        await messages(await claude(url))


async def test_a_page_of_ones_own(serve: Serve, gpt: Client) -> None:
    url, _ = await serve({"replies": [{"error": {"status": 200, "html": "<p>Log in</p>"}}]})
    raw = await (await gpt(url)).chat.completions.with_raw_response.create(model="m", messages=HI)
    assert raw.text == "<p>Log in</p>"


async def test_a_prompt_beyond_the_window_is_too_long(serve: Serve, claude: Client, gpt: Client) -> None:
    url, app = await serve({"replies": [{"text": "ok"}], "loop": True, "context_window": 100})
    big = [{"role": "user", "content": LONG}]
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: 25\d tokens > 100 maximum"):
        await messages(await claude(url), messages=big)
    with pytest.raises(openai.BadRequestError, match="maximum context length is 100 tokens") as got:
        await chat(await gpt(url), messages=big)
    assert got.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError, match="exceeds the context window"):
        await responses(await gpt(url), input=big)
    assert (await messages(await claude(url))).content[0].text == "ok"
    assert app.meter.summary()["failed_requests"] == 3


async def test_a_scenario_can_ask_for_a_key(serve: Serve, claude: Client, gpt: Client) -> None:
    url, app = await serve({"replies": [{"text": "ok"}], "loop": True, "api_key": "right"})
    with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
        await messages(await claude(url, api_key="wrong-key"))
    with pytest.raises(openai.AuthenticationError) as got:
        await chat(await gpt(url, api_key="wrong-key"))
    assert got.value.code == "invalid_api_key"
    assert (await messages(await claude(url, api_key="right"))).content[0].text == "ok"
    assert (await chat(await gpt(url, api_key="right"))).choices[0].message.content == "ok"
    assert "wrong-key" not in str(app.meter.rows) + str(app.bodies)


async def gather(stream: Any, seen: list[Any]) -> None:
    async for event in stream:
        seen.append(event)  # noqa: PERF401  # what came before an error stays


@pytest.mark.parametrize("ask", [chat, responses])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        # The SDK wraps the transport's error from some version on.
        ("truncate", ("APIConnectionError", "RemoteProtocolError")),
        ("bad_json", ("JSONDecodeError",)),
        ("error_event", ("APIError",)),
    ],
)
async def test_broken_streams_of_openais(
    serve: Serve, gpt: Client, ask: Any, fault: str, expected: tuple[str, ...]
) -> None:
    url, _ = await serve({"replies": [{"text": LONG, "error": {"stream": fault}}]})
    seen: list[Any] = []
    stream = await ask(await gpt(url), stream=True)
    with pytest.raises(Exception, check=lambda error: type(error).__name__ in expected):  # noqa: B017  (checked by its name)
        await gather(stream, seen)
    assert len(seen) > 2


async def test_a_response_can_fail(serve: Serve, gpt: Client) -> None:
    url, _ = await serve({"replies": [{"text": LONG, "error": {"stream": "failed"}}]})
    events = [event async for event in await responses(await gpt(url), stream=True)]
    assert events[-1].type == "response.failed"
    assert events[-1].response.error.code == "server_error"
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_a_stream_can_break_at_a_piece(serve: Serve, gpt: Client) -> None:
    url, _ = await serve({"replies": [{"text": LONG, "error": {"stream": "error_event", "at": 3}}]})
    seen: list[Any] = []
    stream = await chat(await gpt(url), stream=True)
    with pytest.raises(openai.APIError, match="had an error"):
        await gather(stream, seen)
    assert len(seen) == 3


async def test_comments_and_split_characters_are_harmless(serve: Serve, claude: Client, gpt: Client) -> None:
    reply = {"text": "naïve ☃ " * 30, "keep_alive": True, "split_bytes": 5}
    url, _ = await serve({"replies": [reply], "loop": True})
    async with (await claude(url)).messages.stream(model="m", max_tokens=9, messages=HI) as pieces:
        assert (await pieces.get_final_message()).content[0].text == reply["text"]
    chunks = [chunk async for chunk in await chat(await gpt(url), stream=True)]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == reply["text"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"reply": []}, "the scenario: unknown key 'reply'; did you mean 'replies'"),
        ({"replies": [{"txt": "x"}]}, r"replies\[0\]: unknown key 'txt'; did you mean 'text'"),
        ({"replies": [{"calls": [{"tool": "a", "arg": {}}]}]}, r"replies\[0\].calls\[0\]: unknown key 'arg'"),
        ({"rules": [{"wen": {}}]}, r"rules\[0\]: unknown key 'wen'"),
        ({"defaults": {"error": {"state": 1}}}, "defaults.error: unknown key 'state'"),
    ],
)
async def test_a_misspelt_scenario_is_refused(serve: Serve, spec: dict[str, Any], words: str) -> None:
    with pytest.raises(WakefulError, match=words):
        await serve(spec)
