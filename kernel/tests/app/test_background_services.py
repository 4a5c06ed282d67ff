"""Background services: started with the application, stopped with it, and nobody else's problem."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

import wakeful
from wakeful import Agent, hookimpl
from wakeful.app.background import START_S, STOP_S
from wakeful.testing import FakeClock, FakeIds, ScriptedModel
from wakeful.types import BackgroundService, ConfigError, Json, Model, Provider, Resolve, RunStatus, Services

SHOP = """
from __future__ import annotations

import asyncio

from wakeful import hookimpl
from wakeful.testing import ScriptedModel


class Provider:
    name = "shop"

    def bind(self, model, settings, resolve):
        return ScriptedModel(["From the shop."])


class Service:
    name = "till"

    async def start(self):
        raise OSError("the drawer\\nis stuck")

    async def stop(self):
        pass


class Plugin:
    @hookimpl
    def model_providers(self):
        return [Provider()]

    @hookimpl
    def background_services(self):
        return [Service()]
"""


@define(eq=False)
class Lamp:
    """A service that notes what happens to it."""

    name: str = "lamp"
    heard: list[str] = field(factory=list)
    trouble: Exception | None = None
    hang: str = ""
    hanging: asyncio.Event = field(factory=asyncio.Event)

    async def start(self) -> None:
        await self._do("start")

    async def stop(self) -> None:
        await self._do("stop")

    async def _do(self, what: str) -> None:
        self.heard.append(what)
        if what == self.hang:
            self.hanging.set()
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble


class Lamps:
    """A plugin that gives services, and models of its own."""

    name = "lamps"

    def __init__(self, *services: Lamp) -> None:
        self.lamps, self.bound = services, 0

    @hookimpl
    def background_services(self) -> Sequence[BackgroundService]:
        return self.lamps

    @hookimpl
    def model_providers(self) -> Sequence[Provider]:
        return (Dim(self),)


@define(eq=False)
class Dim:
    plugin: Lamps
    name: str = "lamps"

    def bind(self, model: str, settings: Json, resolve: Resolve) -> Model:
        self.plugin.bound += 1
        return ScriptedModel(["On."])


async def test_a_service_runs_while_the_application_is_open(wakeful_app: Any) -> None:
    lamp = Lamp()
    async with wakeful_app(Agent(model="lamps:", plugins=[Lamps(lamp)])) as app:
        assert lamp.heard == ["start"]
        answer = await app.send("agent", "Hi")
        assert (answer.text, answer.status) == ("On.", RunStatus.COMPLETED)
        assert lamp.heard == ["start"]
    assert lamp.heard == ["start", "stop"]


async def test_agents_reach_the_instance_whose_services_run(wakeful_app: Any) -> None:
    class Wired:
        name = "wired"

        def __init__(self, settings: None, services: Services, application: Wired | None = None) -> None:
            self.lamp: Lamp = Lamp() if application is None else application.lamp

        @hookimpl
        def background_services(self) -> Sequence[BackgroundService]:
            return [self.lamp]

    async with wakeful_app(Agent(model=ScriptedModel([]), plugins=[Wired])) as app:
        instance: Any = app.agents["agent"].instances["wired"]
        assert instance.lamp.heard == ["start"]


async def test_services_are_asked_for_after_models_are_bound(wakeful_app: Any) -> None:
    class Late(Lamps):
        @hookimpl
        def background_services(self) -> Sequence[BackgroundService]:
            return [Lamp(name=f"lamp {self.bound}", heard=seen)]

    seen: list[str] = []
    plugin = Late()
    async with wakeful_app(Agent(model="lamps:", plugins=[plugin])):
        assert (plugin.bound, seen) == (1, ["start"])


async def test_services_start_at_the_same_time(wakeful_app: Any) -> None:
    both = asyncio.Barrier(2)

    class Meeting(Lamp):
        async def start(self) -> None:
            await both.wait()
            self.heard.append("met")

    one, two = Meeting("one"), Meeting("two")
    async with wakeful_app(Agent(model=ScriptedModel([]), plugins=[Lamps(one, two)])) as app:
        assert one.heard == two.heard == ["met"]
        assert not app.problems("agent")


async def test_a_service_that_fails_is_a_problem_of_its_agent(wakeful_app: Any) -> None:
    lamp = Lamp(trouble=ValueError("no\nbulb"))
    async with wakeful_app(Agent(model="lamps:", plugins=[Lamps(lamp)])) as app:
        (problem,) = app.problems("agent")
        assert str(problem) == (
            "agents.agent: plugins.lamps: background service 'lamp' did not start: ValueError: no bulb"
        )
        with pytest.raises(ConfigError, match="no bulb"):
            await app.send("agent", "Hi")
    assert lamp.heard == ["start", "stop"]


async def test_a_hook_that_fails_is_a_problem_of_its_agent(wakeful_app: Any) -> None:
    class Broken:
        @hookimpl
        def background_services(self) -> Any:
            return [object()]

    lamp = Lamp()
    async with wakeful_app(Agent(model=ScriptedModel([]), plugins=[Broken(), Lamps(lamp)])) as app:
        (problem,) = app.problems("agent")
        assert "plugin 'broken' failed in background_services" in problem.what
        assert "which lacks start, stop" in problem.what
        assert lamp.heard == ["start"]


async def test_a_service_that_hangs_is_given_up(wakeful_app: Any, clock: FakeClock) -> None:
    slow, quick = Lamp("slow", hang="start"), Lamp("quick")

    async def impatient() -> None:
        await slow.hanging.wait()
        await clock.elapse(START_S)

    moving = asyncio.create_task(impatient())
    async with wakeful_app(Agent(model=ScriptedModel([]), plugins=[Lamps(slow, quick)])) as app:
        await moving
        (problem,) = app.problems("agent")
        assert problem.what == "background service 'slow' did not start: not within 30 seconds"
    assert slow.heard == quick.heard == ["start", "stop"]


@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_closing_goes_on_when_a_service_does_not_stop(
    how: str, wakeful_app: Any, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    lamp, other = Lamp(hang="stop" if how == "hangs" else ""), Lamp("other")

    async def impatient() -> None:
        await lamp.hanging.wait()
        await clock.elapse(STOP_S)

    moving = asyncio.create_task(impatient())
    with caplog.at_level(logging.WARNING, "wakeful"):
        async with wakeful_app(Agent(model=ScriptedModel([]), plugins=[Lamps(lamp, other)])):
            lamp.trouble = None if how == "hangs" else RuntimeError("it is glued on")
    lamp.hanging.set()
    await moving
    assert other.heard == ["start", "stop"]
    (record,) = caplog.records
    expected = "'lamp' did not stop within 15 seconds" if how == "hangs" else "stopping the service 'lamp'"
    assert expected in record.getMessage()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a provider whose service does not start."""
    site = tmp_path / "site"
    info = site / "wkshop-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "wkshop.py").write_text(SHOP)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wkshop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wakeful]\nshop = wkshop:Plugin\n")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield
    importlib.invalidate_caches()


async def test_only_agents_that_use_the_plugin_are_stopped(shop: None, tmp_path: Path) -> None:
    file = tmp_path / "wakeful.toml"
    file.write_text(
        '[store]\nurl = "sqlite://"\n'
        '[agents.buyer]\nmodel = "shop:any"\nplugins.enable = ["shop"]\n'
        '[agents.other]\nmodel = "shop:any"\n'
    )
    async with wakeful.open(file, clock=FakeClock(), ids=FakeIds()) as app:
        for name in ("buyer", "other"):
            (problem,) = app.problems(name)
            assert str(problem).startswith(f"wakeful.toml: agents.{name}: plugins.shop: ")
            assert problem.what.endswith("OSError: the drawer is stuck")
    model = ScriptedModel(["Hello."])
    async with wakeful.open(file, clock=FakeClock(), ids=FakeIds(), model=model) as app:
        assert app.problems("buyer")
        assert not app.problems("other")  # it has another model here, and does not use the plugin
        assert (await app.send("other", "Hi")).text == "Hello."
