from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from attrs import define, field

from wakeful.app import Agent, App
from wakeful.models import PatientModel
from wakeful.testing import FakeClock
from wakeful.types import Action, Delta, Item, Marks, Model, Request, Text, Tool
from wakeful_anthropic import Anthropic, AnthropicSettings

KEY = "sk-ant-a-secret-that-nobody-may-see"
LOOK = Tool("look", "Look something up.", {"type": "object", "properties": {"key": {"type": "string"}}})


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "CUSTOM_HEADERS", "LOG"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)


class HurriedClock(FakeClock):
    """A clock for the pauses between two tries: they pass at once and are noted."""

    pauses: list[float]

    def __init__(self) -> None:
        super().__init__()
        self.pauses = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def hurry() -> HurriedClock:
    return HurriedClock()


@define
class Kit:
    """What the application gives the plugin, as far as it uses it."""

    clock: FakeClock
    reports: list[str] = field(factory=list)

    def report(self, message: str) -> None:
        self.reports.append(message)


@pytest.fixture
def kit(clock: FakeClock) -> Kit:
    return Kit(clock)


Bind = Callable[..., Model]


@pytest.fixture
async def bind(kit: Kit) -> AsyncIterator[Bind]:
    """Bind models through the provider's interface."""
    bound: list[Any] = []

    def make(url: str = "http://127.0.0.1:9", name: str = "claude-sonnet-5", **settings: Any) -> Model:
        own = AnthropicSettings(**{"api_key": KEY, "base_url": url, **settings})
        plugin: Any = Anthropic(own, kit)  # type: ignore[arg-type]  # all it uses
        (provider,) = plugin.model_providers()
        bound.append(provider.bind(name, own, lambda other: pytest.fail(f"asked for {other}")))
        return bound[-1]  # type: ignore[no-any-return]  # of a class that callers need not name

    yield make
    for model in bound:
        await model.close()


def asked(*items: Item | str, system: Sequence[str] = (), **marks: Any) -> Request:
    """Return a request; texts are the user's, ``marks`` those of the request."""
    flat = tuple(Text("user", item) if isinstance(item, str) else item for item in items)
    return Request("anthropic:x", (LOOK,), tuple(system), flat, Marks(**marks), "c-1")


@define
class Screen:
    """Takes what streams."""

    shown: list[Delta] = field(factory=list)

    async def __call__(self, delta: Delta) -> None:
        self.shown.append(delta)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def desk(
    wire: Any, wakeful_app: Callable[..., AbstractAsyncContextManager[App]]
) -> Callable[..., AbstractAsyncContextManager[App]]:
    """Open an agent that talks to the wire server."""

    def start(
        *actions: Action, model: str = "claude-sonnet-5", **settings: Any
    ) -> AbstractAsyncContextManager[App]:
        own = {"anthropic": {"api_key": KEY, "base_url": wire.url, **settings}}
        agent = Agent(model=f"anthropic:{model}", instructions="Be brief.", actions=actions, settings=own)
        return wakeful_app(agent)

    return start


@pytest.fixture
def patient_desk(
    wire: Any, bind: Bind, hurry: HurriedClock, wakeful_app: Callable[..., AbstractAsyncContextManager[App]]
) -> Callable[..., AbstractAsyncContextManager[App]]:
    """Open an agent whose model waits and asks again as ever, on a clock of its own that hurries."""

    def start(*actions: Action) -> AbstractAsyncContextManager[App]:
        model = PatientModel((("anthropic:claude-sonnet-5", bind(wire.url)),), hurry, 120.0)
        return wakeful_app(Agent(model=model, instructions="Be brief.", actions=actions))

    return start


def http(body: bytes | str | Mapping[str, Any], status: int = 200, **headers: str) -> bytes:
    """Return an HTTP response as bytes; a mapping is sent as JSON."""
    kind = "application/json" if isinstance(body, Mapping) else "text/html"
    raw = (
        json.dumps(body).encode()
        if isinstance(body, Mapping)
        else body
        if isinstance(body, bytes)
        else body.encode()
    )
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(raw)}", "connection: close"]
    named = {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
    lines += [f"{name}: {value}" for name, value in named.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


def sse(*events: Mapping[str, Any] | bytes) -> bytes:
    """Return a stream as an HTTP response without a length: it ends with the connection."""
    pieces = [
        e if isinstance(e, bytes) else f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode()
        for e in events
    ]
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + b"".join(
        pieces
    )


@define
class RawServer:
    """Answers with bytes that a test wrote, one after the other, in pieces of ``size`` bytes."""

    url: str = ""
    answers: list[bytes] = field(factory=list)
    size: int = 65_536
    requests: list[bytes] = field(factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")
            )
            self.requests.append(head + await reader.readexactly(length))
            answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
            for start in range(0, len(answer), self.size):
                writer.write(answer[start : start + self.size])
                await writer.drain()
        finally:
            writer.close()


@pytest.fixture
async def raw() -> AsyncIterator[RawServer]:
    own = RawServer()
    server = await asyncio.start_server(own.serve, "127.0.0.1", 0)
    own.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield own
    server.close()
    await server.wait_closed()


@pytest.fixture
def closed_port() -> Iterator[str]:
    """Give an address where nobody listens."""
    import socket

    with socket.socket() as own:
        own.bind(
            ("127.0.0.1", 0)
        )  # bound and not listening: connections are refused, and nobody else takes it
        yield f"http://127.0.0.1:{own.getsockname()[1]}"
