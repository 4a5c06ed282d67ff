"""A harness behind an address: a good one and bad ones, on the loopback interface."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import wakeful
from wakeful import Agent, action
from wakeful.testing import ScriptedModel
from wakeful.types import Answer, ConfigError, RunStatus

Answers = Callable[[dict[str, Any]], bytes]


@action(effect="read", output_trust="trusted")
async def ping(word: str = "") -> str:
    """Ping."""
    return f"pong {word}"


@asynccontextmanager
async def serving(answers: Answers) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        writer.write(answers(json.loads(await reader.readexactly(length))))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/step"
    finally:
        server.close()


def reply(value: Any, status: str = "200 OK", more: str = "") -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{more}\r\n"
    return head.encode() + body


async def turn(url: str, **settings: Any) -> Answer:
    subject = Agent(
        model=ScriptedModel([]),
        actions=[ping],
        plugins=["external"],
        settings={"external": {"url": url, "timeout_s": 20.0, **settings}},
        type="external",
    )
    async with wakeful.open(subject) as app:
        return await app.send("agent", "Go")


async def test_steps_come_from_a_service() -> None:
    def answers(told: dict[str, Any]) -> bytes:
        results = [result for message in told["messages"] for result in message["results"]]
        if not results:
            return reply({"type": "step", "calls": [{"action": "ping", "args": {"word": "a"}}]})
        return reply({"type": "answer", "text": f"It said {results[0]['text'][-6:]}"})

    async with serving(answers) as url:
        answer = await turn(url)
    assert (answer.status, answer.text) == (RunStatus.COMPLETED, "It said pong a")


async def test_mistakes_are_told() -> None:
    def answers(told: dict[str, Any]) -> bytes:
        return reply({"type": "answer", "text": told["error"]} if "error" in told else {"type": "dance"})

    async with serving(answers) as url:
        answer = await turn(url)
    assert answer.text.startswith("unknown type 'dance'")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (reply(b"no json"), "the harness sent 3 wrong messages: expected one JSON object"),
        (reply({}, "500 Oh"), "the harness answered with status 500"),
        (reply(b"x" * 5_000), "the harness sent an answer that is too long"),
        (b"HTTP/1.1 ", "the harness cannot be reached: "),
        (reply({"type": "wait"}), "the harness waits for a decision, and no call is held"),
        (reply({"type": "log"}), "the harness sent 3 wrong messages: expected a step"),
        (reply({}, "302 Found", "location: http://127.0.0.1:1/\r\n"), "the harness answered with status 302"),
        (
            reply(gzip.compress(b" " * 1_000_000), more="content-encoding: gzip\r\n"),
            "the harness sent 3 wrong messages: expected one JSON object",
        ),
    ],
)
async def test_a_bad_service_ends_as_a_failed_run(given: bytes, said: str) -> None:
    async with serving(lambda told: given) as url:
        answer = await turn(url, max_line_bytes=2_000)
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith(said), answer.error


async def test_one_that_never_answers_and_one_that_is_not_there() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    silent = await turn(f"http://127.0.0.1:{port}/", timeout_s=0.3)
    assert silent.error == "the harness proposed nothing within 0.3 seconds"
    server.close()
    async with serving(lambda told: b"") as url:
        gone = url
    assert (await turn(gone)).error.startswith("the harness cannot be reached: ConnectError")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": ["x"]}, "command and url exclude each other"),
        ({"url": "ftp://x"}, "plugins.external.url: expected an address"),
    ],
)
async def test_settings_that_do_not_fit(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        await turn(**{"url": "http://127.0.0.1:1/", **settings})
