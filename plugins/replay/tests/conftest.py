from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from attrs import define, field

from wakeful.types import Call, Emit, Json, Model, Profile, Provider, Reply, Request, Result, Text, Tool
from wakeful_replay import Replay, ReplaySettings

DESK = ("You are the desk of Ada Ltd.\nAnswer briefly.", "Rules: never guess.")
QUERY = Tool("run_query", "Read the database.", {"type": "object", "properties": {"sql": {"type": "string"}}})


@define
class Ticking:
    """A clock that moves a second at each look."""

    seconds: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@define
class Kit:
    """What the kernel would give the plugin, as far as it uses it."""

    folder: Path
    clock: Ticking = field(factory=Ticking)
    secrets: tuple[str, ...] = ()
    reports: list[str] = field(factory=list)

    def report(self, message: str) -> None:
        self.reports.append(message)


@define
class Upstream:
    """A model in the next room: answers what it is told, in order, and counts the questions."""

    replies: list[Reply]
    profile: Profile = Profile("elsewhere", family="breakpoint", window=50_000, minimum=1024)
    asked: list[Request] = field(factory=list)

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        self.asked.append(request)
        return self.replies[len(self.asked) - 1]


@define
class Bench:
    """Binds models the way the application does: a new plugin each time, as in a new process."""

    kit: Kit

    def bind(self, name: str, source: Model | None = None, **settings: Json) -> Model:
        if source is not None:
            settings = {"mode": "record", "upstream": "elsewhere:big"} | settings
        own = ReplaySettings(**settings)

        def resolve(model: str, settings: Mapping[str, Json] | None = None) -> Model:
            assert model == "elsewhere:big"
            assert source is not None
            return source

        return self.provider(own).bind(name, own, resolve)

    def provider(self, settings: ReplaySettings | None = None) -> Provider:
        plugin = Replay(settings or ReplaySettings(), self.kit)  # type: ignore[arg-type]  # all it uses
        (provider,) = plugin.model_providers()
        return provider

    def write(self, name: str, *lines: str) -> Path:
        path = self.kit.folder / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Kit(tmp_path))


@pytest.fixture
def upstream() -> Callable[..., Upstream]:
    return lambda *replies: Upstream(list(replies))


@pytest.fixture
def ask() -> Callable[..., Request]:
    """Build a request from items; a string is what the user says."""

    def build(*items: object, system: tuple[str, ...] = DESK, tools: tuple[Tool, ...] = (QUERY,)) -> Request:
        said = [Text("user", item) if isinstance(item, str) else item for item in items]
        return Request("replay:any.jsonl", tools, system, tuple(said))  # type: ignore[arg-type]  # said in short forms

    return build


@pytest.fixture
def answered() -> Callable[[Reply, str], list[object]]:
    """Return the items of a reply with a result for each of its calls, as they go back to the model."""

    def join(reply: Reply, text: str = "done") -> list[object]:
        return [
            *reply.items,
            *(Result(item.id, text) for item in reply.items if isinstance(item, Call)),
        ]

    return join
