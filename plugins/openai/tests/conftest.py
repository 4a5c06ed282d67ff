from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import pytest_asyncio
from attrs import define, field

from wakeful.testing import FakeClock
from wakeful.types import Delta, Item, Json, Model, Request, Text, TextDelta, Tool
from wakeful_openai import OpenAI, OpenAISettings

KEY = "sk-proj-Zx81-not-a-real-key-4711"
ADD = Tool(
    "add",
    "Adds numbers.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "text": {"type": "string"}}},
)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


class Ticking(FakeClock):
    """Fake time that knows when the next sleeper wakes."""

    def __init__(self) -> None:
        super().__init__()
        self.until: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.until.append(self.monotonic() + seconds)
        await super().sleep(seconds)

    def next_s(self) -> float:
        return max(0.0, self.until[-1] - self.monotonic())


@define
class Kit:
    """What the kernel would give the plugin, as far as it uses it."""

    clock: Ticking = field(factory=Ticking)
    reports: list[str] = field(factory=list)

    def report(self, message: str) -> None:
        self.reports.append(message)

    @staticmethod
    def resolve(model: str, settings: Mapping[str, Json] | None = None) -> Model:
        raise AssertionError(model)


@define
class Bench:
    """Binds models as the application does, and closes them."""

    kit: Kit = field(factory=Kit)
    bound: list[Any] = field(factory=list)

    def bind(self, url: str, model: str = "gpt-5.2", **settings: Json) -> Any:
        values: dict[str, Any] = {"base_url": url, "api_key": KEY, **settings}
        own = OpenAISettings(**values)
        (provider,) = OpenAI(own, self.kit).model_providers()  # type: ignore[arg-type]  # all it uses
        bound = provider.bind(model, own, self.kit.resolve)
        self.bound.append(bound)
        return bound


@pytest.fixture
def make_bench() -> type[Bench]:
    return Bench


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    for model in made.bound:
        await model.close()


@pytest.fixture
def ask() -> Callable[..., Request]:
    """Build a request from items; a string is what the user says."""

    def build(*items: Item | str, **more: Any) -> Request:
        spelled = tuple(Text("user", item) if isinstance(item, str) else item for item in items)
        values = {"tools": (ADD,), "system": ("You add.", "Be brief."), "cache_key": "conv-1"} | more
        return Request(model="openai:x", items=spelled, **values)

    return build


@define
class Screen:
    """Collects what is shown while a reply streams."""

    deltas: list[Delta] = field(factory=list)

    async def __call__(self, delta: Delta) -> None:
        self.deltas.append(delta)

    def text(self, *, thinking: bool = False) -> str:
        return "".join(d.text for d in self.deltas if isinstance(d, TextDelta) and d.thinking is thinking)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@define
class RawServer:
    """Answers every POST with bytes as they were written down, and closes the connection."""

    url: str = ""
    chunks: tuple[bytes, ...] = ()
    status: int = 200
    headers: dict[str, str] = field(factory=dict)
    requests: list[bytes] = field(factory=list)

    def answer(
        self, *chunks: bytes, status: int = 200, kind: str = "text/event-stream", **headers: str
    ) -> None:
        self.chunks, self.status = chunks, status
        self.headers = {"content-type": kind} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            ),
            0,
        )
        self.requests.append(head + await reader.readexactly(length))
        lines = [
            f"HTTP/1.1 {self.status} X",
            "connection: close",
            *(f"{k}: {v}" for k, v in self.headers.items()),
        ]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        for chunk in self.chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()


@pytest_asyncio.fixture
async def raw() -> AsyncIterator[RawServer]:
    made = RawServer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield made
